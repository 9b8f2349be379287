//! Drops value files without a live value.

use std::collections::BTreeSet;
use std::sync::Arc;

use cairndb_base::Result;
use cairndb_format::manifest::VersionEdit;

use crate::durable::log::Log;
use crate::durable::manifests::Manifests;
use crate::durable::sweeper::Sweeper;
use crate::durable::value_files::ValueFiles;
use crate::log::commit::Commit;
use crate::state::value_handle::ValueHandle;
use crate::state::version::Version;
use crate::versions::shared::Shared;
use crate::versions::state::State;
use crate::versions::version_set::VersionSet;

/// Drops value files without a live value.
pub(crate) struct DeadFiles {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    sweeper: Arc<Sweeper>,
    manifests: Arc<Manifests>,
    log: Arc<Log>,
    value_files: Arc<ValueFiles>,
}

impl DeadFiles {
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        sweeper: Arc<Sweeper>,
        manifests: Arc<Manifests>,
        log: Arc<Log>,
        value_files: Arc<ValueFiles>,
    ) -> DeadFiles {
        DeadFiles {
            shared,
            versions,
            sweeper,
            manifests,
            log,
            value_files,
        }
    }

    /// Drops value files that nothing refers to; whether there were any.
    ///
    /// # Errors
    /// Of the manifest; the files stay.
    pub(crate) fn drop_dead_values(&self) -> Result<bool> {
        // Held, so that no value file and no manifest is begun meanwhile.
        let mut commit = self.log.lock();
        if self.shared.health.check_write().is_err() {
            return Ok(false);
        }
        if !self.manifests.is_open() && !self.dead_values(&commit, &self.versions.lock()).is_empty()
        {
            // A handle that has not written yet: an earlier one has left them.
            self.log.ensure_manifest(&mut commit)?;
        }
        let Some(gone) = self.claim_dead_values(&commit) else {
            return Ok(false);
        };
        let edit = VersionEdit {
            removed_values: gone.clone(),
            ..VersionEdit::default()
        };
        let appended = self.manifests.append(&edit);
        let mut state = self.versions.lock();
        state.persisting = false;
        let removed = appended.map(|()| self.forget_values(&mut state, &gone));
        drop(state);
        drop(commit);
        self.versions.notify_changed();
        self.versions.notify_work();
        let removed = removed?;
        // In turn: nobody may find this edit claimed and take it for durable before it is.
        let _turn = self.manifests.take_sync_turn()?;
        let poison = |error| self.versions.poison(error);
        // Earlier edits become durable with this one, and so must the names they mention.
        if self.manifests.take_names() {
            self.shared.dir.sync().map_err(poison)?;
        }
        self.manifests.sync().map_err(poison)?;
        for handle in removed {
            handle.doom();
        }
        // Readers may keep them now: the worker, which slept since the words above, is to look for them. Locked in between, so
        // that it either has not looked yet or waits already.
        drop(self.versions.lock());
        self.versions.notify_work();
        Ok(true)
    }

    /// Drops every value file that nothing refers to, and waits for whoever is at it.
    ///
    /// # Errors
    /// As [`DeadFiles::drop_dead_values`].
    pub(crate) fn drop_all_dead_values(&self) -> Result<()> {
        loop {
            while self.drop_dead_values()? {}
            let state = self.versions.lock();
            if state.version.values.is_empty() || !state.persisting {
                break;
            }
            drop(self.versions.wait(state, |state| !state.persisting));
        }
        // Somebody may have claimed some, and their edit is not durable before this turn ends.
        drop(self.manifests.take_sync_turn()?);
        self.sweeper.reap();
        Ok(())
    }

    /// The files that nothing refers to; with some, the manifest is claimed.
    fn claim_dead_values(&self, commit: &Commit) -> Option<Vec<u64>> {
        let mut state = self.versions.lock();
        // What is being persisted may name tables that neither version has.
        if state.persisting || !self.manifests.is_open() {
            return None;
        }
        if self.manifests.is_broken() {
            // Once another is begun; closing would fail for it now.
            return None;
        }
        let gone = self.dead_values(commit, &state);
        state.persisting = !gone.is_empty();
        (!gone.is_empty()).then_some(gone)
    }

    /// The files that no table, in memory or durable, and no pointer on its way to one refers to.
    fn dead_values(&self, commit: &Commit, state: &State) -> Vec<u64> {
        if state.version.values.is_empty() {
            return Vec::new();
        }
        // A pointer goes to the file that was active when its value was appended, and those ascend.
        // Those of a flush that is not durable stand in the log as well, which would be replayed.
        let parts = state.immutables.iter().filter_map(|part| part.values.first);
        let flushed = state.pending.as_ref().and_then(|it| it.first_values);
        // Copies whose pointers are in no table yet, and what was written after these.
        let copies = state.relocating.first_copies;
        let written = commit.first_values().into_iter().chain(copies);
        let moving = parts.chain(flushed).chain(written).min();
        let filled = [
            self.value_files.values().active(),
            self.value_files.moved().active(),
        ];
        let kept = |file: &u64| {
            moving.is_some_and(|first| first <= *file) || filled.contains(&Some(*file))
        };
        let mut gone: BTreeSet<u64> = state.version.values.keys().copied().collect();
        gone.retain(|file| !kept(file));
        for table in state.version.tables().chain(state.durable.tables()) {
            if gone.is_empty() {
                break;
            }
            for (file, _) in &table.record.value_refs {
                gone.remove(file);
            }
        }
        gone.into_iter().collect()
    }

    /// Takes `gone` out of every version to come; returns their handles.
    fn forget_values(&self, state: &mut State, gone: &[u64]) -> Vec<Arc<ValueHandle>> {
        let mut removed = Vec::new();
        let pending = state.pending.as_mut().map(|pending| &mut pending.version);
        for version in [&mut state.version, &mut state.durable]
            .into_iter()
            .chain(pending)
        {
            let mut values = (*version.values).clone();
            removed.extend(gone.iter().filter_map(|file| values.remove(file)));
            *version = Arc::new(Version {
                runs: version.runs.clone(),
                values: Arc::new(values),
            });
        }
        for file in gone {
            state.durable_dead.remove(file);
        }
        self.versions.publish_view(state);
        removed
    }
}
