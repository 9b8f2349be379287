//! Merging: by the picker's choice, when idle, or because the user asked.
//!
//! The worker, or a caller of `compact_range`, steps a merge and flushes between steps. Runs newer than all
//! that are being merged are free for another: a writer with too many runs before it merges the newest of
//! them, while the merge of everything, which takes seconds where the store is large, goes on.
//!
//! How a merge is carried out is in `merging`.
//!
//! The worker merging these newer runs between the steps of the large merge lost: the large one starved,
//! and what had come since was merged again and again (six times the bytes in a random load).

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{Error, ErrorKind, Order, Result};

use cairndb_format::name::FileKind;

use crate::engine::core::{Core, State};
use crate::engine::install::MergePlan;
use crate::engine::relocate::{Moment, Relocated};
use crate::jobs::picker::{Group, RUNS_STALL, RunSize, pick, pick_for_room, pick_idle};
use crate::state::guard::guarded;
use crate::state::stats::Stats;
use crate::state::version::{Run, Version};

/// The bounds of a key range as a compaction sees them.
pub(crate) type KeyRange<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

fn sizes(version: &Version, damaged: &BTreeMap<u64, Error>) -> Vec<RunSize> {
    let size = |run: &Arc<Run>| {
        let mut tables = run.tables().iter();
        RunSize {
            bytes: run.bytes(),
            entries: run.tables().iter().map(|table| table.record.entries).sum(),
            deletes: run.tables().iter().map(|table| table.record.deletes).sum(),
            damaged: !damaged.is_empty() && tables.any(|t| damaged.contains_key(&t.record.file)),
        }
    };
    version.runs.iter().map(size).collect()
}

/// The range's ends as keys, open ones taken from the version; `None` when nothing lies between.
fn bounds_of(version: &Version, order: &Order, range: KeyRange<'_>) -> Option<(Vec<u8>, Vec<u8>)> {
    let low = match range.0 {
        Bound::Included(key) | Bound::Excluded(key) => key.to_vec(),
        Bound::Unbounded => {
            let smallest = version.tables().map(|table| &table.record.smallest);
            smallest.min_by(|a, b| order.compare(a, b))?.clone()
        }
    };
    let high = match range.1 {
        Bound::Included(key) | Bound::Excluded(key) => key.to_vec(),
        Bound::Unbounded => {
            let largest = version.tables().map(|table| &table.record.largest);
            largest.max_by(|a, b| order.compare(a, b))?.clone()
        }
    };
    order.compare(&low, &high).is_le().then_some((low, high))
}

/// How often a compaction has room made before it is tried once more.
const ROOM_TRIES_MAX: usize = 64;

/// A table that could not be read so often is no more looked into than a damaged one: bad sectors give
/// errors and not other bytes.
const READ_FAILURES_MAX: u32 = 3;

/// The table that was found to be damaged or could not be read.
fn damaged_table(error: &Error) -> Option<u64> {
    let unfit = [ErrorKind::Corruption, ErrorKind::Io].contains(&error.kind());
    match FileKind::parse(error.file_name().filter(|_| unfit)?) {
        Some(FileKind::Table(file)) => Some(file.0),
        _ => None,
    }
}

/// Remembers which of a merge's inputs is damaged; `false` when none of them is.
fn note_damage(state: &mut State, plan: &MergePlan, error: &Error) -> bool {
    let Some(file) = damaged_table(error) else {
        return false;
    };
    let mut inputs = plan.hiders.iter().chain(&plan.inputs).flat_map(Run::tables);
    if !inputs.any(|table| table.record.file == file) {
        return false;
    }
    if error.kind() == ErrorKind::Io {
        let failures = state.unreadable.entry(file).or_insert(0);
        *failures += 1;
        if *failures < READ_FAILURES_MAX {
            return false;
        }
    }
    state.damaged.insert(file, error.clone());
    true
}

/// A writer's beside another. Each holds a table builder and a page of every run it reads, one that a caller waits
/// for two of both.
const MERGES_MAX: usize = 2;

impl MergePlan {
    fn runs(&self) -> Vec<u64> {
        self.inputs.iter().map(|run| run.id).collect()
    }

    /// Keeps others off the plan's runs and those older, until [`MergePlan::ended`].
    pub(crate) fn begun(self, state: &mut State) -> MergePlan {
        state.merges.push(self.runs());
        self
    }

    fn ended(&self, state: &mut State) {
        let runs = self.runs();
        let at = state.merges.iter().position(|merge| *merge == runs);
        state
            .merges
            .swap_remove(at.expect("a merge is listed until it ends"));
        if let Some(relocation) = &self.relocation {
            state.relocating.end(relocation);
        }
    }
}

pub(crate) fn stopped() -> Error {
    Error::new(ErrorKind::Closed, "the merge was stopped by closing")
}

/// A range merge's turn to come: no other begins before it.
struct Turn<'a>(Option<&'a Core>);

impl<'a> Turn<'a> {
    fn wait_for(core: &'a Core) -> Turn<'a> {
        core.state.lock().range_merges_waiting += 1;
        Turn(Some(core))
    }

    /// It has come.
    fn take(mut self, state: &mut State) {
        state.range_merges_waiting -= 1;
        self.0 = None;
    }
}

impl Drop for Turn<'_> {
    /// It is given up, before it came: others may merge again.
    fn drop(&mut self) {
        if let Some(core) = self.0 {
            let mut state = core.state.lock();
            state.range_merges_waiting -= 1;
            state.rest.disturb();
            drop(state);
            // Who clears out waits for those of a range, and where there is no worker nobody else tells.
            core.changed.notify_all();
            core.work.notify_all();
        }
    }
}

impl Core {
    fn group_plan(state: &mut State, group: Group) -> MergePlan {
        let runs = &state.version.runs;
        let inputs = runs[group.first..=group.last]
            .iter()
            .map(|run| (**run).clone())
            .collect();
        let bottom = group.last + 1 == runs.len();
        let target = state.next_run;
        state.next_run += 1;
        MergePlan {
            inputs,
            target,
            bottom,
            waited_for: false,
            at_rest: false,
            relocation: None,
            hiders: Vec::new(),
        }
        .begun(state)
    }

    /// Whether one more merge may begin.
    pub(crate) fn may_merge(state: &State) -> bool {
        !state.closing && state.range_merges_waiting == 0 && state.merges.len() < MERGES_MAX
    }

    /// More runs than this hold up writers until a merge is done: fewer where somebody reads.
    pub(crate) fn runs_max(&self) -> usize {
        let view = self.view.load();
        let readers = view.runs_for_readers().unwrap_or(RUNS_STALL);
        // While a view has no more, nobody waits for it, and nothing is merged sooner than for a load.
        if view.version.runs.len() > readers {
            readers
        } else {
            RUNS_STALL
        }
    }

    /// Whether the picker finds something to merge, idle merges included when `idle`.
    pub(crate) fn merge_wanted(&self, state: &State, idle: bool) -> Option<Group> {
        if state.merging() || !Self::may_merge(state) {
            return None;
        }
        let sizes = sizes(&state.version, &state.damaged);
        pick(&sizes, self.flush_unit(), self.runs_max()).or_else(|| {
            let group = pick_idle(&sizes).filter(|_| idle)?;
            (group.first < group.last || self.sheds_tombstones(state, group.last)).then_some(group)
        })
    }

    /// Whether runs numbered below `below` are left that an idle database merges with each other.
    pub(crate) fn merge_left(&self, state: &State, below: u64) -> bool {
        let sizes = sizes(&state.version, &state.damaged);
        let runs = state.version.runs.iter().enumerate();
        let old: Vec<usize> = runs
            .filter(|(_, run)| run.id < below)
            .map(|(at, _)| at)
            .collect();
        let old_sizes: Vec<RunSize> = old.iter().map(|at| sizes[*at]).collect();
        pick_idle(&old_sizes).is_some_and(|group| {
            group.first < group.last || self.sheds_tombstones(state, old[group.last])
        })
    }

    /// Whether a writer has to make room first, because there are too many runs. For readers it does what
    /// it can, but does not wait for the end of a large merge, which may take seconds.
    pub(crate) fn runs_hold_up(&self, state: &State) -> bool {
        let runs = state.version.runs.len();
        runs > self.runs_max()
            && match state.merging() {
                true if runs > RUNS_STALL => true,
                true => self.merge_for_room_wanted(state).is_some(),
                false => self.merge_wanted(state, false).is_some(),
            }
    }

    /// What a writer with too many runs before it merges.
    pub(crate) fn merge_for_room_wanted(&self, state: &State) -> Option<Group> {
        if !Self::may_merge(state) {
            return None;
        }
        let sizes = sizes(&state.version, &state.damaged);
        pick_for_room(
            &sizes,
            state.free_runs(),
            self.flush_unit(),
            self.runs_max(),
        )
    }

    /// The size of a run that one flush makes, about.
    fn flush_unit(&self) -> u64 {
        self.settings.budget.run as u64 / 2
    }

    /// Whether merging a run with itself would drop its tombstones: not while a snapshot may still
    /// look below them, and then it would be merged for ever.
    fn sheds_tombstones(&self, state: &State, run: usize) -> bool {
        let tables = state.version.runs[run].tables();
        let newest = tables.iter().map(|table| table.record.seq_max).max();
        self.readable_at().first() >= newest.as_ref()
    }

    /// Picks and runs one merge to its end; `false` when there is nothing to do.
    pub(crate) fn merge_once(&self) -> Result<bool> {
        self.merge_picked(false, |state| self.merge_wanted(state, false))
    }

    /// As [`Core::merge_once`], idle merges included; where nothing is to be merged, what waits is encoded.
    pub(crate) fn merge_idle(&self) -> Result<bool> {
        Ok(
            self.merge_picked(true, |state| self.merge_wanted(state, true))?
                || self.encode_deferred()?,
        )
    }

    /// Gives back what is dead in value files: all that a database at rest would, if all keys were asked for, else
    /// the files that have no live value.
    fn clear_out(&self, range: KeyRange<'_>) -> Result<()> {
        let whole = range == (Bound::Unbounded, Bound::Unbounded);
        // Relaxed: those begun meanwhile are not waited for.
        let below = self.next_file.load(Ordering::Relaxed);
        loop {
            let relocated = if whole {
                self.relocate(Moment::Asked { below })?
            } else {
                Relocated::Nothing
            };
            match relocated {
                Relocated::Some => self.persist_all()?,
                Relocated::Nothing => {
                    // The last stretch may have been the worker's, and not be durable yet.
                    self.persist_all()?;
                    return self.drop_all_dead_values();
                }
                Relocated::Busy => {
                    // The worker may be at it, or another caller.
                    let over = |it: &State| it.closing || Self::may_merge(it) && !it.merging();
                    drop(self.wait_state(self.state.lock(), over));
                    if self.state.lock().closing {
                        return Ok(());
                    }
                }
            }
            self.drop_all_dead_values()?;
        }
    }

    /// As [`Core::merge_once`], for a writer that waits for its end.
    pub(crate) fn merge_for_room(&self) -> Result<bool> {
        self.merge_picked(false, |state| self.merge_for_room_wanted(state))
    }

    fn merge_picked(&self, at_rest: bool, pick: impl Fn(&State) -> Option<Group>) -> Result<bool> {
        let mut state = self.state.lock();
        let Some(group) = pick(&state) else {
            return Ok(false);
        };
        let plan = MergePlan {
            at_rest,
            ..Self::group_plan(&mut state, group)
        };
        drop(state);
        self.merge_plan(&plan)?;
        Ok(true)
    }

    /// Runs a merge whose slot the caller has taken. Flushes that fall due between steps are done
    /// in between, so that writers never wait for a merge.
    pub(crate) fn merge_plan(&self, plan: &MergePlan) -> Result<()> {
        let begun = self.env.now_ns();
        let result = guarded(|| self.carry_out(plan));
        Stats::add(
            &self.stats.merge_nanos,
            self.env.now_ns().saturating_sub(begun),
        );
        let copied = plan.relocation.as_ref().map_or(0, |it| it.copied());
        Stats::add(&self.stats.moved_value_bytes, copied);
        let mut state = self.state.lock();
        plan.ended(&mut state);
        if result.is_err() {
            // Whoever found nothing to do while it ran would rest beside what is due still.
            state.rest.disturb();
        }
        let result = result.and_then(|outcome| {
            Stats::add(&self.stats.merges, 1);
            let read: u64 = plan.inputs.iter().map(Run::bytes).sum();
            Stats::add(&self.stats.merge_read_bytes, read);
            let bytes: u64 = outcome.tables.iter().map(|table| table.record.bytes).sum();
            Stats::add(&self.stats.merge_bytes, bytes);
            let install = || {
                self.install_merge(&mut state, plan, outcome);
                for table in plan.inputs.iter().flat_map(Run::tables) {
                    state.unreadable.remove(&table.record.file);
                    state.damaged.remove(&table.record.file);
                }
                Ok(())
            };
            guarded(install).map_err(|error| self.health.poison(error))
        });
        if let Err(error) = &result
            && note_damage(&mut state, plan, error)
        {
            // Not tried again, so nothing is held off.
        } else {
            self.note_background(&mut state, &result);
        }
        drop(state);
        self.changed.notify_all();
        self.work.notify_all();
        result
    }

    /// Whether `error` is the damage of a table that merges leave alone from now on.
    pub(crate) fn is_known_damage(&self, error: &Error) -> bool {
        let file = damaged_table(error);
        file.is_some_and(|file| self.state.lock().damaged.contains_key(&file))
    }

    /// Merges everything that shares keys with `range` into the last run, and makes it durable.
    ///
    /// # Errors
    /// Of the flush, the merge or the syncs.
    pub(crate) fn compact_range(&self, range: KeyRange<'_>) -> Result<()> {
        self.check_writable()?;
        // Relaxed: a hint to merges, of this call and beside it.
        self.compacting.fetch_add(1, Ordering::Relaxed);
        let nearly_full = self.is_nearly_full();
        let mut result = self.compact_now(range);
        if result
            .as_ref()
            .is_err_and(|it| it.kind() == ErrorKind::NoSpace)
        {
            // Bit by bit, and then once more: each attempt writes until there is no room.
            let mut tries = 0;
            while tries < ROOM_TRIES_MAX && self.make_room_on_disk() {
                tries += 1;
            }
            result = self.compact_now(range);
        }
        if nearly_full {
            self.trim_spares();
        }
        self.compacting.fetch_sub(1, Ordering::Relaxed);
        result
    }

    fn compact_now(&self, range: KeyRange<'_>) -> Result<()> {
        // From here on: the worker would take what is flushed for a rest's merge, and do alone what two do here.
        let turn = Turn::wait_for(self);
        self.flush_parts()?;
        let plan = {
            let mut state = self.wait_state(self.state.lock(), |state| !state.merging());
            turn.take(&mut state);
            if state.closing {
                return Err(stopped());
            }
            let Some(plan) = self.range_plan(&mut state, range) else {
                // The worker may have found nothing to do because a merge was waiting: this one.
                state.rest.disturb();
                drop(state);
                self.changed.notify_all();
                self.work.notify_all();
                self.persist_all()?;
                return self.clear_out(range);
            };
            plan.begun(&mut state)
        };
        self.merge_plan(&plan)?;
        self.persist_all()?;
        self.clear_out(range)
    }

    /// The tables of every run that share keys with `range`, closed under overlap.
    fn range_plan(&self, state: &mut State, range: KeyRange<'_>) -> Option<MergePlan> {
        let order = &self.context.order;
        let version = Arc::clone(&state.version);
        let (mut low, mut high) = bounds_of(&version, order, range)?;
        let mut chosen = Vec::new();
        loop {
            let before: usize = chosen.iter().map(|run: &Run| run.tables().len()).sum();
            chosen.clear();
            for run in &version.runs {
                let tables = run.overlapping(order, &low, &high).to_vec();
                for table in &tables {
                    if order.compare(&table.record.smallest, &low).is_lt() {
                        low.clone_from(&table.record.smallest);
                    }
                    if order.compare(&table.record.largest, &high).is_gt() {
                        high.clone_from(&table.record.largest);
                    }
                }
                if !tables.is_empty() {
                    chosen.push(Run::new(run.id, tables, order));
                }
            }
            if chosen.iter().map(|run| run.tables().len()).sum::<usize>() == before {
                break;
            }
        }
        self.worth_merging(&chosen).then(|| {
            let last = version.runs.last().map_or(0, |run| run.id);
            let whole = chosen
                .iter()
                .zip(&version.runs)
                .all(|(chosen, run)| chosen.tables().len() == run.tables().len())
                && chosen.len() == version.runs.len();
            // The output belongs into the last run: nothing below it holds these keys.
            if !whole && chosen.last().is_none_or(|run| run.id != last) {
                chosen.push(Run::new(last, Vec::new(), order));
            }
            let target = if whole { state.next_run } else { last };
            state.next_run += 1;
            MergePlan {
                inputs: chosen,
                target,
                bottom: true,
                waited_for: true,
                at_rest: false,
                relocation: None,
                hiders: Vec::new(),
            }
        })
    }

    /// A single run without tombstones, old versions and values to be encoded is already what a merge would make of it.
    fn worth_merging(&self, chosen: &[Run]) -> bool {
        let encodes = self.encodes();
        match chosen {
            [] => false,
            [one] => one.tables().iter().any(|table| {
                let record = &table.record;
                record.deletes > 0 || record.seq_max > 0 || record.deferred && encodes
            }),
            _ => true,
        }
    }
}
