//! Starts and stops the background threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cairndb_base::Result;
use cairndb_env::sync::Mutex;
use cairndb_env::{Join, Priority};

use crate::compaction::schedule::Schedule;
use crate::scheduler::steps::{Job, Steps};
use crate::scheduler::syncer::Syncer;
use crate::scheduler::worker::Worker;
use crate::state::guard::guarded;
use crate::value_gc::run::ValueGc;
use crate::versions::shared::{Shared, nanos};
use crate::versions::version_set::VersionSet;

/// How long closing gives space back that would be given back idle. What is left the next opening
/// sees.
const CLOSING: Duration = Duration::from_millis(200);

/// Starts and stops the background threads.
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
        reason = "the parts it needs, each a type of its own"
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

    /// Whether [`Scheduler::start_threads`] has nothing to do.
    #[inline]
    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// Waits for the end of the threads, which `State::closing` has told to end.
    pub(crate) fn join_threads(&self) {
        let threads = std::mem::take(&mut *self.threads.lock());
        for join in threads {
            join();
        }
    }

    /// Starts the worker and the syncer, once.
    pub(crate) fn start_threads(&self) -> Result<()> {
        if self.started.swap(true, Ordering::AcqRel) || self.shared.stepped() {
            return Ok(());
        }
        let result = self.spawn_threads();
        if result.is_err() {
            // The next write that needs them tries again.
            self.started.store(false, Ordering::Release);
        }
        result
    }

    fn spawn_threads(&self) -> Result<()> {
        let mut threads = self.threads.lock();
        // Closing says so before it takes those that there are: what came behind it nobody would join.
        if self.versions.lock().closing {
            return Ok(());
        }
        // One that an earlier try has started runs on.
        if threads.is_empty() {
            let worker = Arc::clone(&self.worker);
            let body = self.guarded(move || worker.work_loop());
            let (env, body) = (&self.shared.env, Box::new(body));
            threads.push(env.spawn("cairndb-worker", Priority::Low, body)?);
        }
        let syncer = Arc::clone(&self.syncer);
        let body = self.guarded(move || syncer.sync_loop());
        // It sleeps at every sync. Below the writer, and beside the worker, it waited for its turn each time on two
        // processors, and the log was up to eight times as long before any of it could be used again.
        let (env, body) = (&self.shared.env, Box::new(body));
        threads.push(env.spawn("cairndb-syncer", Priority::Normal, body)?);
        Ok(())
    }

    /// Has the reads of a handle that writes nothing begin the worker, which merges at rest what they look into.
    pub(crate) fn start_when_reads_paid(self: &Arc<Scheduler>) {
        let me = Arc::downgrade(self);
        let begin = move || {
            if let Some(me) = me.upgrade() {
                me.start_for_readers();
            }
        };
        self.versions.view().readers.paid.begins(begin);
    }

    /// Starts the threads of a handle that has none, if there is something that they would merge.
    fn start_for_readers(&self) {
        let may = self.shared.origin.check().is_ok() && self.shared.health.check_write().is_ok();
        if !may || self.started.load(Ordering::Acquire) {
            return;
        }
        // A reader waits for nobody. It is asked again.
        let Some(state) = self.versions.try_lock() else {
            return;
        };
        let wanted = !state.closing && self.schedule.compaction_wanted(&state, true).is_some();
        drop(state);
        if wanted {
            // Without a thread reads cost what they did.
            let _ = self.start_threads();
        }
    }

    /// Runs a thread's loop. A panic that gets here is a defect of ours, or of a comparator outside a
    /// job: whatever the thread was at is unfinished, so nothing more is written.
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

    /// Gives back, before closing, what an idle database would, as far as that takes no longer than
    /// 200 ms. What goes wrong is no failure of closing: everything is as it was.
    pub(crate) fn give_back_before_close(&self) {
        if !self.value_gc.space_wanted(&self.versions.lock()) {
            return;
        }
        let end = self.shared.env.now_ns().saturating_add(nanos(CLOSING));
        if self.shared.stepped() {
            let _ = self.step_for_space(end);
            return;
        }
        if self.start_threads().is_err() {
            return;
        }
        let mut state = self.versions.lock();
        state.hurrying += 1;
        state.idle.disturb();
        self.versions.notify_work();
        while self.value_gc.space_wanted(&state)
            && !state.idle.is_quiet()
            && !self.shared.health.is_poisoned()
            && self.shared.health.background().is_none()
        {
            if self.shared.is_over(Some(end)) {
                break;
            }
            self.versions.wait_changed(&mut state, Some(end));
        }
        state.hurrying -= 1;
    }

    fn step_for_space(&self, end: u64) -> Result<()> {
        let jobs = [Job::IdleCompact, Job::Persist, Job::DropValues, Job::Reap];
        let mut more = true;
        while more
            && self.value_gc.space_wanted(&self.versions.lock())
            && self.shared.env.now_ns() < end
        {
            more = false;
            for job in jobs {
                more |= self.steps.step(job)?;
            }
        }
        Ok(())
    }
}
