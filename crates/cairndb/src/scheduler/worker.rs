//! Background work: a worker that flushes before it merges, a syncer that makes things durable.
//!
//! Both start with the first write that needs them, or when reads have paid for a merge
//! ([`toll`](crate::read::read_cost)). Where the environment is stepped there are no
//! threads and [`Squeezer::step`] runs one job at a time, in an order the caller chooses. Idle work -
//! flushing what is sealed, merging to one run - begins when no write has come for a while.

use std::sync::Arc;
use std::time::Duration;

use cairndb_env::sync::MutexGuard;

use crate::compaction::compactor::Compactor;
use crate::compaction::schedule::Schedule;
use crate::durable::log::Log;
use crate::durable::reserve::DiskReserve;
use crate::durable::sweeper::Sweeper;
use crate::flush::flusher::Flusher;
use crate::scheduler::idle_space::IdleSpace;
use crate::space::make_room::SpaceMaker;
use crate::space::squeeze::Squeezer;
use crate::state::idle::LookedSince;
use crate::value_gc::dead_files::DeadFiles;
use crate::value_gc::run::{Moment, ValueGc};
use crate::versions::shared::Shared;
use crate::versions::state::State;
use crate::versions::version_set::VersionSet;

/// Without a write for this long, a database counts as idle.
const IDLE: Duration = Duration::from_millis(50);

/// A file that readers let go of a database at rest is unlinked after this long.
const REAP_AFTER: Duration = Duration::from_secs(1);

/// The last write the worker noticed, and when it did.
#[derive(Debug, Default)]
struct Seen {
    published: u64,
    since_ns: u64,
}

/// The loop of the thread that flushes and compacts.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    sweeper: Arc<Sweeper>,
    log: Arc<Log>,
    reserve: Arc<DiskReserve>,
    flusher: Arc<Flusher>,
    schedule: Arc<Schedule>,
    compactor: Arc<Compactor>,
    dead_files: Arc<DeadFiles>,
    value_gc: Arc<ValueGc>,
    squeezer: Arc<Squeezer>,
    space: Arc<SpaceMaker>,
    idle_space: Arc<IdleSpace>,
}

impl Worker {
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts it needs, each a type of its own"
    )]
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        sweeper: Arc<Sweeper>,
        log: Arc<Log>,
        reserve: Arc<DiskReserve>,
        flusher: Arc<Flusher>,
        schedule: Arc<Schedule>,
        compactor: Arc<Compactor>,
        dead_files: Arc<DeadFiles>,
        value_gc: Arc<ValueGc>,
        squeezer: Arc<Squeezer>,
        space: Arc<SpaceMaker>,
        idle_space: Arc<IdleSpace>,
    ) -> Worker {
        Worker {
            shared,
            versions,
            sweeper,
            log,
            reserve,
            flusher,
            schedule,
            compactor,
            dead_files,
            value_gc,
            squeezer,
            space,
            idle_space,
        }
    }

    pub(crate) fn work_loop(&self) {
        let mut seen = Seen::default();
        let mut flushed = false;
        loop {
            let mut state = self.versions.lock();
            if state.closing {
                return;
            }
            if self.reserve.take_due() {
                drop(state);
                self.reserve.tend_reserve();
                continue;
            }
            if self.held_off(&mut state) {
                drop(state);
                self.make_room_after_pause();
                continue;
            }
            // Where somebody waits for idle work, every other time: beside a fast writer there is
            // always something to flush, and a merge flushes between its steps.
            let hurrying = state.hurrying > 0;
            let skip = hurrying && std::mem::take(&mut flushed);
            if !skip
                && self
                    .flusher
                    .flush_wanted(&state, self.shared.settings.budget.flush)
            {
                drop(state);
                flushed = true;
                let bytes_max = self.shared.settings.budget.flush_max;
                let _ = self.space.with_room(|| self.flusher.flush_up_to(bytes_max));
                continue;
            }
            if hurrying && !state.idle.is_quiet() {
                drop(state);
                self.flush_deletes_when_nearly_full();
                state = self.versions.lock();
            }
            if self.schedule.compaction_wanted(&state, hurrying).is_some() {
                drop(state);
                let _ = if hurrying {
                    self.compactor.compact_idle()
                } else {
                    self.compactor.compact_once()
                };
                continue;
            }
            drop(state);
            // What fails is noted, and held off.
            if matches!(self.squeezer.squeeze_when_nearly_full(), Ok(true)) {
                continue;
            }
            if !matches!(self.value_gc.relocate_values(Moment::Load), Ok(false))
                || self.sweeper.reap()
            {
                continue;
            }
            self.idle(&mut seen);
        }
    }

    /// On a full disk readers may have let go of files meanwhile; once the pause is over, and not
    /// at every signal, room is made.
    fn make_room_after_pause(&self) {
        self.sweeper.reap();
        let over = self.versions.lock().retry_at_ns <= self.shared.env.now_ns();
        if over && self.shared.health.lacks_space() {
            // The latest deletions may be all that there is to be freed.
            let _ = self.idle_space.seal_for_space() || self.space.make_room_on_disk();
        }
    }

    /// Before a merge, which may have no room on a nearly full disk before what was deleted is in a
    /// table.
    fn flush_deletes_when_nearly_full(&self) {
        if self.reserve.is_near() && self.idle_space.seal_for_space() {
            let _ = self.space.with_room(|| self.flusher.flush_once());
        }
    }

    /// Waits out a failure's pause; whether there was one.
    fn held_off(&self, state: &mut MutexGuard<'_, State>) -> bool {
        let now = self.shared.env.now_ns();
        if state.retry_at_ns <= now && !self.shared.health.is_poisoned() {
            return false;
        }
        let pause = Duration::from_nanos(state.retry_at_ns.saturating_sub(now).max(1_000_000));
        // Whatever there is to do has to wait: for others that is rest.
        let since = state.idle.look();
        let _quiet = state.idle.settle(since);
        self.versions.notify_changed();
        if self.shared.health.is_poisoned() {
            self.versions.wait_work(state, None);
        } else {
            self.versions.wait_work(state, Some(pause));
        }
        true
    }

    /// Nothing is due. Waits for work; when no write came for a while, does what an idle database
    /// should.
    fn idle(&self, seen: &mut Seen) {
        let mut state = self.versions.lock();
        let since = state.idle.look();
        let published = self.versions.published();
        let now = self.shared.env.now_ns();
        if seen.published != published {
            *seen = Seen {
                published,
                since_ns: now,
            };
        }
        // By the clock, not by wakings: those come from segments and syncs too.
        let rested = Duration::from_nanos(now.saturating_sub(seen.since_ns));
        if rested >= IDLE || state.hurrying > 0 {
            if !state.idle.is_quiet() {
                drop(state);
                self.idle_space.seal_for_space();
                state = self.versions.lock();
            }
            if state.can_flush() {
                drop(state);
                let _ = self.space.with_room(|| self.flusher.flush_once());
                return;
            }
            if self.schedule.compaction_wanted(&state, true).is_some()
                || self.schedule.encoding_wanted(&state)
            {
                drop(state);
                let _ = self.compactor.compact_idle();
                return;
            }
            if !state.idle.is_quiet() {
                drop(state);
                if !matches!(self.value_gc.relocate_values(Moment::Idle), Ok(false)) {
                    return;
                }
                // What was being filled and is dead was closed just now.
                let _ = self.dead_files.drop_dead_values();
                if matches!(self.squeezer.squeeze_when_nearly_full(), Ok(true)) {
                    return;
                }
                self.reserve.tend_reserve();
                self.reserve.retake_reserve();
                state = self.versions.lock();
            }
            self.become_idle(state, since);
        } else if !state.closing {
            self.versions
                .wait_work(&mut state, Some(IDLE.saturating_sub(rested)));
        }
    }

    /// Nothing was found to do since `since`: says so, and waits for something.
    fn become_idle<'s>(&'s self, mut state: MutexGuard<'s, State>, since: LookedSince) {
        if !state.is_compacting() && !state.flushing() && !state.idle.is_quiet() {
            drop(state);
            self.log.trim_spares();
            state = self.versions.lock();
            if !state.idle.settle(since) {
                return;
            }
            self.versions.notify_changed();
        }
        if state.closing {
            return;
        }
        if !state.idle.is_quiet() {
            // Another thread flushes or merges.
            self.versions.wait_work(&mut state, Some(IDLE));
            return;
        }
        // A reader that lets go of a file tells nobody: it may hold any lock where its last view goes.
        while self.sweeper.reaper().awaits() {
            if !self.versions.wait_work(&mut state, Some(REAP_AFTER)) {
                return;
            }
            drop(state);
            self.sweeper.reap();
            state = self.versions.lock();
            if state.closing || !state.idle.is_quiet() {
                return;
            }
        }
        // Only new work ends this: a write wakes it when a part is sealed.
        self.versions.wait_work(&mut state, None);
    }
}
