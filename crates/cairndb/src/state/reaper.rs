//! Files nobody needs any more, waiting to be unlinked.
//!
//! A file gets here when the durable manifest has stopped naming it *and* its last reader is gone,
//! whichever comes later. Unlinking is a job of its own, so that tests can step it.

use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_env::sync::Mutex;

#[derive(Debug, Default)]
pub(crate) struct Reaper {
    names: Mutex<Vec<String>>,
    turn: Mutex<()>,
    /// Bytes of tables that the manifest does not name any more and readers keep. A statistic.
    held: AtomicU64,
}

impl Reaper {
    pub(crate) fn add(&self, name: String) {
        self.names.lock().push(name);
    }

    /// Notes that a file of `bytes` stays for its readers only.
    pub(crate) fn hold(&self, bytes: u64) {
        self.held.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes over a file that was held, when its last reader has gone.
    pub(crate) fn let_go(&self, name: String, bytes: u64) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        self.add(name);
    }

    /// Bytes of files that stay for their readers only.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
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
