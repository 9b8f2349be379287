//! `Compactor`: runs compactions.
//!
//! * `execute`: the steps of one compaction, on one or two threads
//! * `deferred`: compression of values that flushes left uncompressed
//!
//! The worker and callers of `compact_range` run a compaction in steps and flush between them. Runs
//! that are newer than all of its inputs are available to a second compaction: a writer that stalls
//! on too many runs compacts the newest runs while the compaction of everything, which may take
//! seconds, continues.
//!
//! Rejected: compaction of those newer runs by the worker between the steps of the large
//! compaction, because the large compaction starved and new data was rewritten repeatedly.

use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::sync::MutexGuard;
use cairndb_files::guarded;

use crate::compaction::pick::Group;
use crate::compaction::schedule::Schedule;
use crate::compaction::tables::Tables;
use crate::durable::disk::Disk;
use crate::jobs::plan::CompactionPlan;
use crate::state::stats::Stats;
use crate::state::version::Run;
use crate::versions::base::Base;
use crate::versions::engine_state::EngineState;
use crate::versions::version_set::damaged_table;

mod deferred;
mod execute;

/// Number of failed reads after which a table is treated as damaged: bad sectors return errors
/// rather than wrong bytes.
const READ_FAILURES_MAX: u32 = 3;

/// Records which input of a compaction is damaged. Returns `false` if none is.
fn note_damage(state: &mut EngineState, plan: &CompactionPlan, error: &Error) -> bool {
    let Some(file) = damaged_table(error) else {
        return false;
    };
    let mut inputs = plan.hiders.iter().chain(&plan.inputs).flat_map(Run::tables);
    if !inputs.any(|table| table.record.file == file) {
        return false;
    }
    if error.kind() == ErrorKind::Io {
        let failures = state.compactions.unreadable.entry(file).or_insert(0);
        *failures += 1;
        if *failures < READ_FAILURES_MAX {
            return false;
        }
    }
    state.compactions.damaged.insert(file, error.clone());
    true
}

#[derive(Clone)]
pub(crate) struct Compactor {
    pub(crate) base: Arc<Base>,
    pub(crate) disk: Arc<Disk>,
    pub(crate) tables: Arc<Tables>,
}

impl Compactor {
    pub(crate) fn new(base: &Arc<Base>, disk: &Arc<Disk>, tables: &Arc<Tables>) -> Compactor {
        Compactor {
            base: Arc::clone(base),
            disk: Arc::clone(disk),
            tables: Arc::clone(tables),
        }
    }

    /// Returns the state once no compaction is running: a compaction that runs out of space
    /// occupies the disk until it fails and removes its output.
    pub(crate) fn wait_for_compactions(&self) -> MutexGuard<'_, EngineState> {
        let over = |state: &EngineState| state.closing || !state.is_compacting();
        self.base.versions.wait(self.base.versions.lock(), over)
    }

    /// Runs one compaction chosen by the picker. Returns `false` if there is none.
    pub(crate) fn compact_once(&self) -> Result<bool> {
        Ok(self.compact_ended(false)?
            || self.compact_picked(false, |state| {
                self.tables.schedule.compaction_wanted(state, false)
            })?)
    }

    /// Frees tables of dropped keyspaces and deleted ranges, or rewrites some if `idle`. Returns
    /// `false` if there are none.
    fn compact_ended(&self, idle: bool) -> Result<bool> {
        let mut state = self.base.versions.lock();
        let Some(plan) = self.tables.schedule.ended_plan(&mut state, idle) else {
            return Ok(false);
        };
        drop(state);
        self.compact(&plan)?;
        Ok(true)
    }

    /// Like [`Compactor::compact_once`], but includes idle compactions. If there is none,
    /// compresses values that flushes left uncompressed.
    pub(crate) fn compact_idle(&self) -> Result<bool> {
        Ok(self.compact_ended(true)?
            || self.compact_picked(true, |state| {
                self.tables.schedule.compaction_wanted(state, true)
            })?
            || self.encode_deferred()?)
    }

    /// Like [`Compactor::compact_once`], but for a stalled writer.
    pub(crate) fn compact_for_stall(&self) -> Result<bool> {
        self.compact_picked(false, |state| {
            self.tables.schedule.compaction_for_stall(state)
        })
    }

    fn compact_picked(
        &self,
        when_idle: bool,
        pick: impl Fn(&EngineState) -> Option<Group>,
    ) -> Result<bool> {
        let mut state = self.base.versions.lock();
        let Some(group) = pick(&state) else {
            return Ok(false);
        };
        let plan = CompactionPlan {
            when_idle,
            ..Schedule::group_plan(&mut state, group)
        };
        drop(state);
        self.compact(&plan)?;
        Ok(true)
    }

    /// Runs the compaction `plan`, whose runs the caller has reserved. Due flushes run between its
    /// steps, so that writers never wait for a compaction.
    pub(crate) fn compact(&self, plan: &CompactionPlan) -> Result<()> {
        let begun = self.base.env.now_ns();
        let result = guarded(|| self.carry_out(plan));
        Stats::add(
            &self.base.stats.compaction_nanos,
            self.base.env.now_ns().saturating_sub(begun),
        );
        let copied = plan.relocation.as_ref().map_or(0, |it| it.copied());
        Stats::add(&self.base.stats.moved_value_bytes, copied);
        let mut state = self.base.versions.lock();
        state.end_compaction(plan);
        if result.is_err() {
            // Otherwise a thread that found nothing to do during this compaction would become idle
            // although the work is still due.
            state.background.idle.disturb();
        }
        let result = result.and_then(|outcome| {
            Stats::add(&self.base.stats.compactions, 1);
            let read = plan.inputs.iter().filter(|_| !plan.unread);
            let read: u64 = read.map(Run::bytes).sum();
            Stats::add(&self.base.stats.compaction_read_bytes, read);
            let bytes: u64 = outcome.tables.iter().map(|table| table.record.bytes).sum();
            Stats::add(&self.base.stats.compaction_bytes, bytes);
            let install = || {
                self.disk
                    .installer
                    .install_compaction(&mut state, plan, outcome);
                for table in plan.inputs.iter().flat_map(Run::tables) {
                    state.compactions.unreadable.remove(&table.record.file);
                    state.compactions.damaged.remove(&table.record.file);
                }
                Ok(())
            };
            guarded(install).map_err(|error| self.base.health.poison(error))
        });
        if let Err(error) = &result
            && (error.kind() == ErrorKind::Interrupted || note_damage(&mut state, plan, error))
        {
            // The caller wants no more of it, or it is not retried, so there is no pause.
        } else {
            self.base.note_background(&mut state, &result);
        }
        drop(state);
        self.base.versions.notify_changed();
        self.base.versions.notify_work();
        result
    }
}
