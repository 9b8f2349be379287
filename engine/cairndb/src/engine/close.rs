//! `Closer`: flushes, persists, writes a clean manifest and releases the lock.
//!
//! Closing writes a new manifest of one record, which its header covers completely: every file with
//! its length, the last sequence number, and no log. The next open therefore replays nothing and
//! detects a missing byte of the manifest, which is impossible in a manifest that was appended to.
//! A handle that wrote and compacted nothing writes nothing.

use std::sync::Arc;

use cairndb_base::{Error, Result, watch};
use cairndb_env::sync::{Mutex, MutexGuard};
use cairndb_format::manifest::CleanClose;

use crate::compaction::tables::Tables;
use crate::durable::disk::Disk;
use crate::log::commit::Commit;
use crate::scheduler::threads::Scheduler;
use crate::space::space_maker::SpaceMaker;
use crate::versions::base::Base;
use crate::write::writer::Writer;

pub(super) struct Closer<'c> {
    pub(super) base: &'c Base,
    pub(super) disk: &'c Disk,
    pub(super) tables: &'c Tables,
    pub(super) space: &'c SpaceMaker,
    pub(super) writer: &'c Writer,
    pub(super) scheduler: &'c Scheduler,
    /// Held by the closing thread for the entire close. Contains the error of a failed close.
    pub(super) close_turn: &'c Mutex<Option<Error>>,
}

impl Closer<'_> {
    /// Closes the handle and returns the first failure. The lock is released in any case. A second
    /// call returns after the first, with the same failure; the directory is then unlocked.
    pub(crate) fn close(&self) -> Result<()> {
        // A stopped call may close what it has opened.
        watch::unwatched(|| self.close_whole())
    }

    fn close_whole(&self) -> Result<()> {
        // In a forked child, the files and threads belong to the parent.
        self.base.origin.check()?;
        let mut failure = self.close_turn.lock();
        if self.base.health.is_closed() {
            return failure.clone().map_or(Ok(()), Err);
        }
        // Writes are refused from here on: otherwise fast writers would keep the handle open
        // forever.
        self.disk.log.lock().closing = true;
        let flushed = self.flush_before_close();
        self.stop_threads();
        let result = flushed.and_then(|()| self.close_manifest());
        self.stop_calls();
        if result.is_ok() {
            self.drop_old_view();
            self.disk.log.trim_at_close();
        }
        self.base.sweeper.release_lock();
        *failure = result.as_ref().err().cloned();
        result
    }

    /// Refuses new calls and waits for those in progress: no part of this handle may access the
    /// directory after the lock is released.
    fn stop_calls(&self) {
        let mut commit = self.disk.log.lock();
        while commit.syncing {
            self.disk.log.wait(&mut commit);
        }
        self.base.health.close();
        drop(commit);
        self.disk.log.notify();
        for view in self.base.versions.views() {
            view.readers.view_bound.end();
        }
        self.base.versions.notify_changed();
        let state = self.base.versions.lock();
        drop(self.base.versions.wait(state, |state| !state.at_work()));
    }

    fn flush_before_close(&self) -> Result<()> {
        if self.base.settings.read_only || !self.disk.log.has_written() {
            return Ok(());
        }
        self.base.health.check_write()?;
        self.space.with_disk_space(|| {
            self.writer
                .flush_memtables()
                .and_then(|()| self.disk.persist_all())
        })?;
        self.scheduler.give_back_before_close();
        Ok(())
    }

    fn stop_threads(&self) {
        {
            let mut state = self.base.versions.lock();
            state.closing = true;
        }
        self.base.versions.notify_work();
        self.base.versions.notify_changed();
        self.scheduler.join_threads();
    }

    fn close_manifest(&self) -> Result<()> {
        if self.base.settings.read_only || !self.disk.log.has_written() {
            return Ok(());
        }
        let mut commit = self.lock_when_written_out()?;
        self.disk.log.ensure_manifest(&mut commit)?;
        let synced = self
            .disk
            .sync_pass()
            .and_then(|()| self.disk.value_files.moved().sync());
        synced.map_err(|error| self.base.poison(error))?;
        let floor = self.disk.log.segments().next_number();
        let mut edit = {
            let state = self.base.versions.lock();
            state
                .version
                .values
                .values()
                .for_each(|file| file.complete());
            drop(state);
            self.disk.log.manifests.durable_edit()
        };
        assert!(
            commit.mutable.is_empty() && edit.last_seq.is_some_and(|seq| seq <= commit.last_seq),
            "everything is in tables, so that the log is not needed"
        );
        edit.last_seq = Some(commit.last_seq);
        edit.clean_close = Some(CleanClose {
            last_seq: commit.last_seq,
            log_ends: Vec::new(),
        });
        self.disk.log.history.end_readers();
        let copies = self.disk.copy_leaving(floor, commit.last_seq)?;
        let change = self.disk.retire(floor, commit.last_seq, &copies);
        change.describe_result(&mut edit, self.disk.log.history.events());
        self.disk.log.manifests.begin_manifest(edit)?;
        self.base
            .sweeper
            .followers
            .announce_durable(commit.last_seq);
        self.disk.free_segments(floor, change);
        commit.leave_segment();
        // Under the commit lock: no write may follow the clean record.
        self.base.health.close();
        Ok(())
    }

    /// Returns the commit lock once tables hold everything, the manifest names all tables, and no
    /// job is running.
    fn lock_when_written_out(&self) -> Result<MutexGuard<'_, Commit>> {
        loop {
            self.disk.persist_all()?;
            while self.tables.dead_files.drop_dead_values()? {}
            let mut commit = self.disk.log.lock();
            // A sync pass that fails must poison the handle first: a second sync might succeed
            // although the system has dropped the pages.
            while commit.syncing {
                self.disk.log.wait(&mut commit);
            }
            self.base.health.check_write()?;
            let state = self.base.versions.lock();
            let done = commit.mutable.is_empty()
                && commit.awaiting_sync.is_empty()
                && state.immutables.is_empty()
                && state.durable.pending.is_none()
                && !state.at_work();
            drop(state);
            if done {
                return Ok(commit);
            }
            drop(commit);
            self.writer.flush_memtables()?;
            let state = self.base.versions.lock();
            drop(self.base.versions.wait(state, |state| !state.at_work()));
        }
    }

    /// Drops versions that only this handle still holds, so that their files can be unlinked now.
    fn drop_old_view(&self) {
        let mut state = self.base.versions.lock();
        state.durable.pending = None;
        state.durable.version = Arc::clone(&state.version);
        self.base.versions.publish_view(&state);
    }
}
