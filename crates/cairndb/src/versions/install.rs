//! Installing outcomes: the next version is built, published, and queued for the manifest.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairndb_base::{Result, SeqNo};
use cairndb_format::manifest::TableRecord;
use cairndb_format::table::Table;

use crate::jobs::job::Outcome;
use crate::jobs::output::Written;
use crate::jobs::plan::CompactionPlan;
use crate::state::stats::Stats;
use crate::state::version::{Run, TableHandle, Version};
use crate::versions::shared::Shared;
use crate::versions::state::{Added, Pending, State};
use crate::versions::version_set::VersionSet;

/// Tables of a flush's size, below that which merges cut, that the newest run may have.
const CONTINUED_TABLES_MAX: usize = 1024;

/// What a flush takes from its parts, beside the entries.
struct Flushed {
    last_seq: SeqNo,
    /// The first value file they had a pointer to.
    first_values: Option<u64>,
}

/// `table` as a member of `run`.
fn as_member(table: &TableHandle, run: u64) -> Arc<TableHandle> {
    let record = TableRecord {
        run,
        ..table.record.clone()
    };
    Arc::new(table.moved(record))
}

/// Builds the next version from what a flush or a compaction wrote.
pub(crate) struct Installer {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    /// Callers of `compact_range` on the way.
    compacting: AtomicUsize,
}

impl Installer {
    pub(crate) fn new(shared: Arc<Shared>, versions: Arc<VersionSet>) -> Installer {
        Installer {
            shared,
            versions,
            compacting: AtomicUsize::new(0),
        }
    }

    /// A caller of `compact_range` is on its way, until [`Installer::end_compacting`].
    pub(crate) fn begin_compacting(&self) {
        // Relaxed: a hint to merges, of this call and beside it.
        self.compacting.fetch_add(1, Ordering::Relaxed);
    }

    /// It is done.
    pub(crate) fn end_compacting(&self) {
        self.compacting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Installs a flush of the `parts` oldest sealed parts.
    pub(crate) fn install_flush(&self, state: &mut State, parts: usize, outcome: Outcome) {
        let mut version = (*state.version).clone();
        let mut added = Vec::new();
        Self::count_dead(&version, &outcome);
        if !outcome.tables.is_empty() {
            // Asks the order, which may be the user's and panic: the parts are still there then.
            added = self.place_flushed(state, &mut version, outcome.tables);
        }
        // While the parts are there still: readers would miss them and have no tables instead.
        if !self.is_in_order(state, &version) {
            return;
        }
        let mut flushed = Flushed {
            last_seq: state.durable_seq,
            first_values: None,
        };
        for part in state.immutables.drain(..parts) {
            flushed.last_seq = flushed.last_seq.max(part.mem.seq_max());
            let first = flushed.first_values.into_iter().chain(part.values.first);
            flushed.first_values = first.min();
        }
        self.install(state, version, added, flushed);
    }

    /// Appends the tables to the last run when they share no key with any table - a sequential
    /// load is then a matter of the manifest alone - or to the newest when they lie behind its last key: what is
    /// overwritten or deleted in key order is one run, and not merged again and again. Else makes them a run of their own.
    fn place_flushed(
        &self,
        state: &mut State,
        version: &mut Version,
        tables: Vec<Written>,
    ) -> Vec<Added> {
        let order = &self.shared.context.order;
        let alone = tables.iter().all(|table| {
            let (smallest, largest) = (&table.record.smallest, &table.record.largest);
            version
                .runs
                .iter()
                .all(|run| run.overlapping(order, smallest, largest).is_empty())
        });
        // A merge under way may fill the gap these tables would go into; behind every key it cannot.
        let behind = |smallest: &[u8]| {
            let mut last = version.runs.iter().filter_map(|run| run.tables().last());
            last.all(|table| order.compare(&table.record.largest, smallest).is_lt())
        };
        let safe = !state.is_compacting()
            || tables
                .first()
                .is_some_and(|table| behind(&table.record.smallest));
        if alone
            && safe
            && let Some(last) = version.runs.last_mut()
        {
            let added = self.handles(last.id, tables);
            *last = Arc::new(self.extended(last, &added));
            Stats::add(&self.shared.stats.moves, 1);
            return added;
        }
        if let Some(newest) = version.runs.first_mut()
            && self.may_continue(state, newest, &tables)
        {
            // Newer than all there is, they may stand in the newest run as well as above it.
            let added = self.handles(newest.id, tables);
            *newest = Arc::new(self.extended(newest, &added));
            Stats::add(&self.shared.stats.moves, 1);
            return added;
        }
        let added = self.handles(state.next_run, tables);
        let run = self.with_tables(state.next_run, Vec::new(), &added);
        state.next_run += 1;
        version.runs.insert(0, Arc::new(run));
        added
    }

    /// Whether tables of a flush may be added to the newest run: they lie behind its last key, and it has
    /// neither a damaged table, which would keep them from every merge, nor many far below their size, each of which costs
    /// memory and every version a reference. Nor while a merge is under way: what waits above it for a writer to make
    /// room of must not hide behind a run that has grown.
    fn may_continue(&self, state: &State, newest: &Run, tables: &[Written]) -> bool {
        let behind = match (newest.tables().last(), tables.first()) {
            (Some(last), Some(first)) => {
                let order = &self.shared.context.order;
                order
                    .compare(&last.record.largest, &first.record.smallest)
                    .is_lt()
            }
            _ => false,
        };
        let count = newest.tables().len();
        let few = count < CONTINUED_TABLES_MAX
            || newest.bytes() / count as u64 >= self.shared.settings.output.table_bytes / 2;
        let damaged = |table: &Arc<TableHandle>| state.damaged.contains_key(&table.record.file);
        // A damaged one is rare, and a look at each table, which may be thousands, is not for every flush.
        let whole = state.damaged.is_empty() || !newest.tables().iter().any(damaged);
        behind && few && !state.is_compacting() && whole
    }

    /// Opens tables that were just written, where somebody reads, and has them mapped: else the first to
    /// look into one would wait for a dozen system calls and for filter and fence to be checked, and every
    /// page of it would cost somebody a page fault, 0.5 us. So it is while `compact_range` is under way: who compacts by
    /// hand is about to read.
    pub(crate) fn open_for_readers(&self, outcome: &mut Outcome) {
        if !self.versions.view().was_read() && self.compacting.load(Ordering::Relaxed) == 0 {
            return;
        }
        for written in &mut outcome.tables {
            // What is wrong with it, those who need it are told.
            let (opened, _) = self.open_mapped(&written.record, Table::check_index);
            written.opened = Some(opened);
        }
    }

    /// A handle of a table just written, open and mapped, and what `check` says of it.
    pub(crate) fn open_mapped(
        &self,
        record: &TableRecord,
        check: impl FnOnce(&Table) -> Result<()>,
    ) -> (TableHandle, Result<()>) {
        let opened = TableHandle::new(record.clone(), &self.shared.opener);
        let checked = opened.table().and_then(|table| {
            table.map_now();
            check(table)
        });
        (opened, checked)
    }

    /// Handles of tables just written, as members of run `id`.
    fn handles(&self, id: u64, written: Vec<Written>) -> Vec<Added> {
        let handle = |written: Written| {
            let record = TableRecord {
                run: id,
                ..written.record
            };
            let table = match written.opened {
                Some(opened) => opened.moved(record),
                None => TableHandle::new(record, &self.shared.opener),
            };
            Added {
                table: Arc::new(table),
                sync: Some(written.sync),
            }
        };
        written.into_iter().map(handle).collect()
    }

    /// `run` with the tables added, which share no key with its own.
    fn extended(&self, run: &Run, added: &[Added]) -> Run {
        let tables = added.iter().map(|added| Arc::clone(&added.table));
        run.appended(tables, &self.shared.context.order)
            .unwrap_or_else(|| self.with_tables(run.id, run.tables().to_vec(), added))
    }

    /// Run `id` with the tables `there` and those added.
    fn with_tables(&self, id: u64, there: Vec<Arc<TableHandle>>, added: &[Added]) -> Run {
        let mut tables = there;
        tables.extend(added.iter().map(|added| Arc::clone(&added.table)));
        Run::new(id, tables, &self.shared.context.order)
    }

    /// Replaces a merge's inputs by its output. Tables that a flush added to an input run meanwhile share no key
    /// with it, and stay where it was.
    pub(crate) fn install_compaction(
        &self,
        state: &mut State,
        plan: &CompactionPlan,
        outcome: Outcome,
    ) {
        let gone: BTreeSet<u64> = plan
            .inputs
            .iter()
            .flat_map(|run| run.tables().iter().map(|table| table.record.file))
            .collect();
        let oldest = plan.inputs.last().map_or(plan.target, |run| run.id);
        let mut version = Version {
            runs: Vec::new(),
            values: Arc::clone(&state.version.values),
        };
        Self::count_dead(&version, &outcome);
        let mut added = self.handles(plan.target, outcome.tables);
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
                    // What a flush appended to a wholly merged run moves on with it.
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
                Run::new(run.id, left, &self.shared.context.order)
            };
            if !next.tables().is_empty() {
                version.runs.push(Arc::new(next));
            }
        }
        added.extend(moved);
        let pending = state.pending.as_ref();
        let flushed = Flushed {
            last_seq: pending.map_or(state.durable_seq, |pending| pending.last_seq),
            first_values: None,
        };
        if self.is_in_order(state, &version) {
            self.install(state, version, added, flushed);
        }
    }

    fn count_dead(version: &Version, outcome: &Outcome) {
        for (file, bytes) in &outcome.dead {
            if let Some(handle) = version.values.get(file) {
                handle.dead.fetch_add(*bytes, Ordering::Relaxed);
            }
        }
    }

    /// Whether `version` may follow the newest. If not, our own job broke the order: nothing of it may reach
    /// the manifest, and the handle is poisoned.
    fn is_in_order(&self, state: &State, version: &Version) -> bool {
        let checked = version.check_since(&state.version, &self.shared.context.order);
        let right = checked
            .map_err(|error| self.shared.health.poison(error))
            .is_ok();
        if !right {
            self.versions.notify_changed();
        }
        right
    }

    fn install(&self, state: &mut State, version: Version, added: Vec<Added>, flushed: Flushed) {
        self.shared
            .opener
            .mapping
            .bytes
            .store(version.bytes(), Ordering::Relaxed);
        state.version = Arc::new(version);
        state.installed += 1;
        state.idle.disturb();
        let version = Arc::clone(&state.version);
        let newer = Pending {
            version,
            added,
            last_seq: flushed.last_seq,
            first_values: flushed.first_values,
            since_ns: self.shared.env.now_ns(),
            installed: 1,
        };
        state.pending = Some(match state.pending.take() {
            Some(older) => older.then(newer),
            None => newer,
        });
        self.versions.publish_view(state);
    }
}
