//! Unlinks obsolete files while this handle holds the directory lock.

use std::sync::Arc;

use cairndb_env::DirLock;
use cairndb_env::sync::Mutex;

use crate::state::reaper::Reaper;
use crate::versions::shared::Shared;

/// Unlinks obsolete files while this handle holds the directory lock.
pub(crate) struct Sweeper {
    shared: Arc<Shared>,
    /// The directory's lock, given up by closing; held while obsolete files are unlinked.
    lock: Mutex<Option<Box<dyn DirLock>>>,
    reaper: Arc<Reaper>,
}

impl Sweeper {
    pub(crate) fn new(shared: Arc<Shared>, lock: Option<Box<dyn DirLock>>) -> Sweeper {
        let reaper = Arc::clone(&shared.opener.reaper);
        let lock = Mutex::new(lock);
        Sweeper {
            shared,
            lock,
            reaper,
        }
    }

    /// The names of files that are obsolete, and how many were unlinked.
    pub(crate) fn reaper(&self) -> &Reaper {
        &self.reaper
    }

    /// Gives the directory up: nothing is unlinked from here on.
    pub(crate) fn release_lock(&self) {
        *self.lock.lock() = None;
    }

    /// Unlinks obsolete files; whether there were any. A poisoned handle deletes nothing.
    pub(crate) fn reap(&self) -> bool {
        self.reap_with(Vec::new)
    }

    /// As [`Sweeper::reap`], and those whose names `more` gives.
    pub(crate) fn reap_with(&self, more: impl FnOnce() -> Vec<String>) -> bool {
        if self.shared.origin.check().is_err() {
            return false;
        }
        // Held meanwhile: once it is given up, the names may be another handle's.
        let lock = self.lock.lock();
        if lock.is_none() || self.shared.health.is_poisoned() {
            return false;
        }
        // A file that will not go now is swept at the next opening.
        self.reaper
            .reap(more, |obsolete| self.shared.dir.unlink(obsolete).is_ok())
    }
}
