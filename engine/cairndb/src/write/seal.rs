//! `Sealer`: makes the mutable memtable immutable and starts another.

use std::sync::Arc;

use cairndb_mem::{ChunkPool, MemWriter, Memtable};

use crate::compaction::tables::Tables;
use crate::log::commit::{Commit, SealedMemtable};
use crate::log::payload::Payload;
use crate::state::memtables::{MemWriters, Memtables};
use crate::state::sections::Section;
use crate::state::stats::StallReason;
use crate::versions::base::Base;
use crate::versions::engine_state::{
    BatchParts, EngineState, ImmutableMemtable, UNSYNCED_TABLES_MAX,
};

pub(crate) struct Sealer {
    base: Arc<Base>,
    tables: Arc<Tables>,
    /// Memory of flushed memtables, reused for new ones: fresh pages cost more than the inserts.
    pub(crate) pool: Arc<ChunkPool>,
}

impl Sealer {
    pub(crate) fn new(base: &Arc<Base>, tables: &Arc<Tables>, pool: Arc<ChunkPool>) -> Sealer {
        Sealer {
            base: Arc::clone(base),
            tables: Arc::clone(tables),
            pool,
        }
    }

    /// Queues the mutable memtable for its flush and starts another. Returns the stall reason if
    /// the queue is full.
    pub(crate) fn seal(&self, commit: &mut Commit) -> Option<StallReason> {
        let mut state = self.base.versions.lock();
        if commit.mutable.is_empty() {
            return None;
        }
        assert!(
            commit.awaiting_sync.is_empty(),
            "only published entries are sealed"
        );
        // Closing adds at most one run, and its flush must not fail or wait for a compaction.
        if !commit.closing && self.tables.schedule.runs_hold_up(&state) {
            return Some(StallReason::Runs);
        }
        let unsynced = state.durable.pending.as_ref().map_or(0, |p| p.added.len());
        if unsynced > 2 * UNSYNCED_TABLES_MAX && !state.closing {
            return Some(StallReason::Log);
        }
        let budget = &self.base.settings.budget;
        let filled_bytes = commit.mutable.allocated_bytes();
        let waiting = state.immutable_bytes();
        // A queue that keeps too much of the log is as full as one that takes too much memory:
        // flushing the oldest memtables takes less time than shortening the log.
        if waiting > 0
            && (waiting + filled_bytes > budget.immutable_max()
                || state.immutable_logged() > budget.immutable_logged_max
                || self.tables.flusher.memtables_hold_up(&state))
        {
            return Some(StallReason::Memtable);
        }
        let filled = self.replace(commit, &mut state, false);
        state.immutables.push_back(ImmutableMemtable::from(filled));
        // Nothing else wakes an idle worker, which also flushes a small number of memtables.
        let rested = state.background.idle.disturb();
        self.base.versions.publish_view(&state);
        if rested || self.tables.flusher.flush_wanted(&state, budget.flush) {
            self.base.versions.notify_work();
        }
        None
    }

    /// Replaces the mutable memtables, and empty ones only if `fresh` is set. Returns the old ones.
    fn replace(&self, commit: &mut Commit, state: &mut EngineState, fresh: bool) -> SealedMemtable {
        let (mut mutable, mut writers) = (Memtables::default(), MemWriters::default());
        for section in Section::ALL {
            let Some(before) = commit.mutable.part(section) else {
                continue;
            };
            // An empty one goes on, so that idle sections do not take memory at each seal.
            let writer = if before.is_empty() && !fresh {
                commit.take_memtable(section)
            } else {
                self.memtable(section, before.next_prefix().to_vec())
            };
            mutable.add(section, Arc::clone(writer.table()));
            writers.add(section, writer);
        }
        let newest = state
            .immutables
            .back()
            .map(|immutable| immutable.mem.seq_max());
        assert!(
            commit.mutable.is_empty() || newest.is_none_or(|seq| seq < commit.mutable.seq_min()),
            "memtables are sealed in the order of their writes"
        );
        if !commit.mutable.is_empty() {
            self.base.sweeper.followers.seal(commit.last_seq);
        }
        state.mutable = mutable.clone();
        commit.replace_memtables(mutable, writers)
    }

    fn memtable(&self, section: Section, hint: Vec<u8>) -> MemWriter {
        let order = self.base.opener.orders[section].clone();
        let capacity = self.base.settings.budget.memtable;
        Memtable::pooled(&self.pool, order, hint, capacity).1
    }

    /// Adds the memtables of sections that `payload` is the first to write to since the last seal.
    pub(crate) fn add_memtables(&self, commit: &mut Commit, payload: &Payload<'_>) {
        let missing: Vec<Section> = commit.missing_memtables(payload).collect();
        if missing.is_empty() {
            return;
        }
        for section in missing {
            commit.add_memtable(section, self.memtable(section, Vec::new()));
        }
        let mut state = self.base.versions.lock();
        state.mutable = commit.mutable.clone();
        self.base.versions.publish_view(&state);
    }

    /// Prepares for a batch of `count` entries that is inserted in parts. From here on, new views
    /// are read as of before it. The mutable memtable, which is empty, is replaced too: a reader
    /// may hold a view that has it, and would see one part.
    pub(crate) fn begin_parts(&self, commit: &mut Commit, count: u64) {
        let mut state = self.base.versions.lock();
        assert!(
            commit.mutable.is_empty() && commit.awaiting_sync.is_empty(),
            "everything before a batch in parts is sealed and published"
        );
        state.parts = Some(BatchParts {
            before: commit.last_seq,
            last: commit.last_seq + count,
            open: true,
        });
        let empty = self.replace(commit, &mut state, true);
        assert!(empty.mem.is_empty(), "nothing is lost");
        self.base.versions.publish_view(&state);
    }

    /// Queues the mutable memtable, which a part of a batch fills, for its flush, and starts
    /// another if the queue takes it. Returns whether it did. Unlike [`Sealer::seal`], it does not
    /// stop for runs or the log: a compaction may wait for the commit lock, and the log grows by
    /// one record however long the batch is.
    pub(crate) fn seal_part(&self, commit: &mut Commit) -> bool {
        let mut state = self.base.versions.lock();
        assert!(
            state.readable_max() < commit.last_seq,
            "no view shows a part"
        );
        let budget = &self.base.settings.budget;
        let waiting = state.immutable_bytes();
        let filled_bytes = commit.mutable.allocated_bytes();
        if waiting > 0
            && (waiting + filled_bytes > budget.immutable_max()
                || state.immutable_logged() > budget.immutable_logged_max)
        {
            return false;
        }
        let filled = self.replace(commit, &mut state, true);
        state.immutables.push_back(ImmutableMemtable::from(filled));
        self.base.versions.publish_view(&state);
        if self.tables.flusher.flush_wanted(&state, budget.flush) {
            self.base.versions.notify_work();
        }
        true
    }

    /// Ends a batch in parts, all of which are inserted: new views show it once it is published.
    pub(crate) fn end_parts(&self) {
        let mut state = self.base.versions.lock();
        if let Some(parts) = &mut state.parts {
            parts.open = false;
        }
        self.base.versions.publish_view(&state);
    }
}
