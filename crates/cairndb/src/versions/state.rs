//! What the state lock guards, and the lock order. Methods live with what they do: writing, flushing,
//! merging, installing, persisting, opening, closing.
//!
//! Lock order, outermost first:
//!
//! | lock | guards | held across I/O |
//! |---|---|---|
//! | `close_turn` | closing, from beginning to end | everything |
//! | `lock` | the directory's lock | unlinking of obsolete files |
//! | `commit` | mutable part, log position, sequence numbers | log and manifest appends, never a sync (but for a whole manifest, with the tables it is first to name, value files beyond 64, and at closing) |
//! | `sync_turn` | the claim to what waits for a sync | syncs, and the manifest append between them |
//! | `threads` | the threads that closing joins | starting them |
//! | `state` | sealed parts, versions, pending edits, job flags | never |
//! | inside `reserve` | files kept on a nearly full disk | creating them |
//! | inside `segments`, `manifest`, `values`, `moved`, `snapshots`, `shown`, `files`, `reaper`, `dictionaries` | their own fields | appends only, `values` and `moved` a sync, too |
//!
//! Readers wait for none of them: they load the view and the published sequence number. (One whose handle has no worker may begin it,
//! `start_for_readers`: it tries `state`, and takes `threads`, which is outside `state`.)

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, SeqNo};
use cairndb_env::FileSync;
use cairndb_mem::Memtable;

use crate::jobs::job::Outcome;
use crate::jobs::plan::CompactionPlan;
use crate::jobs::relocation::Relocating;
use crate::log::commit::{Filled, MemtableValues};
use crate::state::budget::Budget;
use crate::state::idle::Idle;
use crate::state::squeezes::Squeezes;
use crate::state::version::{Run, TableHandle, Version};
use crate::versions::shared::Settings;

/// A sealed memtable part waiting for its flush.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) mem: Arc<Memtable>,
    /// Bytes of the log that its records take.
    pub(crate) logged: u64,
    /// The first segment that holds one of its records, none if it was not logged.
    pub(crate) first_segment: Option<u64>,
    /// What its pointers lead to.
    pub(crate) values: MemtableValues,
    /// The flush that has taken it, none while it waits for one.
    pub(crate) flush: Option<u64>,
}

impl From<Filled> for Part {
    fn from(filled: Filled) -> Part {
        Part {
            mem: filled.mem,
            logged: filled.logged,
            first_segment: filled.first_segment,
            values: filled.values,
            flush: None,
        }
    }
}

/// A flush under way, or done and waiting for an older one to be installed first.
#[derive(Debug)]
pub(crate) struct Flush {
    pub(crate) number: u64,
    /// What it wrote, once it has.
    pub(crate) outcome: Option<Outcome>,
}

/// A table handle that a version is the first to have.
#[derive(Debug)]
pub(crate) struct Added {
    pub(crate) table: Arc<TableHandle>,
    /// How to sync the file before the manifest may name it; none for a file that only moved.
    pub(crate) sync: Option<Arc<dyn FileSync>>,
}

/// What readers see and the manifest does not know yet. Installing adds to it: only the newest version
/// is kept, for a version with a thousand tables takes as much memory as a small memtable.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The newest version.
    pub(crate) version: Arc<Version>,
    /// Tables added since the durable version, those merged away meanwhile included.
    pub(crate) added: Vec<Added>,
    /// Every write up to here is in the version's tables.
    pub(crate) last_seq: SeqNo,
    /// The first value file that a flushed part had a pointer to. The log still has that record, and
    /// would be replayed, whether a table has the pointer or not.
    pub(crate) first_values: Option<u64>,
    /// When readers began to see the first of it.
    pub(crate) since_ns: u64,
    /// Versions installed.
    pub(crate) installed: u64,
}

impl Pending {
    /// This and what was installed after it, as one.
    pub(crate) fn then(mut self, newer: Pending) -> Pending {
        self.added.extend(newer.added);
        Pending {
            version: newer.version,
            added: self.added,
            // A merge that was installed while a flush was being made durable knew only of what was
            // durable before; the number never goes back.
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

/// What the state lock guards.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) mutable: Arc<Memtable>,
    /// Oldest first.
    pub(crate) immutables: VecDeque<Part>,
    pub(crate) version: Arc<Version>,
    /// What the durable manifest says.
    pub(crate) durable: Arc<Version>,
    pub(crate) durable_seq: SeqNo,
    pub(crate) durable_dead: BTreeMap<u64, u64>,
    pub(crate) pending: Option<Pending>,
    /// Versions installed so far, and those of them that are durable.
    pub(crate) installed: u64,
    pub(crate) durable_installed: u64,
    pub(crate) next_run: u64,
    pub(crate) relocating: Relocating,
    pub(crate) squeezes: Squeezes,
    /// Tables that a merge found damaged, or could not read, and what it met: none is tried with them again
    /// by itself.
    pub(crate) damaged: BTreeMap<u64, Error>,
    /// How often a merge could not read a table.
    pub(crate) unreadable: BTreeMap<u64, u32>,
    /// The number of the manifest CURRENT names.
    pub(crate) manifest: u64,
    /// The last one that could not be begun and still lies there, or 0.
    pub(crate) failed_manifest: u64,
    /// Flushes that are not installed, in no order: the parts say which comes first.
    pub(crate) flushes: Vec<Flush>,
    pub(crate) next_flush: u64,
    /// The runs that each merge under way takes tables of.
    pub(crate) compactions: Vec<Vec<u64>>,
    /// Callers that wait to merge a range of keys: no other merge begins before them.
    pub(crate) range_compactions_waiting: usize,
    pub(crate) persisting: bool,
    pub(crate) idle: Idle,
    /// Callers that wait for idle work: it does not wait for a pause.
    pub(crate) hurrying: usize,
    pub(crate) closing: bool,
    /// Background work is held off until then (backing off after a failure).
    pub(crate) retry_at_ns: u64,
    pub(crate) retry_ns: u64,
    /// When the flush that ended last began, and how long it took.
    pub(crate) last_flush: (u64, u64),
}

impl State {
    /// Some thread writes files for a flush, a merge or the manifest.
    pub(crate) fn at_work(&self) -> bool {
        self.flushing() || self.is_compacting() || self.persisting
    }

    /// Whether one more compaction may begin.
    pub(crate) fn may_compact(&self) -> bool {
        !self.closing
            && self.range_compactions_waiting == 0
            && self.compactions.len() < COMPACTIONS_MAX
    }

    /// Whether a relocation may begin: it shares the version with no other merge.
    pub(crate) fn may_relocate(&self) -> bool {
        !self.is_compacting() && self.may_compact()
    }

    /// Keeps others off the plan's runs and those older, until [`State::end_compaction`].
    pub(crate) fn begin_compaction(&mut self, plan: CompactionPlan) -> CompactionPlan {
        self.compactions.push(plan.runs());
        plan
    }

    /// The merge of `plan` is over, however it ended.
    pub(crate) fn end_compaction(&mut self, plan: &CompactionPlan) {
        let runs = plan.runs();
        let at = self.compactions.iter().position(|merge| *merge == runs);
        self.compactions
            .swap_remove(at.expect("a merge is listed until it ends"));
        if let Some(relocation) = &plan.relocation {
            self.relocating.end(relocation);
        }
    }

    /// Some thread merges runs.
    pub(crate) fn is_compacting(&self) -> bool {
        !self.compactions.is_empty()
    }

    /// How many runs, from the newest on, are newer than all that are being merged: another merge may
    /// take these, and what it makes of them stays newer.
    pub(crate) fn free_runs(&self) -> usize {
        let taken = |run: &Arc<Run>| self.compactions.iter().any(|merge| merge.contains(&run.id));
        let runs = &self.version.runs;
        runs.iter().position(taken).unwrap_or(runs.len())
    }

    pub(crate) fn immutable_bytes(&self) -> usize {
        self.immutables
            .iter()
            .map(|part| part.mem.allocated_bytes())
            .sum()
    }

    /// Bytes of the log that all sealed parts' records take.
    pub(crate) fn immutable_logged(&self) -> u64 {
        self.immutables.iter().map(|part| part.logged).sum()
    }

    /// Whether the sealed parts that no flush has taken are worth one: `due` bytes of memory, too much log, or
    /// large values enough that their overwriting should be known.
    pub(crate) fn flush_due(&self, due: usize, settings: &Settings) -> bool {
        let waiting = || self.immutables.iter().filter(|part| part.flush.is_none());
        let bytes: usize = waiting().map(|part| part.mem.allocated_bytes()).sum();
        let logged: u64 = waiting().map(|part| part.logged).sum();
        let values: u64 = waiting().map(|part| part.values.bytes).sum();
        self.can_flush()
            && (bytes >= due
                || logged >= settings.budget.flush_logged
                || values >= settings.memtable_values_max())
    }

    /// Whether sealed parts pile up, those being flushed included.
    pub(crate) fn is_crowded(&self, budget: &Budget) -> bool {
        self.immutable_bytes() >= budget.crowd() || self.immutable_logged() >= budget.crowd_logged()
    }

    /// Sealed parts that no flush has taken.
    pub(crate) fn waiting(&self) -> usize {
        let waiting = self.immutables.iter().filter(|part| part.flush.is_none());
        waiting.count()
    }

    /// Whether some thread is flushing.
    pub(crate) fn flushing(&self) -> bool {
        self.flushes.iter().any(|flush| flush.outcome.is_none())
    }

    /// Whether a flush can begin: parts wait, and a thread more may work at them.
    pub(crate) fn can_flush(&self) -> bool {
        self.flushes.len() < FLUSHES_MAX && self.immutables.iter().any(|part| part.flush.is_none())
    }
}

/// A writer's beside another. Each holds a table builder and a page of every run it reads, one that a caller waits
/// for two of both.
const COMPACTIONS_MAX: usize = 2;

/// With so many unsynced tables there is a pass too: each keeps a descriptor until it is synced. Twice as
/// many hold up writers.
pub(crate) const UNSYNCED_TABLES_MAX: usize = 128;

/// The worker, and a writer that has no room left. Every flush holds a table builder.
const FLUSHES_MAX: usize = 2;

/// A job was given up because the database is being closed.
pub(crate) fn stopped() -> Error {
    Error::new(ErrorKind::Closed, "the merge was stopped by closing")
}
