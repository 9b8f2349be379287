//! Files nobody needs any more, waiting to be unlinked.
//!
//! A file gets here when the durable manifest has stopped naming it *and* its last reader is gone,
//! whichever comes later. Unlinking is a job of its own, so that tests can step it; on a full disk a writer without room
//! does it, too.

use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_env::sync::Mutex;

#[derive(Debug, Default)]
pub(crate) struct Reaper {
    names: Mutex<Vec<String>>,
    turn: Mutex<()>,
    /// Bytes of tables that the manifest does not name any more and readers keep. A statistic.
    held_bytes: AtomicU64,
    /// Those tables and value files.
    held_files: AtomicU64,
    /// Files that were unlinked.
    unlinked: AtomicU64,
}

impl Reaper {
    pub(crate) fn add(&self, name: String) {
        self.names.lock().push(name);
    }

    /// Notes that a table of `bytes`, or a value file (0), stays for its readers only.
    pub(crate) fn hold(&self, bytes: u64) {
        self.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.held_files.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes over a file that was held, when its last reader has gone.
    pub(crate) fn let_go(&self, name: String, bytes: u64) {
        self.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.add(name);
        // Release, and last: who finds none held finds the name.
        let before = self.held_files.fetch_sub(1, Ordering::Release);
        debug_assert!(before > 0, "what is let go was held");
    }

    /// Bytes of tables that stay for their readers only.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// Whether there is, or without another word may be, something to unlink.
    pub(crate) fn awaits(&self) -> bool {
        self.held_files.load(Ordering::Acquire) > 0 || !self.names.lock().is_empty()
    }

    /// How many files were unlinked so far.
    pub(crate) fn unlinked(&self) -> u64 {
        self.unlinked.load(Ordering::Relaxed)
    }

    /// Hands every waiting name, and those that `more` gives, to `unlink`, which says whether it did; whether there were any. Callers take
    /// turns, `more` included, so that when this returns no file is half way out: who waits for quiet counts on it.
    pub(crate) fn reap(
        &self,
        more: impl FnOnce() -> Vec<String>,
        mut unlink: impl FnMut(&str) -> bool,
    ) -> bool {
        let _turn = self.turn.lock();
        let mut names = std::mem::take(&mut *self.names.lock());
        names.extend(more());
        let unlinked = names.iter().filter(|name| unlink(name)).count();
        self.unlinked.fetch_add(unlinked as u64, Ordering::Relaxed);
        !names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_readers_keep_is_awaited_until_it_is_unlinked() {
        let reaper = Reaper::default();
        assert!(!reaper.awaits());
        reaper.hold(4096);
        reaper.hold(0);
        assert!(reaper.awaits() && reaper.held_bytes() == 4096);
        reaper.let_go("1.tbl".to_owned(), 4096);
        reaper.let_go("2.val".to_owned(), 0);
        assert!(reaper.awaits() && reaper.held_bytes() == 0);
        assert!(reaper.reap(Vec::new, |name| name == "1.tbl"));
        assert!(!reaper.awaits());
        assert_eq!(reaper.unlinked(), 1, "the other was not there");
    }

    /// The syncer had taken spare segments out of their set, not yet in the list of names, when whoever waited for quiet
    /// found neither: 58 MiB of files were still there once in 150 times.
    #[test]
    fn what_is_on_its_way_out_is_waited_for() {
        let reaper = Reaper::default();
        reaper.add("1.tbl".to_owned());
        let (mut unlinked, mut asked) = (Vec::new(), false);
        let more = || {
            asked = true;
            assert!(reaper.turn.try_lock().is_none(), "others wait meanwhile");
            vec!["2.log".to_owned()]
        };
        assert!(reaper.reap(more, |name| {
            unlinked.push(name.to_owned());
            true
        }));
        assert_eq!(
            (asked, unlinked.as_slice()),
            (true, &["1.tbl".to_owned(), "2.log".to_owned()][..])
        );
        assert!(!reaper.reap(Vec::new, |name| panic!("{name} is gone")));
    }
}
