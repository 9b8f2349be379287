//! Installing outcomes: the next version is built, published, and queued for the manifest.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::Order;
use cairndb_format::manifest::TableRecord;

use crate::engine::core::{Core, Pending, State};
use crate::jobs::merge::Outcome;
use crate::jobs::output::Written;
use crate::state::version::{Run, TableHandle, Version};

/// Where a merge's tables go.
#[derive(Clone, Debug)]
pub(crate) struct MergePlan {
    /// Input tables by run, newest run first.
    pub(crate) inputs: Vec<Run>,
    /// The run that takes the output, at the place of the oldest input run. A new number when
    /// whole runs are merged, the oldest run's own when only part of it is.
    pub(crate) target: u64,
    /// No older run holds any of the inputs' keys.
    pub(crate) bottom: bool,
}

impl Core {
    /// Installs a flush of the `parts` oldest sealed parts.
    pub(crate) fn install_flush(&self, state: &mut State, parts: usize, outcome: Outcome) {
        let last_seq = state
            .sealed
            .drain(..parts)
            .map(|part| part.mem.seq_max())
            .max()
            .unwrap_or(state.durable_seq);
        let mut version = (*state.version).clone();
        if !outcome.tables.is_empty() {
            self.place_flushed(state, &mut version, &outcome.tables);
        }
        self.count_dead(&version, &outcome);
        self.install(state, version, outcome.tables, last_seq);
    }

    /// Appends the tables to the last run when they share no key with any table - a sequential
    /// load is then a matter of the manifest alone - and makes them a run of their own otherwise.
    fn place_flushed(&self, state: &mut State, version: &mut Version, tables: &[Written]) {
        let order = &self.context.order;
        let alone = tables.iter().all(|table| {
            let (smallest, largest) = (&table.record.smallest, &table.record.largest);
            version
                .runs
                .iter()
                .all(|run| run.overlapping(order, smallest, largest).is_empty())
        });
        if alone && let Some(last) = version.runs.last_mut() {
            let mut run = (**last).clone();
            self.insert_tables(&mut run, tables);
            *last = Arc::new(run);
            crate::state::stats::Stats::add(&self.stats.moves, 1);
            return;
        }
        let mut run = Run {
            id: state.next_run,
            tables: Vec::new(),
        };
        state.next_run += 1;
        self.insert_tables(&mut run, tables);
        version.runs.insert(0, Arc::new(run));
    }

    fn insert_tables(&self, run: &mut Run, tables: &[Written]) {
        for written in tables {
            let record = TableRecord {
                run: run.id,
                ..written.record.clone()
            };
            insert_table(
                run,
                &self.context.order,
                TableHandle::new(record, &self.opener),
            );
        }
    }

    /// Replaces a merge's inputs by its output. Tables that a flush added to an input run
    /// meanwhile share no key with anything and stay.
    pub(crate) fn install_merge(&self, state: &mut State, plan: &MergePlan, outcome: Outcome) {
        let gone: Vec<u64> = plan
            .inputs
            .iter()
            .flat_map(|run| run.tables.iter().map(|table| table.record.file))
            .collect();
        let oldest = plan.inputs.last().map_or(plan.target, |run| run.id);
        let mut version = Version {
            runs: Vec::new(),
            values: Arc::clone(&state.version.values),
        };
        for run in &state.version.runs {
            let mut next = (**run).clone();
            next.tables
                .retain(|table| !gone.contains(&table.record.file));
            if run.id == oldest {
                let mut target = Run {
                    id: plan.target,
                    tables: Vec::new(),
                };
                if plan.target == run.id {
                    target.tables = std::mem::take(&mut next.tables);
                }
                self.insert_tables(&mut target, &outcome.tables);
                // What a flush appended to a wholly merged run moves on with it.
                for table in std::mem::take(&mut next.tables) {
                    let record = TableRecord {
                        run: target.id,
                        ..table.record.clone()
                    };
                    let moved = TableHandle::adopt(record, &table, &self.opener);
                    insert_table(&mut target, &self.context.order, moved);
                }
                next = target;
            }
            if !next.tables.is_empty() {
                version.runs.push(Arc::new(next));
            }
        }
        self.count_dead(&version, &outcome);
        let last_seq = state
            .pending
            .back()
            .map_or(state.durable_seq, |pending| pending.last_seq);
        self.install(state, version, outcome.tables, last_seq);
    }

    fn count_dead(&self, version: &Version, outcome: &Outcome) {
        for (file, bytes) in &outcome.dead {
            if let Some(handle) = version.values.get(file) {
                handle.dead.fetch_add(*bytes, Ordering::Relaxed);
            }
        }
    }

    fn install(
        &self,
        state: &mut State,
        version: Version,
        tables: Vec<Written>,
        last_seq: cairndb_base::SeqNo,
    ) {
        if let Err(error) = version.check(&self.context.order) {
            // Our own merge broke the order: nothing of it may reach the manifest.
            let _ = self.health.poison(error);
            return;
        }
        state.version = Arc::new(version);
        state.quiet = false;
        let syncs = tables
            .into_iter()
            .map(|table| (table.record.file, table.sync))
            .collect();
        let version = Arc::clone(&state.version);
        state.pending.push_back(Pending {
            version,
            syncs,
            last_seq,
        });
        self.publish_view(state);
    }
}

/// Inserts a table into a run at its place by key.
fn insert_table(run: &mut Run, order: &Order, table: TableHandle) {
    let at = run.find(order, &table.record.smallest);
    run.tables.insert(at, Arc::new(table));
}
