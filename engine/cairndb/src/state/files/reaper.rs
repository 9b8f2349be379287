//! Obsolete files that wait to be unlinked.
//!
//! A file is added once the durable manifest no longer names it *and* its last reader has been
//! dropped. Unlinking is a separate job, so that tests can step it. On a full disk, a writer
//! that lacks space also unlinks files.

use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_env::sync::Mutex;

#[derive(Debug, Default)]
pub(crate) struct Reaper {
    /// Names, with the bytes that count as leaving.
    names: Mutex<Vec<(String, u64)>>,
    turn: Mutex<()>,
    /// Total size of the tables that the manifest no longer names but readers keep. A statistic.
    held_bytes: AtomicU64,
    /// The same for value files.
    held_value_bytes: AtomicU64,
    /// Total size of the value files that no version has and no reader keeps, until they are
    /// unlinked.
    leaving_bytes: AtomicU64,
    /// Number of tables and value files that only readers keep.
    held_files: AtomicU64,
    /// Number of files unlinked so far.
    unlinked: AtomicU64,
}

impl Reaper {
    /// Adds the name of a file to unlink.
    pub(crate) fn add(&self, name: String) {
        self.names.lock().push((name, 0));
    }

    /// Records that no version has a value file of `bytes` any longer.
    pub(crate) fn leave(&self, bytes: u64) {
        self.leaving_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Records that a table of `bytes` is kept only for its readers.
    pub(crate) fn pin(&self, bytes: u64) {
        self.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.held_files.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that a value file of `bytes`, which has left all versions, is kept only for its
    /// readers.
    pub(crate) fn pin_value(&self, bytes: u64) {
        self.leaving_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.held_value_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.held_files.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes over a held table after its last reader has been dropped.
    pub(crate) fn release(&self, name: String, bytes: u64) {
        self.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.take_over(name, 0);
    }

    /// Takes over a held value file after its last reader has been dropped.
    pub(crate) fn release_value(&self, name: String, bytes: u64) {
        self.leave(bytes);
        self.held_value_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.take_over(name, bytes);
    }

    fn take_over(&self, name: String, leaving: u64) {
        self.names.lock().push((name, leaving));
        // Release ordering, and after `add`: a thread that sees no held file also sees the name.
        let before = self.held_files.fetch_sub(1, Ordering::Release);
        debug_assert!(before > 0, "every released file was held");
    }

    /// Returns the total size of the tables that are kept only for their readers.
    pub(crate) fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// Returns the total size of the value files that are kept only for their readers.
    pub(crate) fn held_value_bytes(&self) -> u64 {
        self.held_value_bytes.load(Ordering::Relaxed)
    }

    /// Returns the total size of the value files that are about to be unlinked.
    pub(crate) fn leaving_bytes(&self) -> u64 {
        self.leaving_bytes.load(Ordering::Relaxed)
    }

    /// Returns whether there is a file to unlink, or a held file that may become one at any moment.
    pub(crate) fn has_pending(&self) -> bool {
        self.held_files.load(Ordering::Acquire) > 0 || !self.names.lock().is_empty()
    }

    /// Returns the number of files unlinked so far.
    pub(crate) fn unlinked(&self) -> u64 {
        self.unlinked.load(Ordering::Relaxed)
    }

    /// Counts files that were unlinked otherwise.
    pub(crate) fn note_unlinked(&self, files: usize) {
        self.unlinked.fetch_add(files as u64, Ordering::Relaxed);
    }

    /// Passes every pending name, and the names that `more` returns, to `unlink`, which returns
    /// whether it removed the file. Returns whether there were any names.
    ///
    /// Calls, including `more`, are serialised: when a call returns, no other caller holds names
    /// that it has not unlinked yet. Callers that wait until the database is idle rely on this.
    pub(crate) fn reap(
        &self,
        more: impl FnOnce() -> Vec<String>,
        mut unlink: impl FnMut(&str) -> bool,
    ) -> bool {
        let _turn = self.turn.lock();
        let mut names = std::mem::take(&mut *self.names.lock());
        names.extend(more().into_iter().map(|name| (name, 0)));
        let unlinked = names.iter().filter(|(name, _)| unlink(name)).count();
        self.unlinked.fetch_add(unlinked as u64, Ordering::Relaxed);
        let left = names.iter().map(|(_, leaving)| leaving).sum();
        self.leaving_bytes.fetch_sub(left, Ordering::Relaxed);
        !names.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_readers_keep_is_awaited_until_it_is_unlinked() {
        let reaper = Reaper::default();
        assert!(!reaper.has_pending());
        reaper.pin(4096);
        reaper.leave(8192);
        assert_eq!(reaper.leaving_bytes(), 8192);
        reaper.pin_value(8192);
        assert_eq!(reaper.leaving_bytes(), 0, "it stays for a reader");
        assert!(reaper.has_pending() && reaper.held_bytes() == 4096);
        assert_eq!(reaper.held_value_bytes(), 8192);
        reaper.release("1.tbl".to_owned(), 4096);
        reaper.release_value("2.val".to_owned(), 8192);
        assert!(reaper.has_pending() && reaper.held_bytes() == 0);
        assert_eq!(reaper.leaving_bytes(), 8192);
        assert!(reaper.reap(Vec::new, |name| name == "1.tbl"));
        assert!(!reaper.has_pending() && reaper.leaving_bytes() == 0);
        assert_eq!(reaper.unlinked(), 1, "the other file did not exist");
    }

    /// Regression: the syncer had taken spare segments out of their set but had not yet listed
    /// their names, so a caller that waited until the database was idle saw neither, and the files
    /// still existed.
    #[test]
    fn what_is_on_its_way_out_is_waited_for() {
        let reaper = Reaper::default();
        reaper.add("1.tbl".to_owned());
        let (mut unlinked, mut called) = (Vec::new(), false);
        let more = || {
            called = true;
            assert!(reaper.turn.try_lock().is_none(), "other callers wait");
            vec!["2.log".to_owned()]
        };
        assert!(reaper.reap(more, |name| {
            unlinked.push(name.to_owned());
            true
        }));
        assert_eq!(
            (called, unlinked.as_slice()),
            (true, &["1.tbl".to_owned(), "2.log".to_owned()][..])
        );
        assert!(!reaper.reap(Vec::new, |name| panic!("{name} was already unlinked")));
    }
}
