//! `Sealer`: makes the mutable memtable immutable and starts another.

use std::sync::Arc;

use cairndb_mem::{ChunkPool, Memtable};

use crate::compaction::schedule::Schedule;
use crate::flush::flusher::Flusher;
use crate::log::commit::Commit;
use crate::state::stats::StallReason;
use crate::versions::shared::Shared;
use crate::versions::state::{ImmutableMemtable, UNSYNCED_TABLES_MAX};
use crate::versions::version_set::VersionSet;

pub(crate) struct Sealer {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    flusher: Arc<Flusher>,
    schedule: Arc<Schedule>,
    /// Memory of flushed memtables, reused for new ones: fresh pages cost more than the inserts.
    pool: Arc<ChunkPool>,
}

impl Sealer {
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        flusher: Arc<Flusher>,
        schedule: Arc<Schedule>,
        pool: Arc<ChunkPool>,
    ) -> Sealer {
        Sealer {
            shared,
            versions,
            flusher,
            schedule,
            pool,
        }
    }

    /// Queues the mutable memtable for its flush and starts another. Returns the stall reason if
    /// there is no room for one.
    pub(crate) fn seal(&self, commit: &mut Commit) -> Option<StallReason> {
        let mut state = self.versions.lock();
        if commit.mutable.is_empty() {
            return None;
        }
        assert!(
            commit.awaiting_sync.is_empty(),
            "only published entries are sealed"
        );
        // Closing adds at most one run, and its flush must not fail or wait for a compaction.
        if !commit.closing && self.schedule.runs_hold_up(&state) {
            return Some(StallReason::Runs);
        }
        let unsynced = state.durable.pending.as_ref().map_or(0, |p| p.added.len());
        if unsynced > 2 * UNSYNCED_TABLES_MAX && !state.closing {
            return Some(StallReason::Log);
        }
        let budget = &self.shared.settings.budget;
        let filled_bytes = commit.mutable.allocated_bytes();
        let waiting = state.immutable_bytes();
        // A queue that keeps too much of the log is as full as one that takes too much memory:
        // flushing the oldest memtables takes less time than making room in the log.
        if waiting > 0
            && (waiting + filled_bytes > budget.immutable_max()
                || state.immutable_logged() > budget.immutable_logged_max
                || self.flusher.memtables_hold_up(&state))
        {
            return Some(StallReason::Memtable);
        }
        let hint = commit.mutable.next_prefix().to_vec();
        let order = self.shared.context.order.clone();
        let (mutable, writer) = Memtable::pooled(&self.pool, order, hint, budget.memtable);
        let filled = commit.replace_memtable(Arc::clone(&mutable), writer);
        state.mutable = mutable;
        state.immutables.push_back(ImmutableMemtable::from(filled));
        // Nothing else wakes an idle worker, which also flushes a small number of memtables.
        let rested = state.background.idle.disturb();
        self.versions.publish_view(&state);
        if rested || self.flusher.flush_wanted(&state, budget.flush) {
            self.versions.notify_work();
        }
        None
    }
}
