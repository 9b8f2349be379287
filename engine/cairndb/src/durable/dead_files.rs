//! `DeadFiles`: drops value files without a live value.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::Result;
use cairndb_format::manifest::VersionEdit;

use crate::durable::disk::Disk;
use crate::log::commit::Commit;
use crate::state::files::value_handle::ValueHandle;
use crate::state::stats::StallReason;
use crate::state::version::Version;
use crate::state::version::census::Census;
use crate::versions::base::Base;
use crate::versions::engine_state::{EngineState, ImmutableMemtable};

pub(crate) struct DeadFiles {
    base: Arc<Base>,
    disk: Arc<Disk>,
}

impl DeadFiles {
    pub(crate) fn new(base: &Arc<Base>, disk: &Arc<Disk>) -> DeadFiles {
        DeadFiles {
            base: Arc::clone(base),
            disk: Arc::clone(disk),
        }
    }

    /// Drops value files that nothing refers to. Returns whether there were any.
    ///
    /// # Errors
    /// Errors of the manifest, after which the files stay.
    pub(crate) fn drop_dead_values(&self) -> Result<bool> {
        // Held so that no value file or manifest is started in the meantime.
        let mut commit = self.disk.log.lock();
        if self.base.health.check_write().is_err() {
            return Ok(false);
        }
        if !self.disk.log.manifests.is_open()
            && !self
                .dead_values(&commit, &self.base.versions.lock())
                .is_empty()
        {
            // This handle has not written yet; an earlier one left the files.
            self.disk.log.ensure_manifest(&mut commit)?;
        }
        let Some(gone) = self.claim_dead_values(&commit) else {
            return Ok(false);
        };
        let edit = VersionEdit {
            removed_values: gone.clone(),
            ..VersionEdit::default()
        };
        let appended = self.disk.log.manifests.append(&edit);
        let mut state = self.base.versions.lock();
        state.durable.persisting = false;
        let removed = appended.map(|()| self.forget_values(&mut state, &gone));
        drop(state);
        drop(commit);
        self.base.versions.notify_changed();
        self.base.versions.notify_work();
        let removed = removed?;
        // Within the turn: another thread must not treat this edit as durable before it is synced.
        let _turn = self.disk.log.manifests.take_sync_turn()?;
        let poison = |error| self.base.poison(error);
        // Earlier edits become durable with this one, so the names in them must be durable too.
        if self.disk.log.manifests.take_names() {
            self.base.dir.sync().map_err(poison)?;
        }
        self.disk.log.manifests.sync().map_err(poison)?;
        for handle in removed {
            handle.mark_obsolete();
        }
        // Readers may still use the files. The worker, which may have slept since the signal above,
        // has to check for them. The lock ensures that it either has not looked yet or is already
        // waiting.
        drop(self.base.versions.lock());
        self.base.versions.notify_work();
        Ok(true)
    }

    /// Drops every value file that nothing refers to, and waits for other threads that do so.
    ///
    /// # Errors
    /// Same as [`DeadFiles::drop_dead_values`].
    pub(crate) fn drop_all_dead_values(&self) -> Result<()> {
        loop {
            while self.drop_dead_values()? {}
            let state = self.base.versions.lock();
            if state.version.values.is_empty() || !state.durable.persisting {
                break;
            }
            drop(
                self.base
                    .versions
                    .wait(state, |state| !state.durable.persisting),
            );
        }
        // Another thread may have claimed some files, and its edit is durable only after this turn.
        drop(self.disk.log.manifests.take_sync_turn()?);
        self.base.sweeper.reap();
        Ok(())
    }

    /// Unlinks obsolete files.
    pub(crate) fn reap(&self) {
        self.base.sweeper.reap();
    }

    /// Claims the files that nothing refers to, and with them the manifest.
    fn claim_dead_values(&self, commit: &Commit) -> Option<Vec<u64>> {
        let mut state = self.base.versions.lock();
        // A persister pass may name tables that neither version has.
        if state.durable.persisting || !self.disk.log.manifests.is_open() {
            return None;
        }
        if self.disk.log.manifests.is_broken() {
            // The files are dropped after the next manifest is started. Dropping them now would
            // make closing fail.
            return None;
        }
        let gone = self.dead_values(commit, &state);
        state.durable.persisting = !gone.is_empty();
        (!gone.is_empty()).then_some(gone)
    }

    /// Returns the stall reason if a writer of large values should wait: value files take more than
    /// the limit under load, those without a live value do, or so many values wait for a flush that
    /// it is not known which are live. Files are dropped only after the tables that replaced their
    /// pointers are synced, and a writer that overwrites one value can fill files several times as
    /// fast.
    pub(crate) fn hold_up(&self, commit: &Commit) -> Option<StallReason> {
        let unit = self.base.settings.waste_unit();
        let state = self.base.versions.lock();
        let files = state.version.values.values();
        let all: u64 = files.map(|file| file.bytes.load(Ordering::Relaxed)).sum();
        // A thread that drops files may be slow to unlink them.
        let all = all.saturating_add(self.base.sweeper.reaper().leaving_bytes());
        if state.closing || all <= unit {
            return None;
        }
        // Until these are flushed, nothing is known to be dead.
        let waiting = state.immutables.iter().map(|part| part.values.bytes);
        let waiting: u64 = waiting.sum();
        if waiting > unit {
            return Some(StallReason::Memtable);
        }
        let mut census = Census::of(&state.version);
        let max = census.last_run.saturating_add(2 * unit).saturating_mul(2);
        if all.saturating_sub(waiting + commit.value_bytes()) > max {
            return Some(StallReason::Space);
        }
        let first_values = |immutable: &ImmutableMemtable| immutable.values.first;
        let immutables = state.immutables.iter().filter_map(first_values);
        let written = immutables.chain(commit.first_values());
        let moving = written.chain(state.value_gc.first_copies).min();
        census.files.retain(|file| {
            moving.is_none_or(|first| file.file < first)
                && !self.disk.value_files.is_filled(file.file)
        });
        let dead = census.files.iter().filter(|file| file.live == 0);
        let dead: u64 = dead.map(|file| file.bytes).sum();
        (dead > unit).then_some(StallReason::Space)
    }

    /// Returns the files that no table, installed or durable, and no pointer in memory refers to.
    fn dead_values(&self, commit: &Commit, state: &EngineState) -> Vec<u64> {
        if state.version.values.is_empty() {
            return Vec::new();
        }
        // A pointer goes to the file that was active when its value was appended, and file numbers
        // ascend. Pointers of a flush that is not durable are also in the log, which would be
        // replayed.
        let immutables = state
            .immutables
            .iter()
            .filter_map(|immutable| immutable.values.first);
        let flushed = state
            .durable
            .pending
            .as_ref()
            .and_then(|it| it.first_values);
        // Copies whose pointers are in no table yet, and everything written after them.
        let copies = state.value_gc.first_copies;
        let written = commit.first_values().into_iter().chain(copies);
        // Readers of changes read pointers that are no longer in tables.
        let read = self.disk.first_read_values();
        let moving = immutables.chain(flushed).chain(written).chain(read).min();
        let filled = [
            self.disk.value_files.values().active(),
            self.disk.value_files.moved().active(),
        ];
        let kept = |file: &u64| {
            moving.is_some_and(|first| first <= *file) || filled.contains(&Some(*file))
        };
        let mut gone: BTreeSet<u64> = state.version.values.keys().copied().collect();
        gone.retain(|file| !kept(file));
        for table in state.version.tables().chain(state.durable.version.tables()) {
            if gone.is_empty() {
                break;
            }
            for (file, _) in &table.record.value_refs {
                gone.remove(file);
            }
        }
        gone.into_iter().collect()
    }

    /// Removes the files `gone` from all versions and returns their handles.
    fn forget_values(&self, state: &mut EngineState, gone: &[u64]) -> Vec<Arc<ValueHandle>> {
        let pending = state
            .durable
            .pending
            .as_ref()
            .map(|pending| &pending.version);
        let durable = [&state.version, &state.durable.version];
        for version in durable.into_iter().chain(pending) {
            let mut refs = version.tables().flat_map(|table| &table.record.value_refs);
            assert!(
                !refs.any(|(file, _)| gone.contains(file)),
                "no table points to a value file that is dropped"
            );
        }
        let handles = gone
            .iter()
            .filter_map(|file| state.version.values.get(file));
        let bytes = handles.map(|file| file.bytes.load(Ordering::Relaxed)).sum();
        self.base.sweeper.reaper().leave(bytes);
        let mut removed = Vec::new();
        let pending = state
            .durable
            .pending
            .as_mut()
            .map(|pending| &mut pending.version);
        for version in [&mut state.version, &mut state.durable.version]
            .into_iter()
            .chain(pending)
        {
            let mut values = (*version.values).clone();
            removed.extend(gone.iter().filter_map(|file| values.remove(file)));
            *version = Arc::new(Version {
                values: Arc::new(values),
                ..(**version).clone()
            });
        }
        for file in gone {
            state.durable.dead.remove(file);
        }
        self.base.versions.publish_view(state);
        removed
    }
}
