//! What the state lock guards, and the order of all locks.
//!
//! The methods of `State` answer questions about it; its owners change it: `Installer`,
//! `Persister`, `Flusher`, `Compactor`, `Sealer`, `DeadFiles`.
//!
//! Lock order, outermost first:
//!
//! | lock | guards | held across I/O |
//! |---|---|---|
//! | `Closer::close_turn` | closing, from beginning to end | everything |
//! | `Sweeper::lock` | the directory lock | unlinking of obsolete files |
//! | `Log::commit` | mutable memtable, log position, sequence numbers | log and manifest appends; a sync only (1) |
//! | `Manifests::sync_turn` | the claim to what waits for a sync | syncs, and the manifest append between them |
//! | `Scheduler::threads` | the threads that closing joins | starting them |
//! | `VersionSet::state` | this | never |
//! | `Reserve::turn` | creation of files on a nearly full disk | that |
//! | inner locks (2) | their own fields | appends; `values` and `moved` also a sync |
//!
//! (1) while a whole manifest is written, of value files if more than 64 wait, and at closing. (2)
//! of segments, manifest, values, moved, snapshots, published views, files, reaper, dictionaries.
//!
//! Readers take none of them: they load the view and the published sequence number. Exception: a
//! read may start the worker (`Scheduler::start_for_readers`). It try-locks the state, releases it,
//! then takes `threads`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, SeqNo};
use cairndb_env::FileSync;
use cairndb_mem::Memtable;

use crate::jobs::job::Outcome;
use crate::jobs::plan::CompactionPlan;
use crate::jobs::relocation::ValueGcState;
use crate::log::commit::{MemtableValues, SealedMemtable};
use crate::state::budget::Budget;
use crate::state::squeezes::Squeezes;
use crate::state::version::{Run, TableHandle, Version};
use crate::versions::idle::Idle;
use crate::versions::shared::Settings;

/// A full memtable that waits for its flush.
#[derive(Clone, Debug)]
pub(crate) struct ImmutableMemtable {
    pub(crate) mem: Arc<Memtable>,
    /// Bytes of its records in the log.
    pub(crate) logged: u64,
    /// The first segment that holds one of its records; `None` if it was not logged.
    pub(crate) first_segment: Option<u64>,
    /// The large values that it points to.
    pub(crate) values: MemtableValues,
    /// The flush that has taken it; `None` while it waits for one.
    pub(crate) flush: Option<u64>,
}

impl From<SealedMemtable> for ImmutableMemtable {
    fn from(sealed: SealedMemtable) -> ImmutableMemtable {
        ImmutableMemtable {
            mem: sealed.mem,
            logged: sealed.logged,
            first_segment: sealed.first_segment,
            values: sealed.values,
            flush: None,
        }
    }
}

/// A flush that is running, or is done and waits until an older one is installed.
#[derive(Debug)]
pub(crate) struct Flush {
    pub(crate) number: u64,
    /// What it wrote, once it is done.
    pub(crate) outcome: Option<Outcome>,
}

/// A table handle that is new in a version.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) table: Arc<TableHandle>,
    /// Syncs the file before the manifest may name it; `None` for a table that only changed its
    /// run.
    pub(crate) sync: Option<Arc<dyn FileSync>>,
}

/// What readers see and the manifest does not describe yet. Only the newest version is kept: a
/// version with a thousand tables takes as much memory as a small memtable.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The newest version.
    pub(crate) version: Arc<Version>,
    /// Tables added since the durable version, including those that were compacted away since.
    pub(crate) added: Vec<Added>,
    /// Every write up to here is in the version's tables.
    pub(crate) last_seq: SeqNo,
    /// The first value file that a flushed memtable had a pointer to. Replay would need it: the log
    /// still holds that record, whether or not a table holds the pointer.
    pub(crate) first_values: Option<u64>,
    /// When readers began to see the oldest of these versions.
    pub(crate) since_ns: u64,
    /// How many versions it stands for.
    pub(crate) installed: u64,
}

impl Pending {
    /// Appends what was installed after this.
    pub(crate) fn then(mut self, newer: Pending) -> Pending {
        self.added.extend(newer.added);
        Pending {
            version: newer.version,
            added: self.added,
            // A compaction that was installed while a flush was being made durable knew only what
            // was durable before. The number never decreases.
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

/// What the manifest describes, and what was installed since.
#[derive(Debug)]
pub(crate) struct DurableState {
    /// The version that the durable manifest describes.
    pub(crate) version: Arc<Version>,
    /// Every write up to here is in its tables.
    pub(crate) seq: SeqNo,
    /// Dead bytes of value files, as far as the manifest counts them.
    pub(crate) dead: BTreeMap<u64, u64>,
    /// Versions installed since the last pass.
    pub(crate) pending: Option<Pending>,
    /// Versions installed by this handle.
    pub(crate) installed: u64,
    /// How many of them are durable.
    pub(crate) persisted: u64,
    /// A pass of the persister, or a removal of value files, is running.
    pub(crate) persisting: bool,
    /// The number of the manifest that CURRENT names.
    pub(crate) manifest: u64,
    /// The number of the last manifest that could not be begun and was left there, or 0.
    pub(crate) failed_manifest: u64,
}

/// Flushes that are not installed yet.
#[derive(Debug)]
pub(crate) struct Flushes {
    /// In no order: the memtables determine which is installed first.
    pub(crate) running: Vec<Flush>,
    pub(crate) next: u64,
    /// Begin and duration of the flush that ended last.
    pub(crate) last: (u64, u64),
}

/// Compactions that are running, and tables that none may take.
#[derive(Debug, Default)]
pub(crate) struct Compactions {
    /// The runs that each compaction takes tables of.
    pub(crate) running: Vec<Vec<u64>>,
    /// Callers that wait to compact a range of keys: no other compaction begins before them.
    pub(crate) range_waiting: usize,
    /// Tables that a compaction found damaged or could not read, with the error. The picker leaves
    /// them alone.
    pub(crate) damaged: BTreeMap<u64, Error>,
    /// How often a compaction could not read a table.
    pub(crate) unreadable: BTreeMap<u64, u32>,
}

/// State of the background threads.
#[derive(Debug, Default)]
pub(crate) struct Background {
    pub(crate) idle: Idle,
    /// Callers that wait for idle work: it begins at once instead of after a pause of writes.
    pub(crate) hurrying: usize,
    /// After a failure, nothing is tried before this moment.
    pub(crate) retry_at_ns: u64,
    /// Length of the pause after the last failure.
    pub(crate) retry_ns: u64,
}

/// What the state lock guards.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) mutable: Arc<Memtable>,
    /// Oldest first.
    pub(crate) immutables: VecDeque<ImmutableMemtable>,
    /// The newest version.
    pub(crate) version: Arc<Version>,
    /// The number of the next run.
    pub(crate) next_run: u64,
    pub(crate) durable: DurableState,
    pub(crate) flushes: Flushes,
    pub(crate) compactions: Compactions,
    pub(crate) value_gc: ValueGcState,
    pub(crate) squeezes: Squeezes,
    pub(crate) background: Background,
    /// The handle is being closed: jobs stop at the next step.
    pub(crate) closing: bool,
}

impl State {
    /// Whether a flush, a compaction or a pass of the persister is running.
    pub(crate) fn at_work(&self) -> bool {
        self.flushing() || self.is_compacting() || self.durable.persisting
    }

    /// Whether one more compaction may begin.
    pub(crate) fn may_compact(&self) -> bool {
        !self.closing
            && self.compactions.range_waiting == 0
            && self.compactions.running.len() < COMPACTIONS_MAX
    }

    /// Whether a relocation may begin. It needs the version to itself.
    pub(crate) fn may_relocate(&self) -> bool {
        !self.is_compacting() && self.may_compact()
    }

    /// Reserves the plan's runs, and all older ones, until [`State::end_compaction`].
    pub(crate) fn begin_compaction(&mut self, plan: CompactionPlan) -> CompactionPlan {
        self.compactions.running.push(plan.runs());
        plan
    }

    /// Gives the runs of `plan` free, whether it succeeded or not.
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

    /// Whether a compaction is running.
    pub(crate) fn is_compacting(&self) -> bool {
        !self.compactions.running.is_empty()
    }

    /// Returns how many runs, counted from the newest, are newer than all that are being compacted.
    /// Another compaction may take those: its output stays newer.
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

    pub(crate) fn immutable_bytes(&self) -> usize {
        self.immutables
            .iter()
            .map(|immutable| immutable.mem.allocated_bytes())
            .sum()
    }

    /// Bytes of the log that the records of immutable memtables take.
    pub(crate) fn immutable_logged(&self) -> u64 {
        self.immutables
            .iter()
            .map(|immutable| immutable.logged)
            .sum()
    }

    /// Whether the immutable memtables that no flush has taken are worth one: they hold `due`
    /// bytes, too much log, or so many large values that their overwriting should be counted.
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

    /// Whether immutable memtables pile up, including those that are being flushed.
    pub(crate) fn is_crowded(&self, budget: &Budget) -> bool {
        self.immutable_bytes() >= budget.crowd() || self.immutable_logged() >= budget.crowd_logged()
    }

    /// Immutable memtables that no flush has taken.
    pub(crate) fn waiting(&self) -> usize {
        let waiting = self
            .immutables
            .iter()
            .filter(|immutable| immutable.flush.is_none());
        waiting.count()
    }

    /// Whether a flush is running.
    pub(crate) fn flushing(&self) -> bool {
        self.flushes
            .running
            .iter()
            .any(|flush| flush.outcome.is_none())
    }

    /// Whether a flush may begin: memtables wait, and one more thread may flush.
    pub(crate) fn can_flush(&self) -> bool {
        self.flushes.running.len() < FLUSHES_MAX
            && self
                .immutables
                .iter()
                .any(|immutable| immutable.flush.is_none())
    }
}

/// One of the worker, one of a stalled writer. Each holds a table builder and a page of every run
/// it reads; a compaction that a caller waits for holds both twice.
const COMPACTIONS_MAX: usize = 2;

/// More unsynced tables than this start a pass of the persister, since each keeps a descriptor
/// until it is synced. Twice as many stall writers.
pub(crate) const UNSYNCED_TABLES_MAX: usize = 128;

/// One of the worker, one of a stalled writer. Each holds a table builder.
const FLUSHES_MAX: usize = 2;

/// The error of a job that stops because the database is being closed.
pub(crate) fn stopped() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the compaction stopped because the database is being closed",
    )
}
