//! One engine's turn at a job: where it stands, and what a suite knows about its rows.

use bench_core::outline::Outline;
use bench_core::record::Record;

use super::job::{Entry, Job, Shown};
use crate::supervise::Position;

/// The pass that times each operation.
const LATENCY: &str = "latency";

/// One engine's turn at a job.
pub(super) struct Turn<'t> {
    pub(super) job: &'t Job,
    pub(super) engine: &'t str,
    pub(super) round: u32,
    pub(super) latency: bool,
    pub(super) file_system: Option<String>,
    /// The entry being run.
    pub(super) at: Position,
    /// The row behind the last one that was told.
    pub(super) reached: Position,
    /// The result of a row whose process was killed behind it.
    pub(super) held: Option<Box<Record>>,
    /// Why later parts have no database, and the part that did not make it.
    pub(super) ruined: Option<(usize, String)>,
}

impl Turn<'_> {
    /// Whether it is in the round in which every engine has its rows, absent ones too.
    pub(super) const fn is_first(&self) -> bool {
        self.round == 1 && !self.latency
    }

    /// Fills in what a suite knows about a row and a child does not.
    pub(super) fn mark(
        &self,
        record: &mut Record,
        listed: &Entry,
        shown: &Shown,
        outline: &Outline,
    ) {
        let part = self.job.parts.first();
        record.suite = Some(outline.name.clone());
        record.section = Some(shown.section.clone());
        record.instance = shown.instance;
        record.state = shown.state.map(str::to_owned);
        record.round = self.round;
        record.data = part.map(|part| part.settings.data.clone());
        record.file_system.clone_from(&self.file_system);
        if self.job.label.is_some() {
            record.variant.clone_from(&self.job.label);
        }
        if record.workload.is_empty() {
            record.workload.clone_from(&listed.workload);
        }
        if self.latency {
            record.pass = Some(LATENCY.to_owned());
            record.wall_ns = None;
            record.intervals.clear();
        }
    }

    /// The label of the next row that is shown, for a failure of what should have prepared it.
    pub(super) fn next_shown(&self, at: Position) -> Shown {
        let parts = self.job.parts.iter().skip(at.part);
        let mut shown = parts
            .flat_map(|part| &part.entries)
            .filter_map(|entry| entry.shown.clone());
        shown.next().unwrap_or_else(|| Shown {
            section: String::new(),
            instance: 1,
            state: None,
        })
    }
}
