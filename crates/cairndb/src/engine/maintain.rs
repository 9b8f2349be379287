//! Keeping the directory in order: beginning a new manifest, adopting spare log files, unlinking
//! what is obsolete.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{ErrorKind, FileNumber, Result};
use cairndb_env::LogRegion;
use cairndb_format::log::SegmentHeader;
use cairndb_format::manifest::{ManifestWriter, VersionEdit, prepare_current};
use cairndb_format::name::{self, FileKind};

use crate::engine::core::{Core, State};
use crate::state::context::ReadContext;
use crate::state::new_files::{create_unused, is_taken};
use crate::state::value_handle::ValueHandle;
use crate::state::version::Version;
use crate::write::commit::Commit;

/// The edit that makes `version` from nothing, but for numbers and the log.
pub(crate) fn edit_of(
    version: &Version,
    context: &ReadContext,
    stored_operator: Option<&str>,
) -> VersionEdit {
    let operator = context.merge_operator.as_ref();
    let operator = operator.map(|operator| operator.name());
    let settled = version.values.values();
    let settled = settled.filter(|handle| handle.settled.load(Ordering::Relaxed));
    let whole = version.values.values();
    let whole = whole.map(|handle| (handle.number, handle.whole.load(Ordering::Relaxed)));
    VersionEdit {
        comparator: Some(context.order.name().to_owned()),
        merge_operator: operator.or(stored_operator).map(str::to_owned),
        added_tables: version.tables().map(|table| table.record.clone()).collect(),
        runs: Some(version.runs.iter().map(|run| run.id).collect()),
        added_values: version.values.keys().copied().collect(),
        settled_values: settled.map(|handle| handle.number).collect(),
        value_sizes: whole.filter(|(_, bytes)| *bytes > 0).collect(),
        ..VersionEdit::default()
    }
}

impl Core {
    /// Makes sure that edits can be appended: begins a manifest at this handle's first write, after
    /// a failed append, and when the old one has grown long.
    pub(crate) fn ensure_manifest(&self, commit: &mut Commit) -> Result<()> {
        let first = !self.manifest.is_open();
        if !first && !self.manifest.is_broken() && !self.manifest.is_long() {
            return Ok(());
        }
        // An edit that the syncer has appended and not yet taken into `durable` would stand in the
        // old manifest alone. No new pass can begin: that takes the commit lock.
        drop(self.wait_state(self.state.lock(), |state| !state.persisting));
        self.roll_manifest(commit)?;
        if first {
            self.adopt_leftovers()?;
        }
        Ok(())
    }

    /// Writes the durable state as one edit into a new manifest and points CURRENT to it. The
    /// commit lock is held, so no segment can be named meanwhile.
    fn roll_manifest(&self, _commit: &mut Commit) -> Result<()> {
        let mut edit = self.durable_edit();
        edit.added_segments = self
            .segments
            .live()
            .iter()
            .map(|segment| segment.record())
            .collect();
        self.begin_manifest(edit)
    }

    /// The edit that makes the durable version from nothing, without a log.
    pub(crate) fn durable_edit(&self) -> VersionEdit {
        let state = self.state.lock();
        let dead = state.durable_dead.iter();
        let value_dead = dead.map(|(file, dead)| (*file, *dead)).collect();
        VersionEdit {
            value_dead,
            ..self.snapshot_edit(&state.durable, state.durable_seq)
        }
    }

    /// Writes `edit`, which says everything, into a new manifest and points CURRENT to it. Only a base
    /// can be several edits: one that is appended must be there or not.
    pub(crate) fn begin_manifest(&self, edit: VersionEdit) -> Result<()> {
        let old = self.state.lock().manifest;
        let salt = self.env.random_u64();
        let base = edit.divided(self.settings.budget.edit);
        let mut begun_number = 0;
        let begun = create_unused(
            || {
                begun_number = self.new_file();
                begun_number
            },
            |number| {
                let writer = ManifestWriter::create(&*self.dir, number, salt, &base)?;
                let prepared = prepare_current(&*self.dir, number);
                if prepared.as_ref().is_err_and(is_taken) {
                    // Another number is taken for both.
                    self.reaper.add(name::manifest(number));
                }
                prepared.map(|()| writer)
            },
        );
        let (number, writer) = match begun {
            Ok(begun) => begun,
            Err(error) if is_taken(&error) => return Err(error),
            Err(error) => {
                // CURRENT is as it was, and nothing will ever need these two. But no durable record
                // says that the number is taken: its file stays as a sign for the next opening,
                // until a later attempt leaves another or succeeds.
                self.reaper.add(name::temp(FileNumber(begun_number)));
                self.forget_failed_manifest(begun_number);
                return Err(error);
            }
        };
        self.forget_failed_manifest(0);
        let poison = |error| self.poison(error);
        self.dir.sync().map_err(poison)?;
        // A failed rename may have been done on some file systems: both manifests stay, and nothing that the
        // new one does not know may be appended to the old one.
        self.dir
            .rename(&name::temp(number), name::CURRENT)
            .inspect_err(|_| self.manifest.give_up())?;
        self.dir.sync().map_err(poison)?;
        self.manifest.replace(writer);
        let mut state = self.state.lock();
        state.manifest = number.0;
        drop(state);
        if old != 0 {
            self.reaper.add(name::manifest(FileNumber(old)));
        }
        Ok(())
    }

    /// Lets go of the manifest that could not be begun before; `next` is one that could not be
    /// begun now, or 0.
    fn forget_failed_manifest(&self, next: u64) {
        let earlier = std::mem::replace(&mut self.state.lock().failed_manifest, next);
        if earlier != 0 {
            self.reaper.add(name::manifest(FileNumber(earlier)));
        }
    }

    /// The edit that makes `version` from nothing.
    pub(crate) fn snapshot_edit(&self, version: &Version, last_seq: u64) -> VersionEdit {
        let stored_operator = self.stored_operator.as_deref();
        VersionEdit {
            next_file: Some(self.next_file.load(Ordering::Relaxed)),
            last_seq: Some(last_seq),
            ..edit_of(version, &self.context, stored_operator)
        }
    }

    /// A new log file of `bytes`, marked as ours: one that was left without a mark nobody could
    /// remove.
    pub(crate) fn create_log(&self, bytes: u64) -> Result<(FileNumber, Arc<dyn LogRegion>)> {
        let created = create_unused(
            || self.new_file(),
            |number| self.dir.create_log(&name::log(number), bytes),
        );
        let (number, region) = created?;
        let marked = region.write(0, &[&SegmentHeader::UNUSED.encode()], false);
        if let Err(error) = marked {
            self.reaper.add(name::log(number));
            return Err(error);
        }
        Ok((number, region))
    }

    /// Takes log files of ours that no manifest names as spares, and removes what else an earlier
    /// handle has left. One that was not closed may have met a failed sync, after which nobody
    /// knows what of a file reaches the disk: none of its logs is used again.
    fn adopt_leftovers(&self) -> Result<()> {
        let regular = self.settings.budget.segment;
        for found in self.leftovers.take_ours(&*self.dir) {
            let mut used = false;
            if let Some(FileKind::Log(FileNumber(file))) = FileKind::parse(found)
                && self.report.clean
                && self.dir.size_of(found)? == Some(regular)
            {
                match self.dir.open_log(found) {
                    Ok(region) => used = self.segments.add_spare(file, region).is_none(),
                    // A cursor of an earlier handle still reads it.
                    Err(error) if error.kind() == ErrorKind::Locked => {}
                    Err(error) => return Err(error),
                }
            }
            if !used {
                self.reaper.add(found.clone());
            }
        }
        Ok(())
    }

    /// Unlinks obsolete files; whether there were any. A poisoned handle deletes nothing.
    pub(crate) fn reap(&self) -> bool {
        self.reap_with(Vec::new)
    }

    /// Gives back what a busy log kept in reserve.
    pub(crate) fn trim_spares(&self) {
        self.reap_with(|| {
            let spares = self.segments.trim_spares().into_iter();
            spares.map(|file| name::log(FileNumber(file))).collect()
        });
    }

    /// As [`Core::reap`], and those whose names `more` gives.
    fn reap_with(&self, more: impl FnOnce() -> Vec<String>) -> bool {
        if self.origin.check().is_err() {
            return false;
        }
        // Held meanwhile: once it is given up, the names may be another handle's.
        let lock = self.lock.lock();
        if lock.is_none() || self.health.is_poisoned() {
            return false;
        }
        // A file that will not go now is swept at the next opening.
        self.reaper
            .reap(more, |obsolete| self.dir.unlink(obsolete).is_ok())
    }

    /// Drops value files that nothing refers to; whether there were any.
    ///
    /// # Errors
    /// Of the manifest; the files stay.
    pub(crate) fn drop_dead_values(&self) -> Result<bool> {
        // Held, so that no value file and no manifest is begun meanwhile.
        let mut commit = self.commit.lock();
        if self.health.check_write().is_err() {
            return Ok(false);
        }
        if !self.manifest.is_open() && !self.dead_values(&commit, &self.state.lock()).is_empty() {
            // A handle that has not written yet: an earlier one has left them.
            self.ensure_manifest(&mut commit)?;
        }
        let Some(gone) = self.claim_dead_values(&commit) else {
            return Ok(false);
        };
        let edit = VersionEdit {
            removed_values: gone.clone(),
            ..VersionEdit::default()
        };
        let appended = self.manifest.append(&edit, &self.stats);
        let mut state = self.state.lock();
        state.persisting = false;
        let removed = appended.map(|()| self.forget_values(&mut state, &gone));
        drop(state);
        drop(commit);
        self.changed.notify_all();
        self.work.notify_all();
        let removed = removed?;
        // In turn: nobody may find this edit claimed and take it for durable before it is.
        let _turn = self.take_sync_turn()?;
        let poison = |error| self.poison(error);
        // Earlier edits become durable with this one, and so must the names they mention.
        if self.names_dirty.swap(false, Ordering::AcqRel) {
            self.dir.sync().map_err(poison)?;
        }
        self.manifest.sync(&self.stats).map_err(poison)?;
        for handle in removed {
            handle.doom();
        }
        // Readers may keep them now: the worker, which slept since the words above, is to look for them. Locked in between, so
        // that it either has not looked yet or waits already.
        drop(self.state.lock());
        self.work.notify_all();
        Ok(true)
    }

    /// Drops every value file that nothing refers to, and waits for whoever is at it.
    ///
    /// # Errors
    /// As [`Core::drop_dead_values`].
    pub(crate) fn drop_all_dead_values(&self) -> Result<()> {
        loop {
            while self.drop_dead_values()? {}
            let state = self.state.lock();
            if state.version.values.is_empty() || !state.persisting {
                break;
            }
            drop(self.wait_state(state, |state| !state.persisting));
        }
        // Somebody may have claimed some, and their edit is not durable before this turn ends.
        drop(self.take_sync_turn()?);
        self.reap();
        Ok(())
    }

    /// The files that nothing refers to; with some, the manifest is claimed.
    fn claim_dead_values(&self, commit: &Commit) -> Option<Vec<u64>> {
        let mut state = self.state.lock();
        // What is being persisted may name tables that neither version has.
        if state.persisting || !self.manifest.is_open() {
            return None;
        }
        if self.manifest.is_broken() {
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
        let parts = state.sealed.iter().filter_map(|part| part.values.first);
        let flushed = state.pending.as_ref().and_then(|it| it.first_values);
        // Copies whose pointers are in no table yet, and what was written after these.
        let copies = state.relocating.first_copies;
        let written = commit.first_values().into_iter().chain(copies);
        let moving = parts.chain(flushed).chain(written).min();
        let filled = [self.values.active(), self.moved.active()];
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
        self.publish_view(state);
        removed
    }
}
