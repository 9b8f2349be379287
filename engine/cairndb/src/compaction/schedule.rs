//! `Schedule`: decides which compaction is next, and when too many runs stall writers.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use cairndb_base::{Error, SeqNo};
use cairndb_format::manifest::TableRecord;

use crate::compaction::pick::{
    Group, RUNS_STALL, RunSize, pick, pick_for_stall, pick_for_values, pick_idle,
};
use crate::jobs::plan::CompactionPlan;
use crate::state::sections::{Orders, Section, StoredKey};
use crate::state::version::{Run, TableHandle, Version};
use crate::versions::base::Base;
use crate::versions::engine_state::EngineState;

/// The bounds of a key range.
pub(crate) type KeyRange<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

fn sizes(version: &Version, damaged: &BTreeMap<u64, Error>) -> Vec<RunSize> {
    let size = |run: &Arc<Run>| {
        let mut tables = run.tables().iter();
        let records = || run.tables().iter().map(|table| &table.record);
        RunSize {
            bytes: run.bytes(),
            entries: records().map(|record| record.entries).sum(),
            deletes: records().map(|record| record.deletes).sum(),
            hidden: records().map(|record| record.hidden.entries).sum(),
            hides_much: hides_much(records()),
            values: records()
                .map(TableRecord::value_bytes)
                .fold(0, u64::saturating_add),
            damaged: !damaged.is_empty() && tables.any(|t| damaged.contains_key(&t.record.file)),
        }
    };
    version.runs.iter().map(size).collect()
}

/// Returns whether entries that newer ones hide take more than a sixth of the bytes of these
/// tables, with the values that they point to.
fn hides_much<'r>(records: impl Iterator<Item = &'r TableRecord>) -> bool {
    let (mut hidden, mut all) = (0u64, 0u64);
    for record in records {
        hidden = hidden.saturating_add(record.hidden.bytes);
        hidden = hidden.saturating_add(record.hidden.value_bytes);
        all = all.saturating_add(record.raw_bytes);
        all = all.saturating_add(record.value_bytes());
    }
    hidden.saturating_mul(6) > all
}

/// Returns the bounds of the range as keys, replacing open bounds with the version's. Returns
/// `None` if no key is between them.
fn bounds_of(
    version: &Version,
    orders: &Orders,
    section: Section,
    range: KeyRange<'_>,
) -> Option<(Vec<u8>, Vec<u8>)> {
    let order = &orders[section];
    let tables = || version.tables().filter(|table| table.section() == section);
    let low = match range.0 {
        Bound::Included(key) | Bound::Excluded(key) => key.to_vec(),
        Bound::Unbounded => {
            let smallest = tables().map(|table| &table.record.smallest);
            smallest.min_by(|a, b| order.compare(a, b))?.clone()
        }
    };
    let high = match range.1 {
        Bound::Included(key) | Bound::Excluded(key) => key.to_vec(),
        Bound::Unbounded => {
            let largest = tables().map(|table| &table.record.largest);
            largest.max_by(|a, b| order.compare(a, b))?.clone()
        }
    };
    order.compare(&low, &high).is_le().then_some((low, high))
}

/// Returns the tables of every run that overlap the range between two keys of `section`, or each
/// other.
fn closed_under_overlap(
    version: &Version,
    orders: &Orders,
    section: Section,
    (mut low, mut high): (Vec<u8>, Vec<u8>),
) -> Vec<Run> {
    let order = &orders[section];
    let mut chosen: Vec<Run> = Vec::new();
    loop {
        let before: usize = chosen.iter().map(|run| run.tables().len()).sum();
        chosen.clear();
        for run in &version.runs {
            let stored = |bytes| StoredKey { section, bytes };
            let (from, to) = (stored(&low), stored(&high));
            let tables = run.overlapping(orders, from, to).to_vec();
            for table in &tables {
                if order.compare(&table.record.smallest, &low).is_lt() {
                    low.clone_from(&table.record.smallest);
                }
                if order.compare(&table.record.largest, &high).is_gt() {
                    high.clone_from(&table.record.largest);
                }
            }
            if !tables.is_empty() {
                chosen.push(Run::new(run.id, tables, orders));
            }
        }
        if chosen.iter().map(|run| run.tables().len()).sum::<usize>() == before {
            return chosen;
        }
    }
}

/// Number of table bytes that one job compresses; it takes at least one table.
const STRETCH_BYTES: u64 = 32 << 20;

/// Returns the first tables of `run` that wait for compression. Compressed tables between them are
/// included while they are fewer: copying them costs less than another job and another version.
fn stretch(run: &Run, damaged: &BTreeMap<u64, Error>) -> Option<Vec<Arc<TableHandle>>> {
    let whole = |table: &TableHandle| !damaged.contains_key(&table.record.file);
    let waits = |table: &Arc<TableHandle>| table.record.deferred && whole(table);
    let tables = &run.tables()[run.tables().iter().position(waits)?..];
    let (mut raw, mut between, mut count) = (0, 0, 0);
    for (index, table) in tables.iter().enumerate() {
        if !whole(table) || between > raw || raw + between >= STRETCH_BYTES {
            break;
        }
        if table.record.deferred {
            raw += table.record.bytes;
            count = index + 1;
        } else {
            between += table.record.bytes;
        }
    }
    Some(tables[..count].to_vec())
}

pub(crate) struct Schedule {
    pub(super) base: Arc<Base>,
}

impl Schedule {
    pub(crate) fn new(base: &Arc<Base>) -> Schedule {
        Schedule {
            base: Arc::clone(base),
        }
    }

    pub(crate) fn group_plan(state: &mut EngineState, group: Group) -> CompactionPlan {
        let runs = &state.version.runs;
        assert!(
            group.first <= group.last && group.last < runs.len(),
            "the picker chooses among the runs that it was shown"
        );
        let damaged = &state.compactions.damaged;
        let mut chosen = runs[group.first..=group.last]
            .iter()
            .flat_map(|run| run.tables());
        assert!(
            damaged.is_empty() || !chosen.any(|table| damaged.contains_key(&table.record.file)),
            "the picker passes over damaged tables"
        );
        let inputs = runs[group.first..=group.last]
            .iter()
            .map(|run| (**run).clone())
            .collect();
        let bottom = group.last + 1 == runs.len();
        let target = state.next_run;
        state.next_run += 1;
        state.begin_compaction(CompactionPlan::in_place(inputs, target, bottom))
    }

    /// Returns the number of runs above which writers stall until a compaction ends. It is lower if
    /// there are readers.
    pub(crate) fn runs_max(&self) -> usize {
        // While there are no more runs than readers want, writers do not stall and nothing is
        // compacted earlier.
        let limits = self.base.versions.views().filter_map(|view| {
            let readers = view.runs_for_readers()?;
            (view.version.runs.len() > readers).then_some(readers)
        });
        limits.min().unwrap_or(RUNS_STALL)
    }

    /// Returns the picker's choice, including idle compactions if `idle`.
    pub(crate) fn compaction_wanted(&self, state: &EngineState, idle: bool) -> Option<Group> {
        if state.is_compacting() || !state.may_compact() {
            return None;
        }
        let sizes = sizes(&state.version, &state.compactions.damaged);
        pick(&sizes, self.flush_unit(), self.runs_max())
            .or_else(|| pick_for_values(&sizes, self.base.value_slack()))
            .or_else(|| {
                idle.then(|| pick_idle(&self.idle_sizes(state, sizes)))
                    .flatten()
            })
    }

    /// Returns whether an idle database would compact runs numbered below `below` with each other.
    pub(crate) fn compaction_left(&self, state: &EngineState, below: u64) -> bool {
        let sizes = self.idle_sizes(state, sizes(&state.version, &state.compactions.damaged));
        let runs = state.version.runs.iter().zip(sizes);
        let old = runs.filter(|(run, _)| run.id < below);
        pick_idle(&old.map(|(_, size)| size).collect::<Vec<_>>()).is_some()
    }

    /// Returns whether a writer has to stall on too many runs. For the sake of readers the writer
    /// compacts runs if it can, but does not wait for the end of a large compaction, which may take
    /// seconds.
    pub(crate) fn runs_hold_up(&self, state: &EngineState) -> bool {
        let runs = state.version.runs.len();
        runs > self.runs_max()
            && match state.is_compacting() {
                true if runs > RUNS_STALL => true,
                true => self.compaction_for_stall(state).is_some(),
                false => self.compaction_wanted(state, false).is_some(),
            }
    }

    /// Returns the runs to compact by a writer that stalls on too many runs.
    pub(crate) fn compaction_for_stall(&self, state: &EngineState) -> Option<Group> {
        if !state.may_compact() {
            return None;
        }
        let sizes = sizes(&state.version, &state.compactions.damaged);
        pick_for_stall(
            &sizes,
            state.free_runs(),
            self.flush_unit(),
            self.runs_max(),
        )
    }

    /// Returns the approximate size of a run made by one flush.
    fn flush_unit(&self) -> u64 {
        self.base.settings.budget.run as u64 / 2
    }

    /// Returns `sizes` for an idle compaction: without the tombstones and hidden versions of runs
    /// whose compaction would keep them for snapshots. At least half of the snapshots that there
    /// were when a run was written must be gone; otherwise it would be compacted forever. The next
    /// release of a snapshot that keeps such entries wakes the worker.
    fn idle_sizes(&self, state: &EngineState, mut sizes: Vec<RunSize>) -> Vec<RunSize> {
        let seq_max = |run: &Run| run.tables().iter().map(|table| table.record.seq_max).max();
        let runs = state.version.runs.iter();
        let newest: Vec<SeqNo> = runs.map(|run| seq_max(run).unwrap_or(0)).collect();
        let dead = |size: &RunSize| size.deletes > 0 || size.hidden > 0;
        let awaited = sizes.iter().zip(&newest).filter(|(size, _)| dead(size));
        let Some(awaited) = awaited.map(|(_, newest)| *newest).max() else {
            return sizes;
        };
        // Before the snapshots are listed: a release in between must wake the worker.
        self.base.snapshots.wake_on_release(awaited);
        let readable = self.base.readable_at();
        for ((size, newest), run) in sizes.iter_mut().zip(newest).zip(&state.version.runs) {
            let left = readable.partition_point(|seq| *seq < newest);
            if left > 0 && 2 * left > run.snapshots() {
                (size.deletes, size.hidden, size.hides_much) = (0, 0, false);
            }
        }
        sizes
    }

    /// Returns a plan for the tables of every run that overlap `range`, closed under overlap. The
    /// range of all keys of the default section includes all keyspaces.
    pub(crate) fn range_plan(
        &self,
        state: &mut EngineState,
        section: Section,
        range: KeyRange<'_>,
    ) -> Option<CompactionPlan> {
        let everything = range == (Bound::Unbounded, Bound::Unbounded);
        let orders = &self.base.opener.orders;
        let version = Arc::clone(&state.version);
        let mut chosen: Vec<Run> = if everything {
            version.runs.iter().map(|run| (**run).clone()).collect()
        } else {
            let bounds = bounds_of(&version, orders, section, range)?;
            closed_under_overlap(&version, orders, section, bounds)
        };
        self.worth_compacting(&chosen).then(|| {
            let last = version.runs.last().map_or(0, |run| run.id);
            let whole = chosen
                .iter()
                .zip(&version.runs)
                .all(|(chosen, run)| chosen.tables().len() == run.tables().len())
                && chosen.len() == version.runs.len();
            // The output belongs in the last run: no older run holds these keys.
            if !whole && chosen.last().is_none_or(|run| run.id != last) {
                chosen.push(Run::new(last, Vec::new(), orders));
            }
            let target = if whole { state.next_run } else { last };
            state.next_run += 1;
            CompactionPlan {
                waited_for: true,
                ..CompactionPlan::in_place(chosen, target, true)
            }
        })
    }

    /// Returns whether a compaction would change `chosen`. A single run without tombstones, old
    /// versions and uncompressed values stays unchanged.
    fn worth_compacting(&self, chosen: &[Run]) -> bool {
        let encodes = self.base.encodes();
        match chosen {
            [] => false,
            [one] => one.tables().iter().any(|table| {
                let record = &table.record;
                record.deletes > 0 || record.seq_max > 0 || record.deferred && encodes
            }),
            _ => true,
        }
    }

    /// Returns the next tables to compress, from the oldest run.
    pub(crate) fn deferred_stretch(
        &self,
        state: &EngineState,
    ) -> Option<(usize, Vec<Arc<TableHandle>>)> {
        if !self.base.encodes() || state.is_compacting() || !state.may_compact() {
            return None;
        }
        let runs = state.version.runs.iter().enumerate().rev();
        let mut runs = runs.filter(|(_, run)| run.deferred_bytes() > 0);
        runs.find_map(|(at, run)| Some((at, stretch(run, &state.compactions.damaged)?)))
    }

    /// Returns whether there are tables to compress.
    pub(crate) fn encoding_wanted(&self, state: &EngineState) -> bool {
        self.deferred_stretch(state).is_some()
    }
}
