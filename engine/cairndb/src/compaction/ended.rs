//! Frees the space of dropped keyspaces and of deleted ranges: which tables hold nothing else, and
//! which may hold some.
//!
//! Tables that hold only such entries leave the version unread. Others are rewritten without them
//! once the database is idle. The bounds of a table show only its
//! first and its last keyspace. If an earlier handle dropped one in between, its entries stay until
//! the table is compacted for another reason.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_base::limits::KEYSPACE_BYTES;
use cairndb_base::{Error, SeqNo};

use crate::compaction::schedule::Schedule;
use crate::jobs::plan::CompactionPlan;
use crate::state::keyspaces::{Dropped, LiveKeyspaces};
use crate::state::ranges::{Deleted, RangeMap};
use crate::state::sections::{Orders, Section, Sections, keyspace_of};
use crate::state::version::{Run, TableHandle};
use crate::versions::engine_state::{EndedUntil, EngineState};

/// What is left of dropped keyspaces, or of deleted ranges, in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    Nothing,
    Something,
    Everything,
}

/// The keyspaces that exist, and those that do not; the ranges whose deletion all readers know.
struct Known<'a> {
    live: LiveKeyspaces,
    dropped: Dropped,
    ranges: Sections<RangeMap>,
    orders: &'a Orders,
}

impl Known<'_> {
    /// Returns what `table` may hold of both; something only of ranges up to `ranges_until`.
    fn left_in(&self, table: &TableHandle, ranges_until: SeqNo) -> Left {
        let ranges = self.of_ranges(table, ranges_until);
        self.of_keyspaces(table).max(ranges)
    }

    fn of_ranges(&self, table: &TableHandle, until: SeqNo) -> Left {
        let (section, record) = (table.section(), &table.record);
        let (map, order) = (&self.ranges[section], &self.orders[section]);
        let around = map.around(order, &record.smallest);
        let first = around
            .before
            .filter(|range| range.reaches(order, &record.smallest));
        let within = first.is_some_and(|range| range.reaches(order, &record.largest));
        if first.is_some_and(|range| within && !table.has_newer_than(range.seq - 1)) {
            return Left::Everything;
        }
        let is_before_end = |range: &&Deleted| order.compare(&range.start, &record.largest).is_le();
        let others = map.from(order, &record.smallest).take_while(is_before_end);
        if first
            .into_iter()
            .chain(others)
            .any(|range| range.seq <= until && table.has_hidden_by(range.seq))
        {
            return Left::Something;
        }
        Left::Nothing
    }

    fn of_keyspaces(&self, table: &TableHandle) -> Left {
        if table.section() == Section::Default {
            return Left::Nothing;
        }
        let (smallest, largest) = (&table.record.smallest, &table.record.largest);
        // An upper bound may be an end of its keyspace, which has an odd number.
        let (first, last) = (keyspace_of(smallest), keyspace_of(largest) & !1);
        let from = self.live.partition_point(|number| *number < first);
        let to = self.live.partition_point(|number| *number <= last);
        if from >= to {
            return Left::Everything;
        }
        let is_dropped = |bound: &[u8], number: u32| {
            bound.len() >= KEYSPACE_BYTES && self.live.binary_search(&number).is_err()
        };
        let at_ends = is_dropped(smallest, first) || is_dropped(largest, last);
        let mut between = self.dropped.here.range(first..=last);
        if at_ends && table.record.file < self.dropped.before
            || between.any(|(_, below)| table.record.file < *below)
        {
            return Left::Something;
        }
        Left::Nothing
    }
}

impl Schedule {
    /// Returns whether dropped keyspaces or deleted ranges may have left tables, including those
    /// that only an `idle` database rewrites.
    pub(crate) fn may_have_ended(&self, state: &EngineState, idle: bool) -> bool {
        let (now, searched) = (self.ended_until(state), &state.ended);
        !searched.whole.includes(now) || idle && !searched.partial.includes(now)
    }

    /// Returns the drops and deletions that all readers know.
    pub(crate) fn ended_until(&self, state: &EngineState) -> EndedUntil {
        EndedUntil {
            drops: self.base.keyspaces.drops(),
            ranges: self.newest_range(state),
        }
    }

    /// Returns the number of the newest deletion of a range that all readers know.
    fn newest_range(&self, state: &EngineState) -> SeqNo {
        let mut ranges = state.ranges.iter().filter(|ranges| ranges.any()).peekable();
        if ranges.peek().is_none() {
            return 0;
        }
        let newest = ranges.map(|ranges| ranges.newest_seq()).max();
        // A deletion that may be lost with the log frees nothing.
        let newest = newest.unwrap_or(0).min(state.flushed_seq);
        // Before the snapshots are listed: a release in between must wake the worker.
        self.base.snapshots.wake_on_release(newest);
        let oldest = self.base.readable_at().first().copied().unwrap_or(0);
        newest.min(oldest)
    }

    /// Returns the plan that frees tables of dropped keyspaces or deleted ranges: those that hold
    /// nothing else, or, if `idle`, some of those that hold other entries.
    pub(crate) fn ended_plan(&self, state: &mut EngineState, idle: bool) -> Option<CompactionPlan> {
        if !self.may_have_ended(state, idle) || state.is_compacting() || !state.may_compact() {
            return None;
        }
        let now = self.ended_until(state);
        let oldest = self.base.readable_at().first().copied().unwrap_or(0);
        let known = Known {
            live: self.base.keyspaces.live(),
            dropped: self.base.keyspaces.dropped(),
            ranges: if oldest < state.flushed_seq {
                state.ranges.each_ref(|ranges| ranges.at(oldest).0)
            } else {
                state.version.ranges.clone()
            },
            orders: &self.base.opener.orders,
        };
        if let Some(plan) = self.whole_tables(state, &known) {
            return Some(state.begin_compaction(plan));
        }
        state.ended.whole = now;
        if !idle {
            return None;
        }
        while !state.ended.partial.includes(now) {
            if state.ended.partial.includes(state.ended.goal) {
                state.ended.goal = now;
            }
            let goal = state.ended.goal;
            if let Some(plan) = self.partial_tables(state, &known, goal.ranges) {
                return Some(state.begin_compaction(plan));
            }
            state.ended.partial = goal;
            // Other compactions get a turn before the next goal.
            if self.compaction_wanted(state, true).is_some() {
                return None;
            }
        }
        if state.immutables.is_empty() {
            self.base.keyspaces.forget_dropped(now.drops);
        }
        None
    }

    fn whole_tables(&self, state: &EngineState, known: &Known<'_>) -> Option<CompactionPlan> {
        let found = state.version.runs.iter().filter_map(|run| {
            let mut tables = run.tables().to_vec();
            tables.retain(|table| known.left_in(table, 0) == Left::Everything);
            (!tables.is_empty()).then(|| Run::new(run.id, tables, &self.base.opener.orders))
        });
        let inputs: Vec<Run> = found.collect();
        let target = inputs.last()?.id;
        Some(CompactionPlan {
            unread: true,
            ..CompactionPlan::in_place(inputs, target, false)
        })
    }

    /// Finds adjacent tables of one run, from the oldest run.
    fn partial_tables(
        &self,
        state: &EngineState,
        known: &Known<'_>,
        ranges_until: SeqNo,
    ) -> Option<CompactionPlan> {
        let damaged: &BTreeMap<u64, Error> = &state.compactions.damaged;
        let wanted = |table: &&Arc<TableHandle>| {
            !damaged.contains_key(&table.record.file)
                && known.left_in(table, ranges_until) == Left::Something
        };
        let runs = state.version.runs.iter().enumerate().rev();
        for (at, run) in runs {
            let tables = run.tables();
            let Some(first) = tables.iter().position(|table| wanted(&table)) else {
                continue;
            };
            let stretch = tables[first..].iter().take_while(wanted).cloned();
            let mut bytes = 0;
            let stretch = stretch.take_while(|table| {
                let fits = bytes < STRETCH_BYTES;
                bytes += table.record.bytes;
                fits
            });
            let inputs = Run::new(run.id, stretch.collect(), &self.base.opener.orders);
            let bottom = at + 1 == state.version.runs.len();
            return Some(CompactionPlan::in_place(vec![inputs], run.id, bottom));
        }
        None
    }
}

/// Number of table bytes that one job rewrites; it takes at least one table.
const STRETCH_BYTES: u64 = 32 << 20;
