//! Closing: flush, persist, say so in the manifest, release the lock.
//!
//! Closing writes a new manifest: one record, covered to its end by the header, that names every
//! file and its length, the last sequence number and no log. So the next opening replays nothing,
//! and a byte missing from the manifest itself is noticed, which the end of one that was appended
//! to could not be. A handle that wrote and merged nothing writes nothing.

use cairndb_base::Result;
use cairndb_env::sync::MutexGuard;
use cairndb_format::manifest::CleanClose;
use cairndb_format::name;

use crate::engine::core::Core;
use crate::write::commit::Commit;

impl Core {
    /// Ends the handle. Reports the first failure; the lock is released in any case. Whoever calls
    /// second returns when the first is done, with the same failure: the directory is free then, too.
    pub(crate) fn close(&self) -> Result<()> {
        // What a fork has is the other process's: its files, and threads that are not here to be joined.
        self.origin.check()?;
        let mut failure = self.close_turn.lock();
        if self.health.is_closed() {
            return failure.clone().map_or(Ok(()), Err);
        }
        // From here on writes are refused: coming as fast as they are written out they would keep the
        // handle open for ever.
        self.commit.lock().closing = true;
        let flushed = self.flush_before_close();
        self.stop_threads();
        let result = flushed.and_then(|()| self.close_manifest());
        self.stop_calls();
        if result.is_ok() {
            self.drop_old_view();
            self.trim_spares();
        }
        *self.lock.lock() = None;
        *failure = result.as_ref().err().cloned();
        result
    }

    /// Refuses calls from here on and waits for those on the way: nothing of this handle may reach
    /// the directory once the lock is released.
    fn stop_calls(&self) {
        let mut commit = self.commit.lock();
        while commit.syncing {
            self.committed.wait(&mut commit);
        }
        self.health.close();
        drop(commit);
        self.committed.notify_all();
        self.changed.notify_all();
        let state = self.state.lock();
        drop(self.wait_state(state, |state| !state.at_work()));
    }

    fn flush_before_close(&self) -> Result<()> {
        if self.settings.read_only || !self.has_written() {
            return Ok(());
        }
        self.health.check_write()?;
        self.with_room(|| self.flush_parts().and_then(|()| self.persist_all()))?;
        self.give_back_before_close();
        Ok(())
    }

    /// Whether this handle has anything that the manifest does not say.
    fn has_written(&self) -> bool {
        let state = self.state.lock();
        self.manifest.is_open()
            || !state.mutable.is_empty()
            || !state.sealed.is_empty()
            || state.pending.is_some()
    }

    fn stop_threads(&self) {
        {
            let mut state = self.state.lock();
            state.closing = true;
        }
        self.work.notify_all();
        self.changed.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock());
        for join in threads {
            join();
        }
    }

    fn close_manifest(&self) -> Result<()> {
        if self.settings.read_only || !self.has_written() {
            return Ok(());
        }
        let mut commit = self.lock_when_written_out()?;
        self.ensure_manifest(&mut commit)?;
        let synced = self.sync_pass().and_then(|()| self.moved.sync());
        synced.map_err(|error| self.poison(error))?;
        let floor = self.segments.next_number();
        let mut edit = {
            let state = self.state.lock();
            state
                .version
                .values
                .values()
                .for_each(|file| file.complete());
            drop(state);
            self.durable_edit()
        };
        edit.last_seq = Some(commit.last_seq);
        edit.clean_close = Some(CleanClose {
            last_seq: commit.last_seq,
            log_ends: Vec::new(),
        });
        self.begin_manifest(edit)?;
        for segment in self.segments.retire_before(floor) {
            let keep = segment.region.size() == self.settings.budget.segment;
            let region = std::sync::Arc::clone(&segment.region);
            if !keep || self.segments.add_spare(segment.file, region).is_some() {
                self.reaper
                    .add(name::log(cairndb_base::FileNumber(segment.file)));
            }
        }
        commit.leave_segment();
        // Under the commit lock: no write may follow what the clean record says.
        self.health.close();
        Ok(())
    }

    /// The commit lock at a moment when tables hold everything, the manifest all tables, and no
    /// caller is at work on more.
    fn lock_when_written_out(&self) -> Result<MutexGuard<'_, Commit>> {
        loop {
            self.persist_all()?;
            while self.drop_dead_values()? {}
            let mut commit = self.commit.lock();
            // What a pass under way fails to sync must poison the handle first: a second sync of the same might succeed,
            // of pages that the system has dropped.
            while commit.syncing {
                self.committed.wait(&mut commit);
            }
            self.health.check_write()?;
            let state = self.state.lock();
            let done = commit.mutable.is_empty()
                && commit.awaiting_sync.is_empty()
                && state.sealed.is_empty()
                && state.pending.is_none()
                && !state.at_work();
            drop(state);
            if done {
                return Ok(commit);
            }
            drop(commit);
            self.flush_parts()?;
            let state = self.state.lock();
            drop(self.wait_state(state, |state| !state.at_work()));
        }
    }

    /// Lets go of versions that only this handle still holds, so that their files can go now.
    fn drop_old_view(&self) {
        let mut state = self.state.lock();
        state.pending = None;
        state.durable = std::sync::Arc::clone(&state.version);
        self.publish_view(&state);
    }
}
