//! The engine's state and its lock order. Methods live with what they do: writing, flushing,
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
//! `begin_rest`: it tries `state`, and takes `threads`, which is outside `state`.)

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use cairndb_base::{Error, ErrorKind, PageCache, Result, SeqNo};
use cairndb_env::sync::{Condvar, Mutex, MutexGuard};
use cairndb_env::{Background, Dir, DirLock, Env, FileSync, Join, Origin, forked};
use cairndb_mem::{ChunkPool, Memtable};

use crate::engine::leftovers::Leftovers;
use crate::engine::report::OpenReport;
use crate::engine::rest::Rest;
use crate::jobs::merge::Outcome;
use crate::jobs::output::OutputSettings;
use crate::jobs::relocation::Relocating;
use crate::read::view::{Shown, View};
use crate::state::budget::Budget;
use crate::state::context::ReadContext;
use crate::state::health::Health;
use crate::state::opener::TableOpener;
use crate::state::options::{Durability, WriteOptions};
use crate::state::reaper::Reaper;
use crate::state::reserve::Reserve;
use crate::state::snapshots::Snapshots;
use crate::state::squeezes::Squeezes;
use crate::state::stats::Stats;
use crate::state::version::{Run, TableHandle, Version};
use crate::write::commit::{Commit, Filled, PartValues};
use crate::write::manifest::Manifest;
use crate::write::segments::Segments;
use crate::write::values::ValueLog;

/// A sealed memtable part waiting for its flush.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) mem: Arc<Memtable>,
    /// Bytes of the log that its records take.
    pub(crate) logged: u64,
    /// The first segment that holds one of its records, none if it was not logged.
    pub(crate) first_segment: Option<u64>,
    /// What its pointers lead to.
    pub(crate) values: PartValues,
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
    pub(crate) sealed: VecDeque<Part>,
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
    pub(crate) merges: Vec<Vec<u64>>,
    /// Callers that wait to merge a range of keys: no other merge begins before them.
    pub(crate) range_merges_waiting: usize,
    pub(crate) persisting: bool,
    pub(crate) rest: Rest,
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
        self.flushing() || self.merging() || self.persisting
    }

    /// Some thread merges runs.
    pub(crate) fn merging(&self) -> bool {
        !self.merges.is_empty()
    }

    /// How many runs, from the newest on, are newer than all that are being merged: another merge may
    /// take these, and what it makes of them stays newer.
    pub(crate) fn free_runs(&self) -> usize {
        let taken = |run: &Arc<Run>| self.merges.iter().any(|merge| merge.contains(&run.id));
        let runs = &self.version.runs;
        runs.iter().position(taken).unwrap_or(runs.len())
    }

    pub(crate) fn sealed_bytes(&self) -> usize {
        self.sealed
            .iter()
            .map(|part| part.mem.allocated_bytes())
            .sum()
    }

    /// Bytes of the log that all sealed parts' records take.
    pub(crate) fn sealed_logged(&self) -> u64 {
        self.sealed.iter().map(|part| part.logged).sum()
    }

    /// Whether the sealed parts that no flush has taken are worth one: `due` bytes of memory, too much log, or
    /// large values enough that their overwriting should be known.
    pub(crate) fn flush_due(&self, due: usize, settings: &Settings) -> bool {
        let waiting = || self.sealed.iter().filter(|part| part.flush.is_none());
        let bytes: usize = waiting().map(|part| part.mem.allocated_bytes()).sum();
        let logged: u64 = waiting().map(|part| part.logged).sum();
        let values: u64 = waiting().map(|part| part.values.bytes).sum();
        self.can_flush()
            && (bytes >= due
                || logged >= settings.budget.flush_logged
                || values >= settings.part_values_max())
    }

    /// Whether sealed parts pile up, those being flushed included.
    pub(crate) fn is_crowded(&self, budget: &Budget) -> bool {
        self.sealed_bytes() >= budget.crowd() || self.sealed_logged() >= budget.crowd_logged()
    }

    /// Sealed parts that no flush has taken.
    pub(crate) fn waiting(&self) -> usize {
        let waiting = self.sealed.iter().filter(|part| part.flush.is_none());
        waiting.count()
    }

    /// Whether some thread is flushing.
    pub(crate) fn flushing(&self) -> bool {
        self.flushes.iter().any(|flush| flush.outcome.is_none())
    }

    /// Whether a flush can begin: parts wait, and a thread more may work at them.
    pub(crate) fn can_flush(&self) -> bool {
        self.flushes.len() < FLUSHES_MAX && self.sealed.iter().any(|part| part.flush.is_none())
    }
}

/// The worker, and a writer that has no room left. Every flush holds a table builder.
const FLUSHES_MAX: usize = 2;

/// Settings that stay as they were at opening.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) budget: Budget,
    pub(crate) durability: Durability,
    pub(crate) output: OutputSettings,
    pub(crate) read_only: bool,
    /// Value files are closed when they reach this length.
    pub(crate) value_file: u64,
}

impl Settings {
    /// The durability that a write with these options has.
    pub(crate) fn durability_of(&self, options: WriteOptions) -> Durability {
        options.durability.unwrap_or(self.durability)
    }

    /// Large values that a part may have pointers to: which of them are dead is known once tables have the pointers.
    pub(crate) fn part_values_max(&self) -> u64 {
        (self.value_file / 4).clamp(PART_VALUES_MIN, PART_VALUES_MAX)
    }
}

/// However short value files are, and however long.
const PART_VALUES_MIN: u64 = 1 << 20;
const PART_VALUES_MAX: u64 = 64 << 20;

/// One open database.
pub(crate) struct Core {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) dir: Arc<dyn Dir>,
    /// The directory's lock, given up by closing; held while obsolete files are unlinked.
    pub(crate) lock: Mutex<Option<Box<dyn DirLock>>>,
    /// The process that opened the database.
    pub(crate) origin: Origin,
    /// Held by whoever closes, from beginning to end: what a failed close failed with.
    pub(crate) close_turn: Mutex<Option<Error>>,
    pub(crate) settings: Settings,
    pub(crate) context: Arc<ReadContext>,
    pub(crate) cache: Arc<dyn PageCache>,
    /// Memory of flushed parts, for the next ones: fresh pages cost more than the inserts.
    pub(crate) pool: Arc<ChunkPool>,
    pub(crate) health: Arc<Health>,
    pub(crate) stats: Stats,
    pub(crate) snapshots: Snapshots,
    pub(crate) reserve: Reserve,
    pub(crate) reaper: Arc<Reaper>,
    pub(crate) opener: Arc<TableOpener>,
    /// All but the files that were skipped.
    pub(crate) report: OpenReport,

    pub(crate) view: ArcSwap<View>,
    /// The number of the newest view, stored before the view itself.
    pub(crate) newest_view: AtomicU64,
    pub(crate) shown: Shown,
    pub(crate) published: AtomicU64,

    pub(crate) commit: Mutex<Commit>,
    pub(crate) committed: Condvar,
    pub(crate) segments: Segments,
    pub(crate) manifest: Manifest,
    pub(crate) values: ValueLog,
    /// Where values go that are copied out of files that are mostly dead.
    pub(crate) moved: Arc<ValueLog>,
    /// The manifest mentions a log or value file whose own name may not be durable yet.
    pub(crate) names_dirty: AtomicBool,
    /// Held from claiming dirty values, names and edits until their syncs are done: whoever finds
    /// nothing to claim must not acknowledge before the one who claimed it has finished.
    pub(crate) sync_turn: Mutex<()>,
    /// Files found at opening that no manifest names; those that are ours go once this handle
    /// writes.
    pub(crate) leftovers: Leftovers,

    pub(crate) state: Mutex<State>,
    /// Signalled at every change of `state` that a waiting caller could want.
    pub(crate) changed: Condvar,
    /// Signalled when there is work for the worker or the syncer.
    pub(crate) work: Condvar,
    /// Callers of `compact_range` on the way.
    pub(crate) compacting: AtomicUsize,
    pub(crate) next_file: AtomicU64,
    /// The merge operator that the database was used with before, whether this handle has it or not.
    pub(crate) stored_operator: Option<String>,
    pub(crate) threads: Mutex<Vec<Join>>,
    pub(crate) threads_started: AtomicBool,
    /// For the threads to hold on to the engine.
    pub(crate) myself: Weak<Core>,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("dir", &self.dir.path())
            .finish_non_exhaustive()
    }
}

impl Core {
    /// The view and the sequence number to read at: the newest of both, view first.
    #[inline]
    pub(crate) fn read_point(&self) -> (arc_swap::Guard<Arc<View>>, SeqNo) {
        let view = self.view.load();
        let seq = self.published.load(Ordering::Acquire);
        (view, seq)
    }

    /// What opening found, skipped files included: those are looked for at the first call.
    pub(crate) fn open_report(&self) -> &OpenReport {
        let dir = (!self.health.is_closed()).then_some(&*self.dir);
        self.leftovers.report(&self.report, dir)
    }

    pub(crate) fn stepped(&self) -> bool {
        self.env.background() == Background::Stepped
    }

    /// Makes `state` what readers see.
    pub(crate) fn publish_view(&self, state: &State) {
        let sealed = state.sealed.iter().rev();
        let old = self.view.load();
        let view = Arc::new(View::new(
            Arc::clone(&state.mutable),
            sealed.map(|part| Arc::clone(&part.mem)).collect(),
            Arc::clone(&state.version),
            old.readers.clone(),
            old.number + 1,
        ));
        drop(old);
        view.readers.stripes.begin_view(view.number);
        self.shown.note(&view);
        // Release, and first: who sees a sequence number that was published over this view sees that there is
        // a newer one than the view before.
        self.newest_view.store(view.number, Ordering::Release);
        self.view.store(view);
    }

    /// A file number never used before.
    pub(crate) fn new_file(&self) -> u64 {
        // Relaxed: only uniqueness matters.
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// Everything somebody may read at: open snapshots and the published number.
    pub(crate) fn readable_at(&self) -> Vec<SeqNo> {
        let mut list = self.snapshots.list();
        let published = self.published.load(Ordering::Acquire);
        if list.last().is_none_or(|last| *last < published) {
            list.push(published);
        }
        list
    }

    /// The turn to claim what waits for a sync and to sync it. Whoever claims and fails has poisoned the
    /// handle before he gives the turn up: whoever has it next finds nothing to claim, and must not take for
    /// durable what was lost.
    ///
    /// # Errors
    /// `Poisoned`, `Closed`.
    pub(crate) fn take_sync_turn(&self) -> Result<MutexGuard<'_, ()>> {
        let turn = self.sync_turn.lock();
        self.health.check_write()?;
        Ok(turn)
    }

    /// Poisons the handle and wakes whoever waits for what will not come. Not under the state lock.
    pub(crate) fn poison(&self, error: Error) -> Error {
        let error = self.health.poison(error);
        // Locked in between: who has looked at the health and does not wait yet would miss it.
        drop(self.state.lock());
        self.changed.notify_all();
        self.work.notify_all();
        error
    }

    /// Refuses what a forked child writes, before it waits for a lock that a thread of the parent may have
    /// held at the fork, and before it stores anything into the log that both have mapped.
    #[inline]
    pub(crate) fn check_here(&self) -> Result<()> {
        if self.origin.is_here() {
            Ok(())
        } else {
            Err(forked())
        }
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_here()?;
        if self.settings.read_only {
            return Err(Error::new(
                ErrorKind::ReadOnly,
                "the database was opened read-only; open it for writing",
            ));
        }
        self.health.check_write()
    }

    /// Waits until `done` holds for the state.
    pub(crate) fn wait_state<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        mut done: impl FnMut(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        while !done(&state) {
            self.changed.wait(&mut state);
        }
        state
    }
}
