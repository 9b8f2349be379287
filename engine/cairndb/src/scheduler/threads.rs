//! `Scheduler`: starts and stops the background threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cairndb_base::Result;
use cairndb_env::sync::Mutex;
use cairndb_env::{Join, Priority};
use cairndb_files::guarded;

use crate::scheduler::runner::Runner;
use crate::versions::base::nanos;

/// Maximum time for which closing frees space that an idle database would free. The rest is freed
/// after the next open.
const CLOSING: Duration = Duration::from_millis(200);

pub(crate) struct Scheduler {
    pub(crate) runner: Arc<Runner>,
    threads: Mutex<Vec<Join>>,
    started: AtomicBool,
}

impl Scheduler {
    pub(crate) fn new(runner: Runner) -> Scheduler {
        Scheduler {
            runner: Arc::new(runner),
            threads: Mutex::new(Vec::new()),
            started: AtomicBool::new(false),
        }
    }

    /// Returns whether the threads were started, or none are needed.
    #[inline]
    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// Waits until the threads exit, which `EngineState::closing` makes them do.
    pub(crate) fn join_threads(&self) {
        let threads = std::mem::take(&mut *self.threads.lock());
        for join in threads {
            join();
        }
    }

    /// Starts the worker and the syncer, unless they were already started.
    pub(crate) fn start_threads(&self) -> Result<()> {
        if self.started.swap(true, Ordering::AcqRel) || self.runner.base.stepped() {
            return Ok(());
        }
        let result = self.spawn_threads();
        if result.is_err() {
            // The next write tries again.
            self.started.store(false, Ordering::Release);
        }
        result
    }

    fn spawn_threads(&self) -> Result<()> {
        let mut threads = self.threads.lock();
        // Closing sets this before it joins the threads: a thread started later would never be
        // joined.
        if self.runner.base.versions.lock().closing {
            return Ok(());
        }
        // An earlier attempt may have started the worker.
        if threads.is_empty() {
            let worker = Arc::clone(&self.runner);
            let body = self.guarded(move || worker.work_loop());
            let (env, body) = (&self.runner.base.env, Box::new(body));
            threads.push(env.spawn("cairndb-worker", Priority::Low, body)?);
        }
        let syncer = Arc::clone(&self.runner);
        let body = self.guarded(move || syncer.sync_loop());
        // The syncer sleeps at every sync. At a priority below that of writers, it waited for its
        // turn each time, and the log grew to eight times its length before a segment was freed.
        let (env, body) = (&self.runner.base.env, Box::new(body));
        threads.push(env.spawn("cairndb-syncer", Priority::Normal, body)?);
        Ok(())
    }

    /// Lets reads start the worker of a handle that writes nothing, so that it compacts the runs
    /// they search.
    pub(crate) fn start_when_reads_paid(self: &Arc<Scheduler>) {
        let me = Arc::downgrade(self);
        let begin = move || {
            if let Some(me) = me.upgrade() {
                me.start_for_readers();
            }
        };
        self.runner
            .base
            .versions
            .view()
            .readers
            .compaction_trigger
            .set(begin);
    }

    /// Starts the threads of a handle that has none, if there is something to compact.
    fn start_for_readers(&self) {
        let may = self.runner.base.origin.check().is_ok()
            && self.runner.base.health.check_write().is_ok();
        if !may || self.started.load(Ordering::Acquire) {
            return;
        }
        // A reader never waits; it calls this again later.
        let Some(state) = self.runner.base.versions.try_lock() else {
            return;
        };
        let wanted = !state.closing
            && self
                .runner
                .tables
                .schedule
                .compaction_wanted(&state, true)
                .is_some();
        drop(state);
        if wanted {
            // If no thread can be started, reads cost as much as before.
            let _ = self.start_threads();
        }
    }

    /// Runs `body` and poisons the handle if it panics. A panic is a bug in this crate, or a
    /// comparator's panic outside a job: the thread's work is unfinished, so nothing more may be
    /// written.
    fn guarded(&self, body: impl FnOnce() + Send + 'static) -> impl FnOnce() + Send + 'static {
        let base = Arc::clone(&self.runner.base);
        move || {
            let run = || {
                body();
                Ok(())
            };
            if let Err(error) = guarded(run) {
                let _ = base.poison(error);
            }
        }
    }

    /// Frees the space that an idle database would free, for at most 200 ms before closing. A
    /// failure does not make the close fail, because it changes nothing.
    pub(crate) fn give_back_before_close(&self) {
        if !self
            .runner
            .space
            .value_gc()
            .space_wanted(&self.runner.base.versions.lock())
        {
            return;
        }
        let end = self.runner.base.env.now_ns().saturating_add(nanos(CLOSING));
        if self.runner.base.stepped() {
            let wanted = || {
                self.runner
                    .space
                    .value_gc()
                    .space_wanted(&self.runner.base.versions.lock())
                    && !self.runner.base.is_over(Some(end))
            };
            if wanted() {
                let _ = self.runner.step_while(wanted);
            }
            return;
        }
        if self.start_threads().is_err() {
            return;
        }
        let mut state = self.runner.base.versions.lock();
        state.background.hurrying += 1;
        state.background.idle.disturb();
        self.runner.base.versions.notify_work();
        while self.runner.space.value_gc().space_wanted(&state)
            && !state.background.idle.is_quiet()
            && !self.runner.base.health.is_poisoned()
            && self.runner.base.health.background().is_none()
        {
            if self.runner.base.is_over(Some(end)) {
                break;
            }
            if self
                .runner
                .base
                .wait_changed(&mut state, Some(end))
                .is_err()
            {
                break;
            }
        }
        state.background.hurrying -= 1;
    }
}

#[cfg(test)]
mod tests;
