//! The persister of [`Disk`]: makes installed versions durable, then frees the files that they
//! replace.
//!
//! A pass takes everything that was installed since the last pass and writes only the difference
//! from the durable version: a table that was flushed and compacted away in between is never
//! synced. The order of steps makes a crash at any point harmless:
//!
//! 1. sync tables, value files, directory;
//! 2. append the edit to the manifest and sync it;
//! 3. free log segments and input tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{Error, ErrorKind, FileNumber, Result, SeqNo};
use cairndb_env::sync::MutexGuard;
use cairndb_format::manifest::{TableRecord, VersionEdit};
use cairndb_format::name;

use crate::durable::disk::Disk;
use crate::log::commit::Commit;
use crate::log::history::Change;
use crate::state::stats::Stats;
use crate::state::version::Version;
use crate::versions::edits::ranges_not_in;
use crate::versions::engine_state::Pending;

/// Everything one pass makes durable.
struct Batch<'a> {
    /// Held until the end of a pass that writes a whole manifest because its edit would be too
    /// long. No segment or value file may be started in the meantime, and callers that wait for the
    /// end of a pass hold it too.
    whole: Option<MutexGuard<'a, Commit>>,
    pending: Pending,
    /// Number of versions installed when the pass began.
    installed: u64,
    from: Arc<Version>,
    last_seq: SeqNo,
    /// Number of the first segment that may hold entries which the version lacks.
    floor: u64,
}

/// Returns the file number of each table and the number of its run.
fn runs_of_tables(version: &Version) -> BTreeMap<u64, u64> {
    let tables = version.tables();
    tables
        .map(|table| (table.record.file, table.record.run))
        .collect()
}

/// Returns the edit that turns `from` into `to`.
fn difference(from: &Version, to: &Version) -> VersionEdit {
    let old = runs_of_tables(from);
    let mut edit = VersionEdit::default();
    let mut kept = BTreeSet::new();
    for table in to.tables() {
        match old.get(&table.record.file) {
            None => edit.added_tables.push(table.record.clone()),
            Some(run) => {
                kept.insert(table.record.file);
                if *run != table.record.run {
                    edit.moved_tables
                        .push((table.record.file, table.record.run));
                }
            }
        }
    }
    edit.removed_tables = old
        .keys()
        .copied()
        .filter(|file| !kept.contains(file))
        .collect();
    let runs: Vec<u64> = to.runs.iter().map(|run| run.id).collect();
    if runs != from.runs.iter().map(|run| run.id).collect::<Vec<u64>>() {
        edit.runs = Some(runs);
    }
    edit.deleted_ranges = ranges_not_in(&to.ranges, &from.ranges);
    edit
}

/// Returns whether recovery, applying `edit` to `from`, finds the tables of `to` in their runs.
fn leads(edit: &VersionEdit, from: &Version, to: &Version) -> bool {
    let mut found = runs_of_tables(from);
    for file in &edit.removed_tables {
        found.remove(file);
    }
    found.extend(edit.moved_tables.iter().copied());
    let added = edit.added_tables.iter();
    found.extend(added.map(|table| (table.file, table.run)));
    found == runs_of_tables(to)
}

/// Checks what the next open relies on.
fn check(edit: &VersionEdit, batch: &Batch<'_>, next_file: u64) {
    let (from, to) = (&batch.from, &batch.pending.version);
    assert!(
        edit.added_tables.iter().all(|table| table.file < next_file),
        "the manifest names no file whose number it would give out again"
    );
    assert!(
        leads(edit, from, to),
        "the edit leads from the durable version to the installed one"
    );
    assert!(
        to.names_values_of(&edit.added_tables),
        "the manifest names every value file to which its tables point"
    );
}

#[cold]
fn part_left() -> Error {
    Error::new(
        ErrorKind::Io,
        "part of a long batch is not flushed yet, so no table can be made durable",
    )
}

impl Disk {
    /// Returns why a part of a long batch is in tables although no long batch is being inserted:
    /// its flush has failed.
    pub(crate) fn part_error(&self) -> Error {
        self.base.health.background().unwrap_or_else(part_left)
    }

    /// Makes pending versions durable. Returns `false` if there are none or another thread is doing
    /// so.
    ///
    /// # Errors
    /// A failed sync poisons the handle. After a failed append the versions stay pending, and the
    /// next attempt starts a new manifest.
    pub(crate) fn persist(&self) -> Result<bool> {
        let taken = self.take_batch();
        let result = match taken {
            Ok(None) => return Ok(false),
            Ok(Some(batch)) => self.persist_taken(batch),
            Err(error) => Err(error),
        };
        let mut state = self.base.versions.lock();
        self.base.note_background(&mut state, &result);
        drop(state);
        self.base.versions.notify_changed();
        self.base.versions.notify_work();
        // Last: it takes the commit lock, whose holder may wait for the end of the pass.
        self.log.notify_readers();
        result
    }

    fn persist_taken(&self, batch: Batch<'_>) -> Result<bool> {
        let result = self.persist_batch(&batch);
        let mut state = self.base.versions.lock();
        // The manifest names value files that were started in the meantime.
        let values = Arc::clone(&state.version.values);
        assert!(state.durable.persisting, "one pass runs at a time");
        match result {
            Ok((edit, change)) => {
                let Version { runs, ranges, .. } = (*batch.pending.version).clone();
                assert!(
                    state.durable.seq <= batch.last_seq
                        && state.durable.persisted < batch.installed,
                    "what is durable stays durable"
                );
                state.durable.version = Arc::new(Version {
                    runs,
                    values,
                    ranges,
                    pin: None,
                });
                state.durable.seq = state.durable.seq.max(batch.last_seq);
                self.base.sweeper.followers.announce_durable(batch.last_seq);
                for (file, dead) in &edit.value_dead {
                    *state.durable.dead.entry(*file).or_insert(0) += dead;
                }
                drop(state);
                let installed = batch.installed;
                // Before `persisting` is cleared, so that the segments are freed for a caller that
                // waits until the database is idle.
                self.release(batch, change);
                let mut state = self.base.versions.lock();
                state.durable.persisting = false;
                state.durable.persisted = installed;
                Ok(true)
            }
            Err(error) => {
                let mut pending = batch.pending;
                pending.version = Arc::new(Version {
                    values,
                    ..(*pending.version).clone()
                });
                state.durable.pending = Some(match state.durable.pending.take() {
                    Some(newer) => pending.then(newer),
                    None => pending,
                });
                state.durable.persisting = false;
                Err(error)
            }
        }
    }

    fn take_batch(&self) -> Result<Option<Batch<'_>>> {
        self.base.origin.check()?;
        let mut commit = self.log.lock();
        self.base.health.check_write()?;
        {
            let state = self.base.versions.lock();
            if state.durable.persisting || state.durable.pending.is_none() {
                return Ok(None);
            }
            // Under the commit lock, so a flush of a part has failed.
            if state.holds_part() {
                return Err(self.part_error());
            }
        }
        self.log.ensure_manifest(&mut commit)?;
        let mut state = self.base.versions.lock();
        let floor = self.log.segment_floor(&commit, &state.immutables);
        let Some(pending) = state.durable.pending.take() else {
            return Ok(None);
        };
        assert!(
            state.durable.persisted + pending.installed <= state.durable.installed,
            "a version becomes durable once"
        );
        assert!(
            floor <= self.log.segments().next_number(),
            "no segment is freed before it begins"
        );
        state.durable.persisting = true;
        // Includes tables that have been compacted away in the meantime, which the edit would not
        // contain.
        let added = pending.added.iter().map(|added| &added.table.record);
        let bytes: usize = added.map(TableRecord::variable_bytes).sum();
        let from = Arc::clone(&state.durable.version);
        let last_seq = pending.last_seq.max(state.durable.seq);
        let installed = state.durable.installed;
        drop(state);
        Ok(Some(Batch {
            whole: (bytes > self.base.settings.budget.edit).then_some(commit),
            from,
            installed,
            last_seq,
            floor,
            pending,
        }))
    }

    fn persist_batch(&self, batch: &Batch<'_>) -> Result<(VersionEdit, Change)> {
        let mut edit = difference(&batch.from, &batch.pending.version);
        let added: BTreeSet<u64> = edit.added_tables.iter().map(|table| table.file).collect();
        let poison = |error: Error| self.base.poison(error);
        let new = batch.pending.added.iter();
        let new = new.filter(|new| added.contains(&new.table.record.file));
        let syncs: Vec<_> = new.filter_map(|new| new.sync.as_ref()).collect();
        // Starts all syncs before waiting for the first, so that the disk works on them together.
        for sync in &syncs {
            sync.begin();
        }
        for sync in syncs {
            sync.sync().map_err(poison)?;
            Stats::add(&self.base.stats.file_syncs, 1);
        }
        // Before the turn, because `Sync` writers wait for the turn.
        let files = self.value_files.moved().sync().map_err(poison)?;
        Stats::add(&self.base.stats.file_syncs, files);
        let copies = self.copy_leaving(batch.floor, batch.last_seq)?;
        let _turn = self.log.manifests.take_sync_turn()?;
        self.value_files.values().sync().map_err(poison)?;
        // This also covers the names of logs and value files in earlier edits, because this sync of
        // the manifest makes those edits durable too.
        if self.log.manifests.take_names() || !added.is_empty() {
            self.base.dir.sync().map_err(poison)?;
            Stats::add(&self.base.stats.file_syncs, 1);
        }
        let next_file = self.base.next_file.load(Ordering::Relaxed);
        check(&edit, batch, next_file);
        let change = self.retire(batch.floor, batch.last_seq, &copies);
        change.describe(&mut edit);
        edit.last_seq = Some(batch.last_seq);
        edit.next_file = Some(next_file);
        edit.value_dead = self.newly_dead(&batch.pending.version);
        let written = if batch.whole.is_some() {
            let whole = self.whole_edit(batch, &edit.value_dead, &change);
            // After a failure it is unknown which of the two manifests a crash would leave.
            self.log
                .manifests
                .begin_manifest(whole)
                .inspect_err(|_| self.log.manifests.give_up())
        } else {
            self.log.manifests.append(&edit)
        };
        if let Err(error) = written {
            // Earlier edits are not durable yet, and later records need the files named by these
            // edits.
            self.log.manifests.give_back_names();
            return Err(error);
        }
        self.log.manifests.sync().map_err(poison)?;
        Ok((edit, change))
    }

    /// Returns the edit that builds the version of `batch` from an empty one.
    fn whole_edit(
        &self,
        batch: &Batch<'_>,
        newly_dead: &[(u64, u64)],
        change: &Change,
    ) -> VersionEdit {
        let mut dead = self.base.versions.lock().durable.dead.clone();
        for (file, bytes) in newly_dead {
            *dead.entry(*file).or_insert(0) += bytes;
        }
        let live = self.log.segments().live();
        let kept = live.iter().filter(|segment| segment.number >= batch.floor);
        let mut edit = VersionEdit {
            added_segments: kept.map(|segment| segment.record()).collect(),
            value_dead: dead.into_iter().collect(),
            ..self
                .base
                .snapshot_edit(&batch.pending.version, batch.last_seq)
        };
        change.describe_result(&mut edit, self.log.history.events());
        edit
    }

    fn newly_dead(&self, version: &Version) -> Vec<(u64, u64)> {
        let state = self.base.versions.lock();
        let known = |file: u64| state.durable.dead.get(&file).copied().unwrap_or(0);
        version
            .values
            .values()
            .map(|handle| (handle.number, handle.dead.load(Ordering::Relaxed)))
            .filter_map(|(file, dead)| {
                let more = dead.saturating_sub(known(file));
                (more > 0).then_some((file, more))
            })
            .collect()
    }

    /// Frees the files that the durable manifest no longer names.
    fn release(&self, batch: Batch<'_>, change: Change) {
        let kept: BTreeSet<u64> = batch
            .pending
            .version
            .tables()
            .map(|table| table.record.file)
            .collect();
        let added = batch.pending.added.iter();
        let known = added.map(|added| &added.table).chain(batch.from.tables());
        for table in known {
            if !kept.contains(&table.record.file) {
                table.mark_obsolete();
            }
        }
        for file in self.log.segments().shed_spares(self.base.env.now_ns()) {
            self.base.sweeper.reaper().add(name::log(FileNumber(file)));
        }
        self.free_segments(batch.floor, change);
    }

    /// Makes everything that was installed before the call durable.
    pub(crate) fn persist_all(&self) -> Result<()> {
        loop {
            // A pass takes everything that is pending. This does not wait for versions installed
            // later.
            if self.persist()? {
                return Ok(());
            }
            let state = self.base.versions.lock();
            let state = self
                .base
                .versions
                .wait(state, |state| !state.durable.persisting);
            if state.durable.pending.is_none() {
                return Ok(());
            }
            drop(state);
            self.base.health.check_write()?;
        }
    }
}
