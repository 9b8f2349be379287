//! Keeping the directory in order: beginning a new manifest, adopting spare log files, unlinking
//! what is obsolete.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{FileNumber, Result};
use cairndb_format::manifest::{ManifestWriter, VersionEdit, prepare_current};
use cairndb_format::name::{self, FileKind};

use crate::engine::core::Core;
use crate::state::version::Version;
use crate::write::commit::Commit;

/// A manifest longer than this is begun anew at the next chance.
const MANIFEST_BYTES_MAX: u64 = 4 << 20;

impl Core {
    /// Makes sure that edits can be appended: begins a manifest at this handle's first write, after
    /// a failed append, and when the old one has grown long.
    pub(crate) fn ensure_manifest(&self, commit: &mut Commit) -> Result<()> {
        let first = !self.manifest.is_open();
        if !first && !self.manifest.is_broken() && self.manifest.bytes() < MANIFEST_BYTES_MAX {
            return Ok(());
        }
        // An edit that the syncer has appended and not yet taken into `durable` would stand in the
        // old manifest alone. No new pass can begin: that takes the commit lock.
        drop(self.wait_state(self.state.lock(), |state| !state.persisting));
        self.roll_manifest(commit)?;
        if first {
            for leftover in std::mem::take(&mut *self.leftovers.lock()) {
                self.reaper.add(leftover);
            }
            self.adopt_spares()?;
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

    /// Writes `edit`, which says everything, into a new manifest and points CURRENT to it.
    pub(crate) fn begin_manifest(&self, edit: VersionEdit) -> Result<()> {
        let number = self.new_file();
        let old = self.state.lock().manifest;
        let salt = self.env.random_u64();
        let number = FileNumber(number);
        let begun = ManifestWriter::create(&*self.dir, number, salt, &[edit])
            .and_then(|writer| prepare_current(&*self.dir, number).map(|()| writer));
        let writer = match begun {
            Ok(writer) => writer,
            Err(error) => {
                // CURRENT is as it was, and nothing will ever need these two. But no durable record
                // says that the number is taken: its file stays as a sign for the next opening,
                // until a later attempt leaves another or succeeds.
                self.reaper.add(name::temp(number));
                self.forget_failed_manifest(number.0);
                return Err(error);
            }
        };
        self.forget_failed_manifest(0);
        let poison = |error| self.health.poison(error);
        self.dir.sync().map_err(poison)?;
        // A failed rename may have been done on some file systems: both manifests stay.
        self.dir.rename(&name::temp(number), name::CURRENT)?;
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
        let operator = self
            .context
            .merge_operator
            .as_ref()
            .map(|operator| operator.name());
        let whole = version.values.values();
        let whole = whole.map(|handle| (handle.number, handle.whole.load(Ordering::Relaxed)));
        VersionEdit {
            comparator: Some(self.context.order.name().to_owned()),
            merge_operator: operator.map(str::to_owned),
            next_file: Some(self.next_file.load(Ordering::Relaxed)),
            last_seq: Some(last_seq),
            added_tables: version.tables().map(|table| table.record.clone()).collect(),
            runs: Some(version.runs.iter().map(|run| run.id).collect()),
            added_values: version.values.keys().copied().collect(),
            value_sizes: whole.filter(|(_, bytes)| *bytes > 0).collect(),
            ..VersionEdit::default()
        }
    }

    /// Takes log files that no manifest names as spares, and removes what else is left over from
    /// an earlier handle. One that was not closed may have met a failed sync, after which nobody
    /// knows what of a file reaches the disk: none of its logs is used again.
    fn adopt_spares(&self) -> Result<()> {
        let live: BTreeSet<u64> = self
            .segments
            .live()
            .iter()
            .map(|segment| segment.file)
            .collect();
        for found in self.dir.list()? {
            let Some(FileKind::Log(FileNumber(file))) = FileKind::parse(&found) else {
                continue;
            };
            if live.contains(&file) {
                continue;
            }
            let regular = self.settings.budget.segment;
            let reusable = self.report.clean && self.dir.size_of(&found)? == Some(regular);
            let left = if reusable {
                let region = self.dir.open_log(&found)?;
                self.segments.add_spare(file, region)
            } else {
                Some(file)
            };
            if left.is_some() {
                self.reaper.add(found);
            }
        }
        Ok(())
    }

    /// Unlinks obsolete files; whether there were any. A poisoned handle deletes nothing.
    pub(crate) fn reap(&self) -> bool {
        // Held meanwhile: once it is given up, the names may be another handle's.
        let lock = self.lock.lock();
        if lock.is_none() || self.health.is_poisoned() {
            return false;
        }
        // A file that will not go now is swept at the next opening.
        self.reaper.reap(|obsolete| drop(self.dir.unlink(obsolete)))
    }

    /// Drops value files of which every byte is dead.
    pub(crate) fn drop_dead_values(&self) -> Result<bool> {
        // Held, so that no value file and no manifest is begun meanwhile.
        let commit = self.commit.lock();
        if self.health.check_write().is_err() {
            return Ok(false);
        }
        // In this order: a value goes to the active file, is counted in flight from before its
        // append until its pointer is in the memtable, and the memtable is looked at last.
        let active = self.values.active();
        let in_flight = self.values_in_flight.load(Ordering::SeqCst) > 0;
        let mut state = self.state.lock();
        let referenced: BTreeSet<u64> = state
            .version
            .tables()
            .flat_map(|table| table.record.value_refs.iter().map(|(file, _)| *file))
            .collect();
        // Pointers in memory or in versions not yet durable may still need a file.
        let busy = in_flight
            || !state.sealed.is_empty()
            || state.pending.is_some()
            || !state.mutable.is_empty()
            || state.persisting
            || !state.flushes.is_empty();
        let gone: Vec<u64> = state
            .version
            .values
            .keys()
            .copied()
            .filter(|file| !referenced.contains(file) && Some(*file) != active)
            .collect();
        if busy || gone.is_empty() || !self.manifest.is_open() {
            return Ok(false);
        }
        let edit = VersionEdit {
            removed_values: gone.clone(),
            ..VersionEdit::default()
        };
        self.manifest.append(&edit, &self.stats)?;
        let mut next = (*state.version).clone();
        let mut values = (*next.values).clone();
        let removed: Vec<_> = gone.iter().filter_map(|file| values.remove(file)).collect();
        next.values = Arc::new(values);
        state.version = Arc::new(next);
        state.durable = Arc::clone(&state.version);
        self.publish_view(&state);
        drop(state);
        drop(commit);
        // In turn: nobody may find this edit claimed and take it for durable before it is.
        let _turn = self.sync_turn.lock();
        self.manifest
            .sync(&self.stats)
            .map_err(|error| self.health.poison(error))?;
        for handle in removed {
            handle.doom();
        }
        Ok(true)
    }
}
