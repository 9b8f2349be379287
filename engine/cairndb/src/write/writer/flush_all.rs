//! Flushing everything that was written before a call.

use cairndb_base::{Result, watch};

use crate::versions::engine_state::EngineState;
use crate::write::writer::Writer;

impl Writer {
    /// Seals and flushes everything written before the call, without making it durable.
    pub(crate) fn flush_memtables(&self) -> Result<()> {
        let wanted = self.disk.log.lock().last_seq;
        loop {
            let mut commit = self.disk.log.lock();
            if commit.mutable.seq_min() > wanted {
                // Another writer has sealed it. With several concurrent `Sync` writers, the next
                // memtable may never be sealable.
                break;
            }
            if !commit.awaiting_sync.is_empty() {
                let last = commit.last_seq;
                self.disk.wait_published(commit, last)?;
                continue;
            }
            if let Some(reason) = self.sealer.seal(&mut commit) {
                drop(commit);
                self.relieve_stall(reason)?;
                continue;
            }
            break;
        }
        // This does not wait for memtables that are sealed later, because fast writers may fill
        // them faster than they are flushed.
        let asked = |state: &EngineState| {
            state
                .immutables
                .iter()
                .any(|part| part.mem.seq_min() <= wanted)
        };
        while asked(&self.base.versions.lock()) {
            watch::check()?;
            if self.tables.flusher.flush_once()? {
                continue;
            }
            let state = self.base.versions.lock();
            let flushed = |state: &EngineState| !state.flushing() || !asked(state);
            drop(self.base.wait_watched(state, flushed)?);
            // Memtables whose tables could not be installed stay, and the handle stays poisoned.
            self.base.health.check_write()?;
        }
        Ok(())
    }

    /// Seals, flushes and syncs everything written before the call.
    pub(crate) fn flush_all(&self) -> Result<()> {
        self.base.check_writable()?;
        self.base.origin.check()?;
        // The worker may have flushed everything already.
        watch::check()?;
        self.space.with_disk_space(|| {
            self.flush_memtables()
                .and_then(|()| self.disk.persist_all())
        })
    }
}
