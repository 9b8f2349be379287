//! `ValueFiles`: the value files to which writers and value garbage collection append.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{FileNumber, Result};
use cairndb_files::{create_unused, is_taken};
use cairndb_format::manifest::VersionEdit;
use cairndb_format::name;
use cairndb_format::value_file::ValueWriter;

use crate::durable::log::Log;
use crate::log::commit::Commit;
use crate::log::values::{Active, UNSYNCED_FILES_MAX, ValueLog};
use crate::state::files::value_handle::ValueHandle;
use crate::versions::base::Base;

pub(crate) struct ValueFiles {
    base: Arc<Base>,
    log: Arc<Log>,
    values: ValueLog,
    /// Log for values copied out of mostly dead files.
    moved: Arc<ValueLog>,
}

impl ValueFiles {
    pub(crate) fn new(base: &Arc<Base>, log: &Arc<Log>) -> ValueFiles {
        ValueFiles {
            base: Arc::clone(base),
            log: Arc::clone(log),
            values: ValueLog::default(),
            moved: Arc::default(),
        }
    }

    /// Returns the file to which writers append.
    pub(crate) fn values(&self) -> &ValueLog {
        &self.values
    }

    /// Returns the file to which value garbage collection appends.
    pub(crate) fn moved(&self) -> &Arc<ValueLog> {
        &self.moved
    }

    /// Returns whether values are being appended to `file`.
    pub(crate) fn is_filled(&self, file: u64) -> bool {
        [self.values.active(), self.moved.active()].contains(&Some(file))
    }

    /// Closes `files` for appending, unless a compaction is running.
    pub(crate) fn close_value_files(&self, files: &BTreeSet<u64>) {
        if files.iter().any(|file| self.is_filled(*file)) {
            let commit = self.log.lock();
            if self.base.versions.lock().may_relocate() {
                self.close_files(&commit, files);
            }
        }
    }

    /// Closes `files` for appending while no compaction is running. A file to which a writer has
    /// just appended stays open.
    pub(crate) fn close_files(&self, commit: &Commit, files: &BTreeSet<u64>) {
        for file in files {
            if commit.first_values().is_none_or(|first| first > *file) {
                self.values.finish(*file);
            }
            self.moved.finish(*file);
        }
    }

    /// Closes the files to which values are appended, so that they can be shared. Returns those
    /// that stay open because a relocation appends to them.
    pub(crate) fn close_all(&self, _commit: &Commit) -> Vec<u64> {
        if let Some(file) = self.values.active() {
            self.values.finish(file);
        }
        // Held, so that none begins.
        let state = self.base.versions.lock();
        if let Some(file) = self.moved.active().filter(|_| state.may_relocate()) {
            self.moved.finish(file);
        }
        drop(state);
        self.moved.active().into_iter().collect()
    }

    /// Begins a file for copies if none is open that takes more. Called before each step of a
    /// relocation.
    ///
    /// # Errors
    /// Errors of the file or the manifest.
    pub(crate) fn ensure_copy_file(&self) -> Result<()> {
        self.moved.begin_sync();
        if self.moved.unsynced_files() > UNSYNCED_FILES_MAX {
            // Each file holds a descriptor until it is synced.
            self.moved.sync().map_err(|error| self.base.poison(error))?;
        }
        if !self.moved.needs_file(self.base.settings.value_file) {
            return Ok(());
        }
        let mut commit = self.log.lock();
        self.base.health.check_write()?;
        let (begun, ()) = self.begin_value_file(&mut commit, self.base.encodes(), |_| Ok(()))?;
        let mut state = self.base.versions.lock();
        state.value_gc.first_copies.get_or_insert(begun.number());
        // Under the commit lock, so that a search for dead files finds the file open for appending.
        self.moved.begin(begun);
        Ok(())
    }

    /// Creates a value file, lets `fill` append to it, and names it in the manifest. `settled`
    /// means that its values need no compression later. The file is filled before it is named:
    /// otherwise each write whose value found no space would leave an empty file and an edit.
    ///
    /// # Errors
    /// Errors of the file or the manifest. At most one file is left, which is unlinked soon or at
    /// the next open.
    pub(crate) fn begin_value_file<T>(
        &self,
        commit: &mut Commit,
        settled: bool,
        fill: impl FnOnce(&mut ValueWriter) -> Result<T>,
    ) -> Result<(Active, T)> {
        self.log.ensure_manifest(commit)?;
        // The file is useless after a failed step. If its edit reached the disk nevertheless, the
        // next open finds the file missing and treats it as a file whose name was not durable.
        let given_up = |number, error| {
            self.base
                .sweeper
                .reaper()
                .add(name::value(FileNumber(number)));
            error
        };
        let mut number = 0;
        let created = create_unused(
            || {
                number = self.base.new_file();
                number
            },
            |number| ValueWriter::create(&*self.base.dir, number),
        );
        let (_, mut writer) = match created {
            Err(error) if !is_taken(&error) => return Err(given_up(number, error)),
            created => created?,
        };
        let given_up = |error| given_up(number, error);
        let filled = fill(&mut writer).map_err(given_up)?;
        let edit = VersionEdit {
            added_values: vec![number],
            settled_values: settled.then_some(number).into_iter().collect(),
            next_file: Some(self.base.next_file.load(Ordering::Relaxed)),
            ..VersionEdit::default()
        };
        self.log.manifests.append_naming(&edit).map_err(given_up)?;
        let handle = ValueHandle::begun(number, &self.base.opener);
        handle.settled.store(settled, Ordering::Relaxed);
        let handle = Arc::new(handle);
        self.add(&handle);
        Ok((Active::new(handle, writer), filled))
    }

    /// Adds a file that the manifest names to the versions: the newest, the durable one, and the
    /// one in between.
    fn add(&self, handle: &Arc<ValueHandle>) {
        let mut guard = self.base.versions.lock();
        let state = &mut *guard;
        let newest = state.version.values.keys().next_back();
        assert!(
            newest.is_none_or(|newest| *newest < handle.number),
            "value files are numbered in the order of their values"
        );
        let pending = state
            .durable
            .pending
            .as_mut()
            .map(|pending| &mut pending.version);
        let versions = [&mut state.version, &mut state.durable.version];
        for version in versions.into_iter().chain(pending) {
            let mut next = (**version).clone();
            let mut values = (*next.values).clone();
            values.insert(handle.number, Arc::clone(handle));
            next.values = Arc::new(values);
            *version = Arc::new(next);
        }
        self.base.versions.publish_view(state);
    }
}
