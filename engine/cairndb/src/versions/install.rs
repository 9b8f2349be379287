//! `Installer`: builds the next version from the output of a flush or compaction, publishes it, and
//! queues it for the manifest.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairndb_base::{Result, SEQ_MAX, SeqNo};
use cairndb_format::manifest::TableRecord;
use cairndb_format::table::Table;

use crate::jobs::job::{NewTable, Outcome};
use crate::jobs::plan::CompactionPlan;
use crate::state::ranges::Deleted;
use crate::state::sections::{Section, StoredKey, keyspace_of};
use crate::state::stats::Stats;
use crate::state::version::{Run, TableHandle, Version};
use crate::versions::base::Base;
use crate::versions::engine_state::{Added, EngineState, Pending};

/// Number of tables up to which the newest run takes tables of a flush, which are smaller than
/// those of a compaction.
const CONTINUED_TABLES_MAX: usize = 1024;

/// Data that a flush takes over from its memtables, in addition to the entries.
struct Flushed {
    last_seq: SeqNo,
    /// First value file that they point to.
    first_values: Option<u64>,
}

/// What is known of the inputs of a job when its output is installed.
#[derive(Clone, Copy)]
struct JobInputs {
    /// Largest sequence number of their entries, as they were written since the database was
    /// opened.
    newest: SeqNo,
    /// Number of snapshots older than the newest of them.
    snapshots: usize,
}

impl JobInputs {
    fn of(plan: &CompactionPlan, outcome: &Outcome) -> JobInputs {
        let newest = plan.inputs.iter().map(Run::newest).max();
        JobInputs {
            newest: newest.unwrap_or(0),
            snapshots: outcome.snapshots,
        }
    }
}

/// Returns `table` as a member of `run`.
fn as_member(table: &TableHandle, run: u64) -> Arc<TableHandle> {
    let record = TableRecord {
        run,
        ..table.record.clone()
    };
    Arc::new(table.moved(record))
}

pub(crate) struct Installer {
    base: Arc<Base>,
    /// Number of calls of `compact_range` in progress.
    compacting: AtomicUsize,
}

impl Installer {
    pub(crate) fn new(base: &Arc<Base>) -> Installer {
        Installer {
            base: Arc::clone(base),
            compacting: AtomicUsize::new(0),
        }
    }

    /// Records the start of a call of `compact_range`.
    pub(crate) fn begin_compacting(&self) {
        // Relaxed: only a hint for concurrent compactions.
        self.compacting.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the end of a call of `compact_range`.
    pub(crate) fn end_compacting(&self) {
        self.compacting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Installs a flush of the `immutables` oldest immutable memtables.
    pub(crate) fn install_flush(
        &self,
        state: &mut EngineState,
        immutables: usize,
        outcome: Outcome,
    ) {
        let mut taken = state.immutables.iter().take(immutables);
        assert!(
            immutables > 0 && taken.all(|immutable| immutable.flush.is_some()),
            "only memtables that a flush has taken are replaced by its tables"
        );
        let (mut version, drops) = ((*state.version).clone(), outcome.drops);
        let mut added = Vec::new();
        Self::count_dead(&version, &outcome);
        if !outcome.tables.is_empty() {
            // May call a custom comparator, which may panic. In that case the memtables are kept.
            let taken = state.immutables.iter().take(immutables);
            let newest = taken.map(|immutable| immutable.mem.seq_max()).max();
            let inputs = JobInputs {
                newest: newest.unwrap_or(0),
                snapshots: outcome.snapshots,
            };
            added = self.place_flushed(state, &mut version, outcome.tables, inputs);
        }
        // If the version is out of order, the memtables are kept: with neither them nor the tables,
        // readers would miss entries.
        if !self.is_in_order(state, &version) {
            return;
        }
        let mut flushed = Flushed {
            last_seq: state.durable.seq,
            first_values: None,
        };
        for immutable in state.immutables.drain(..immutables) {
            flushed.last_seq = flushed.last_seq.max(immutable.mem.seq_max());
            let first = flushed
                .first_values
                .into_iter()
                .chain(immutable.values.first);
            flushed.first_values = first.min();
            for (section, range) in immutable.ranges {
                let order = &self.base.opener.orders[section];
                version.ranges.get_mut(section).add(order, range);
            }
        }
        state.flushed_seq = state.flushed_seq.max(flushed.last_seq);
        let mut left = state
            .immutables
            .iter()
            .map(|immutable| immutable.mem.seq_min());
        assert!(
            left.all(|seq| flushed.last_seq < seq),
            "a memtable that is left is newer than what was flushed"
        );
        self.install(state, version, added, flushed, drops);
    }

    /// Chooses the run of flushed tables. If they share no key with any table, they join the last
    /// run, so that a sequential load only changes the manifest. If all their keys are after those
    /// of the newest run, they join that run: overwrites or deletions in key order form one run and
    /// are not compacted repeatedly. Otherwise they become a new run.
    fn place_flushed(
        &self,
        state: &mut EngineState,
        version: &mut Version,
        tables: Vec<NewTable>,
        inputs: JobInputs,
    ) -> Vec<Added> {
        let orders = &self.base.opener.orders;
        let alone = tables.iter().all(|table| {
            let (smallest, largest) = (table.smallest(), table.largest());
            version
                .runs
                .iter()
                .all(|run| run.overlapping(orders, smallest, largest).is_empty())
        });
        // A running compaction may fill the gap into which these tables would go, but not the range
        // after every key.
        let after = |smallest: StoredKey<'_>| {
            let mut last = version.runs.iter().filter_map(|run| run.tables().last());
            last.all(|table| orders.compare(table.largest(), smallest).is_lt())
        };
        let safe =
            !state.is_compacting() || tables.first().is_some_and(|table| after(table.smallest()));
        if alone
            && safe
            && let Some(last) = version.runs.last_mut()
        {
            let added = self.handles(last.id, tables, inputs);
            *last = Arc::new(self.extended(last, &added));
            Stats::add(&self.base.stats.moves, 1);
            return added;
        }
        if let Some(first) = version.runs.first_mut()
            && self.may_continue(state, first, &tables)
        {
            // The tables are newer than all others, so they may join the newest run or form a run
            // above it.
            let added = self.handles(first.id, tables, inputs);
            *first = Arc::new(self.extended(first, &added));
            Stats::add(&self.base.stats.moves, 1);
            return added;
        }
        let added = self.handles(state.next_run, tables, inputs);
        let run = self.with_tables(state.next_run, Vec::new(), &added);
        state.next_run += 1;
        version.runs.insert(0, Arc::new(run));
        added
    }

    /// Returns whether tables of a flush may join the newest run. Their keys are after all of its
    /// keys. The run must have no damaged table, which would keep them out of every compaction, and
    /// not too many small ones: each costs memory, and a reference in every version. No compaction
    /// may be running, because a growing run would hide the newer runs above it from a stalled
    /// writer.
    fn may_continue(&self, state: &EngineState, newest: &Run, tables: &[NewTable]) -> bool {
        let after = match (newest.tables().last(), tables.first()) {
            (Some(last), Some(first)) => {
                let orders = &self.base.opener.orders;
                orders.compare(last.largest(), first.smallest()).is_lt()
            }
            _ => false,
        };
        let count = newest.tables().len();
        let few = count < CONTINUED_TABLES_MAX
            || newest.bytes() / count as u64 >= self.base.settings.output.table_bytes / 2;
        let damaged =
            |table: &Arc<TableHandle>| state.compactions.damaged.contains_key(&table.record.file);
        // Damaged tables are rare, and a run may have thousands of tables to check.
        let whole = state.compactions.damaged.is_empty() || !newest.tables().iter().any(damaged);
        after && few && !state.is_compacting() && whole
    }

    /// Opens and maps newly written tables, if there are readers or calls of `compact_range`.
    /// Otherwise their first reader would wait for a dozen system calls, for the check of filter
    /// and fence index, and for a page fault per page.
    pub(crate) fn open_for_readers(&self, outcome: &mut Outcome) {
        // Here, because it may read files, and the state is locked during the installation.
        self.base.opener.mapping.look();
        let was_read = self.base.versions.views().any(|view| view.was_read());
        if !was_read && self.compacting.load(Ordering::Relaxed) == 0 {
            return;
        }
        for written in &mut outcome.tables {
            // The error of a damaged table is returned to readers that need the table.
            let (opened, _) = self.open_mapped(&written.record, Table::check_index);
            written.opened = Some(opened);
        }
    }

    /// Returns an open and mapped handle of a newly written table, and the result of `check`.
    pub(crate) fn open_mapped(
        &self,
        record: &TableRecord,
        check: impl FnOnce(&Table) -> Result<()>,
    ) -> (TableHandle, Result<()>) {
        let opened = TableHandle::new(record.clone(), &self.base.opener);
        let checked = opened.table().and_then(|table| {
            table.map_now();
            check(table)
        });
        (opened, checked)
    }

    /// Returns handles of newly written tables, as members of run `id`.
    fn handles(&self, id: u64, tables: Vec<NewTable>, inputs: JobInputs) -> Vec<Added> {
        let handle = |written: NewTable| {
            let record = TableRecord {
                run: id,
                ..written.record
            };
            let table = match written.opened {
                Some(opened) => opened.moved(record),
                None => TableHandle::new(record, &self.base.opener),
            };
            Added {
                table: Arc::new(table.written(inputs.newest, inputs.snapshots)),
                sync: Some(written.sync),
            }
        };
        tables.into_iter().map(handle).collect()
    }

    /// Returns `run` with the tables `added`, which share no key with it.
    fn extended(&self, run: &Run, added: &[Added]) -> Run {
        let tables = added.iter().map(|added| Arc::clone(&added.table));
        run.appended(tables, &self.base.opener.orders)
            .unwrap_or_else(|| self.with_tables(run.id, run.tables().to_vec(), added))
    }

    /// Returns run `id` with the tables `there` and `added`.
    fn with_tables(&self, id: u64, there: Vec<Arc<TableHandle>>, added: &[Added]) -> Run {
        let mut tables = there;
        tables.extend(added.iter().map(|added| Arc::clone(&added.table)));
        Run::new(id, tables, &self.base.opener.orders)
    }

    /// Replaces the inputs of a compaction with its output. Tables that a flush has since added to
    /// an input run share no key with the output and stay in their run.
    pub(crate) fn install_compaction(
        &self,
        state: &mut EngineState,
        plan: &CompactionPlan,
        outcome: Outcome,
    ) {
        let inputs = plan.inputs.iter().flat_map(Run::tables);
        let gone: BTreeSet<u64> = inputs.map(|table| table.record.file).collect();
        assert!(
            state.version.has_tables(&gone),
            "only the compaction that has reserved a table replaces it"
        );
        let oldest = plan.inputs.last().map_or(plan.target, |run| run.id);
        let mut version = Version {
            runs: Vec::new(),
            values: Arc::clone(&state.version.values),
            ranges: state.version.ranges.clone(),
            pin: None,
        };
        Self::count_dead(&version, &outcome);
        let (inputs, drops) = (JobInputs::of(plan, &outcome), outcome.drops);
        let mut added = self.handles(plan.target, outcome.tables, inputs);
        let mut moved = Vec::new();
        for run in &state.version.runs {
            if run.id != oldest && !plan.inputs.iter().any(|input| input.id == run.id) {
                version.runs.push(Arc::clone(run));
                continue;
            }
            let mut left = run.tables().to_vec();
            left.retain(|table| !gone.contains(&table.record.file));
            let next = if run.id == oldest {
                if plan.target != run.id {
                    // Tables that a flush added to a wholly compacted run move to the new run.
                    left = left
                        .iter()
                        .map(|table| as_member(table, plan.target))
                        .collect();
                    moved.extend(left.iter().map(|table| Added {
                        table: Arc::clone(table),
                        sync: None,
                    }));
                }
                self.with_tables(plan.target, left, &added)
            } else {
                Run::new(run.id, left, &self.base.opener.orders)
            };
            if !next.tables().is_empty() {
                version.runs.push(Arc::new(next));
            }
        }
        added.extend(moved);
        let pending = state.durable.pending.as_ref();
        let flushed = Flushed {
            last_seq: pending.map_or(state.durable.seq, |pending| pending.last_seq),
            first_values: None,
        };
        if self.is_in_order(state, &version) {
            self.install(state, version, added, flushed, drops);
        }
    }

    /// Forgets deleted ranges without older entries: tables and memtables had them last. The newest
    /// views, which hold none either, are published together with this.
    fn end_ranges(&self, state: &mut EngineState, version: &mut Version) {
        let live = self.base.keyspaces.live();
        for section in Section::ALL {
            if !state.ranges[section].any() && version.ranges[section].is_empty() {
                continue;
            }
            let is_live = |range: &Deleted| {
                section == Section::Default
                    || live.binary_search(&keyspace_of(&range.start)).is_ok()
            };
            let immutables = state.immutables.iter().map(|immutable| &immutable.mem);
            let parts = immutables
                .chain([&state.mutable])
                .filter_map(|it| it.part(section));
            let oldest = parts.map(|part| part.seq_min()).min().unwrap_or(SEQ_MAX);
            let orders = &self.base.opener.orders;
            let ended = |range: &Deleted| {
                let tables = version.tables_in(orders, section, range);
                let hides = |table: &Arc<TableHandle>| table.has_hidden_by(range.seq);
                !is_live(range) || oldest >= range.seq && !tables.into_iter().any(hides)
            };
            let map = version.ranges[section].without(ended);
            // A reader relies on it that what has no ranges is not replaced.
            if state.ranges[section].any() {
                let kept = state.ranges[section].without(ended);
                *state.ranges.get_mut(section) = Arc::new(kept);
            }
            *version.ranges.get_mut(section) = map;
        }
    }

    fn count_dead(version: &Version, outcome: &Outcome) {
        for (file, bytes) in &outcome.dead {
            if let Some(handle) = version.values.get(file) {
                handle.dead.fetch_add(*bytes, Ordering::Relaxed);
            }
        }
    }

    /// Returns whether `version` may replace the newest version. If not, a job violated the order:
    /// none of its output may reach the manifest, and the handle is poisoned.
    fn is_in_order(&self, state: &EngineState, version: &Version) -> bool {
        let checked = version.check_since(&state.version, &self.base.opener.orders);
        let right = checked
            .map_err(|error| self.base.health.poison(error))
            .is_ok();
        if !right {
            self.base.versions.notify_changed();
        }
        right
    }

    fn install(
        &self,
        state: &mut EngineState,
        mut version: Version,
        added: Vec<Added>,
        flushed: Flushed,
        drops: u64,
    ) {
        version.becomes_newest(&self.base.opener.mapping);
        let next_file = self.base.next_file.load(Ordering::Relaxed);
        assert!(
            added.iter().all(|it| it.table.record.file < next_file),
            "a table's number was handed out, and so is never used again"
        );
        assert!(
            version.runs.iter().all(|run| run.id < state.next_run),
            "a run's number was handed out, and so is never used again"
        );
        debug_assert!(
            version.names_values_of(added.iter().map(|it| &it.table.record)),
            "a new table points only to value files of its version"
        );
        if drops != self.base.keyspaces.drops() {
            self.base.keyspaces.note_late_tables(next_file);
        }
        self.end_ranges(state, &mut version);
        state.version = Arc::new(version);
        state.durable.installed += 1;
        state.background.idle.disturb();
        let version = Arc::clone(&state.version);
        let newer = Pending {
            version,
            added,
            last_seq: flushed.last_seq,
            first_values: flushed.first_values,
            since_ns: self.base.env.now_ns(),
            installed: 1,
        };
        state.durable.pending = Some(match state.durable.pending.take() {
            Some(older) => older.then(newer),
            None => newer,
        });
        self.base.versions.publish_view(state);
    }
}
