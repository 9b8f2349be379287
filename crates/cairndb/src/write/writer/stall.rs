//! What a writer does while it cannot go on: it flushes, makes durable or compacts itself.

use cairndb_base::Result;

use crate::state::stats::StallReason;
use crate::write::writer::Writer;

impl Writer {
    /// Waits, or helps, until the reason a writer could not go on is gone.
    #[cold]
    pub(crate) fn make_room(&self, reason: StallReason) -> Result<()> {
        self.shared.origin.check()?;
        let begun = self.shared.env.now_ns();
        let result = match reason {
            StallReason::Memtable => self.help_flush(),
            StallReason::Log => self.help_persist(),
            StallReason::Runs => self.help_compact(),
        };
        self.shared
            .stats
            .stalled(reason, self.shared.env.now_ns().saturating_sub(begun));
        result
    }

    /// Flushes here unless somebody already does: with two cores the worker may be in the middle
    /// of a merge, and a writer with a full queue has nothing better to do.
    fn help_flush(&self) -> Result<()> {
        if self.flusher.flush_up_to(self.shared.settings.budget.help)? {
            return Ok(());
        }
        let state = self.versions.lock();
        let before = state.immutables.len();
        drop(self.versions.wait(state, |state| {
            !state.flushing() || state.immutables.len() < before
        }));
        self.shared.health.check_write()
    }

    /// Makes log segments free: flush what they hold, make it durable.
    fn help_persist(&self) -> Result<()> {
        while self.flusher.flush_once()? {}
        if self.persister.persist()? {
            return Ok(());
        }
        let state = self.versions.lock();
        drop(
            self.versions
                .wait(state, |state| !state.flushing() && !state.persisting),
        );
        self.shared.health.check_write()
    }

    /// Merges the fewest bytes that make room, or waits for a merge under way. Damage met by a merge is no
    /// failure of the write: the next one goes around it.
    fn help_compact(&self) -> Result<()> {
        match self.compactor.compact_for_room() {
            Ok(false) => {}
            Ok(true) => return Ok(()),
            Err(error) if self.versions.is_known_damage(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
        let state = self.versions.lock();
        let before = state.compactions.len();
        drop(self.versions.wait(state, |state| {
            state.compactions.len() < before.max(1)
                || !self.schedule.runs_hold_up(state)
                || self.schedule.compaction_for_room_wanted(state).is_some()
        }));
        self.shared.health.check_write()
    }
}
