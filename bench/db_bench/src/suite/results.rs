//! The results of a suite, including those of earlier processes.

use std::collections::BTreeMap;

use bench_core::result::outline::Fact;
use bench_core::result::record::Status;

use super::journal::Journal;

/// The results of a run.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// Engines that cannot be run here, with the reasons.
    pub(super) absent: BTreeMap<String, String>,
    pub(super) notes: Vec<String>,
    /// Whether a row failed, or a process died after all its rows had been reported.
    pub(super) failed: bool,
}

impl Results {
    /// Returns the results of earlier processes.
    pub(super) fn of(journal: &Journal) -> Self {
        let mut records = journal.records.iter();
        let mut results = Self {
            failed: records.any(|record| record.status == Status::Failed),
            ..Self::default()
        };
        for note in &journal.notes {
            match &note.fact {
                // An engine that was absent stays out: its rows have been reported.
                Some(Fact::Absent { engine, reason }) => {
                    results.absent.insert(engine.clone(), reason.clone());
                    continue;
                }
                // The resuming process writes this note again.
                Some(Fact::Resumed) => continue,
                Some(Fact::Lost) => results.failed = true,
                Some(Fact::Rounds(_) | Fact::Latency) | None => {}
            }
            results.notes.push(note.text.clone());
        }
        results
    }
}
