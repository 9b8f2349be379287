//! Borrow state of a log region: who may write its bytes, and who may read them in place.
//!
//! Invariant: from the first [`Borrowing::borrow`] to the next [`Borrowing::reuse`], writes start
//! at or after the end of the written bytes, only written bytes are borrowed, and a file has one
//! region at a time. So no thread writes bytes that another one reads.
//!
//! Threads: one thread writes, and any thread may borrow. No write may be in progress at the first
//! borrow. Both rules are asserted: the writer sets its flag and then checks whether anything was
//! borrowed, and the borrower sets its flag and then checks whether a write is in progress.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use cairndb_base::{Error, ErrorKind, Result};

/// Ensures that a file has one [`LogRegion`](crate::LogRegion) at a time, in an environment that
/// keeps its files in memory. A real file uses a lock instead.
///
/// ```
/// use cairndb_env::implement::OneRegion;
/// let mut region = OneRegion::default();
/// let token = region.take()?;
/// assert!(region.take().is_err());
/// drop(token);
/// assert!(region.take().is_ok());
/// # Ok::<(), cairndb_base::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct OneRegion(Weak<()>);

impl OneRegion {
    /// Returns a token, which the file's region must hold for its whole lifetime.
    ///
    /// # Errors
    /// `Locked` while another token exists; the caller adds the file name.
    pub fn take(&mut self) -> Result<Arc<()>> {
        if self.0.strong_count() > 0 {
            return Err(region_in_use());
        }
        let token = Arc::new(());
        self.0 = Arc::downgrade(&token);
        Ok(token)
    }
}

/// Returns the error for a second region of one file; the caller adds the file name.
#[cold]
pub(crate) fn region_in_use() -> Error {
    let message = "the log file is in use through another handle";
    Error::new(ErrorKind::Locked, message)
}

/// The borrow state of one region.
#[derive(Debug, Default)]
pub(crate) struct Borrowing {
    writing: AtomicBool,
    /// Whether a borrow was attempted.
    requested: AtomicBool,
    /// Whether an attempt found no write in progress.
    borrowed: AtomicBool,
    /// End of the written bytes.
    end: AtomicU64,
}

impl Borrowing {
    /// Begins a write at `offset`, which [`Borrowing::written`] or [`Borrowing::failed`] ends.
    ///
    /// # Panics
    /// If another thread is writing, or if the write would change bytes that could be borrowed.
    #[inline]
    pub(crate) fn begin(&self, offset: u64) {
        assert!(
            !self.writing.swap(true, Ordering::SeqCst),
            "two threads are writing to one log region"
        );
        let end = self.end.load(Ordering::Relaxed);
        assert!(
            offset >= end || !self.requested.load(Ordering::SeqCst),
            "a log write at {offset} would change bytes up to {end} that may be read in place"
        );
    }

    /// Records that the write succeeded and ended at `end`.
    #[inline]
    pub(crate) fn written(&self, end: u64) {
        let end = end.max(self.end.load(Ordering::Relaxed));
        // Release: pairs with the acquire in `borrow`.
        self.end.store(end, Ordering::Release);
        self.writing.store(false, Ordering::Release);
    }

    /// Records that the write failed: its bytes cannot be borrowed.
    pub(crate) fn failed(&self) {
        self.writing.store(false, Ordering::Release);
    }

    /// Borrows `len` bytes at `offset` for reading in place, for as long as the region is shared.
    ///
    /// # Panics
    /// If any of the bytes were not written; on the first borrow, if a write is in progress.
    #[inline]
    pub(crate) fn borrow(&self, offset: u64, len: usize) {
        if !self.borrowed.load(Ordering::Acquire) {
            self.requested.store(true, Ordering::SeqCst);
            assert!(
                !self.writing.load(Ordering::SeqCst),
                "a log region was first read in place during a write"
            );
            self.borrowed.store(true, Ordering::Release);
        }
        let end = self.end.load(Ordering::Acquire);
        assert!(
            offset
                .checked_add(len as u64)
                .is_some_and(|last| last <= end),
            "cannot borrow {len} bytes at {offset} of a log written up to {end}"
        );
    }

    /// Allows all bytes to be written again.
    pub(crate) fn reuse(&mut self) {
        *self = Borrowing::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_anything_is_borrowed_anything_may_be_written() {
        let mut borrowing = Borrowing::default();
        for offset in [10, 0, 4] {
            borrowing.begin(offset);
            borrowing.written(offset + 5);
        }
        borrowing.borrow(0, 15);
        borrowing.begin(15);
        borrowing.failed();
        borrowing.begin(15);
        borrowing.written(20);
        borrowing.reuse();
        borrowing.begin(0);
        borrowing.written(4);
        borrowing.borrow(4, 0);
    }

    #[test]
    #[should_panic(expected = "would change bytes up to 4")]
    fn what_can_be_read_in_place_is_not_written_again() {
        let borrowing = Borrowing::default();
        borrowing.begin(0);
        borrowing.written(4);
        borrowing.borrow(0, 1);
        borrowing.begin(3);
    }

    #[test]
    #[should_panic(expected = "written up to 4")]
    fn unwritten_bytes_cannot_be_borrowed() {
        let borrowing = Borrowing::default();
        borrowing.begin(0);
        borrowing.written(4);
        borrowing.borrow(2, 3);
    }

    #[test]
    fn nothing_is_borrowed_for_the_first_time_during_a_write() {
        let borrowing = Borrowing::default();
        borrowing.begin(0);
        borrowing.written(4);
        borrowing.begin(0);
        // A second attempt fails like the first.
        for _ in 0..2 {
            let outcome = std::panic::catch_unwind(|| borrowing.borrow(0, 4));
            assert!(outcome.is_err());
        }
        borrowing.written(4);
        borrowing.borrow(0, 4);
    }
}
