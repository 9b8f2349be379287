//! Makes the mutable memtable immutable.

use std::sync::Arc;

use cairndb_mem::{ChunkPool, Memtable};

use crate::compaction::schedule::Schedule;
use crate::flush::flusher::Flusher;
use crate::log::commit::Commit;
use crate::state::stats::StallReason;
use crate::versions::shared::Shared;
use crate::versions::state::{Part, UNSYNCED_TABLES_MAX};
use crate::versions::version_set::VersionSet;

/// Makes the mutable memtable immutable.
pub(crate) struct Sealer {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    flusher: Arc<Flusher>,
    schedule: Arc<Schedule>,
    /// Memory of flushed parts, for the next ones: fresh pages cost more than the inserts.
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

    /// Queues the mutable part for its flush and begins a new one; the reason when there is no
    /// room for another.
    pub(crate) fn seal(&self, commit: &mut Commit) -> Option<StallReason> {
        let mut state = self.versions.lock();
        if commit.mutable.is_empty() {
            return None;
        }
        assert!(
            commit.awaiting_sync.is_empty(),
            "only published entries are sealed"
        );
        // One run more is all that closing adds, and its flush must not fail, or wait, for a merge.
        if !commit.closing && self.schedule.runs_hold_up(&state) {
            return Some(StallReason::Runs);
        }
        let unsynced = state.pending.as_ref().map_or(0, |p| p.added.len());
        if unsynced > 2 * UNSYNCED_TABLES_MAX && !state.closing {
            return Some(StallReason::Log);
        }
        let budget = &self.shared.settings.budget;
        let filled_bytes = commit.mutable.allocated_bytes();
        let waiting = state.immutable_bytes();
        // A queue that keeps too much of the log is as full as one that takes too much memory: flushing
        // the oldest parts is less to wait for than making room in the log.
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
        state.immutables.push_back(Part::from(filled));
        // One that rests wakes for nothing else: few parts are flushed too, once no write comes.
        let rested = state.idle.disturb();
        self.versions.publish_view(&state);
        if rested || self.flusher.flush_wanted(&state, budget.flush) {
            self.versions.notify_work();
        }
        None
    }
}
