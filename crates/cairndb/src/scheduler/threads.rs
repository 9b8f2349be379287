//! `Scheduler`: starts and stops the background threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cairndb_base::Result;
use cairndb_env::sync::Mutex;
use cairndb_env::{Join, Priority};

use crate::compaction::schedule::Schedule;
use crate::scheduler::steps::Steps;
use crate::scheduler::syncer::Syncer;
use crate::scheduler::worker::Worker;
use crate::state::guard::guarded;
use crate::value_gc::collect::ValueGc;
use crate::versions::shared::{Shared, nanos};
use crate::versions::version_set::VersionSet;

/// Maximum time for which closing frees space that an idle database would free. The rest is freed
/// after the next open.
const CLOSING: Duration = Duration::from_millis(200);

pub(crate) struct Scheduler {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    schedule: Arc<Schedule>,
    value_gc: Arc<ValueGc>,
    steps: Arc<Steps>,
    worker: Arc<Worker>,
    syncer: Arc<Syncer>,
    threads: Mutex<Vec<Join>>,
    started: AtomicBool,
}

impl Scheduler {
    #[expect(
        clippy::too_many_arguments,
        reason = "each parameter is a separate component"
    )]
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        schedule: Arc<Schedule>,
        value_gc: Arc<ValueGc>,
        steps: Arc<Steps>,
        worker: Arc<Worker>,
        syncer: Arc<Syncer>,
    ) -> Scheduler {
        Scheduler {
            shared,
            versions,
            schedule,
            value_gc,
            steps,
            worker,
            syncer,
            threads: Mutex::new(Vec::new()),
            started: AtomicBool::new(false),
        }
    }

    /// Returns whether the threads were started, or none are needed.
    #[inline]
    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// Waits until the threads exit, which `State::closing` makes them do.
    pub(crate) fn join_threads(&self) {
        let threads = std::mem::take(&mut *self.threads.lock());
        for join in threads {
            join();
        }
    }

    /// Starts the worker and the syncer, unless they were already started.
    pub(crate) fn start_threads(&self) -> Result<()> {
        if self.started.swap(true, Ordering::AcqRel) || self.shared.stepped() {
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
        if self.versions.lock().closing {
            return Ok(());
        }
        // An earlier attempt may have started the worker.
        if threads.is_empty() {
            let worker = Arc::clone(&self.worker);
            let body = self.guarded(move || worker.work_loop());
            let (env, body) = (&self.shared.env, Box::new(body));
            threads.push(env.spawn("cairndb-worker", Priority::Low, body)?);
        }
        let syncer = Arc::clone(&self.syncer);
        let body = self.guarded(move || syncer.sync_loop());
        // The syncer sleeps at every sync. At a priority below that of writers, it waited for its
        // turn each time, and the log grew to eight times its length before a segment was freed.
        let (env, body) = (&self.shared.env, Box::new(body));
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
        self.versions.view().readers.compaction_trigger.set(begin);
    }

    /// Starts the threads of a handle that has none, if there is something to compact.
    fn start_for_readers(&self) {
        let may = self.shared.origin.check().is_ok() && self.shared.health.check_write().is_ok();
        if !may || self.started.load(Ordering::Acquire) {
            return;
        }
        // A reader never waits; it calls this again later.
        let Some(state) = self.versions.try_lock() else {
            return;
        };
        let wanted = !state.closing && self.schedule.compaction_wanted(&state, true).is_some();
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
        let versions = Arc::clone(&self.versions);
        move || {
            let run = || {
                body();
                Ok(())
            };
            if let Err(error) = guarded(run) {
                let _ = versions.poison(error);
            }
        }
    }

    /// Frees the space that an idle database would free, for at most 200 ms before closing. A
    /// failure does not make the close fail, because it changes nothing.
    pub(crate) fn give_back_before_close(&self) {
        if !self.value_gc.space_wanted(&self.versions.lock()) {
            return;
        }
        let end = self.shared.env.now_ns().saturating_add(nanos(CLOSING));
        if self.shared.stepped() {
            let wanted = || {
                self.value_gc.space_wanted(&self.versions.lock()) && !self.shared.is_over(Some(end))
            };
            if wanted() {
                let _ = self.steps.step_while(wanted);
            }
            return;
        }
        if self.start_threads().is_err() {
            return;
        }
        let mut state = self.versions.lock();
        state.background.hurrying += 1;
        state.background.idle.disturb();
        self.versions.notify_work();
        while self.value_gc.space_wanted(&state)
            && !state.background.idle.is_quiet()
            && !self.shared.health.is_poisoned()
            && self.shared.health.background().is_none()
        {
            if self.shared.is_over(Some(end)) {
                break;
            }
            if self.versions.wait_changed(&mut state, Some(end)).is_err() {
                break;
            }
        }
        state.background.hurrying -= 1;
    }
}

#[cfg(test)]
mod tests;
