//! Files nobody needs any more, waiting to be unlinked.
//!
//! A file gets here when the durable manifest has stopped naming it *and* its last reader is gone,
//! whichever comes later. Unlinking is a job of its own, so that tests can step it.

use cairndb_env::sync::Mutex;

#[derive(Debug, Default)]
pub(crate) struct Reaper {
    names: Mutex<Vec<String>>,
}

impl Reaper {
    pub(crate) fn add(&self, name: String) {
        self.names.lock().push(name);
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.names.lock())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.names.lock().is_empty()
    }
}
