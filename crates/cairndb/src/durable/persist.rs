//! The syncer's job: making installed versions durable, then freeing what they supersede.
//!
//! Everything pending is taken together and only the difference between the durable version and
//! the newest is written: a table that was flushed and merged away meanwhile is never synced. The
//! order is what keeps a crash harmless - tables, value files, directory, then the manifest edit,
//! then its sync; log segments and input tables only after that.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{Error, FileNumber, Result, SeqNo};
use cairndb_env::sync::MutexGuard;
use cairndb_format::manifest::{TableRecord, VersionEdit};
use cairndb_format::name;

use crate::durable::log::Log;
use crate::durable::manifests::Manifests;
use crate::durable::sweeper::Sweeper;
use crate::durable::value_files::ValueFiles;
use crate::log::commit::Commit;
use crate::state::stats::Stats;
use crate::state::version::Version;
use crate::versions::shared::Shared;
use crate::versions::state::Pending;
use crate::versions::version_set::VersionSet;

/// Segments that are warmed when a pass retires them: about as many as a writer takes until the next.
const SPARES_WARMED: usize = 8;

/// Everything one pass makes durable.
struct Batch<'a> {
    /// Held to the end where an edit would be too long and a whole manifest is written: neither segments nor
    /// value files may be begun meanwhile, and who waits for the end of a pass holds it, too.
    whole: Option<MutexGuard<'a, Commit>>,
    pending: Pending,
    /// Versions installed when it was taken.
    installed: u64,
    from: Arc<Version>,
    last_seq: SeqNo,
    /// Segments before this one hold nothing that is not in `to`.
    floor: u64,
}

/// The edit that turns `from` into `to`.
fn difference(from: &Version, to: &Version) -> VersionEdit {
    let old: BTreeMap<u64, u64> = from
        .tables()
        .map(|table| (table.record.file, table.record.run))
        .collect();
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
    edit
}

/// Makes installed versions durable.
pub(crate) struct Persister {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    sweeper: Arc<Sweeper>,
    manifests: Arc<Manifests>,
    log: Arc<Log>,
    value_files: Arc<ValueFiles>,
}

impl Persister {
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        sweeper: Arc<Sweeper>,
        manifests: Arc<Manifests>,
        log: Arc<Log>,
        value_files: Arc<ValueFiles>,
    ) -> Persister {
        Persister {
            shared,
            versions,
            sweeper,
            manifests,
            log,
            value_files,
        }
    }

    /// Makes what is pending durable; `false` when nothing is or another thread is at it.
    ///
    /// # Errors
    /// A failed sync poisons the handle. A failed append leaves it pending and the next
    /// attempt begins a new manifest.
    pub(crate) fn persist(&self) -> Result<bool> {
        let taken = self.take_batch();
        let result = match taken {
            Ok(None) => return Ok(false),
            Ok(Some(batch)) => self.persist_taken(batch),
            Err(error) => Err(error),
        };
        let mut state = self.versions.lock();
        self.versions.note_background(&mut state, &result);
        drop(state);
        self.versions.notify_changed();
        self.versions.notify_work();
        result
    }

    fn persist_taken(&self, batch: Batch<'_>) -> Result<bool> {
        let result = self.persist_batch(&batch);
        let mut state = self.versions.lock();
        // Value files begun meanwhile stand in the manifest already.
        let values = Arc::clone(&state.version.values);
        match result {
            Ok(edit) => {
                let runs = batch.pending.version.runs.clone();
                state.durable = Arc::new(Version { runs, values });
                state.durable_seq = state.durable_seq.max(batch.last_seq);
                for (file, dead) in &edit.value_dead {
                    *state.durable_dead.entry(*file).or_insert(0) += dead;
                }
                drop(state);
                let installed = batch.installed;
                // Before `persisting` falls: who waits for quiet finds the segments given back.
                self.release(batch);
                let mut state = self.versions.lock();
                state.persisting = false;
                state.durable_installed = installed;
                Ok(true)
            }
            Err(error) => {
                let mut pending = batch.pending;
                pending.version = Arc::new(Version {
                    runs: pending.version.runs.clone(),
                    values,
                });
                state.pending = Some(match state.pending.take() {
                    Some(newer) => pending.then(newer),
                    None => pending,
                });
                state.persisting = false;
                Err(error)
            }
        }
    }

    fn take_batch(&self) -> Result<Option<Batch<'_>>> {
        self.shared.origin.check()?;
        let mut commit = self.log.lock();
        self.shared.health.check_write()?;
        {
            let state = self.versions.lock();
            if state.persisting || state.pending.is_none() {
                return Ok(None);
            }
        }
        self.log.ensure_manifest(&mut commit)?;
        let mut state = self.versions.lock();
        let floor = self.log.segment_floor(&commit, &state.immutables);
        let Some(pending) = state.pending.take() else {
            return Ok(None);
        };
        state.persisting = true;
        // Those merged away meanwhile included: more than the edit would have.
        let added = pending.added.iter().map(|added| &added.table.record);
        let bytes: usize = added.map(TableRecord::variable_bytes).sum();
        let from = Arc::clone(&state.durable);
        let last_seq = pending.last_seq.max(state.durable_seq);
        let installed = state.installed;
        drop(state);
        Ok(Some(Batch {
            whole: (bytes > self.shared.settings.budget.edit).then_some(commit),
            from,
            installed,
            last_seq,
            floor,
            pending,
        }))
    }

    fn persist_batch(&self, batch: &Batch<'_>) -> Result<VersionEdit> {
        let mut edit = difference(&batch.from, &batch.pending.version);
        let added: BTreeSet<u64> = edit.added_tables.iter().map(|table| table.file).collect();
        let poison = |error: Error| self.versions.poison(error);
        let new = batch.pending.added.iter();
        let new = new.filter(|new| added.contains(&new.table.record.file));
        let syncs: Vec<_> = new.filter_map(|new| new.sync.as_ref()).collect();
        // All of them begun before the first is waited for: the disk then has work while each sync
        // brings its file's metadata along.
        for sync in &syncs {
            sync.begin();
        }
        for sync in syncs {
            sync.sync().map_err(poison)?;
            Stats::add(&self.shared.stats.file_syncs, 1);
        }
        // Before the turn, which writers that sync wait for.
        let files = self.value_files.moved().sync().map_err(poison)?;
        Stats::add(&self.shared.stats.file_syncs, files);
        let _turn = self.manifests.take_sync_turn()?;
        self.value_files.values().sync().map_err(poison)?;
        // Also for the names of logs and value files that earlier edits mention: this edit's sync
        // makes those durable too.
        if self.manifests.take_names() || !added.is_empty() {
            self.shared.dir.sync().map_err(poison)?;
            Stats::add(&self.shared.stats.file_syncs, 1);
        }
        edit.retired_segments = self.log.segments().numbers_before(batch.floor);
        edit.last_seq = Some(batch.last_seq);
        edit.next_file = Some(self.shared.next_file.load(Ordering::Relaxed));
        edit.value_dead = self.newly_dead(&batch.pending.version);
        let written = if batch.whole.is_some() {
            let whole = self.whole_edit(batch, &edit.value_dead);
            // Where it fails nobody knows which of the two manifests a crash would find.
            self.manifests
                .begin_manifest(whole)
                .inspect_err(|_| self.manifests.give_up())
        } else {
            self.manifests.append(&edit)
        };
        if let Err(error) = written {
            // The claim is given back: earlier edits, which name files that records written from now
            // on need, are not durable yet.
            self.manifests.give_back_names();
            return Err(error);
        }
        self.manifests.sync().map_err(poison)?;
        Ok(edit)
    }

    /// The edit that makes what `batch` makes durable from nothing.
    fn whole_edit(&self, batch: &Batch<'_>, newly_dead: &[(u64, u64)]) -> VersionEdit {
        let mut dead = self.versions.lock().durable_dead.clone();
        for (file, bytes) in newly_dead {
            *dead.entry(*file).or_insert(0) += bytes;
        }
        let live = self.log.segments().live();
        let kept = live.iter().filter(|segment| segment.number >= batch.floor);
        VersionEdit {
            added_segments: kept.map(|segment| segment.record()).collect(),
            value_dead: dead.into_iter().collect(),
            ..self
                .shared
                .snapshot_edit(&batch.pending.version, batch.last_seq)
        }
    }

    fn newly_dead(&self, version: &Version) -> Vec<(u64, u64)> {
        let state = self.versions.lock();
        let known = |file: u64| state.durable_dead.get(&file).copied().unwrap_or(0);
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

    /// Frees what the durable manifest no longer names.
    fn release(&self, batch: Batch<'_>) {
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
                table.doom();
            }
        }
        for file in self.log.segments().shed_spares(self.shared.env.now_ns()) {
            self.sweeper.reaper().add(name::log(FileNumber(file)));
        }
        let retired = self.log.segments().retire_before(batch.floor);
        // The next are taken from the end; to warm a whole log holds up those who wait for this pass.
        let cold = retired.len().saturating_sub(SPARES_WARMED);
        for (index, segment) in retired.into_iter().enumerate() {
            let spare = segment.region.size() == self.shared.settings.budget.segment;
            let region = Arc::clone(&segment.region);
            if !spare {
                self.sweeper
                    .reaper()
                    .add(name::log(FileNumber(segment.file)));
            } else if let Some(file) = self.log.segments().add_spare(segment.file, region) {
                self.sweeper.reaper().add(name::log(FileNumber(file)));
            } else if index >= cold {
                segment.region.warm();
            }
        }
    }

    /// Makes everything durable that is installed when it is called.
    pub(crate) fn persist_all(&self) -> Result<()> {
        loop {
            // A pass takes all there is; what comes after it is not waited for.
            if self.persist()? {
                return Ok(());
            }
            let state = self.versions.lock();
            let state = self.versions.wait(state, |state| !state.persisting);
            if state.pending.is_none() {
                return Ok(());
            }
            drop(state);
            self.shared.health.check_write()?;
        }
    }
}
