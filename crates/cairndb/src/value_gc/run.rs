//! Giving back dead space in value files and encoding what is raw there: which files, when, and in what portions.
//!
//! A value file goes as a whole, once no table and no part has a pointer into it. How much of it is alive the tables'
//! records say; the rest is dead. Where that is too much, some files become *victims*: the tables with pointers to them
//! are rewritten in their places, a stretch at a time, and each live value met is copied to another file
//! ([`Relocation`]). When the last stretch is durable the victims have no live value and are dropped as any dead file.
//! Nothing else has to be made safe: until then the old files and tables are what a crash finds.
//!
//! * **When idle** a fifth of what is alive may be dead, or 8 MB, log and manifest included
//!   ([`Allowance`]). Values overwritten in no order make the oldest files the emptiest, and these
//!   are first. Where little is dead, files of raw values that would shrink are victims, each once.
//! * **Under load** as much as is alive, and two files: it is a bound for space, and costs bandwidth writers want.
//! * **What parts still point to is not known to be dead**, so a part ends at a quarter of a value
//!   file ([`Settings::memtable_values_max`]) and is flushed then; of an idle database sooner
//!   (`idle_space`).
//! * **What is given back is an eighth of the tables rewritten for it at least**, and a 1024th of a
//!   value file.
//! * **Victims of one round are no more than what rewriting their pointers is worth**, a value file's length or the bytes
//!   of all tables with pointers, so that neither extra space nor rewritten tables grow with the database.
//!
//! Counting dead bytes as merges drop pointers, which is done for `cairndb.stats`, lost as the measure: what a
//! crash or a failed write leaves in a file no merge ever drops.
//!
//! [`Allowance`]: crate::value_gc::pick::Allowance
//! [`Settings::memtable_values_max`]: crate::versions::shared::Settings::memtable_values_max

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{ErrorKind, FileNumber, Result};
use cairndb_env::sync::MutexGuard;
use cairndb_format::manifest::VersionEdit;
use cairndb_format::value_file::{CODEC_RAW, ValueEncoder, ValueScan, saves};

use crate::compaction::compactor::Compactor;
use crate::compaction::schedule::Schedule;
use crate::durable::log::Log;
use crate::durable::manifests::Manifests;
use crate::durable::value_files::ValueFiles;
use crate::jobs::plan::CompactionPlan;
use crate::jobs::relocation::Relocation;
use crate::state::context::ReadContext;
use crate::state::value_handle::ValueHandle;
use crate::state::version::{Run, TableHandle, Version};
use crate::value_gc::dead_files::DeadFiles;
use crate::value_gc::pick::{Allowance, Census, Filled, choose, is_worth_it};
use crate::versions::shared::{LOG_WHEN_IDLE, Shared};
use crate::versions::state::State;
use crate::versions::version_set::VersionSet;

/// To give back less than this share of a value file's regular length is not worth a job, ...
const GAIN_MIN_SHARE: u64 = 1024;
/// ... nor is encoding less than this one.
const ENCODED_MIN_SHARE: u64 = 64;
/// Bytes of tables that one job rewrites, and of values that it copies, about.
const STRETCH_BYTES: u64 = 32 << 20;
const STRETCH_VALUE_BYTES: u64 = 64 << 20;

/// Values that are looked at to know whether a file would shrink.
const SAMPLE_BYTES: usize = 4 << 20;

/// Versions that may be replaced while a stretch is looked for in them.
const STRETCH_TRIES: u32 = 3;

/// Tables that are rewritten together.
type Stretch = Vec<Arc<TableHandle>>;

/// The state, locked, and the first stretch of its version with the index of the run.
type Found<'a> = (MutexGuard<'a, State>, Option<(usize, Stretch)>);

/// When a relocation is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Writers are at work.
    Load,
    /// Nothing else is to be done.
    Idle,
    /// Somebody waits for a compact database, of the value files below a number: what comes meanwhile is not waited for.
    Asked { below: u64 },
}

/// What came of asking for a relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relocated {
    /// A stretch is done, and there may be more.
    Some,
    /// There is nothing to do.
    Nothing,
    /// Another merge is under way.
    Busy,
}

/// Whether the values at the front of a file would be shorter encoded, all together; `None` where the disk does not say.
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
            // Encoded already: it stays as it is.
            Ok(Some(found)) => {
                let stored = usize::try_from(found.pointer.len).ok()?;
                before += stored;
                after += stored;
            }
            Err(error) if error.kind() == ErrorKind::Io => return None,
            // The end, what is damaged, or what a crash cut off.
            Ok(None) | Err(_) => break,
        }
    }
    Some(saves(after, before))
}

/// Tables of `run` one behind the other that point to victims and can be read.
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
        let room = bytes < STRETCH_BYTES && values < STRETCH_VALUE_BYTES;
        bytes += table.record.bytes;
        values = copied.saturating_add(values);
        room
    });
    Some(taken.map(Arc::clone).collect())
}

/// No table that can be read points to a victim: what still does is left alone from now on.
fn end_round(state: &mut State) {
    let version = Arc::clone(&state.version);
    let relocating = &mut state.relocating;
    let refs = version.tables().flat_map(|table| &table.record.value_refs);
    let left = refs.map(|(file, _)| *file);
    relocating
        .unmovable
        .extend(left.filter(|file| relocating.victims.contains(file)));
    relocating.victims.clear();
}

/// At most so many bytes of large values that tables point to may be hidden by newer tables.
fn may_be_hidden(version: &Version, context: &ReadContext) -> u64 {
    let mut hidden: u64 = 0;
    for (at, run) in version.runs.iter().enumerate().skip(1) {
        for table in run.tables() {
            let record = &table.record;
            let refs: u64 = record.value_refs.iter().map(|(_, bytes)| *bytes).sum();
            let overlaps = |newer: &Arc<Run>| {
                let (smallest, largest) = (&record.smallest, &record.largest);
                !newer
                    .overlapping(&context.order, smallest, largest)
                    .is_empty()
            };
            if refs > 0 && version.runs[..at].iter().any(overlaps) {
                hidden = hidden.saturating_add(refs);
            }
        }
    }
    hidden
}

/// Copies live values out of value files that are mostly dead.
pub(crate) struct ValueGc {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    manifests: Arc<Manifests>,
    log: Arc<Log>,
    value_files: Arc<ValueFiles>,
    schedule: Arc<Schedule>,
    compactor: Arc<Compactor>,
    dead_files: Arc<DeadFiles>,
}

impl ValueGc {
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts it needs, each a type of its own"
    )]
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        manifests: Arc<Manifests>,
        log: Arc<Log>,
        value_files: Arc<ValueFiles>,
        schedule: Arc<Schedule>,
        compactor: Arc<Compactor>,
        dead_files: Arc<DeadFiles>,
    ) -> ValueGc {
        ValueGc {
            shared,
            versions,
            manifests,
            log,
            value_files,
            schedule,
            compactor,
            dead_files,
        }
    }

    /// Copies some live values out of files that are mostly dead; whether it did.
    ///
    /// # Errors
    /// Of the merge that does it.
    pub(crate) fn relocate_values(&self, moment: Moment) -> Result<bool> {
        Ok(self.relocate(moment)? == Relocated::Some)
    }

    /// As [`ValueGc::relocate_values`]; if not, why not.
    pub(crate) fn relocate(&self, moment: Moment) -> Result<Relocated> {
        if self.versions.lock().version.values.is_empty()
            || self.shared.health.check_write().is_err()
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
            // What was copied has no pointer; on a full disk it would be in the way of whoever makes room.
            if let Some(file) = self.value_files.moved().active() {
                self.value_files.close_value_files(&BTreeSet::from([file]));
            }
            let _ = self.dead_files.drop_dead_values();
            return Err(error);
        }
        Ok(Relocated::Some)
    }

    /// The next of the victims' pointers; `None` when there is none left, or none can be merged now.
    fn next_stretch(&self) -> Option<CompactionPlan> {
        let (mut state, found) = self.find_stretch()?;
        let Some((at, tables)) = found else {
            end_round(&mut state);
            return None;
        };
        let run = &state.version.runs[at];
        let victims = state.relocating.victims.clone();
        let values = Arc::clone(&state.version.values);
        let plan = CompactionPlan {
            inputs: vec![Run::new(run.id, tables, &self.shared.context.order)],
            target: run.id,
            bottom: at + 1 == state.version.runs.len(),
            waited_for: false,
            when_idle: false,
            relocation: Some(Arc::new(Relocation::new(
                victims,
                values,
                Arc::clone(self.value_files.moved()),
                self.shared.encodes(),
            ))),
            hiders: Vec::new(),
        };
        state.relocating.first_copies = self.value_files.moved().active();
        Some(state.begin_compaction(plan))
    }

    /// The next stretch; `None` where there are no victims, or nothing can be merged now.
    fn find_stretch(&self) -> Option<Found<'_>> {
        let mut tries = 0;
        loop {
            let state = self.versions.lock();
            if state.relocating.victims.is_empty() || !state.may_relocate() {
                return None;
            }
            let (version, victims) = (Arc::clone(&state.version), state.relocating.victims.clone());
            let damaged = state.damaged.keys().copied().collect();
            // Without the lock, there may be thousands of tables to look at; unless it is in vain again and again.
            let held = (tries == STRETCH_TRIES).then_some(state);
            let mut runs = version.runs.iter().enumerate().rev();
            let found = runs.find_map(|(at, run)| Some((at, stretch(run, &victims, &damaged)?)));
            let state = held.unwrap_or_else(|| self.versions.lock());
            if state.may_relocate() && Arc::ptr_eq(&version, &state.version) {
                return Some((state, found));
            }
            tries += 1;
        }
    }

    /// Chooses the files to be emptied next, if there are any. None while another merge is under way: its copies
    /// would look dead, and be closed while it writes them.
    fn choose_victims(&self, moment: Moment) -> Relocated {
        // A moment of both: what is not in the version's tables is in the parts.
        let (version, moving, unmovable) = {
            let commit = self.log.lock();
            let mut state = self.versions.lock();
            let bytes = state.version.values.values();
            let bytes = bytes.map(|file| file.bytes.load(Ordering::Relaxed)).sum();
            if !state.may_relocate() {
                return Relocated::Busy;
            }
            if moment == Moment::Load && !self.is_due(&mut state, bytes) {
                return Relocated::Nothing;
            }
            let parts = state.immutables.iter().filter_map(|part| part.values.first);
            let moving = parts.chain(commit.first_values()).min();
            let version = Arc::clone(&state.version);
            (version, moving, state.relocating.unmovable.clone())
        };
        let below = match moment {
            Moment::Asked { below } => below,
            Moment::Load | Moment::Idle => u64::MAX,
        };
        let below = moving.unwrap_or(u64::MAX).min(below);
        let mut census = Census::of(&version);
        let counted = |file: &Filled| file.file < below && !unmovable.contains(&file.file);
        census.files.retain(counted);
        let (dead, alive) = census.files.iter().partition(|file| file.live == 0);
        census.files = alive;
        if moment != Moment::Load {
            // Those without a live value go by themselves, but for the ones that are being filled.
            let dead: Vec<Filled> = dead;
            self.value_files
                .close_value_files(&dead.iter().map(|file| file.file).collect());
        }
        let victims = self.worthy_victims(moment, &mut census, &version);
        if victims.is_empty() {
            return Relocated::Nothing;
        }
        // Under both locks: nobody copies into one of them, and nobody begins to.
        let commit = self.log.lock();
        let mut state = self.versions.lock();
        if !state.may_relocate() || !state.relocating.victims.is_empty() {
            return Relocated::Busy;
        }
        self.value_files.close_files(&commit, &victims);
        state.relocating.victims = victims;
        Relocated::Some
    }

    /// Files that are mostly dead, else such as would shrink, if what they give back is worth the work.
    fn worthy_victims(
        &self,
        moment: Moment,
        census: &mut Census,
        version: &Version,
    ) -> BTreeSet<u64> {
        let (bytes, dead, regular) = (census.bytes(), census.dead(), self.shared.regular_length());
        let allowance = self.allowance();
        let worthy = |census: &Census, victims: &BTreeSet<u64>, min, gain: fn(&Filled) -> u64| {
            let chosen = census.files.iter();
            let chosen = chosen.filter(|it| victims.contains(&it.file));
            let gain: u64 = chosen.map(gain).sum();
            gain >= min && is_worth_it(version, victims, gain)
        };
        let much = match moment {
            Moment::Load => dead > (bytes - dead).saturating_add(regular.saturating_mul(2)),
            Moment::Idle | Moment::Asked { .. } => allowance.is_much(dead, bytes),
        };
        if much {
            let victims = choose(census, regular, &allowance);
            if worthy(census, &victims, regular / GAIN_MIN_SHARE, Filled::dead) {
                return victims;
            }
        }
        if moment == Moment::Load {
            return BTreeSet::new();
        }
        let mut victims = self.choose_to_encode(census, version);
        // About half, an eighth at least.
        if !worthy(census, &victims, regular / ENCODED_MIN_SHARE, |file| {
            file.live / 2
        }) {
            victims.clear();
        }
        victims
    }

    /// Files of raw values that would shrink, as many as a round takes; those that would not are settled.
    fn choose_to_encode(&self, census: &Census, version: &Version) -> BTreeSet<u64> {
        let (mut chosen, mut settled) = (BTreeSet::new(), Vec::new());
        let regular = self.shared.regular_length();
        let limit = regular.max(census.pointing);
        let mut copied = 0u64;
        for file in &census.files {
            let handle = version.values.get(&file.file);
            let fresh = handle.filter(|it| !it.settled.load(Ordering::Relaxed));
            // One that has just been begun is waited for.
            let short =
                file.bytes < regular / ENCODED_MIN_SHARE && self.value_files.is_filled(file.file);
            let Some(handle) = fresh.filter(|_| self.shared.encodes() && !short) else {
                continue;
            };
            if self.versions.lock().closing {
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

    /// Notes that nothing is to be encoded in these files, so that they are not looked at again.
    fn settle(&self, files: &[Arc<ValueHandle>]) {
        if files.is_empty() {
            return;
        }
        let commit = self.log.lock();
        if commit.closing || self.shared.health.check_write().is_err() {
            return;
        }
        for file in files {
            file.settled.store(true, Ordering::Relaxed);
        }
        self.value_files
            .close_files(&commit, &files.iter().map(|file| file.number).collect());
        let edit = VersionEdit {
            settled_values: files.iter().map(|file| file.number).collect(),
            ..VersionEdit::default()
        };
        if self.manifests.is_open() && !self.manifests.is_broken() {
            // Of no account where it is lost: the next handle looks again.
            let _ = self.manifests.append(&edit);
        }
        drop(commit);
    }

    /// Whether so much was written since the last look that there may be too much dead beside writers: to look at
    /// all tables is not for every flush.
    fn is_due(&self, state: &mut State, bytes: u64) -> bool {
        let regular = self.shared.regular_length();
        let looked_at = state.relocating.looked_at.min(bytes);
        let due = bytes > regular.saturating_mul(2) && bytes - looked_at > regular / 4;
        state.relocating.looked_at = if due { bytes } else { looked_at };
        due
    }

    /// How much may be dead in value files while the database is idle.
    pub(crate) fn allowance(&self) -> Allowance {
        let segment = self.shared.settings.budget.segment;
        let earlier = if segment > LOG_WHEN_IDLE {
            0
        } else {
            LOG_WHEN_IDLE
        };
        let beside = segment + earlier + self.manifests.bytes();
        Allowance::new(self.shared.regular_length(), beside)
    }

    /// Whether more than may be dead in an idle database is there to be deleted at all.
    pub(crate) fn may_hide_much(&self, version: &Version) -> bool {
        let bytes = Census::of(version).bytes() + version.bytes();
        bytes > self.allowance().dead_max(0)
    }

    /// Whether an idle database would give back space with its tables as they are: too much of its
    /// value files is dead, or newer runs may hide values of older ones.
    pub(crate) fn space_wanted(&self, state: &State) -> bool {
        let version = &state.version;
        if version.values.is_empty() {
            return false;
        }
        let (allowance, mut census) = (self.allowance(), Census::of(version));
        let unmovable = &state.relocating.unmovable;
        census.files.retain(|file| !unmovable.contains(&file.file));
        let (dead, bytes) = (census.dead(), census.bytes());
        if allowance.is_much(dead, bytes) {
            return true;
        }
        let hidden = may_be_hidden(version, &self.shared.context);
        dead + hidden > allowance.dead_max(bytes.saturating_sub(dead + hidden))
            && self.schedule.compaction_wanted(state, true).is_some()
    }
}
