//! One engine's turn at a job: its position, and the suite's knowledge about its rows.

use bench_core::result::outline::Outline;
use bench_core::result::record::{Record, Status};

use super::job::{COMPACT, COMPACTED, Entry, Job, Shown};
use super::journal::{self, Journal};
use crate::supervise::Position;

/// The pass that times each operation.
const LATENCY: &str = "latency";

/// One engine's turn at a job.
pub(super) struct JobTurn<'t> {
    pub(super) job: &'t Job,
    pub(super) engine: &'t str,
    pub(super) round: u32,
    pub(super) latency: bool,
    pub(super) file_system: Option<String>,
    /// The entry being run.
    pub(super) at: Position,
    /// The row after the last one that was reported.
    pub(super) reached: Position,
    /// The result of a row whose process was killed after it.
    pub(super) held: Option<Box<Record>>,
    /// Reason later parts have no database, and the part that failed to create it.
    pub(super) ruined: Option<(usize, String)>,
    /// Outcome of the last compaction and its reason, unless it succeeded.
    pub(super) uncompacted: Option<(Status, String)>,
}

impl<'t> JobTurn<'t> {
    /// Whether the turn is in the round in which every engine has rows, even absent ones.
    pub(super) const fn is_first(&self) -> bool {
        self.round == 1 && !self.latency
    }

    /// Returns the entry being run.
    fn entry(&self) -> &Entry {
        &self.job.parts[self.at.part].entries[self.at.entry]
    }

    /// Returns the workload being run.
    pub(super) fn workload(&self) -> &str {
        &self.entry().workload
    }

    /// Returns the section whose table shows what is being run.
    pub(super) fn section(&self) -> &str {
        let shown = self.entry().shown.as_ref();
        shown.map_or(&self.job.section, |shown| &shown.section)
    }

    /// Fills in the fields of a row that the suite knows and a child does not.
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
        record.data = part.map(|part| part.plan.data.word());
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

    /// Remembers how a compaction ended; other rows change nothing here.
    pub(super) fn look(&mut self, listed: &Entry, record: &Record) {
        if listed.workload == COMPACT {
            let reason = || record.reason.clone().unwrap_or_default();
            // A compaction with figures completed, even if the row failed for another reason, such
            // as too much memory.
            let ended = record.status == Status::Ok || record.ops.is_some();
            self.uncompacted = (!ended).then(|| (record.status, reason()));
        }
    }

    /// Returns the entries whose results are shown, with their positions.
    pub(super) fn shown(&self) -> impl Iterator<Item = (Position, &'t Entry, &'t Shown)> + use<'t> {
        let parts = self.job.parts.iter().enumerate();
        parts.flat_map(|(part, list)| {
            let entries = list.entries.iter().enumerate();
            entries.filter_map(move |(entry, listed)| {
                Some((Position { part, entry }, listed, listed.shown.as_ref()?))
            })
        })
    }

    /// Returns the key of an entry's result.
    pub(super) fn key(&self, listed: &Entry, shown: &Shown, outline: &Outline) -> String {
        let mut record = Record::default();
        self.mark(&mut record, listed, shown, outline);
        self.engine.clone_into(&mut record.engine);
        journal::key(&record)
    }

    /// Does the same from what an earlier process reported about the entries before `until`.
    pub(super) fn look_back(&mut self, until: Position, journal: &Journal, outline: &Outline) {
        let compacts = |(at, listed, _): &(Position, &Entry, &Shown)| {
            *at < until && listed.workload == COMPACT
        };
        for (_, listed, shown) in self.shown().filter(compacts) {
            let key = self.key(listed, shown, outline);
            if let Some(reported) = journal.result(&key) {
                self.look(listed, reported);
            }
        }
    }

    /// Corrects a row that a suite labels as compacted although it is not. After a failed
    /// compaction the state is unknown, so the row has no figure. If the engine has no compaction,
    /// the store is as compact as it can be.
    pub(super) fn judge_state(&self, record: &mut Record) {
        let Some((ended, why)) = &self.uncompacted else {
            return;
        };
        if record.status != Status::Ok || record.state.as_deref() != Some(COMPACTED) {
            return;
        }
        if *ended == Status::Skipped {
            record.reason = Some(format!("as loaded: {COMPACT} was skipped ({why})"));
            return;
        }
        let row = std::mem::take(record);
        *record = Record {
            engine: row.engine,
            engine_version: row.engine_version,
            suite: row.suite,
            section: row.section,
            workload: row.workload,
            instance: row.instance,
            round: row.round,
            variant: row.variant,
            state: row.state,
            pass: row.pass,
            status: Status::Skipped,
            reason: Some(format!(
                "not compacted: the earlier {COMPACT} failed ({why})"
            )),
            data: row.data,
            compression: row.compression,
            memory_bytes: row.memory_bytes,
            threads: row.threads,
            seed: row.seed,
            file_system: row.file_system,
            started_at: row.started_at,
            ..Record::default()
        };
    }

    /// Returns the label of the next row that is shown, for a failure of the entry that should have
    /// prepared it.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a row labelled as compacted, after a compaction with this status.
    fn judged(ended: Status, why: Option<&str>) -> Record {
        let job = Job::default();
        let mut turn = JobTurn {
            job: &job,
            engine: "own",
            round: 1,
            latency: false,
            file_system: None,
            at: Position::default(),
            reached: Position::default(),
            held: None,
            ruined: None,
            uncompacted: None,
        };
        let listed = Entry {
            workload: COMPACT.into(),
            shown: None,
        };
        let reported = Record {
            status: ended,
            reason: why.map(str::to_owned),
            ..Record::default()
        };
        turn.look(&listed, &reported);
        let mut row = Record {
            engine: "own".into(),
            workload: "readseq".into(),
            instance: 2,
            state: Some(COMPACTED.into()),
            ranked: Some(true),
            ops: Some(7),
            wall_ns: Some(8),
            ..Record::default()
        };
        turn.judge_state(&mut row);
        row
    }

    #[test]
    fn a_row_is_compacted_only_after_a_compaction_that_ended_well() {
        let good = judged(Status::Ok, None);
        assert_eq!(
            (good.status, good.reason, good.ops),
            (Status::Ok, None, Some(7))
        );
        let failed = judged(Status::Failed, Some("time limit of 2 s"));
        assert_eq!(failed.status, Status::Skipped);
        assert_eq!(
            failed.reason.as_deref(),
            Some("not compacted: the earlier compact failed (time limit of 2 s)")
        );
        assert_eq!(
            (failed.rate(), failed.ranked, failed.instance),
            (None, None, 2)
        );
        let skipped = judged(Status::Skipped, Some("not supported by own"));
        assert_eq!((skipped.status, skipped.ops), (Status::Ok, Some(7)));
        assert_eq!(
            skipped.reason.as_deref(),
            Some("as loaded: compact was skipped (not supported by own)")
        );
    }
}
