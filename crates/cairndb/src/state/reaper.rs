//! Files nobody needs any more, waiting to be unlinked.
//!
//! A file gets here when the durable manifest has stopped naming it *and* its last reader is gone,
//! whichever comes later. Unlinking is a job of its own, so that tests can step it.

use cairndb_env::sync::Mutex;

#[derive(Debug, Default)]
pub(crate) struct Reaper {
    names: Mutex<Vec<String>>,
    turn: Mutex<()>,
}

impl Reaper {
    pub(crate) fn add(&self, name: String) {
        self.names.lock().push(name);
    }

    /// Hands every waiting name to `unlink`; whether there were any. Callers take turns, so that
    /// when this returns no file is half way out: who waits for quiet counts on it.
    pub(crate) fn reap(&self, mut unlink: impl FnMut(&str)) -> bool {
        let _turn = self.turn.lock();
        let names = std::mem::take(&mut *self.names.lock());
        for name in &names {
            unlink(name);
        }
        !names.is_empty()
    }
}
