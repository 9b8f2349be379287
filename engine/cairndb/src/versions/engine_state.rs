//! The state guarded by the state lock, and the order of all locks.
//!
//! Changes that several owners make are methods here, such as `begin_compaction`. The others are in
//! the owner: `Installer` changes the versions, `Sealer` and `Flusher` the memtables, `Disk` and
//! `DeadFiles` what is durable, `Base` the pauses after failures.
//!
//! Lock order, outermost first:
//!
//! | lock | guards | held across I/O |
//! |---|---|---|
//! | `Core::close_turn` | the entire close | everything |
//! | `Sweeper::lock` | the directory lock | unlinking of obsolete files |
//! | `Log::commit` | mutable memtable, log position, sequence numbers | log and manifest appends; a sync only (1) |
//! | `Manifests::sync_turn` | the claim to unsynced data | syncs, and the manifest append between them |
//! | `Scheduler::threads` | the threads that closing joins | starting them |
//! | `VersionSet::state` | the state | never |
//! | `Reserve::turn` | creation of files on a nearly full disk | file creation |
//! | inner locks (2) | their own fields | appends; `values` and `moved` also a sync |
//!
//! (1) Syncs while a whole manifest is written or the database is closed, and of value files if
//! more than 64 wait. Also flushes of a batch that is longer than the memtables of a flush. (2) The
//! locks of segments, manifest, values, moved, snapshots, published views, files, reaper,
//! dictionaries.
//!
//! Readers take none of these locks: they load the view and the published sequence number.
//! Exception: a read may start the worker (`Scheduler::start_for_readers`). It try-locks the state,
//! releases it, then takes `threads`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, SEQ_MAX, SeqNo};
use cairndb_env::FileSync;

use crate::jobs::job::Outcome;
use crate::jobs::plan::CompactionPlan;
use crate::jobs::relocation::ValueGcState;
use crate::log::commit::{MemtableValues, SealedMemtable};
use crate::state::budget::Budget;
use crate::state::memtables::Memtables;
use crate::state::ranges::{Deleted, RangeDeletions};
use crate::state::sections::{Section, Sections};
use crate::state::squeezes::Squeezes;
use crate::state::version::{Run, TableHandle, Version};
use crate::versions::idle::Idle;
use crate::versions::settings::Settings;

/// Full memtables that wait for their flush.
#[derive(Clone, Debug)]
pub(crate) struct ImmutableMemtable {
    pub(crate) mem: Memtables,
    /// Number of bytes of its records in the log.
    pub(crate) logged: u64,
    /// First segment that holds one of its records; `None` if it was not logged.
    pub(crate) first_segment: Option<u64>,
    /// Large values that it points to.
    pub(crate) values: MemtableValues,
    /// Ranges deleted while it took writes, oldest first.
    pub(crate) ranges: Vec<(Section, Deleted)>,
    /// Flush that has taken it; `None` while it waits for one.
    pub(crate) flush: Option<u64>,
}

impl From<SealedMemtable> for ImmutableMemtable {
    fn from(sealed: SealedMemtable) -> ImmutableMemtable {
        ImmutableMemtable {
            mem: sealed.mem,
            logged: sealed.logged,
            first_segment: sealed.first_segment,
            values: sealed.values,
            ranges: sealed.ranges,
            flush: None,
        }
    }
}

/// A flush that is running, or is done and waits until an older flush is installed.
#[derive(Debug)]
pub(crate) struct Flush {
    pub(crate) number: u64,
    /// Outcome of the flush, once it is done.
    pub(crate) outcome: Option<Outcome>,
}

/// A table handle that is new in a version.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) table: Arc<TableHandle>,
    /// Sync of the file, needed before the manifest may name it; `None` for a table that only
    /// changed its run.
    pub(crate) sync: Option<Arc<dyn FileSync>>,
}

/// Changes that readers see and the manifest does not describe yet. Only the newest version is
/// kept: a version with a thousand tables takes as much memory as a small memtable.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The newest version.
    pub(crate) version: Arc<Version>,
    /// Tables added since the durable version, including those that have since been compacted away.
    pub(crate) added: Vec<Added>,
    /// Sequence number up to which every write is in the version's tables.
    pub(crate) last_seq: SeqNo,
    /// First value file to which a flushed memtable had a pointer. Replay would need it: the log
    /// still holds that record, whether or not a table holds the pointer.
    pub(crate) first_values: Option<u64>,
    /// Time at which the oldest of these versions became visible to readers.
    pub(crate) since_ns: u64,
    /// Number of versions that it combines.
    pub(crate) installed: u64,
}

impl Pending {
    /// Appends the changes that were installed after this.
    pub(crate) fn then(mut self, newer: Pending) -> Pending {
        assert!(
            self.installed > 0 && newer.installed > 0,
            "only installed versions wait for their syncs"
        );
        self.added.extend(newer.added);
        Pending {
            version: newer.version,
            added: self.added,
            // A compaction that was installed while a flush was being made durable has only the
            // earlier durable number. The number never decreases.
            last_seq: self.last_seq.max(newer.last_seq),
            first_values: self
                .first_values
                .into_iter()
                .chain(newer.first_values)
                .min(),
            since_ns: self.since_ns.min(newer.since_ns),
            installed: self.installed + newer.installed,
        }
    }
}

/// The state that the manifest describes, and the changes installed since.
#[derive(Debug)]
pub(crate) struct DurableState {
    /// Version that the durable manifest describes.
    pub(crate) version: Arc<Version>,
    /// Sequence number up to which every write is in its tables.
    pub(crate) seq: SeqNo,
    /// Number of dead bytes of value files, as far as the manifest counts them.
    pub(crate) dead: BTreeMap<u64, u64>,
    /// Versions installed since the last persister pass.
    pub(crate) pending: Option<Pending>,
    /// Number of versions installed by this handle.
    pub(crate) installed: u64,
    /// Number of installed versions that are durable.
    pub(crate) persisted: u64,
    /// Whether a persister pass, or a removal of value files, is running.
    pub(crate) persisting: bool,
    /// Number of the manifest that CURRENT names.
    pub(crate) manifest: u64,
    /// Number of the last manifest that could not be completed and was left in the directory, or 0.
    pub(crate) failed_manifest: u64,
}

/// Flushes that are not installed yet.
#[derive(Debug)]
pub(crate) struct Flushes {
    /// Unordered: the memtables determine which is installed first.
    pub(crate) running: Vec<Flush>,
    pub(crate) next: u64,
    /// Start time and duration of the flush that ended last.
    pub(crate) last: (u64, u64),
}

/// Running compactions, and tables that no compaction may take.
#[derive(Debug, Default)]
pub(crate) struct Compactions {
    /// Runs from which each compaction takes tables.
    pub(crate) running: Vec<Vec<u64>>,
    /// Number of callers that wait to compact a range of keys; no other compaction starts before
    /// them.
    pub(crate) range_waiting: usize,
    /// Tables that a compaction found damaged or could not read, with the error. The picker skips
    /// them.
    pub(crate) damaged: BTreeMap<u64, Error>,
    /// Number of times that a compaction could not read a table.
    pub(crate) unreadable: BTreeMap<u64, u32>,
}

/// Drops of keyspaces, by their number, and deletions of ranges, by their sequence number, up to
/// some moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndedUntil {
    pub(crate) drops: u64,
    pub(crate) ranges: SeqNo,
}

impl EndedUntil {
    /// Returns whether all of `other` is included.
    pub(crate) fn includes(self, other: EndedUntil) -> bool {
        self.drops >= other.drops && self.ranges >= other.ranges
    }
}

/// The drops and deletions for which the tables were searched.
#[derive(Debug, Default)]
pub(crate) struct EndedSearched {
    /// No table holds nothing but their entries.
    pub(crate) whole: EndedUntil,
    /// No table is known to hold one.
    pub(crate) partial: EndedUntil,
    /// What `partial` will be once the search that is under way finds nothing. Without this a fast
    /// writer that deletes ranges would keep it from ending.
    pub(crate) goal: EndedUntil,
}

/// State of the background threads.
#[derive(Debug, Default)]
pub(crate) struct Background {
    pub(crate) idle: Idle,
    /// Number of callers that wait for idle work, which then starts at once instead of after a
    /// pause of writes.
    pub(crate) hurrying: usize,
    /// Time before which nothing is tried after a failure.
    pub(crate) retry_at_ns: u64,
    /// Length of the pause after the last failure.
    pub(crate) retry_ns: u64,
}

/// A long batch that is inserted into several memtables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchParts {
    /// Last sequence number before it.
    pub(crate) before: SeqNo,
    /// Its last sequence number.
    pub(crate) last: SeqNo,
    /// Whether a part is still to be inserted.
    pub(crate) open: bool,
}

/// The state guarded by the state lock.
#[derive(Debug)]
pub(crate) struct EngineState {
    pub(crate) mutable: Memtables,
    /// Oldest first.
    pub(crate) immutables: VecDeque<ImmutableMemtable>,
    /// The newest version.
    pub(crate) version: Arc<Version>,
    /// Number of the next run.
    pub(crate) next_run: u64,
    /// Sequence number up to which every write is in the tables of the newest version.
    pub(crate) flushed_seq: SeqNo,
    /// The deleted ranges that readers of the newest views know.
    pub(crate) ranges: Sections<Arc<RangeDeletions>>,
    pub(crate) durable: DurableState,
    pub(crate) flushes: Flushes,
    pub(crate) compactions: Compactions,
    pub(crate) ended: EndedSearched,
    pub(crate) value_gc: ValueGcState,
    pub(crate) squeezes: Squeezes,
    pub(crate) background: Background,
    /// The last batch that was inserted in parts.
    pub(crate) parts: Option<BatchParts>,
    /// Whether the handle is being closed: jobs stop at the next step.
    pub(crate) closing: bool,
}

impl EngineState {
    /// Returns whether a flush, a compaction or a persister pass is running.
    pub(crate) fn at_work(&self) -> bool {
        self.flushing() || self.is_compacting() || self.durable.persisting
    }

    /// Returns the largest sequence number that a view of this state may be read at.
    pub(crate) fn readable_max(&self) -> SeqNo {
        let open = self.parts.filter(|parts| parts.open);
        open.map_or(SEQ_MAX, |parts| parts.before)
    }

    /// Returns whether memtables hold a part of a batch of which tables may hold another. The
    /// tables must not be made durable: a crash would leave a part of the batch.
    pub(crate) fn holds_part(&self) -> bool {
        let immutables = self.immutables.iter().map(|immutable| &immutable.mem);
        let mut memtables = immutables.chain([&self.mutable]);
        self.parts
            .is_some_and(|parts| memtables.any(|mem| mem.seq_min() <= parts.last))
    }

    /// Returns whether one more compaction may start.
    pub(crate) fn may_compact(&self) -> bool {
        !self.closing
            && self.compactions.range_waiting == 0
            && self.compactions.running.len() < COMPACTIONS_MAX
    }

    /// Returns whether a relocation may start. It requires that no other job changes the version.
    pub(crate) fn may_relocate(&self) -> bool {
        !self.is_compacting() && self.may_compact()
    }

    /// Reserves the plan's runs, and all older ones, until [`EngineState::end_compaction`].
    pub(crate) fn begin_compaction(&mut self, plan: CompactionPlan) -> CompactionPlan {
        let runs = plan.runs();
        let mut running = self.compactions.running.iter().flatten();
        assert!(
            !running.any(|run| runs.contains(run)),
            "a run is compacted once at a time"
        );
        assert!(
            self.compactions.running.len() < COMPACTIONS_MAX,
            "the caller checked that a compaction may start"
        );
        assert!(
            plan.inputs
                .windows(2)
                .all(|pair| self.is_above(pair[0].id, pair[1].id)),
            "the inputs are runs of the newest version, newest first"
        );
        self.compactions.running.push(runs);
        plan
    }

    /// Returns whether run `above` is newer than run `below`.
    fn is_above(&self, above: u64, below: u64) -> bool {
        let at = |id: u64| self.version.runs.iter().position(|run| run.id == id);
        at(above).is_some_and(|above| at(below).is_some_and(|below| above < below))
    }

    /// Releases the runs of `plan`, whether or not it succeeded.
    pub(crate) fn end_compaction(&mut self, plan: &CompactionPlan) {
        let runs = plan.runs();
        let at = self
            .compactions
            .running
            .iter()
            .position(|running| *running == runs);
        self.compactions
            .running
            .swap_remove(at.expect("a compaction stays listed until it ends"));
        if let Some(relocation) = &plan.relocation {
            self.value_gc.end(relocation);
        }
    }

    /// Returns whether a compaction is running.
    pub(crate) fn is_compacting(&self) -> bool {
        !self.compactions.running.is_empty()
    }

    /// Returns the number of runs, counted from the newest, that are newer than all runs being
    /// compacted. Another compaction may take these: its output stays newer.
    pub(crate) fn free_runs(&self) -> usize {
        let taken = |run: &Arc<Run>| {
            self.compactions
                .running
                .iter()
                .any(|running| running.contains(&run.id))
        };
        let runs = &self.version.runs;
        runs.iter().position(taken).unwrap_or(runs.len())
    }

    /// Returns the number of entries in memtables.
    pub(crate) fn memtable_entries(&self) -> u64 {
        let immutables = self.immutables.iter().map(|immutable| &immutable.mem);
        let parts = immutables.chain([&self.mutable]).flat_map(Memtables::parts);
        parts.map(|part| part.len() as u64).sum()
    }

    pub(crate) fn immutable_bytes(&self) -> usize {
        self.immutables
            .iter()
            .map(|immutable| immutable.mem.allocated_bytes())
            .sum()
    }

    /// Returns the number of log bytes that the records of immutable memtables take.
    pub(crate) fn immutable_logged(&self) -> u64 {
        self.immutables
            .iter()
            .map(|immutable| immutable.logged)
            .sum()
    }

    /// Returns whether the immutable memtables that no flush has taken are worth a flush: they hold
    /// `due` bytes, too much of the log, or so many large values that overwritten ones should be
    /// counted.
    pub(crate) fn flush_due(&self, due: usize, settings: &Settings) -> bool {
        let waiting = || {
            self.immutables
                .iter()
                .filter(|immutable| immutable.flush.is_none())
        };
        let bytes: usize = waiting()
            .map(|immutable| immutable.mem.allocated_bytes())
            .sum();
        let logged: u64 = waiting().map(|immutable| immutable.logged).sum();
        let values: u64 = waiting().map(|immutable| immutable.values.bytes).sum();
        self.can_flush()
            && (bytes >= due
                || logged >= settings.budget.flush_logged
                || values >= settings.memtable_values_max())
    }

    /// Returns whether immutable memtables pile up, including those that are being flushed.
    pub(crate) fn is_crowded(&self, budget: &Budget) -> bool {
        self.immutable_bytes() >= budget.crowd() || self.immutable_logged() >= budget.crowd_logged()
    }

    /// Returns the number of immutable memtables that no flush has taken.
    pub(crate) fn waiting(&self) -> usize {
        let waiting = self
            .immutables
            .iter()
            .filter(|immutable| immutable.flush.is_none());
        waiting.count()
    }

    /// Returns whether a flush is running.
    pub(crate) fn flushing(&self) -> bool {
        self.flushes
            .running
            .iter()
            .any(|flush| flush.outcome.is_none())
    }

    /// Returns whether a flush may start: memtables wait, and one more thread may flush.
    pub(crate) fn can_flush(&self) -> bool {
        self.flushes.running.len() < FLUSHES_MAX
            && self
                .immutables
                .iter()
                .any(|immutable| immutable.flush.is_none())
    }
}

/// Maximum number of compactions: one by the worker, one by a stalled writer. Each holds a table
/// builder and a page of every run it reads; a compaction that a caller waits for holds both twice.
const COMPACTIONS_MAX: usize = 2;

/// Number of unsynced tables above which a persister pass starts, since each holds a descriptor
/// until it is synced. Twice as many stall writers.
pub(crate) const UNSYNCED_TABLES_MAX: usize = 128;

/// Maximum number of flushes: one by the worker, one by a stalled writer. Each holds a table
/// builder.
const FLUSHES_MAX: usize = 2;

/// Returns the error of a job that stops because the database is being closed.
pub(crate) fn stopped() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the compaction stopped because the database is being closed",
    )
}
