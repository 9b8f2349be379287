//! `Worker`: the main loop of the thread that flushes and compacts.
//!
//! The order of work is: take or return the reserve, pause after a failure, flush, compact, rewrite
//! tables on a nearly full disk, collect garbage in value files. Idle work, which is compacting to
//! one run and compressing, starts 50 ms after the last write, or as soon as a caller waits for it.
//!
//! The worker starts with the first write, or when reads have paid for a compaction
//! ([`crate::read::hints::read_cost`]). In a stepped environment there is no worker: see
//! [`Steps`](crate::scheduler::steps::Steps).

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
use crate::value_gc::collect::{Moment, ValueGc};
use crate::value_gc::dead_files::DeadFiles;
use crate::versions::idle::LookedSince;
use crate::versions::shared::Shared;
use crate::versions::state::State;
use crate::versions::version_set::VersionSet;

/// Time without a write after which a database is idle.
const IDLE: Duration = Duration::from_millis(50);

/// Time after which an idle database unlinks a file that readers have released.
const REAP_AFTER: Duration = Duration::from_secs(1);

/// The last write that the worker noticed, and when.
#[derive(Debug, Default)]
struct Seen {
    published: u64,
    since_ns: u64,
}

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
        reason = "each parameter is a separate component"
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
            // If a caller waits for idle work, flush only every other time: with a fast writer some
            // flush is always due, and a compaction flushes between its steps.
            let hurrying = state.background.hurrying > 0;
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
            if hurrying && !state.background.idle.is_quiet() {
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
            // A failure is recorded and followed by a pause.
            if matches!(self.squeezer.squeeze_when_nearly_full(), Ok(true)) {
                continue;
            }
            let relocated = !matches!(self.value_gc.relocate_values(Moment::Load), Ok(false));
            // Also between relocations: a busy database may always have another.
            if self.sweeper.reap() || relocated {
                continue;
            }
            self.idle(&mut seen);
        }
    }

    /// Makes room on a full disk, where readers may have released files. This is done once the
    /// pause is over, and not at every signal.
    fn make_room_after_pause(&self) {
        self.sweeper.reap();
        let over = self.versions.lock().background.retry_at_ns <= self.shared.env.now_ns();
        if over && self.shared.health.lacks_space() {
            // The latest deletions may hide the only data that can be freed.
            let _ = self.idle_space.seal_for_space() || self.space.make_room_on_disk();
        }
    }

    /// Flushes deletions before a compaction on a nearly full disk, which may find no room until
    /// deletions are in a table.
    fn flush_deletes_when_nearly_full(&self) {
        if self.reserve.is_near() && self.idle_space.seal_for_space() {
            let _ = self.space.with_room(|| self.flusher.flush_once());
        }
    }

    /// Pauses after a failure. Returns whether there was a pause.
    fn held_off(&self, state: &mut MutexGuard<'_, State>) -> bool {
        let now = self.shared.env.now_ns();
        if state.background.retry_at_ns <= now && !self.shared.health.is_poisoned() {
            return false;
        }
        let pause = Duration::from_nanos(
            state
                .background
                .retry_at_ns
                .saturating_sub(now)
                .max(1_000_000),
        );
        // Nothing can be done during the pause, so callers may treat the database as idle.
        let since = state.background.idle.look();
        let _quiet = state.background.idle.settle(since);
        self.versions.notify_changed();
        if self.shared.health.is_poisoned() {
            self.versions.wait_work(state, None);
        } else {
            self.versions.wait_work(state, Some(pause));
        }
        true
    }

    /// Does idle work, or waits for work.
    fn idle(&self, seen: &mut Seen) {
        let mut state = self.versions.lock();
        let since = state.background.idle.look();
        let published = self.versions.published();
        let now = self.shared.env.now_ns();
        if seen.published != published {
            *seen = Seen {
                published,
                since_ns: now,
            };
        }
        // Measured by the clock rather than by signals, because segments and syncs also signal.
        let rested = Duration::from_nanos(now.saturating_sub(seen.since_ns));
        if rested >= IDLE || state.background.hurrying > 0 {
            if !state.background.idle.is_quiet() {
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
            if !state.background.idle.is_quiet() {
                drop(state);
                if !matches!(self.value_gc.relocate_values(Moment::Idle), Ok(false)) {
                    return;
                }
                // Dead files that were open for appending have just been closed.
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

    /// Records that the database is idle unless something changed since `since`, and waits for
    /// work.
    fn become_idle<'s>(&'s self, mut state: MutexGuard<'s, State>, since: LookedSince) {
        if !state.is_compacting() && !state.flushing() && !state.background.idle.is_quiet() {
            drop(state);
            self.log.trim_spares();
            state = self.versions.lock();
            if !state.background.idle.settle(since) {
                return;
            }
            self.versions.notify_changed();
        }
        if state.closing {
            return;
        }
        if !state.background.idle.is_quiet() {
            // Another thread flushes or compacts.
            self.versions.wait_work(&mut state, Some(IDLE));
            return;
        }
        // A reader that releases a file does not signal: it may hold any lock when it drops its
        // view.
        while self.sweeper.reaper().has_pending() {
            if !self.versions.wait_work(&mut state, Some(REAP_AFTER)) {
                return;
            }
            drop(state);
            self.sweeper.reap();
            state = self.versions.lock();
            if state.closing || !state.background.idle.is_quiet() {
                return;
            }
        }
        // Only new work ends this wait; sealing a memtable signals it.
        self.versions.wait_work(&mut state, None);
    }
}
