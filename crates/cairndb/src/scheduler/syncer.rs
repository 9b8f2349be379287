//! `Syncer`: the main loop of the thread that makes installed versions durable.

use std::sync::Arc;
use std::time::Duration;

use crate::durable::log::Log;
use crate::durable::persist::Persister;
use crate::durable::sweeper::Sweeper;
use crate::value_gc::dead_files::DeadFiles;
use crate::versions::shared::Shared;
use crate::versions::state::{State, UNSYNCED_TABLES_MAX};
use crate::versions::version_set::VersionSet;

/// Maximum time before a flush is made durable, however little it wrote.
const PERSIST_AFTER: Duration = Duration::from_secs(1);

pub(crate) struct Syncer {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    sweeper: Arc<Sweeper>,
    log: Arc<Log>,
    persister: Arc<Persister>,
    dead_files: Arc<DeadFiles>,
}

impl Syncer {
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        sweeper: Arc<Sweeper>,
        log: Arc<Log>,
        persister: Arc<Persister>,
        dead_files: Arc<DeadFiles>,
    ) -> Syncer {
        Syncer {
            shared,
            versions,
            sweeper,
            log,
            persister,
            dead_files,
        }
    }

    pub(crate) fn sync_loop(&self) {
        loop {
            {
                let mut state = self.versions.lock();
                if state.closing {
                    return;
                }
                let now = self.shared.env.now_ns();
                let poisoned = self.shared.health.is_poisoned();
                if poisoned {
                    // Wakes callers that wait for durability.
                    self.versions.notify_changed();
                }
                if poisoned || state.durable.pending.is_none() || state.durable.persisting {
                    self.versions.wait_work(&mut state, None);
                    continue;
                }
                if state.background.retry_at_ns > now {
                    let pause = Duration::from_nanos(state.background.retry_at_ns - now);
                    self.versions.wait_work(&mut state, Some(pause));
                    continue;
                }
                if !self.persist_due(&state, now) {
                    self.versions.wait_work(&mut state, Some(PERSIST_AFTER));
                    continue;
                }
            }
            // A failure is recorded, and returned to callers that need the result.
            let _ = self.persister.persist();
            let _ = self.dead_files.drop_dead_values();
            // Done here too: the worker may compact for seconds, and compactions replace as much as
            // they write.
            self.sweeper.reap();
            if self.versions.lock().background.idle.is_quiet() {
                self.log.trim_spares();
            } else {
                self.log.prepare_spare();
            }
        }
    }

    /// Returns whether a pass is due. Each pass flushes the disk several times, and a table that is
    /// compacted away before the pass is never synced, so a busy database waits until it retains
    /// much of the log.
    fn persist_due(&self, state: &State, now: u64) -> bool {
        let pending = state.durable.pending.as_ref();
        let oldest = pending.map_or(now, |pending| pending.since_ns);
        state.background.idle.is_quiet()
            || state.background.hurrying > 0
            || Duration::from_nanos(now.saturating_sub(oldest)) >= PERSIST_AFTER
            || self.log.segments().retained_bytes() >= self.shared.settings.budget.persist
            || state
                .durable
                .pending
                .as_ref()
                .is_some_and(|pending| pending.added.len() > UNSYNCED_TABLES_MAX)
    }
}
