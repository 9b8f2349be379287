//! Write stalls: a writer that cannot continue flushes, persists or compacts itself.

use cairndb_base::Result;

use crate::state::stats::StallReason;
use crate::write::writer::Writer;

impl Writer {
    /// Waits or helps until the reason for a stall has been removed.
    #[cold]
    pub(crate) fn relieve_stall(&self, reason: StallReason) -> Result<()> {
        self.base.origin.check()?;
        let begun = self.base.env.now_ns();
        let result = match reason {
            StallReason::Memtable => self.help_flush(),
            StallReason::Log => self.help_persist(),
            StallReason::Runs => self.help_compact(),
            StallReason::Space => self.help_free_values(),
        };
        self.base
            .stats
            .stalled(reason, self.base.env.now_ns().saturating_sub(begun));
        result
    }

    /// Flushes, unless another thread does so. With two cores, the worker may be in the middle of a
    /// compaction, and a stalled writer has nothing better to do.
    fn help_flush(&self) -> Result<()> {
        if self
            .tables
            .flusher
            .flush_up_to(self.base.settings.budget.help)?
        {
            return Ok(());
        }
        let state = self.base.versions.lock();
        let before = state.immutables.len();
        drop(self.base.versions.wait(state, |state| {
            !state.flushing() || state.immutables.len() < before
        }));
        self.base.health.check_write()
    }

    /// Frees log segments by flushing their entries and making these durable.
    fn help_persist(&self) -> Result<()> {
        while self.tables.flusher.flush_once()? {}
        if self.disk.persist()? {
            return Ok(());
        }
        let state = self.base.versions.lock();
        drop(self.base.versions.wait(state, |state| {
            !state.flushing() && !state.durable.persisting
        }));
        self.base.health.check_write()
    }

    /// Frees value files. Tables that no longer point to them must be durable first.
    fn help_free_values(&self) -> Result<()> {
        self.help_persist()?;
        self.space.value_gc().free_under_load()
    }

    /// Compacts the fewest bytes that end the stall, or waits for a running compaction. Damage
    /// found by a compaction does not fail the write: the next compaction avoids the table.
    fn help_compact(&self) -> Result<()> {
        match self.space.compactor.compact_for_stall() {
            Ok(false) => {}
            Ok(true) => return Ok(()),
            Err(error) if self.base.versions.is_known_damage(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
        let state = self.base.versions.lock();
        let before = state.compactions.running.len();
        drop(self.base.versions.wait(state, |state| {
            state.compactions.running.len() < before.max(1)
                || !self.tables.schedule.runs_hold_up(state)
                || self.tables.schedule.compaction_for_stall(state).is_some()
        }));
        self.base.health.check_write()
    }
}
