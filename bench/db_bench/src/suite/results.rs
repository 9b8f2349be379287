//! The results of a suite, including those of earlier processes.

use std::collections::BTreeMap;

use bench_core::result::outline::Fact;

use super::journal::Journal;
use crate::table::Rows;

/// The results of a run.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) rows: Rows,
    /// Engines that cannot be run here, with the reasons.
    pub(super) absent: BTreeMap<String, String>,
    pub(super) notes: Vec<String>,
    /// Whether a process died after all its rows had been reported.
    pub(super) crashed: bool,
    pub(super) rounds: u32,
}

impl Results {
    /// Returns the results of earlier processes.
    pub(super) fn of(journal: &Journal) -> Self {
        let mut results = Self::default();
        for record in journal.records.clone() {
            results.rows.add(record);
        }
        for note in &journal.notes {
            match &note.fact {
                // An engine that was absent stays out: its rows have been reported.
                Some(Fact::Absent { engine, reason }) => {
                    results.absent.insert(engine.clone(), reason.clone());
                    continue;
                }
                // The resuming process writes this note again.
                Some(Fact::Resumed) => continue,
                Some(Fact::Lost) => results.crashed = true,
                Some(Fact::Rounds(_) | Fact::Latency) | None => {}
            }
            results.notes.push(note.text.clone());
        }
        results
    }
}
