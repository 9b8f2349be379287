//! `Waiting`: waits for background work that was pending when the caller started to wait.
//!
//! It does not wait for work that other threads cause in the meantime, because a fast writer causes
//! work forever. Therefore a caller records the work that is pending at the call, and waits for
//! that.
//!
//! Locks: commit, then state, one after the other. Only the state lock is released while waiting.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cairndb_base::{ErrorKind, Result, SeqNo, watch};
use cairndb_env::sync::MutexGuard;

use crate::compaction::schedule::Schedule;
use crate::durable::log::Log;
use crate::durable::persist::Persister;
use crate::scheduler::steps::Steps;
use crate::scheduler::threads::Scheduler;
use crate::value_gc::collect::{Moment, Relocated, ValueGc};
use crate::value_gc::dead_files::DeadFiles;
use crate::versions::shared::{Shared, nanos};
use crate::versions::state::State;
use crate::versions::version_set::VersionSet;

/// The background work that a caller waits for, and its progress.
#[derive(Debug)]
struct Asked {
    /// Sequence number up to which immutable memtables must be flushed.
    seq: SeqNo,
    /// Number below which runs must be compacted; set once the memtables are flushed.
    runs: Option<u64>,
    /// Number of installed versions that must be durable; set once the runs are compacted.
    installed: Option<u64>,
    /// Last published write.
    published: SeqNo,
}

impl Asked {
    fn of(versions: &VersionSet, state: &State) -> Asked {
        Asked {
            published: versions.published(),
            seq: state.immutables.back().map_or(0, |part| part.mem.seq_max()),
            runs: None,
            installed: None,
        }
    }

    /// Returns whether all of the work is done.
    fn is_done(&mut self, versions: &VersionSet, schedule: &Schedule, state: &State) -> bool {
        if state
            .immutables
            .iter()
            .any(|part| part.mem.seq_min() <= self.seq)
        {
            return false;
        }
        // Without further writes the database becomes idle, which includes the removal of obsolete
        // files.
        if versions.published() == self.published {
            return false;
        }
        let runs = *self.runs.get_or_insert(state.next_run);
        if self.installed.is_none() && !schedule.compaction_left(state, runs) {
            self.installed = Some(state.durable.installed);
        }
        self.installed
            .is_some_and(|installed| state.durable.persisted >= installed)
    }
}

pub(crate) struct Waiting {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    log: Arc<Log>,
    persister: Arc<Persister>,
    dead_files: Arc<DeadFiles>,
    value_gc: Arc<ValueGc>,
    steps: Arc<Steps>,
    schedule: Arc<Schedule>,
    scheduler: Arc<Scheduler>,
}

impl Waiting {
    #[expect(
        clippy::too_many_arguments,
        reason = "each parameter is a separate component"
    )]
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        log: Arc<Log>,
        persister: Arc<Persister>,
        dead_files: Arc<DeadFiles>,
        value_gc: Arc<ValueGc>,
        steps: Arc<Steps>,
        schedule: Arc<Schedule>,
        scheduler: Arc<Scheduler>,
    ) -> Waiting {
        Waiting {
            shared,
            versions,
            log,
            persister,
            dead_files,
            value_gc,
            steps,
            schedule,
            scheduler,
        }
    }

    /// Waits for the background work that is currently pending, at most for `limit`. Returns
    /// whether all of it was done.
    pub(crate) fn wait_idle(&self, limit: Option<Duration>) -> Result<bool> {
        self.shared.origin.check()?;
        if self.shared.settings.read_only {
            return Ok(true);
        }
        let end = limit.map(|limit| self.shared.env.now_ns().saturating_add(nanos(limit)));
        if self.shared.stepped() {
            let done = self.steps.step_while(|| !self.shared.is_over(end))?;
            self.log.trim_spares();
            return self.versions.known_damage().map(|()| done);
        }
        self.shared.health.check_write()?;
        self.scheduler.start_threads()?;
        // Relaxed: this does not wait for value files started in the meantime.
        let below = self.shared.next_file.load(Ordering::Relaxed);
        let mut state = self.versions.lock();
        state.background.hurrying += 1;
        if self.shared.health.lacks_space() {
            // Room may have been made by now.
            state.background.retry_at_ns = 0;
        }
        state.background.idle.disturb();
        self.versions.notify_work();
        let waited = self.wait_for_work(state, end);
        self.versions.lock().background.hurrying -= 1;
        let (quiet, done) = waited?;
        // The syncer may have made the versions durable without reaching this step.
        let mut all = done;
        if self.shared.health.check_write().is_ok() && done {
            // An idle worker has already emptied the value files.
            all = quiet || self.empty_files(below, end)?;
            self.dead_files.drop_all_dead_values()?;
        }
        self.log.trim_spares();
        match self.shared.health.background() {
            Some(error) if error.kind() != ErrorKind::Closed => return Err(error),
            _ => self.shared.health.check_write()?,
        }
        self.versions.known_damage().map(|()| all)
    }

    /// Waits until there is no work, or until the pending work is done; the two results state
    /// which. Both are false if the time limit has passed, or if no more work can be done.
    ///
    /// # Errors
    /// The error at which background work stopped. A later attempt may succeed.
    fn wait_for_work(
        &self,
        mut state: MutexGuard<'_, State>,
        end: Option<u64>,
    ) -> Result<(bool, bool)> {
        let mut asked = Asked::of(&self.versions, &state);
        loop {
            if state.background.idle.is_quiet()
                && state.durable.pending.is_none()
                && !state.durable.persisting
            {
                return Ok((true, true));
            }
            if asked.is_done(&self.versions, &self.schedule, &state) {
                return Ok((false, true));
            }
            if let Some(error) = self.shared.health.background()
                && error.kind() != ErrorKind::Closed
            {
                return Err(error);
            }
            if state.closing || self.shared.health.is_poisoned() || self.shared.is_over(end) {
                return Ok((false, false));
            }
            self.versions.wait_changed(&mut state, end)?;
        }
    }

    /// Copies live values out of value files numbered below `below`, as an idle worker does.
    /// Returns whether there was time for all of them.
    fn empty_files(&self, below: u64, end: Option<u64>) -> Result<bool> {
        loop {
            match self.value_gc.relocate(Moment::Asked { below })? {
                Relocated::Nothing => return Ok(true),
                Relocated::Some => self.persister.persist_all()?,
                Relocated::Busy => {
                    let mut state = self.versions.lock();
                    if state.closing {
                        return Ok(false);
                    }
                    if state.is_compacting() || !state.may_compact() {
                        self.versions.wait_changed(&mut state, end)?;
                    }
                }
            }
            if self.shared.is_over(end) {
                return Ok(false);
            }
            watch::check()?;
        }
    }
}
