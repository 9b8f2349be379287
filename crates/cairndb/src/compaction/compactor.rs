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

use std::sync::{Arc, Weak};

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::sync::MutexGuard;

use crate::compaction::pick::Group;
use crate::compaction::schedule::Schedule;
use crate::durable::reserve::DiskReserve;
use crate::durable::value_files::ValueFiles;
use crate::flush::flusher::Flusher;
use crate::jobs::plan::CompactionPlan;
use crate::state::guard::guarded;
use crate::state::stats::Stats;
use crate::state::version::Run;
use crate::versions::install::Installer;
use crate::versions::shared::Shared;
use crate::versions::state::State;
use crate::versions::version_set::{VersionSet, damaged_table};

mod deferred;
mod run;

/// A table that could not be read so often is no more looked into than a damaged one: bad sectors give
/// errors and not other bytes.
const READ_FAILURES_MAX: u32 = 3;

/// Remembers which of a merge's inputs is damaged; `false` when none of them is.
fn note_damage(state: &mut State, plan: &CompactionPlan, error: &Error) -> bool {
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

/// Runs compactions.
pub(crate) struct Compactor {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    installer: Arc<Installer>,
    value_files: Arc<ValueFiles>,
    reserve: Arc<DiskReserve>,
    flusher: Arc<Flusher>,
    schedule: Arc<Schedule>,
    /// For the second thread of a compaction.
    myself: Weak<Compactor>,
}

impl Compactor {
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts it needs, each a type of its own"
    )]
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        installer: Arc<Installer>,
        value_files: Arc<ValueFiles>,
        reserve: Arc<DiskReserve>,
        flusher: Arc<Flusher>,
        schedule: Arc<Schedule>,
    ) -> Arc<Compactor> {
        Arc::new_cyclic(|myself| Compactor {
            shared,
            versions,
            installer,
            value_files,
            reserve,
            flusher,
            schedule,
            myself: myself.clone(),
        })
    }

    /// The state, once no merge is under way: a merge that runs out of space holds that space until
    /// it fails and removes its output.
    pub(crate) fn wait_for_compactions(&self) -> MutexGuard<'_, State> {
        let over = |state: &State| state.closing || !state.is_compacting();
        self.versions.wait(self.versions.lock(), over)
    }

    /// Picks and runs one merge to its end; `false` when there is nothing to do.
    pub(crate) fn compact_once(&self) -> Result<bool> {
        self.compact_picked(false, |state| self.schedule.compaction_wanted(state, false))
    }

    /// As [`Compactor::compact_once`], idle merges included; where nothing is to be merged, what waits is encoded.
    pub(crate) fn compact_idle(&self) -> Result<bool> {
        Ok(
            self.compact_picked(true, |state| self.schedule.compaction_wanted(state, true))?
                || self.encode_deferred()?,
        )
    }

    /// As [`Compactor::compact_once`], for a writer that waits for its end.
    pub(crate) fn compact_for_room(&self) -> Result<bool> {
        self.compact_picked(false, |state| {
            self.schedule.compaction_for_room_wanted(state)
        })
    }

    fn compact_picked(
        &self,
        when_idle: bool,
        pick: impl Fn(&State) -> Option<Group>,
    ) -> Result<bool> {
        let mut state = self.versions.lock();
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

    /// Runs a merge whose slot the caller has taken. Flushes that fall due between steps are done
    /// in between, so that writers never wait for a merge.
    pub(crate) fn compact(&self, plan: &CompactionPlan) -> Result<()> {
        let begun = self.shared.env.now_ns();
        let result = guarded(|| self.carry_out(plan));
        Stats::add(
            &self.shared.stats.compaction_nanos,
            self.shared.env.now_ns().saturating_sub(begun),
        );
        let copied = plan.relocation.as_ref().map_or(0, |it| it.copied());
        Stats::add(&self.shared.stats.moved_value_bytes, copied);
        let mut state = self.versions.lock();
        state.end_compaction(plan);
        if result.is_err() {
            // Whoever found nothing to do while it ran would rest beside what is due still.
            state.idle.disturb();
        }
        let result = result.and_then(|outcome| {
            Stats::add(&self.shared.stats.compactions, 1);
            let read: u64 = plan.inputs.iter().map(Run::bytes).sum();
            Stats::add(&self.shared.stats.compaction_read_bytes, read);
            let bytes: u64 = outcome.tables.iter().map(|table| table.record.bytes).sum();
            Stats::add(&self.shared.stats.compaction_bytes, bytes);
            let install = || {
                self.installer.install_compaction(&mut state, plan, outcome);
                for table in plan.inputs.iter().flat_map(Run::tables) {
                    state.unreadable.remove(&table.record.file);
                    state.damaged.remove(&table.record.file);
                }
                Ok(())
            };
            guarded(install).map_err(|error| self.shared.health.poison(error))
        });
        if let Err(error) = &result
            && note_damage(&mut state, plan, error)
        {
            // Not tried again, so nothing is held off.
        } else {
            self.versions.note_background(&mut state, &result);
        }
        drop(state);
        self.versions.notify_changed();
        self.versions.notify_work();
        result
    }
}
