//! `Manual`: compactions requested by a caller.

use std::ops::Bound;
use std::sync::atomic::Ordering;

use cairndb_base::{ErrorKind, Result, watch};

use crate::compaction::schedule::KeyRange;
use crate::compaction::tables::Tables;
use crate::durable::disk::Disk;
use crate::scheduler::runner::Runner;
use crate::space::space_maker::SpaceMaker;
use crate::state::sections::Section;
use crate::state::version::Run;
use crate::versions::base::Base;
use crate::versions::engine_state::{EngineState, stopped};
use crate::versions::version_set::VersionSet;
use crate::write::writer::Writer;

/// Maximum number of times that a compaction frees space before its second attempt.
const SPACE_TRIES_MAX: usize = 64;

/// The turn of a range compaction. No other compaction starts before it.
struct RangeTurn<'a>(Option<&'a VersionSet>);

impl<'a> RangeTurn<'a> {
    fn wait_for(versions: &'a VersionSet) -> RangeTurn<'a> {
        versions.lock().compactions.range_waiting += 1;
        RangeTurn(Some(versions))
    }

    /// Takes the turn.
    fn take(mut self, state: &mut EngineState) {
        state.compactions.range_waiting -= 1;
        self.0 = None;
    }
}

/// The range of all keys.
const ALL_KEYS: KeyRange<'static> = (Bound::Unbounded, Bound::Unbounded);

impl Drop for RangeTurn<'_> {
    /// Gives up a turn that was not taken, so that other compactions may start.
    fn drop(&mut self) {
        if let Some(versions) = self.0 {
            let mut state = versions.lock();
            state.compactions.range_waiting -= 1;
            state.background.idle.disturb();
            drop(state);
            // Other calls wait for range compactions, and without a worker nothing else signals
            // them.
            versions.notify_changed();
            versions.notify_work();
        }
    }
}

pub(super) struct Manual<'c> {
    pub(super) base: &'c Base,
    pub(super) disk: &'c Disk,
    pub(super) tables: &'c Tables,
    pub(super) space: &'c SpaceMaker,
    pub(super) writer: &'c Writer,
    pub(super) runner: &'c Runner,
}

impl Manual<'_> {
    /// Makes the compaction durable and frees dead space in value files: everything that an idle
    /// database would free if the range is all keys, otherwise the files without a live value.
    fn clear_out(&self, range: KeyRange<'_>) -> Result<()> {
        self.disk.persist_all()?;
        if range == ALL_KEYS {
            // Relaxed: this does not wait for value files started in the meantime.
            let below = self.base.next_file.load(Ordering::Relaxed);
            return self.runner.empty_files(below, None).map(|_| ());
        }
        self.tables.dead_files.drop_all_dead_values()
    }

    /// Compacts everything that overlaps `range` of `section` into the last run, and makes it
    /// durable. The range of all keys of the default section includes all keyspaces.
    ///
    /// # Errors
    /// Errors of the flush, the compaction or the syncs.
    pub(crate) fn compact_range(&self, section: Section, range: KeyRange<'_>) -> Result<()> {
        self.base.check_writable()?;
        // There may be nothing to compact.
        watch::check()?;
        self.disk.installer.begin_compacting();
        let nearly_full = self.disk.reserve.is_nearly_full();
        let mut result = self.compact_now(section, range);
        if result
            .as_ref()
            .is_err_and(|it| it.kind() == ErrorKind::NoSpace)
        {
            // Frees a little at a time before trying again, because each attempt writes until the
            // disk is full.
            let mut tries = 0;
            while tries < SPACE_TRIES_MAX && self.space.free_disk_space() {
                tries += 1;
            }
            result = self.compact_now(section, range);
        }
        if nearly_full || range == ALL_KEYS {
            // The caller asks for little space, and a load may have left as many spares as the log
            // may have segments.
            self.disk.log.trim_spares();
        }
        self.disk.installer.end_compacting();
        result
    }

    fn compact_now(&self, section: Section, range: KeyRange<'_>) -> Result<()> {
        // Taken here, because otherwise the worker would start an idle compaction of the flushed
        // runs and do alone the work that two threads do here.
        let turn = RangeTurn::wait_for(&self.base.versions);
        self.writer.flush_memtables()?;
        let plan = {
            let mut state = self
                .base
                .wait_watched(self.base.versions.lock(), |state| !state.is_compacting())?;
            turn.take(&mut state);
            if state.closing {
                return Err(stopped());
            }
            let Some(plan) = self.tables.schedule.range_plan(&mut state, section, range) else {
                // The worker may have found nothing to do because this call was waiting.
                state.background.idle.disturb();
                drop(state);
                self.base.versions.notify_changed();
                self.base.versions.notify_work();
                return self.clear_out(range);
            };
            state.begin_compaction(plan)
        };
        watch::expect(plan.inputs.iter().map(Run::bytes).sum());
        self.space.compactor.compact(&plan)?;
        self.clear_out(range)
    }
}
