//! A flush or compaction in progress, in steps of bounded work between which it can be suspended.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use cairndb_base::{FileNumber, Result, SEQ_MAX, SeqNo};
use cairndb_env::{Dir, FileSync};
use cairndb_files::{Output, OutputParts, OutputSettings, Written, guarded};
use cairndb_format::manifest::TableRecord;
use cairndb_format::name;
use cairndb_format::table::BoundLimits;

use crate::jobs::inputs::Inputs;
use crate::jobs::rules::{Progress, Rules};
use crate::state::sections::StoredKey;
use crate::state::version::TableHandle;

/// Number of entries moved per step: few enough that a flush never waits long.
pub(crate) const STEP_ENTRIES: u64 = 4096;

/// One finished, unsynced table that no version names yet.
#[derive(Debug)]
pub(crate) struct NewTable {
    pub(crate) record: TableRecord,
    pub(crate) sync: Arc<dyn FileSync>,
    /// Handle of the table, if it was opened before it is installed.
    pub(crate) opened: Option<TableHandle>,
}

impl From<Written> for NewTable {
    fn from(Written { record, sync }: Written) -> NewTable {
        NewTable {
            record,
            sync,
            opened: None,
        }
    }
}

impl NewTable {
    /// Returns the table's lower bound.
    pub(crate) fn smallest(&self) -> StoredKey<'_> {
        StoredKey::bounds_of(&self.record).0
    }

    /// Returns the table's upper bound.
    pub(crate) fn largest(&self) -> StoredKey<'_> {
        StoredKey::bounds_of(&self.record).1
    }
}

/// Results of a finished job, to be installed.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) tables: Vec<NewTable>,
    /// Number of bytes of value files that became dead, by file.
    pub(crate) dead: BTreeMap<u64, u64>,
    /// Number of snapshots older than the newest entry.
    pub(crate) snapshots: usize,
    /// Number of drops of keyspaces before the job began.
    pub(crate) drops: u64,
}

impl Outcome {
    /// Adds the outcome of a job over the keys after these.
    pub(crate) fn and(mut self, next: Outcome) -> Outcome {
        self.drops = self.drops.min(next.drops);
        self.tables.extend(next.tables);
        self.snapshots = self.snapshots.max(next.snapshots);
        self.with_dead(next.dead)
    }

    /// Returns the outcome of the steps so far, to which `next` is added.
    ///
    /// # Errors
    /// That of `next`; the tables of the steps before it are then removed.
    pub(crate) fn followed_by(
        before: Option<Outcome>,
        next: Result<Outcome>,
        dir: &dyn Dir,
    ) -> Result<Outcome> {
        match (before, next) {
            (Some(before), Ok(next)) => Ok(before.and(next)),
            (Some(before), Err(error)) => {
                before.discard(dir);
                Err(error)
            }
            (None, next) => next,
        }
    }

    /// Adds bytes that became dead.
    fn with_dead(mut self, dead: BTreeMap<u64, u64>) -> Outcome {
        for (file, bytes) in dead {
            *self.dead.entry(file).or_insert(0) += bytes;
        }
        self
    }

    /// Removes the tables, which no version names.
    pub(crate) fn discard(&self, dir: &dyn Dir) {
        let names = self
            .tables
            .iter()
            .map(|table| FileNumber(table.record.file));
        remove_all(dir, &names.map(name::table).collect::<Vec<_>>());
    }
}

/// A job over sorted sources.
#[derive(Debug)]
pub(crate) struct Job {
    /// Inputs in key order: every key of one is after all keys of the one before.
    inputs: VecDeque<Inputs>,
    rules: Rules,
    settings: OutputSettings,
    progress: Progress,
    parts: OutputParts,
    begun: bool,
    /// Start of the first inputs, if it is not their first key.
    from: Option<Vec<u8>>,
}

impl Job {
    pub(crate) fn new(inputs: Inputs, rules: Rules, settings: OutputSettings) -> Job {
        Job::chained(VecDeque::from([inputs]), rules, settings)
    }

    /// Restricts the bounds of the output's tables.
    pub(crate) fn within(mut self, limits: BoundLimits) -> Job {
        assert!(!self.begun, "limits are set before a job starts");
        self.parts = OutputParts::within(limits);
        self
    }

    /// Restricts the job to keys from `key` on.
    pub(crate) fn beginning_at(mut self, key: Vec<u8>) -> Job {
        assert!(!self.begun, "a job is started only once");
        self.from = Some(key);
        self
    }

    /// Returns a job over inputs whose key ranges are disjoint and ascend from one to the next.
    pub(crate) fn chained(inputs: VecDeque<Inputs>, rules: Rules, settings: OutputSettings) -> Job {
        Job {
            inputs,
            rules,
            settings,
            progress: Progress::default(),
            parts: OutputParts::default(),
            begun: false,
            from: None,
        }
    }

    /// Moves up to `entries` entries, and returns `true` while more are left.
    ///
    /// # Errors
    /// The first error of a source or of the output; the caller must then call [`Job::abandon`].
    pub(crate) fn step(
        &mut self,
        dir: &dyn Dir,
        next_file: &AtomicU64,
        entries: u64,
    ) -> Result<bool> {
        let Some(inputs) = self.inputs.front_mut() else {
            return Ok(false);
        };
        let parts = std::mem::take(&mut self.parts);
        let mut output = Output::from_parts(dir, next_file, self.settings.clone(), parts);
        let (rules, progress, begun) = (&self.rules, &mut self.progress, &mut self.begun);
        let from = &mut self.from;
        // Caught here, so that files written before a comparator panicked are removed, as after any
        // error.
        let result = guarded(|| {
            if !*begun {
                match from.take() {
                    Some(key) => inputs.seek(&key, SEQ_MAX)?,
                    None => inputs.first()?,
                }
                *begun = true;
            }
            rules.run(inputs, &mut output, progress, entries)
        });
        self.parts = output.into_parts();
        if matches!(result, Ok(false)) {
            self.inputs.pop_front();
            self.begun = false;
            return Ok(!self.inputs.is_empty());
        }
        result
    }

    /// Runs to the end without interruption.
    ///
    /// # Errors
    /// The first error of a source or of the output, after which no file is left.
    pub(crate) fn run(mut self, dir: &dyn Dir, next_file: &AtomicU64) -> Result<Outcome> {
        loop {
            match self.step(dir, next_file, u64::MAX / 2) {
                Ok(true) => {}
                Ok(false) => return self.finish(dir, next_file),
                Err(error) => {
                    self.abandon(dir, next_file);
                    return Err(error);
                }
            }
        }
    }

    /// Finishes the last table and returns the outcome.
    pub(crate) fn finish(self, dir: &dyn Dir, next_file: &AtomicU64) -> Result<Outcome> {
        let relocation = self.settings.relocation.as_ref();
        let copied = relocation.map(|relocation| relocation.dead());
        let copied = copied.unwrap_or_default();
        let output = Output::from_parts(dir, next_file, self.settings, self.parts);
        let names = output.names();
        match output.finish() {
            Ok(tables) => {
                let newest = tables.iter().map(|table| table.record.seq_max).max();
                let older = |seq: &SeqNo| newest.is_some_and(|newest| *seq < newest);
                let applied = self.rules.ranges.applied;
                let new = |written| {
                    let mut table = NewTable::from(written);
                    table.record.ranges_applied = applied;
                    table
                };
                Ok(Outcome {
                    tables: tables.into_iter().map(new).collect(),
                    dead: self.progress.dead,
                    snapshots: self.rules.snapshots.partition_point(older),
                    drops: self.rules.drops,
                }
                .with_dead(copied))
            }
            Err(error) => {
                remove_all(dir, &names);
                Err(error)
            }
        }
    }

    /// Removes the files written so far.
    pub(crate) fn abandon(self, dir: &dyn Dir, next_file: &AtomicU64) {
        let output = Output::from_parts(dir, next_file, self.settings, self.parts);
        let names = output.names();
        drop(output);
        remove_all(dir, &names);
    }
}

/// Unlinks files that no version names. Those that cannot be removed now are removed at the next
/// open.
fn remove_all(dir: &dyn Dir, names: &[String]) {
    for name in names {
        let _ = dir.unlink(name);
    }
}
