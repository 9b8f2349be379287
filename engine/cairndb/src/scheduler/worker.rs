//! The main loop of the worker, the thread that flushes and compacts.
//!
//! It runs what the [policy](crate::scheduler::policy) chooses, and waits when there is nothing.
//! Idle work starts 50 ms after the last write, or as soon as a caller waits for it.
//!
//! The worker starts with the first write, or when reads have paid for a compaction
//! ([`crate::read::hints::read_cost`]). In a stepped environment there is no worker: see
//! [`crate::scheduler::steps`].

use std::time::Duration;

use cairndb_env::sync::MutexGuard;

use crate::scheduler::policy::WORKER;
use crate::scheduler::runner::{Choice, Ended, Runner, Turn, Wait};
use crate::versions::engine_state::EngineState;
use crate::versions::idle::LookedSince;

/// Time without a write after which a database is idle.
const IDLE: Duration = Duration::from_millis(50);

/// Time after which an idle database unlinks a file that readers have released.
const REAP_AFTER: Duration = Duration::from_secs(1);

/// What the worker remembers from turn to turn.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) turn: Turn,
    /// The last write that it noticed, and when.
    published: u64,
    since_ns: u64,
}

impl Memory {
    pub(super) fn new() -> Memory {
        Memory {
            turn: Turn::new(WORKER),
            published: 0,
            since_ns: 0,
        }
    }
}

impl Runner {
    pub(crate) fn work_loop(&self) {
        let mut memory = Memory::new();
        let wait = |mut state: MutexGuard<'_, EngineState>, limit| {
            self.base.versions.wait_work(&mut state, limit);
        };
        while self.worker_turn(&mut memory, &wait) != Ended::Closing {}
    }

    /// Runs one task. If there is none, waits with `wait`: for at most the given time, or until
    /// there is work.
    pub(super) fn worker_turn(&self, memory: &mut Memory, wait: Wait<'_>) -> Ended {
        let mut state = self.base.versions.lock();
        if state.closing {
            return Ended::Closing;
        }
        let mut rested = Duration::ZERO;
        let mut choice = self.next(&mut memory.turn, &state);
        if choice == Choice::Wait {
            // What a busy database needs is done. Only now it matters whether this one is busy.
            rested = self.rested(memory);
            memory.turn.rest(rested >= IDLE);
            choice = self.next(&mut memory.turn, &state);
        }
        let turn = &mut memory.turn;
        if let Choice::Run(task) = choice {
            drop(state);
            // A failure is recorded and followed by a pause.
            let _ = self.run(turn, task);
            return Ended::Ran(task);
        }
        let since = turn.wait(choice == Choice::Pause);
        let limit = if choice == Choice::Pause {
            self.pause(&mut state)
        } else if rested < IDLE && state.background.hurrying == 0 {
            Some(IDLE.saturating_sub(rested))
        } else if state.is_compacting() || state.flushing() {
            // Another thread works.
            Some(IDLE)
        } else if self.settle(&mut state, since) {
            // A reader that releases a file does not signal: it may hold any lock when it drops its
            // view. Otherwise only new work ends this wait; sealing a memtable signals it.
            let held = self.base.sweeper.reaper().has_pending();
            (held || self.base.sweeper.followers.has_kept()).then_some(REAP_AFTER)
        } else {
            return Ended::Waited;
        };
        wait(state, limit);
        Ended::Waited
    }

    /// Returns for how long nothing was written. Measured by the clock rather than by signals,
    /// because segments and syncs also signal.
    fn rested(&self, memory: &mut Memory) -> Duration {
        let published = self.base.versions.published();
        let now = self.base.env.now_ns();
        if memory.published != published {
            memory.published = published;
            memory.since_ns = now;
        }
        Duration::from_nanos(now.saturating_sub(memory.since_ns))
    }

    /// Returns the time to wait after a failure; `None` if nothing will work any more.
    fn pause(&self, state: &mut EngineState) -> Option<Duration> {
        // Nothing can be done during the pause, so callers may treat the database as idle.
        let since = state.background.idle.look();
        let _quiet = state.background.idle.settle(since);
        self.base.versions.notify_changed();
        let left = state
            .background
            .retry_at_ns
            .saturating_sub(self.base.env.now_ns());
        let pause = Duration::from_nanos(left.max(1_000_000));
        (!self.base.health.is_poisoned()).then_some(pause)
    }

    /// Records that the database is idle, unless work was announced since `since`. Returns whether
    /// it is.
    fn settle(&self, state: &mut EngineState, since: LookedSince) -> bool {
        let idle = &mut state.background.idle;
        let was_quiet = idle.is_quiet();
        let is_quiet = was_quiet || idle.settle(since);
        if is_quiet && !was_quiet {
            self.base.versions.notify_changed();
        }
        is_quiet
    }
}
