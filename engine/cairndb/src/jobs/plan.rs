//! Plan of a compaction: its input tables and its target run.

use std::sync::Arc;

use cairndb_format::table::BoundLimits;

use crate::jobs::relocation::Relocation;
use crate::state::sections::{Orders, Section, StoredKey};
use crate::state::version::Run;

/// Inputs and target of a compaction.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
#[derive(Clone, Debug)]
pub(crate) struct CompactionPlan {
    /// Input tables by run, newest run first.
    pub(crate) inputs: Vec<Run>,
    /// Number of the run that takes the output, at the position of the oldest input run. A new
    /// number if whole runs are compacted; the number of the oldest run if only part of it is
    /// compacted.
    pub(crate) target: u64,
    /// Whether no older run holds any key of the inputs.
    pub(crate) bottom: bool,
    /// Whether a caller waits until the output is durable: two threads share the compaction, and
    /// each table is written to the disk as soon as it is finished.
    pub(crate) waited_for: bool,
    /// Whether this is an idle compaction, whose output is verified before it is published, and
    /// mapped for the next readers.
    pub(crate) when_idle: bool,
    /// Whether the input tables hold nothing that is kept: they are not read, and there is no
    /// output.
    pub(crate) unread: bool,
    /// Relocation of values to another value file.
    pub(crate) relocation: Option<Arc<Relocation>>,
    /// Newer runs, newest first. Entries that they hide are dropped; the runs themselves are
    /// unchanged.
    pub(crate) hiders: Vec<Run>,
}

impl CompactionPlan {
    /// Returns a plan that rewrites some tables of run `target` in place.
    pub(crate) fn in_place(inputs: Vec<Run>, target: u64, bottom: bool) -> CompactionPlan {
        CompactionPlan {
            inputs,
            target,
            bottom,
            waited_for: false,
            when_idle: false,
            unread: false,
            relocation: None,
            hiders: Vec::new(),
        }
    }

    /// Returns a key with about as many bytes before it as after it: the first key of a table in
    /// the middle of the largest run with several tables. Returns `None` if no run has two tables.
    pub(crate) fn middle(&self) -> Option<(Section, Vec<u8>)> {
        let several = self.inputs.iter().filter(|run| run.tables().len() > 1);
        let tables = several.max_by_key(|run| run.bytes())?.tables();
        let StoredKey { section, bytes } = tables[tables.len() / 2].smallest();
        Some((section, bytes.to_vec()))
    }

    /// Returns the sections of the input tables.
    pub(crate) fn sections(&self) -> impl Iterator<Item = Section> + '_ {
        let tables = || self.inputs.iter().flat_map(Run::tables);
        let is_there = move |section| tables().any(|table| table.section() == section);
        Section::ALL.into_iter().filter(move |it| is_there(*it))
    }

    /// Returns limits within which the output in `section` touches no table that is not an input.
    pub(crate) fn limits(&self, orders: &Orders, section: Section) -> BoundLimits {
        let order = &orders[section];
        let records = || {
            let tables = self.inputs.iter().flat_map(Run::tables);
            let tables = tables.filter(|table| table.section() == section);
            tables.map(|table| &table.record)
        };
        let smallest = records().map(|record| &record.smallest);
        let largest = records().map(|record| &record.largest);
        BoundLimits {
            from: smallest.min_by(|a, b| order.compare(a, b)).cloned(),
            to: largest.max_by(|a, b| order.compare(a, b)).cloned(),
            ..BoundLimits::default()
        }
    }

    /// Returns the runs of the input tables.
    pub(crate) fn runs(&self) -> Vec<u64> {
        self.inputs.iter().map(|run| run.id).collect()
    }
}

/// Returns `of * part / all`, at most `of`.
pub(crate) fn share(of: u64, part: u64, all: u64) -> u64 {
    let share = u128::from(of) * u128::from(part) / u128::from(all.max(1));
    u64::try_from(share).map_or(of, |share| share.min(of))
}
