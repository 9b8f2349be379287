//! `Waiting`: waits for background work that was pending when the caller started to wait.
//!
//! It does not wait for work that other threads cause in the meantime, because a fast writer causes
//! work forever. Therefore a caller records the work that is pending at the call, and waits for
//! that.
//!
//! Locks: commit, then state, one after the other. Only the state lock is released while waiting.

use std::sync::atomic::Ordering;
use std::time::Duration;

use cairndb_base::{ErrorKind, Result, SeqNo, watch};
use cairndb_env::sync::MutexGuard;

use crate::compaction::schedule::Schedule;
use crate::compaction::tables::Tables;
use crate::durable::disk::Disk;
use crate::scheduler::threads::Scheduler;
use crate::versions::base::Base;
use crate::versions::base::nanos;
use crate::versions::engine_state::{EndedUntil, EngineState};
use crate::versions::version_set::VersionSet;

/// The background work that a caller waits for, and its progress.
#[derive(Debug)]
struct AwaitedWork {
    /// Sequence number up to which immutable memtables must be flushed.
    seq: SeqNo,
    /// Number below which runs must be compacted, and what must have ended in tables; set once the
    /// memtables are flushed.
    runs: Option<(u64, EndedUntil)>,
    /// Number of installed versions that must be durable; set once the runs are compacted.
    installed: Option<u64>,
    /// Last published write.
    published: SeqNo,
}

impl AwaitedWork {
    fn of(versions: &VersionSet, state: &EngineState) -> AwaitedWork {
        AwaitedWork {
            published: versions.published(),
            seq: state.immutables.back().map_or(0, |part| part.mem.seq_max()),
            runs: None,
            installed: None,
        }
    }

    /// Returns whether all of the work is done.
    fn is_done(&mut self, versions: &VersionSet, schedule: &Schedule, state: &EngineState) -> bool {
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
        let now = || (state.next_run, schedule.ended_until(state));
        let (runs, ended) = *self.runs.get_or_insert_with(now);
        if self.installed.is_none()
            && state.ended.partial.includes(ended)
            && !schedule.compaction_left(state, runs)
        {
            self.installed = Some(state.durable.installed);
        }
        self.installed
            .is_some_and(|installed| state.durable.persisted >= installed)
    }
}

pub(super) struct Waiting<'c> {
    pub(super) base: &'c Base,
    pub(super) disk: &'c Disk,
    pub(super) tables: &'c Tables,
    pub(super) scheduler: &'c Scheduler,
}

impl Waiting<'_> {
    /// Waits for the background work that is currently pending, at most for `limit`. Returns
    /// whether all of it was done.
    pub(crate) fn wait_idle(&self, limit: Option<Duration>) -> Result<bool> {
        self.base.origin.check()?;
        // There may be nothing to wait for.
        watch::check()?;
        if self.base.settings.read_only {
            return Ok(true);
        }
        let end = limit.map(|limit| self.base.env.now_ns().saturating_add(nanos(limit)));
        if self.base.stepped() {
            let done = self
                .scheduler
                .runner
                .step_while(|| !self.base.is_over(end))?;
            self.disk.log.trim_spares();
            return self.base.versions.known_damage().map(|()| done);
        }
        self.base.health.check_write()?;
        self.scheduler.start_threads()?;
        // Relaxed: this does not wait for value files started in the meantime.
        let below = self.base.next_file.load(Ordering::Relaxed);
        let mut state = self.base.versions.lock();
        state.background.hurrying += 1;
        if self.base.health.lacks_space() {
            // Space may have been freed by now.
            state.background.retry_at_ns = 0;
        }
        state.background.idle.disturb();
        self.base.versions.notify_work();
        let waited = self.wait_for_work(state, end);
        self.base.versions.lock().background.hurrying -= 1;
        let (quiet, done) = waited?;
        // The syncer may have made the versions durable without reaching this step.
        let mut all = done;
        if self.base.health.check_write().is_ok() && done {
            // An idle worker has already emptied the value files.
            all = quiet || self.scheduler.runner.empty_files(below, end)?;
            self.tables.dead_files.drop_all_dead_values()?;
        }
        self.disk.log.trim_spares();
        match self.base.health.background() {
            Some(error) if error.kind() != ErrorKind::Closed => return Err(error),
            _ => self.base.health.check_write()?,
        }
        self.base.versions.known_damage().map(|()| all)
    }

    /// Waits until there is no work, or until the pending work is done; the two results state
    /// which. Both are false if the time limit has passed, or if no more work can be done.
    ///
    /// # Errors
    /// The error at which background work stopped. A later attempt may succeed.
    fn wait_for_work(
        &self,
        mut state: MutexGuard<'_, EngineState>,
        end: Option<u64>,
    ) -> Result<(bool, bool)> {
        let mut asked = AwaitedWork::of(&self.base.versions, &state);
        loop {
            if state.background.idle.is_quiet()
                && state.durable.pending.is_none()
                && !state.durable.persisting
            {
                return Ok((true, true));
            }
            if asked.is_done(&self.base.versions, &self.tables.schedule, &state) {
                return Ok((false, true));
            }
            if let Some(error) = self.base.health.background()
                && error.kind() != ErrorKind::Closed
            {
                return Err(error);
            }
            if state.closing || self.base.health.is_poisoned() || self.base.is_over(end) {
                return Ok((false, false));
            }
            self.base.wait_changed(&mut state, end)?;
        }
    }
}
