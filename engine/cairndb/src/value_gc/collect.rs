//! `ValueGc`: frees dead space in value files, and compresses values that writers stored
//! uncompressed.
//!
//! A value file is deleted as a whole, once no table and no memtable points into it. The tables'
//! records state how much of a file is live; the rest is dead. If too much is dead, some files
//! become *victims*: the tables that point to them are rewritten in place, a few at a time, and
//! each live value is copied to another file ([`Relocation`]). Once all of these tables are
//! durable, the victims have no live value and are dropped like any dead file. After a crash before
//! that, the old files and tables are still in use.
//!
//! * **When idle**, dead bytes may amount to a fifth of the live bytes, or to 8 MB, including log
//!   and manifest ([`Allowance`]). Random overwrites make the oldest files the emptiest, so these
//!   are chosen first. If little is dead, files of uncompressed values that would shrink become
//!   victims, each once.
//! * **Under load**, dead bytes may amount to three quarters of the live bytes and one
//!   [`Base::value_slack`]: a lower bound would cost bandwidth that writers need. A compaction is
//!   due when newer runs may hide more than the fourth quarter and another slack
//!   ([`pick_for_values`]). Writers wait once all value files take twice the live bytes and four
//!   memory budgets, or those without a live value one budget ([`DeadFiles::hold_up`]).
//! * **Values that memtables point to do not count as dead.** Therefore a memtable is sealed and
//!   flushed when it points to a quarter of a value file, or 32 MiB
//!   ([`Settings::memtable_values_max`]), and earlier in an idle database (`idle_space`).
//! * **A round frees at least** an eighth of the tables that it rewrites, and a 1024th of a value
//!   file.
//! * **A round copies at most** the length of a value file or the bytes of all tables with
//!   pointers, so that neither extra space nor rewritten tables grow with the database.
//!
//! Rejected: counting the bytes whose pointers compactions drop, as `cairndb.stats` does, because
//! this misses bytes that a crash or a failed write leaves in a file.
//!
//! [`Base::value_slack`]: crate::versions::base::Base::value_slack
//! [`DeadFiles::hold_up`]: crate::durable::dead_files::DeadFiles::hold_up
//! [`Allowance`]: crate::value_gc::pick::Allowance
//! [`pick_for_values`]: crate::compaction::pick::pick_for_values
//! [`Settings::memtable_values_max`]: crate::versions::settings::Settings::memtable_values_max

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{ErrorKind, FileNumber, Result};
use cairndb_env::sync::MutexGuard;
use cairndb_format::manifest::VersionEdit;
use cairndb_format::value_file::{CODEC_RAW, ValueEncoder, ValueScan, saves};

use crate::compaction::compactor::Compactor;
use crate::jobs::plan::CompactionPlan;
use crate::jobs::relocation::Relocation;
use crate::log::commit::Commit;
use crate::state::files::value_handle::ValueHandle;
use crate::state::stats::StallReason;
use crate::state::version::census::{Census, FileUsage};
use crate::state::version::{Run, TableHandle, Version};
use crate::value_gc::pick::{choose, is_worth_it};
use crate::versions::engine_state::EngineState;

mod allowance;

/// Fraction of a value file below which freeing space is not worth a job.
const GAIN_MIN_SHARE: u64 = 1024;
/// Fraction of a value file below which compressing values is not worth a job.
const ENCODED_MIN_SHARE: u64 = 64;
/// Approximate number of table bytes that one job rewrites, and of value bytes that it copies.
const STRETCH_BYTES: u64 = 32 << 20;
const STRETCH_VALUE_BYTES: u64 = 64 << 20;

/// Number of value bytes sampled to determine whether a file would shrink.
const SAMPLE_BYTES: usize = 4 << 20;

/// Number of searches during which the version was replaced, after which the search is done under
/// the lock.
const STRETCH_TRIES: u32 = 3;

/// Tables that are rewritten together.
type Stretch = Vec<Arc<TableHandle>>;

/// The locked state, and the first tables to rewrite with the index of their run.
type NextStretch<'a> = (MutexGuard<'a, EngineState>, Option<(usize, Stretch)>);

/// Moment at which a relocation is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// While writers are busy.
    Load,
    /// While the database is idle.
    Idle,
    /// When a caller requests it and waits, for the value files with numbers less than `below`. The
    /// caller does not wait for later files.
    Asked { below: u64 },
}

/// Result of a request for a relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relocated {
    /// Some values were copied, and there may be more.
    Some,
    /// There is nothing to do.
    Nothing,
    /// Another compaction is running.
    Busy,
}

/// Returns whether the first values of a file would be shorter compressed. Returns `None` if the
/// file cannot be read.
fn shrinks(handle: &ValueHandle) -> Option<bool> {
    let file = handle.file(0).ok()?;
    let mut scan = ValueScan::new(&*file, FileNumber(handle.number)).ok()?;
    let (mut encoder, mut value) = (ValueEncoder::default(), Vec::new());
    let (mut before, mut after) = (0, 0);
    while before < SAMPLE_BYTES {
        match scan.advance(&mut value) {
            Ok(Some(found)) if found.pointer.codec == CODEC_RAW => {
                before += value.len();
                after += encoder.encode(&value).map_or(value.len(), <[u8]>::len);
            }
            // Already compressed; it stays unchanged.
            Ok(Some(found)) => {
                let stored = usize::try_from(found.pointer.len).ok()?;
                before += stored;
                after += stored;
            }
            Err(error) if error.kind() == ErrorKind::Io => return None,
            // The end of the file, damage, or a record cut off by a crash.
            Ok(None) | Err(_) => break,
        }
    }
    Some(saves(after, before))
}

/// Returns adjacent tables of `run` that point to victims and can be read.
fn stretch(run: &Run, victims: &BTreeSet<u64>, damaged: &BTreeSet<u64>) -> Option<Stretch> {
    let to_copy = |table: &TableHandle| {
        let refs = table.record.value_refs.iter();
        let refs = refs.filter(|(file, _)| victims.contains(file));
        let bytes = refs.fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes));
        let whole = !damaged.contains(&table.record.file);
        (bytes > 0 && whole).then_some(bytes)
    };
    let first = run.tables().iter().position(|it| to_copy(it).is_some())?;
    let (mut bytes, mut values) = (0, 0);
    let taken = run.tables()[first..].iter().take_while(|table| {
        let Some(copied) = to_copy(table) else {
            return false;
        };
        let fits = bytes < STRETCH_BYTES && values < STRETCH_VALUE_BYTES;
        bytes += table.record.bytes;
        values = copied.saturating_add(values);
        fits
    });
    Some(taken.map(Arc::clone).collect())
}

/// Ends a round. Victims that tables still point to could not be read, and are left alone from now
/// on.
fn end_round(state: &mut EngineState) {
    let version = Arc::clone(&state.version);
    let value_gc = &mut state.value_gc;
    let refs = version.tables().flat_map(|table| &table.record.value_refs);
    let left = refs.map(|(file, _)| *file);
    value_gc
        .unmovable
        .extend(left.filter(|file| value_gc.victims.contains(file)));
    value_gc.victims.clear();
}

pub(crate) struct ValueGc<'c> {
    compactor: &'c Compactor,
}

impl ValueGc<'_> {
    pub(crate) fn new(compactor: &Compactor) -> ValueGc<'_> {
        ValueGc { compactor }
    }

    /// Copies some live values out of mostly dead files. Returns whether it did.
    ///
    /// # Errors
    /// Errors of the compaction that does so.
    pub(crate) fn relocate_values(&self, moment: Moment) -> Result<bool> {
        Ok(self.relocate(moment)? == Relocated::Some)
    }

    /// Like [`ValueGc::relocate_values`], but returns the reason if it did not.
    pub(crate) fn relocate(&self, moment: Moment) -> Result<Relocated> {
        if self
            .compactor
            .base
            .versions
            .lock()
            .version
            .values
            .is_empty()
            || self.compactor.base.health.check_write().is_err()
        {
            return Ok(Relocated::Nothing);
        }
        let mut plan = self.next_stretch();
        if plan.is_none() {
            match self.choose_victims(moment) {
                Relocated::Some => plan = self.next_stretch(),
                other => return Ok(other),
            }
        }
        let Some(plan) = plan else {
            return Ok(Relocated::Busy);
        };
        if let Err(error) = self.compactor.compact(&plan) {
            // The copies have no pointers. On a full disk they would take space that is needed to
            // free more.
            if let Some(file) = self.compactor.disk.value_files.moved().active() {
                self.compactor
                    .disk
                    .value_files
                    .close_value_files(&BTreeSet::from([file]));
            }
            let _ = self.compactor.tables.dead_files.drop_dead_values();
            return Err(error);
        }
        Ok(Relocated::Some)
    }

    /// Returns the stall reason if a writer of large values should wait: see
    /// [`hold_up`](crate::durable::dead_files::DeadFiles::hold_up).
    pub(crate) fn hold_up(&self, commit: &Commit) -> Option<StallReason> {
        self.compactor.tables.dead_files.hold_up(commit)
    }

    /// Frees value files for a writer that waits for space, once the tables that replaced their
    /// pointers are durable: those without a live value, and if that is not enough, by one
    /// compaction or relocation, or by the one that is running.
    ///
    /// # Errors
    /// Those of `DeadFiles::drop_all_dead_values`, and of a compaction that does not find known
    /// damage.
    pub(crate) fn free_under_load(&self) -> Result<()> {
        self.compactor.tables.dead_files.drop_all_dead_values()?;
        if self.hold_up(&self.compactor.disk.log.lock()).is_none() {
            return Ok(());
        }
        let freed = match self.compactor.compact_once() {
            Ok(false) => self.relocate(Moment::Load),
            compacted => compacted.map(|_| Relocated::Some),
        };
        match freed {
            Ok(Relocated::Busy) => drop(self.compactor.wait_for_compactions()),
            Ok(_) => {}
            Err(error) if self.compactor.base.versions.is_known_damage(&error) => {}
            Err(error) => return Err(error),
        }
        // The job kept the files that it read.
        self.compactor.tables.dead_files.reap();
        Ok(())
    }

    /// Plans the next rewrite of pointers to victims. Returns `None` if there is none, or another
    /// compaction is running.
    fn next_stretch(&self) -> Option<CompactionPlan> {
        let (mut state, found) = self.find_stretch()?;
        let Some((at, tables)) = found else {
            end_round(&mut state);
            return None;
        };
        let run = &state.version.runs[at];
        let victims = state.version.values_among(&state.value_gc.victims);
        let plan = CompactionPlan {
            relocation: Some(Arc::new(Relocation::new(
                victims,
                Arc::clone(self.compactor.disk.value_files.moved()),
                self.compactor.base.encodes(),
            ))),
            ..CompactionPlan::in_place(
                vec![Run::new(run.id, tables, &self.compactor.base.opener.orders)],
                run.id,
                at + 1 == state.version.runs.len(),
            )
        };
        state.value_gc.first_copies = self.compactor.disk.value_files.moved().active();
        Some(state.begin_compaction(plan))
    }

    /// Finds the next tables to rewrite. Returns `None` if there are no victims, or another
    /// compaction is running.
    fn find_stretch(&self) -> Option<NextStretch<'_>> {
        let mut tries = 0;
        loop {
            let state = self.compactor.base.versions.lock();
            if state.value_gc.victims.is_empty() || !state.may_relocate() {
                return None;
            }
            let (version, victims) = (Arc::clone(&state.version), state.value_gc.victims.clone());
            let damaged = state.compactions.damaged.keys().copied().collect();
            // Without the lock, because there may be thousands of tables; with it after several
            // failed attempts.
            let held = (tries == STRETCH_TRIES).then_some(state);
            let mut runs = version.runs.iter().enumerate().rev();
            let found = runs.find_map(|(at, run)| Some((at, stretch(run, &victims, &damaged)?)));
            let state = held.unwrap_or_else(|| self.compactor.base.versions.lock());
            if state.may_relocate() && Arc::ptr_eq(&version, &state.version) {
                return Some((state, found));
            }
            tries += 1;
        }
    }

    /// Chooses the next victims. Does nothing while another compaction is running, because its
    /// copies would appear dead, and their file would be closed while it writes.
    fn choose_victims(&self, moment: Moment) -> Relocated {
        // Both locks are held briefly, for a consistent view: a pointer is in a memtable or in a
        // table of the version.
        let (version, moving, unmovable) = {
            let commit = self.compactor.disk.log.lock();
            let mut state = self.compactor.base.versions.lock();
            let bytes = state.version.values.values();
            let bytes = bytes.map(|file| file.bytes.load(Ordering::Relaxed)).sum();
            if !state.may_relocate() {
                return Relocated::Busy;
            }
            if moment == Moment::Load && !self.is_due(&mut state, bytes) {
                return Relocated::Nothing;
            }
            let immutables = state
                .immutables
                .iter()
                .filter_map(|immutable| immutable.values.first);
            let moving = immutables.chain(commit.first_values()).min();
            let version = Arc::clone(&state.version);
            (version, moving, state.value_gc.unmovable.clone())
        };
        let below = match moment {
            Moment::Asked { below } => below,
            Moment::Load | Moment::Idle => u64::MAX,
        };
        let below = moving.unwrap_or(u64::MAX).min(below);
        let mut census = Census::of(&version);
        let counted = |file: &FileUsage| file.file < below && !unmovable.contains(&file.file);
        census.files.retain(counted);
        let (dead, alive) = census.files.iter().partition(|file| file.live == 0);
        census.files = alive;
        if moment != Moment::Load {
            // Files without a live value are dropped anyway, except those that are open for
            // appending.
            let dead: Vec<FileUsage> = dead;
            self.compactor
                .disk
                .value_files
                .close_value_files(&dead.iter().map(|file| file.file).collect());
        }
        let victims = self.worthy_victims(moment, &mut census, &version);
        if victims.is_empty() {
            return Relocated::Nothing;
        }
        // Under both locks, so that no thread copies into a victim or starts to.
        let commit = self.compactor.disk.log.lock();
        let mut state = self.compactor.base.versions.lock();
        if !state.may_relocate() || !state.value_gc.victims.is_empty() {
            return Relocated::Busy;
        }
        self.compactor
            .disk
            .value_files
            .close_files(&commit, &victims);
        state.value_gc.victims = victims;
        Relocated::Some
    }

    /// Returns mostly dead files, or otherwise files that would shrink, if that is worth the work.
    fn worthy_victims(
        &self,
        moment: Moment,
        census: &mut Census,
        version: &Version,
    ) -> BTreeSet<u64> {
        let (bytes, dead, regular) = (
            census.bytes(),
            census.dead(),
            self.compactor.base.regular_length(),
        );
        let allowance = self.allowance();
        let worthy =
            |census: &Census, victims: &BTreeSet<u64>, min, gain: fn(&FileUsage) -> u64| {
                let chosen = census.files.iter();
                let chosen = chosen.filter(|it| victims.contains(&it.file));
                let gain: u64 = chosen.map(gain).sum();
                gain >= min && is_worth_it(version, victims, gain)
            };
        let much = match moment {
            Moment::Load => dead > census.last_run / 4 * 3 + self.compactor.base.value_slack(),
            Moment::Idle | Moment::Asked { .. } => allowance.is_much(dead, bytes),
        };
        if much {
            let victims = choose(census, regular, &allowance);
            if worthy(census, &victims, regular / GAIN_MIN_SHARE, FileUsage::dead) {
                return victims;
            }
        }
        if moment == Moment::Load {
            return BTreeSet::new();
        }
        let mut victims = self.choose_to_encode(census, version);
        // Compression saves about half, and at least an eighth.
        if !worthy(census, &victims, regular / ENCODED_MIN_SHARE, |file| {
            file.live / 2
        }) {
            victims.clear();
        }
        victims
    }

    /// Returns as many files of uncompressed values that would shrink as one round takes. Records
    /// those that would not.
    fn choose_to_encode(&self, census: &Census, version: &Version) -> BTreeSet<u64> {
        let (mut chosen, mut settled) = (BTreeSet::new(), Vec::new());
        let regular = self.compactor.base.regular_length();
        let limit = regular.max(census.pointing);
        let mut copied = 0u64;
        for file in &census.files {
            let handle = version.values.get(&file.file);
            let fresh = handle.filter(|it| !it.settled.load(Ordering::Relaxed));
            // A newly started file is left until it is longer.
            let short = file.bytes < regular / ENCODED_MIN_SHARE
                && self.compactor.disk.value_files.is_filled(file.file);
            let Some(handle) = fresh.filter(|_| self.compactor.base.encodes() && !short) else {
                continue;
            };
            if self.compactor.base.versions.lock().closing {
                break;
            }
            match shrinks(handle) {
                Some(true) => {}
                Some(false) => {
                    settled.push(Arc::clone(handle));
                    continue;
                }
                None => continue,
            }
            if !chosen.is_empty() && copied.saturating_add(file.live) > limit {
                break;
            }
            copied = copied.saturating_add(file.live);
            chosen.insert(file.file);
        }
        self.settle(&settled);
        chosen
    }

    /// Records that these files need no compression, so that they are not sampled again.
    fn settle(&self, files: &[Arc<ValueHandle>]) {
        if files.is_empty() {
            return;
        }
        let commit = self.compactor.disk.log.lock();
        if commit.closing || self.compactor.base.health.check_write().is_err() {
            return;
        }
        for file in files {
            file.settled.store(true, Ordering::Relaxed);
        }
        self.compactor
            .disk
            .value_files
            .close_files(&commit, &files.iter().map(|file| file.number).collect());
        let edit = VersionEdit {
            settled_values: files.iter().map(|file| file.number).collect(),
            ..VersionEdit::default()
        };
        if self.compactor.disk.log.manifests.is_open()
            && !self.compactor.disk.log.manifests.is_broken()
        {
            // If this edit is lost, the next handle samples the files again.
            let _ = self.compactor.disk.log.manifests.append(&edit);
        }
        drop(commit);
    }

    /// Returns whether so much was written since the last check that too much may be dead under
    /// load. Checking all tables at every flush is too expensive.
    fn is_due(&self, state: &mut EngineState, bytes: u64) -> bool {
        let slack = self.compactor.base.value_slack();
        let looked_at = state.value_gc.looked_at.min(bytes);
        let due = bytes > slack && bytes - looked_at > slack / 8;
        state.value_gc.looked_at = if due { bytes } else { looked_at };
        due
    }
}
