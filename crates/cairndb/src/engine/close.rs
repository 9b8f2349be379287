//! `Closer`: flushes, persists, writes a clean manifest and releases the lock.
//!
//! Closing writes a new manifest of one record, which its header covers completely: every file with
//! its length, the last sequence number, and no log. The next open therefore replays nothing and
//! detects a missing byte of the manifest, which is impossible in a manifest that was appended to.
//! A handle that wrote and compacted nothing writes nothing.

use std::sync::Arc;

use cairndb_base::{Error, FileNumber, Result, watch};
use cairndb_env::sync::{Mutex, MutexGuard};
use cairndb_format::manifest::CleanClose;
use cairndb_format::name;

use crate::durable::group_sync::GroupSync;
use crate::durable::log::Log;
use crate::durable::manifests::Manifests;
use crate::durable::persist::Persister;
use crate::durable::sweeper::Sweeper;
use crate::durable::value_files::ValueFiles;
use crate::log::commit::Commit;
use crate::scheduler::threads::Scheduler;
use crate::space::make_room::SpaceMaker;
use crate::value_gc::dead_files::DeadFiles;
use crate::versions::shared::Shared;
use crate::versions::version_set::VersionSet;
use crate::write::writer::Writer;

pub(crate) struct Closer {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    sweeper: Arc<Sweeper>,
    manifests: Arc<Manifests>,
    log: Arc<Log>,
    value_files: Arc<ValueFiles>,
    group_sync: Arc<GroupSync>,
    persister: Arc<Persister>,
    dead_files: Arc<DeadFiles>,
    space: Arc<SpaceMaker>,
    writer: Arc<Writer>,
    scheduler: Arc<Scheduler>,
    /// Held by the closing thread for the entire close. Contains the error of a failed close.
    close_turn: Mutex<Option<Error>>,
}

impl Closer {
    #[expect(
        clippy::too_many_arguments,
        reason = "each parameter is a separate component"
    )]
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        sweeper: Arc<Sweeper>,
        manifests: Arc<Manifests>,
        log: Arc<Log>,
        value_files: Arc<ValueFiles>,
        group_sync: Arc<GroupSync>,
        persister: Arc<Persister>,
        dead_files: Arc<DeadFiles>,
        space: Arc<SpaceMaker>,
        writer: Arc<Writer>,
        scheduler: Arc<Scheduler>,
    ) -> Closer {
        Closer {
            shared,
            versions,
            sweeper,
            manifests,
            log,
            value_files,
            group_sync,
            persister,
            dead_files,
            space,
            writer,
            scheduler,
            close_turn: Mutex::new(None),
        }
    }

    /// Closes the handle and returns the first failure. The lock is released in any case. A second
    /// call returns after the first, with the same failure; the directory is then unlocked.
    pub(crate) fn close(&self) -> Result<()> {
        // A stopped call may close what it has opened.
        watch::unwatched(|| self.close_whole())
    }

    fn close_whole(&self) -> Result<()> {
        // In a forked child, the files and threads belong to the parent.
        self.shared.origin.check()?;
        let mut failure = self.close_turn.lock();
        if self.shared.health.is_closed() {
            return failure.clone().map_or(Ok(()), Err);
        }
        // Writes are refused from here on: otherwise fast writers would keep the handle open
        // forever.
        self.log.lock().closing = true;
        let flushed = self.flush_before_close();
        self.stop_threads();
        let result = flushed.and_then(|()| self.close_manifest());
        self.stop_calls();
        if result.is_ok() {
            self.drop_old_view();
            self.log.trim_spares();
        }
        self.sweeper.release_lock();
        *failure = result.as_ref().err().cloned();
        result
    }

    /// Refuses new calls and waits for those in progress: no part of this handle may access the
    /// directory after the lock is released.
    fn stop_calls(&self) {
        let mut commit = self.log.lock();
        while commit.syncing {
            self.log.wait(&mut commit);
        }
        self.shared.health.close();
        drop(commit);
        self.log.notify();
        self.versions.view().readers.view_bound.end();
        self.versions.notify_changed();
        let state = self.versions.lock();
        drop(self.versions.wait(state, |state| !state.at_work()));
    }

    fn flush_before_close(&self) -> Result<()> {
        if self.shared.settings.read_only || !self.log.has_written() {
            return Ok(());
        }
        self.shared.health.check_write()?;
        self.space.with_room(|| {
            self.writer
                .flush_memtables()
                .and_then(|()| self.persister.persist_all())
        })?;
        self.scheduler.give_back_before_close();
        Ok(())
    }

    fn stop_threads(&self) {
        {
            let mut state = self.versions.lock();
            state.closing = true;
        }
        self.versions.notify_work();
        self.versions.notify_changed();
        self.scheduler.join_threads();
    }

    fn close_manifest(&self) -> Result<()> {
        if self.shared.settings.read_only || !self.log.has_written() {
            return Ok(());
        }
        let mut commit = self.lock_when_written_out()?;
        self.log.ensure_manifest(&mut commit)?;
        let synced = self
            .group_sync
            .sync_pass()
            .and_then(|()| self.value_files.moved().sync());
        synced.map_err(|error| self.versions.poison(error))?;
        let floor = self.log.segments().next_number();
        let mut edit = {
            let state = self.versions.lock();
            state
                .version
                .values
                .values()
                .for_each(|file| file.complete());
            drop(state);
            self.manifests.durable_edit()
        };
        edit.last_seq = Some(commit.last_seq);
        edit.clean_close = Some(CleanClose {
            last_seq: commit.last_seq,
            log_ends: Vec::new(),
        });
        self.manifests.begin_manifest(edit)?;
        for segment in self.log.segments().retire_before(floor) {
            let keep = segment.region.size() == self.shared.settings.budget.segment;
            let region = Arc::clone(&segment.region);
            if !keep
                || self
                    .log
                    .segments()
                    .add_spare(segment.file, region)
                    .is_some()
            {
                self.sweeper
                    .reaper()
                    .add(name::log(FileNumber(segment.file)));
            }
        }
        commit.leave_segment();
        // Under the commit lock: no write may follow the clean record.
        self.shared.health.close();
        Ok(())
    }

    /// Returns the commit lock once tables hold everything, the manifest names all tables, and no
    /// job is running.
    fn lock_when_written_out(&self) -> Result<MutexGuard<'_, Commit>> {
        loop {
            self.persister.persist_all()?;
            while self.dead_files.drop_dead_values()? {}
            let mut commit = self.log.lock();
            // A sync pass that fails must poison the handle first: a second sync might succeed
            // although the system has dropped the pages.
            while commit.syncing {
                self.log.wait(&mut commit);
            }
            self.shared.health.check_write()?;
            let state = self.versions.lock();
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
            let state = self.versions.lock();
            drop(self.versions.wait(state, |state| !state.at_work()));
        }
    }

    /// Drops versions that only this handle still holds, so that their files can be unlinked now.
    fn drop_old_view(&self) {
        let mut state = self.versions.lock();
        state.durable.pending = None;
        state.durable.version = Arc::clone(&state.version);
        self.versions.publish_view(&state);
    }
}
