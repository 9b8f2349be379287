//! `Sweeper`: unlinks obsolete files while this handle holds the directory lock.

use std::sync::Arc;

use cairndb_env::sync::Mutex;
use cairndb_env::{Dir, DirLock, Origin};

use crate::state::files::reaper::Reaper;
use crate::state::health::Health;

pub(crate) struct Sweeper {
    origin: Origin,
    dir: Arc<dyn Dir>,
    health: Arc<Health>,
    /// Directory lock, released on close. The mutex is held while files are unlinked.
    lock: Mutex<Option<Box<dyn DirLock>>>,
    reaper: Arc<Reaper>,
}

impl Sweeper {
    pub(crate) fn new(
        origin: Origin,
        dir: &Arc<dyn Dir>,
        health: &Arc<Health>,
        reaper: &Arc<Reaper>,
        lock: Option<Box<dyn DirLock>>,
    ) -> Sweeper {
        Sweeper {
            origin,
            dir: Arc::clone(dir),
            health: Arc::clone(health),
            lock: Mutex::new(lock),
            reaper: Arc::clone(reaper),
        }
    }

    /// Returns the list of obsolete files.
    pub(crate) fn reaper(&self) -> &Reaper {
        &self.reaper
    }

    /// Releases the directory lock. Nothing is unlinked afterwards.
    pub(crate) fn release_lock(&self) {
        *self.lock.lock() = None;
    }

    /// Unlinks obsolete files and returns whether there were any. A poisoned handle unlinks
    /// nothing.
    pub(crate) fn reap(&self) -> bool {
        self.reap_with(Vec::new)
    }

    /// Like [`Sweeper::reap`], but also unlinks the files that `more` names.
    pub(crate) fn reap_with(&self, more: impl FnOnce() -> Vec<String>) -> bool {
        if self.origin.check().is_err() {
            return false;
        }
        // Held throughout: once it is released, the names may belong to another handle.
        let lock = self.lock.lock();
        if lock.is_none() || self.health.is_poisoned() {
            return false;
        }
        // A file that cannot be unlinked now is removed at the next open.
        self.reaper
            .reap(more, |obsolete| self.dir.unlink(obsolete).is_ok())
    }
}
