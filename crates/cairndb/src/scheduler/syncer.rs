//! The loop of the thread that makes things durable.

use std::sync::Arc;
use std::time::Duration;

use crate::durable::log::Log;
use crate::durable::persist::Persister;
use crate::durable::sweeper::Sweeper;
use crate::value_gc::dead_files::DeadFiles;
use crate::versions::shared::Shared;
use crate::versions::state::{State, UNSYNCED_TABLES_MAX};
use crate::versions::version_set::VersionSet;

/// What was flushed is durable after this long at the latest, however little it is.
const PERSIST_AFTER: Duration = Duration::from_secs(1);

/// The loop of the thread that makes things durable.
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
                    // Whoever waits for what was to be made durable.
                    self.versions.notify_changed();
                }
                if poisoned || state.pending.is_none() || state.persisting {
                    self.versions.wait_work(&mut state, None);
                    continue;
                }
                if state.retry_at_ns > now {
                    let pause = Duration::from_nanos(state.retry_at_ns - now);
                    self.versions.wait_work(&mut state, Some(pause));
                    continue;
                }
                if !self.persist_due(&state, now) {
                    self.versions.wait_work(&mut state, Some(PERSIST_AFTER));
                    continue;
                }
            }
            // What fails is noted, and met by whoever needs what it would have made.
            let _ = self.persister.persist();
            let _ = self.dead_files.drop_dead_values();
            // Here too: the worker may be at a merge for seconds, and what merges replace meanwhile is as much
            // as they write.
            self.sweeper.reap();
            if self.versions.lock().idle.is_quiet() {
                self.log.trim_spares();
            } else {
                self.log.prepare_spare();
            }
        }
    }

    /// Whether installed tables should be made durable now. Every pass flushes the disk several
    /// times, and a table that is merged away before the pass is never synced: so a busy database
    /// waits until the log it must keep meanwhile is long.
    fn persist_due(&self, state: &State, now: u64) -> bool {
        let pending = state.pending.as_ref();
        let oldest = pending.map_or(now, |pending| pending.since_ns);
        state.idle.is_quiet()
            || state.hurrying > 0
            || Duration::from_nanos(now.saturating_sub(oldest)) >= PERSIST_AFTER
            || self.log.segments().retained_bytes() >= self.shared.settings.budget.persist
            || state
                .pending
                .as_ref()
                .is_some_and(|pending| pending.added.len() > UNSYNCED_TABLES_MAX)
    }
}
