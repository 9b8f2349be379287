//! Waiting for background work: flushes and syncs that a caller asked for, and idle work.
//!
//! Nobody waits for what other threads write meanwhile: a fast writer makes new work for as long as
//! it goes on. A caller notes what is there when it calls, and waits for that.
//!
//! Locks: commit and state, one after the other, none while waiting but the state's.

use std::sync::atomic::Ordering;
use std::time::Duration;

use cairndb_base::{ErrorKind, Result, SeqNo};
use cairndb_env::sync::MutexGuard;

use crate::engine::background::Job;
use crate::engine::core::{Core, State};
use crate::engine::idle_space::nanos;
use crate::engine::relocate::{Moment, Relocated};

/// The background work that was there when somebody began to wait for it, and how much of it is
/// done.
#[derive(Debug)]
struct Asked {
    /// Sealed memtables up to here are to be flushed.
    seq: SeqNo,
    /// They are, into runs numbered below this one, which are to be merged.
    runs: Option<u64>,
    /// They are, by this many installed versions, which are to be durable.
    installed: Option<u64>,
    /// The last write by then.
    published: SeqNo,
}

impl Asked {
    fn of(core: &Core, state: &State) -> Asked {
        Asked {
            published: core.published.load(Ordering::Acquire),
            seq: state.sealed.back().map_or(0, |part| part.mem.seq_max()),
            runs: None,
            installed: None,
        }
    }

    /// Whether all of it is done.
    fn is_done(&mut self, core: &Core, state: &State) -> bool {
        if state
            .sealed
            .iter()
            .any(|part| part.mem.seq_min() <= self.seq)
        {
            return false;
        }
        // Without writes the database comes to rest, and then obsolete files are gone, too.
        if core.published.load(Ordering::Acquire) == self.published {
            return false;
        }
        let runs = *self.runs.get_or_insert(state.next_run);
        if self.installed.is_none() && !core.merge_left(state, runs) {
            self.installed = Some(state.installed);
        }
        self.installed
            .is_some_and(|installed| state.durable_installed >= installed)
    }
}

impl Core {
    /// Seals and flushes everything written so far, without making it durable.
    pub(crate) fn flush_parts(&self) -> Result<()> {
        let wanted = self.commit.lock().last_seq;
        loop {
            let mut commit = self.commit.lock();
            if commit.mutable.seq_min() > wanted {
                // A writer has sealed what was asked for: beside several that sync there may be no
                // moment at which the part after it can be.
                break;
            }
            if !commit.awaiting_sync.is_empty() {
                let last = commit.last_seq;
                self.wait_published(commit, last)?;
                continue;
            }
            if let Some(reason) = self.seal(&mut commit) {
                drop(commit);
                self.make_room(reason)?;
                continue;
            }
            break;
        }
        // Parts that are sealed meanwhile are not waited for: fast writers make them as fast as
        // they go.
        let asked = |state: &State| state.sealed.iter().any(|part| part.mem.seq_min() <= wanted);
        while asked(&self.state.lock()) {
            if self.flush_once()? {
                continue;
            }
            let state = self.state.lock();
            drop(self.wait_state(state, |state| !state.flushing() || !asked(state)));
            // Parts whose tables could not be installed stay for ever, and so does the poison.
            self.health.check_write()?;
        }
        Ok(())
    }

    /// Makes everything durable that is installed when it is called.
    pub(crate) fn persist_all(&self) -> Result<()> {
        loop {
            // A pass takes all there is; what comes after it is not waited for.
            if self.persist()? {
                return Ok(());
            }
            let state = self.state.lock();
            let state = self.wait_state(state, |state| !state.persisting);
            if state.pending.is_none() {
                return Ok(());
            }
            drop(state);
            self.health.check_write()?;
        }
    }

    /// Seals, flushes and syncs everything written so far: `Db::flush`.
    pub(crate) fn flush_all(&self) -> Result<()> {
        self.check_writable()?;
        self.origin.check()?;
        self.with_room(|| self.flush_parts().and_then(|()| self.persist_all()))
    }

    /// Waits for the background work that is there now, at most for `limit`; whether all of it is
    /// done.
    pub(crate) fn wait_idle(&self, limit: Option<Duration>) -> Result<bool> {
        self.origin.check()?;
        if self.settings.read_only {
            return Ok(true);
        }
        let end = limit.map(|limit| self.env.now_ns().saturating_add(nanos(limit)));
        if self.stepped() {
            let done = self.step_until_idle(end)?;
            self.trim_spares();
            return self.known_damage().map(|()| done);
        }
        self.health.check_write()?;
        self.start_threads()?;
        // Relaxed: those begun meanwhile are not waited for.
        let below = self.next_file.load(Ordering::Relaxed);
        let mut state = self.state.lock();
        state.hurrying += 1;
        if self.health.lacks_space() {
            // There may be room by now.
            state.retry_at_ns = 0;
        }
        state.rest.disturb();
        self.work.notify_all();
        let waited = self.wait_for_work(state, end);
        self.state.lock().hurrying -= 1;
        let (quiet, done) = waited?;
        // The syncer may have made their end durable and not come to this.
        let mut all = done;
        if self.health.check_write().is_ok() && done {
            // A worker that came to rest has emptied files itself.
            all = quiet || self.empty_files(below, end)?;
            self.drop_all_dead_values()?;
        }
        self.trim_spares();
        match self.health.background() {
            Some(error) if error.kind() != ErrorKind::Closed => return Err(error),
            _ => self.health.check_write()?,
        }
        self.known_damage().map(|()| all)
    }

    /// Waits until there is nothing to do, or what was there is done, in this order; neither is
    /// so when the time is over, or nothing goes on any more.
    ///
    /// # Errors
    /// The one that background work stopped at, as it is at that moment: a later attempt may
    /// succeed.
    fn wait_for_work(
        &self,
        mut state: MutexGuard<'_, State>,
        end: Option<u64>,
    ) -> Result<(bool, bool)> {
        let mut asked = Asked::of(self, &state);
        loop {
            if state.rest.is_quiet() && state.pending.is_none() && !state.persisting {
                return Ok((true, true));
            }
            if asked.is_done(self, &state) {
                return Ok((false, true));
            }
            if let Some(error) = self.health.background()
                && error.kind() != ErrorKind::Closed
            {
                return Err(error);
            }
            if state.closing || self.health.is_poisoned() || self.is_over(end) {
                return Ok((false, false));
            }
            self.wait_changed(&mut state, end);
        }
    }

    /// Waits for a change of the state, or until the end.
    fn wait_changed(&self, state: &mut MutexGuard<'_, State>, end: Option<u64>) {
        match end {
            None => self.changed.wait(state),
            Some(end) => {
                let left = end.saturating_sub(self.env.now_ns());
                self.changed.wait_for(state, Duration::from_nanos(left));
            }
        }
    }

    fn is_over(&self, end: Option<u64>) -> bool {
        end.is_some_and(|end| self.env.now_ns() >= end)
    }

    /// Copies live values out of value files numbered below `below`, as an idle database does,
    /// where the worker does not come to it; whether there was time for all.
    fn empty_files(&self, below: u64, end: Option<u64>) -> Result<bool> {
        loop {
            match self.relocate(Moment::Asked { below })? {
                Relocated::Nothing => return Ok(true),
                Relocated::Some => self.persist_all()?,
                Relocated::Busy => {
                    let mut state = self.state.lock();
                    if state.closing {
                        return Ok(false);
                    }
                    if state.merging() || !Self::may_merge(&state) {
                        self.wait_changed(&mut state, end);
                    }
                }
            }
            if self.is_over(end) {
                return Ok(false);
            }
        }
    }

    /// As the worker and the syncer of an idle database, here and now; whether there was time for
    /// all.
    fn step_until_idle(&self, end: Option<u64>) -> Result<bool> {
        let jobs = [
            Job::Flush,
            Job::IdleMerge,
            Job::Persist,
            Job::DropValues,
            Job::Reap,
        ];
        let mut more = true;
        while more {
            more = false;
            for job in jobs {
                while self.step(job)? {
                    more = true;
                    if self.is_over(end) {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Reports a table that merges leave alone since they could not read it.
    fn known_damage(&self) -> Result<()> {
        match self.state.lock().damaged.first_key_value() {
            Some((_, error)) => Err(error.clone()),
            None => Ok(()),
        }
    }
}
