//! The main loop of the syncer, the thread that makes installed versions durable.
//!
//! It also unlinks files: the worker may compact for seconds, and compactions replace as much as
//! they write.

use std::time::Duration;

use cairndb_env::sync::MutexGuard;

use crate::durable::intervals::Intervals;
use crate::scheduler::policy::SYNCER;
use crate::scheduler::runner::{Choice, Ended, PERSIST_AFTER, Runner, Turn, Wait};
use crate::versions::engine_state::EngineState;

impl Runner {
    pub(crate) fn sync_loop(&self) {
        let mut turn = Turn::new(SYNCER);
        let wait = |mut state: MutexGuard<'_, EngineState>, limit| {
            self.base.versions.wait_work(&mut state, limit);
        };
        while self.syncer_turn(&mut turn, &wait) != Ended::Closing {}
    }

    /// Runs one task. If there is none, waits with `wait`.
    pub(super) fn syncer_turn(&self, turn: &mut Turn, wait: Wait<'_>) -> Ended {
        let intervals = Intervals { disk: &self.disk };
        intervals.tick();
        let state = self.base.versions.lock();
        if state.closing {
            return Ended::Closing;
        }
        if let Choice::Run(task) = self.next(turn, &state) {
            drop(state);
            // A failure is recorded, and returned to callers that need the result.
            let _ = self.run(turn, task);
            return Ended::Ran(task);
        }
        turn.wait(false);
        let now = self.base.env.now_ns();
        let poisoned = self.base.health.is_poisoned();
        if poisoned {
            // Wakes callers that wait for durability.
            self.base.versions.notify_changed();
        }
        let retry_at = state.background.retry_at_ns;
        let limit = if poisoned || state.durable.pending.is_none() || state.durable.persisting {
            None
        } else if retry_at > now {
            Some(Duration::from_nanos(retry_at - now))
        } else {
            Some(PERSIST_AFTER)
        };
        let tick = intervals.until_tick();
        wait(state, limit.into_iter().chain(tick).min());
        Ended::Waited
    }
}
