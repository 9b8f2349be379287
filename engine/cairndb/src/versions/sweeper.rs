//! `Sweeper`: unlinks obsolete files while this handle holds the directory lock.

use std::sync::Arc;

use cairndb_env::sync::Mutex;
use cairndb_env::{Dir, DirLock, Origin};

use crate::state::files::reaper::Reaper;
use crate::state::health::Health;
use crate::versions::followers::Followers;

pub(crate) struct Sweeper {
    origin: Origin,
    dir: Arc<dyn Dir>,
    health: Arc<Health>,
    /// Directory lock, released on close. The mutex is held while files are unlinked.
    lock: Mutex<Option<Box<dyn DirLock>>>,
    reaper: Arc<Reaper>,
    pub(crate) followers: Followers,
}

impl Sweeper {
    pub(crate) fn new(
        origin: Origin,
        dir: &Arc<dyn Dir>,
        health: &Arc<Health>,
        reaper: &Arc<Reaper>,
        followers: Followers,
        lock: Option<Box<dyn DirLock>>,
    ) -> Sweeper {
        Sweeper {
            origin,
            dir: Arc::clone(dir),
            health: Arc::clone(health),
            lock: Mutex::new(lock),
            reaper: Arc::clone(reaper),
            followers,
        }
    }

    /// Returns the list of obsolete files.
    pub(crate) fn reaper(&self) -> &Reaper {
        &self.reaper
    }

    /// Releases the directory lock. Nothing is unlinked afterwards.
    pub(crate) fn release_lock(&self) {
        let mut lock = self.lock.lock();
        self.followers.end();
        *lock = None;
    }

    /// Unlinks obsolete files and returns whether there were any. A poisoned handle unlinks
    /// nothing. Files that followers need stay.
    pub(crate) fn reap(&self) -> bool {
        self.reap_from(Vec::new, false)
    }

    /// Like [`Sweeper::reap`], but also unlinks the files that `more` names.
    pub(crate) fn reap_with(&self, more: impl FnOnce() -> Vec<String>) -> bool {
        self.reap_from(more, false)
    }

    /// Like [`Sweeper::reap`], but followers keep nothing: the disk is full.
    pub(crate) fn reap_for_space(&self) -> bool {
        self.reap_from(Vec::new, true)
    }

    fn reap_from(&self, more: impl FnOnce() -> Vec<String>, full_disk: bool) -> bool {
        if self.origin.check().is_err() {
            return false;
        }
        // Held throughout: once it is released, the names may belong to another handle.
        let lock = self.lock.lock();
        if lock.is_none() || self.health.is_poisoned() {
            return false;
        }
        // A file that cannot be unlinked now is removed at the next open.
        let unlink = |name: &str| self.dir.unlink(name).is_ok();
        let needs = self.followers.needs();
        let any = self
            .reaper
            .reap(more, |obsolete| !needs.keep(obsolete) && unlink(obsolete));
        let free = self.followers.take_free(full_disk);
        let unlinked = free.iter().filter(|name| unlink(name)).count();
        self.reaper.note_unlinked(unlinked);
        any || unlinked > 0
    }
}
