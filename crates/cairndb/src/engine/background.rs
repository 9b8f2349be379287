//! Background work: a worker that flushes before it merges, a syncer that makes things durable.
//!
//! Both start with the first write that needs them, or when reads have paid for a merge
//! ([`toll`](crate::read::toll)). Where the environment is stepped there are no
//! threads and [`Core::step`] runs one job at a time, in an order the caller chooses. Idle work -
//! flushing what is sealed, merging to one run - begins when no write has come for a while.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cairndb_base::Result;
use cairndb_env::Priority;
use cairndb_env::sync::MutexGuard;

use crate::engine::core::{Core, State};
use crate::engine::relocate::Moment;
use crate::engine::rest::LookedSince;
use crate::state::guard::guarded;
use crate::state::stats::Stats;

/// Without a write for this long, a database counts as idle.
const IDLE: Duration = Duration::from_millis(50);

/// What was flushed is durable after this long at the latest, however little it is.
const PERSIST_AFTER: Duration = Duration::from_secs(1);

/// A file that readers let go of a database at rest is unlinked after this long.
const REAP_AFTER: Duration = Duration::from_secs(1);

/// With so many unsynced tables there is a pass too: each keeps a descriptor until it is synced. Twice as
/// many hold up writers.
pub(crate) const UNSYNCED_TABLES_MAX: usize = 128;

/// The last write the worker noticed, and when it did.
#[derive(Debug, Default)]
struct Seen {
    published: u64,
    since_ns: u64,
}

/// One kind of background work, for callers that step it: programs without threads of their own, and tests. With the
/// threads of an opening nobody needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Job {
    /// Flush sealed memtable parts.
    Flush,
    /// One merge by the picker's choice, or large values copied out of files that are mostly dead.
    Merge,
    /// The same as an idle database would do it.
    IdleMerge,
    /// Make installed tables durable and free log segments.
    Persist,
    /// Unlink obsolete files.
    Reap,
    /// Drop value files without a live value.
    DropValues,
}

impl Core {
    /// Runs one job here and now; whether there was anything to do.
    pub(crate) fn step(&self, job: Job) -> Result<bool> {
        self.origin.check()?;
        if self.settings.read_only {
            return Ok(false);
        }
        match job {
            Job::Flush => self.with_room(|| self.flush_once()),
            Job::Merge => {
                self.with_room(|| Ok(self.merge_once()? || self.relocate_values(Moment::Load)?))
            }
            Job::IdleMerge => self.with_room(|| self.idle_once()),
            Job::Persist => self.with_room(|| self.persist()),
            Job::Reap => Ok(self.reap()),
            Job::DropValues => self.drop_dead_values(),
        }
    }

    /// One piece of what an idle database does beside flushing; whether there was any.
    fn idle_once(&self) -> Result<bool> {
        Ok(self.merge_idle()?
            || self.seal_for_space()
            || self.relocate_values(Moment::Rest)?
            || self.squeeze_when_nearly_full()?)
    }

    /// Starts the worker and the syncer, once.
    pub(crate) fn start_threads(&self) -> Result<()> {
        if self.stepped() || self.threads_started.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let Some(me) = self.myself.upgrade() else {
            return Ok(());
        };
        let result = self.spawn_threads(me);
        if result.is_err() {
            // The next write that needs them tries again.
            self.threads_started.store(false, Ordering::Release);
        }
        result
    }

    fn spawn_threads(&self, me: Arc<Core>) -> Result<()> {
        let worker = Arc::clone(&me);
        let mut threads = self.threads.lock();
        // Closing says so before it takes those that there are: what came behind it nobody would join.
        if self.state.lock().closing {
            return Ok(());
        }
        // One that an earlier try has started runs on.
        if threads.is_empty() {
            let body = move || worker.run_guarded(Core::work_loop);
            let (env, body) = (&self.env, Box::new(body));
            threads.push(env.spawn("cairndb-worker", Priority::Low, body)?);
        }
        let body = move || me.run_guarded(Core::sync_loop);
        // It sleeps at every sync. Below the writer, and beside the worker, it waited for its turn each time on two
        // processors, and the log was up to eight times as long before any of it could be used again.
        let (env, body) = (&self.env, Box::new(body));
        threads.push(env.spawn("cairndb-syncer", Priority::Normal, body)?);
        Ok(())
    }

    /// Has the reads of a handle that writes nothing begin the worker, which merges at rest what they look into.
    pub(crate) fn rest_when_paid(&self) {
        let me = self.myself.clone();
        let begin = move || {
            if let Some(me) = me.upgrade() {
                me.begin_rest();
            }
        };
        self.view.load().readers.paid.begins(begin);
    }

    /// Starts the threads of a handle that has none, if there is something that they would merge.
    fn begin_rest(&self) {
        let may = self.origin.check().is_ok() && self.health.check_write().is_ok();
        if !may || self.threads_started.load(Ordering::Acquire) {
            return;
        }
        // A reader waits for nobody. It is asked again.
        let Some(state) = self.state.try_lock() else {
            return;
        };
        let wanted = !state.closing && self.merge_wanted(&state, true).is_some();
        drop(state);
        if wanted {
            // Without a thread reads cost what they did.
            let _ = self.start_threads();
        }
    }

    /// Runs a thread's loop. A panic that gets here is a defect of ours, or of a comparator outside a
    /// job: whatever the thread was at is unfinished, so nothing more is written.
    fn run_guarded(self: Arc<Core>, body: impl FnOnce(Arc<Core>)) {
        let core = Arc::clone(&self);
        let run = || {
            body(core);
            Ok(())
        };
        if let Err(error) = guarded(run) {
            let _ = self.poison(error);
        }
    }

    fn work_loop(self: Arc<Core>) {
        let mut seen = Seen::default();
        let mut flushed = false;
        loop {
            let mut state = self.state.lock();
            if state.closing {
                return;
            }
            if self.reserve.take_due() {
                drop(state);
                self.tend_reserve();
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
            if !skip && self.flush_wanted(&state, self.settings.budget.flush) {
                drop(state);
                flushed = true;
                let bytes_max = self.settings.budget.flush_max;
                let _ = self.with_room(|| self.flush_up_to(bytes_max));
                continue;
            }
            if hurrying && !state.rest.is_quiet() {
                drop(state);
                self.flush_deletes_when_nearly_full();
                state = self.state.lock();
            }
            if self.merge_wanted(&state, hurrying).is_some() {
                drop(state);
                let _ = if hurrying {
                    self.merge_idle()
                } else {
                    self.merge_once()
                };
                continue;
            }
            drop(state);
            // What fails is noted, and held off.
            if matches!(self.squeeze_when_nearly_full(), Ok(true)) {
                continue;
            }
            if !matches!(self.relocate_values(Moment::Load), Ok(false)) || self.reap() {
                continue;
            }
            self.idle(&mut seen);
        }
    }

    /// On a full disk readers may have let go of files meanwhile; once the pause is over, and not
    /// at every signal, room is made.
    fn make_room_after_pause(&self) {
        self.reap();
        let over = self.state.lock().retry_at_ns <= self.env.now_ns();
        if over && self.health.lacks_space() {
            // The latest deletions may be all that there is to be freed.
            let _ = self.seal_for_space() || self.make_room_on_disk();
        }
    }

    /// Before a merge, which may have no room on a nearly full disk before what was deleted is in a
    /// table.
    fn flush_deletes_when_nearly_full(&self) {
        if self.reserve.is_near() && self.seal_for_space() {
            let _ = self.with_room(|| self.flush_once());
        }
    }

    /// There may be something to do for a worker that found nothing.
    pub(crate) fn wake_idle_worker(&self) {
        self.state.lock().rest.disturb();
        self.work.notify_all();
    }

    /// Waits out a failure's pause; whether there was one.
    fn held_off(&self, state: &mut MutexGuard<'_, State>) -> bool {
        let now = self.env.now_ns();
        if state.retry_at_ns <= now && !self.health.is_poisoned() {
            return false;
        }
        let pause = Duration::from_nanos(state.retry_at_ns.saturating_sub(now).max(1_000_000));
        // Whatever there is to do has to wait: for others that is rest.
        let since = state.rest.look();
        let _quiet = state.rest.settle(since);
        self.changed.notify_all();
        if self.health.is_poisoned() {
            self.work.wait(state);
        } else {
            self.work.wait_for(state, pause);
        }
        true
    }

    /// Nothing is due. Waits for work; when no write came for a while, does what an idle database
    /// should.
    fn idle(&self, seen: &mut Seen) {
        let mut state = self.state.lock();
        let since = state.rest.look();
        let published = self.published.load(Ordering::Acquire);
        let now = self.env.now_ns();
        if seen.published != published {
            *seen = Seen {
                published,
                since_ns: now,
            };
        }
        // By the clock, not by wakings: those come from segments and syncs too.
        let rested = Duration::from_nanos(now.saturating_sub(seen.since_ns));
        if rested >= IDLE || state.hurrying > 0 {
            if !state.rest.is_quiet() {
                drop(state);
                self.seal_for_space();
                state = self.state.lock();
            }
            if state.can_flush() {
                drop(state);
                let _ = self.with_room(|| self.flush_once());
                return;
            }
            if self.merge_wanted(&state, true).is_some() || self.encoding_wanted(&state) {
                drop(state);
                let _ = self.merge_idle();
                return;
            }
            if !state.rest.is_quiet() {
                drop(state);
                if !matches!(self.relocate_values(Moment::Rest), Ok(false)) {
                    return;
                }
                // What was being filled and is dead was closed just now.
                let _ = self.drop_dead_values();
                if matches!(self.squeeze_when_nearly_full(), Ok(true)) {
                    return;
                }
                self.tend_reserve();
                self.retake_reserve();
                state = self.state.lock();
            }
            self.come_to_rest(state, since);
        } else if !state.closing {
            self.work.wait_for(&mut state, IDLE.saturating_sub(rested));
        }
    }

    /// Nothing was found to do since `since`: says so, and waits for something.
    fn come_to_rest<'s>(&'s self, mut state: MutexGuard<'s, State>, since: LookedSince) {
        if !state.merging() && !state.flushing() && !state.rest.is_quiet() {
            drop(state);
            self.trim_spares();
            state = self.state.lock();
            if !state.rest.settle(since) {
                return;
            }
            self.changed.notify_all();
        }
        if state.closing {
            return;
        }
        if !state.rest.is_quiet() {
            // Another thread flushes or merges.
            self.work.wait_for(&mut state, IDLE);
            return;
        }
        // A reader that lets go of a file tells nobody: it may hold any lock where its last view goes.
        while self.reaper.awaits() {
            if !self.work.wait_for(&mut state, REAP_AFTER).timed_out() {
                return;
            }
            drop(state);
            self.reap();
            state = self.state.lock();
            if state.closing || !state.rest.is_quiet() {
                return;
            }
        }
        // Only new work ends this: a write wakes it when a part is sealed.
        self.work.wait(&mut state);
    }

    fn sync_loop(self: Arc<Core>) {
        loop {
            {
                let mut state = self.state.lock();
                if state.closing {
                    return;
                }
                let now = self.env.now_ns();
                let poisoned = self.health.is_poisoned();
                if poisoned {
                    // Whoever waits for what was to be made durable.
                    self.changed.notify_all();
                }
                if poisoned || state.pending.is_none() || state.persisting {
                    self.work.wait(&mut state);
                    continue;
                }
                if state.retry_at_ns > now {
                    let pause = Duration::from_nanos(state.retry_at_ns - now);
                    self.work.wait_for(&mut state, pause);
                    continue;
                }
                if !self.persist_due(&state, now) {
                    self.work.wait_for(&mut state, PERSIST_AFTER);
                    continue;
                }
            }
            // What fails is noted, and met by whoever needs what it would have made.
            let _ = self.persist();
            let _ = self.drop_dead_values();
            // Here too: the worker may be at a merge for seconds, and what merges replace meanwhile is as much
            // as they write.
            self.reap();
            if self.state.lock().rest.is_quiet() {
                self.trim_spares();
            } else {
                self.prepare_spare();
            }
        }
    }

    /// Whether installed tables should be made durable now. Every pass flushes the disk several
    /// times, and a table that is merged away before the pass is never synced: so a busy database
    /// waits until the log it must keep meanwhile is long.
    fn persist_due(&self, state: &State, now: u64) -> bool {
        let pending = state.pending.as_ref();
        let oldest = pending.map_or(now, |pending| pending.since_ns);
        state.rest.is_quiet()
            || state.hurrying > 0
            || Duration::from_nanos(now.saturating_sub(oldest)) >= PERSIST_AFTER
            || self.segments.retained_bytes() >= self.settings.budget.persist
            || state
                .pending
                .as_ref()
                .is_some_and(|pending| pending.added.len() > UNSYNCED_TABLES_MAX)
    }

    /// Keeps one segment ready, so that a commit that needs one does not wait for zeros.
    fn prepare_spare(&self) {
        let bytes = self.settings.budget.segment;
        // With a log at its limit it would not be kept.
        let full = self.segments.retained_bytes() + bytes > self.settings.budget.retained_log;
        if full || self.segments.has_spare() || self.health.check_write().is_err() {
            return;
        }
        let Ok((number, region)) = self.create_log(bytes) else {
            return;
        };
        Stats::add(&self.stats.prewritten_bytes, bytes);
        // Synced here, so that the first `Sync` write into it finds its metadata durable.
        if let Err(error) = region.sync() {
            let _ = self.poison(error);
            return;
        }
        region.warm();
        if self.segments.add_spare(number.0, region).is_some() {
            self.reaper.add(cairndb_format::name::log(number));
        }
    }
}
