//! Signals the concurrent writer that the readers have ended.

use std::sync::atomic::{AtomicU32, Ordering};

/// A guard for one reader: the concurrent writer stops when all readers have ended, even by a
/// panic.
#[derive(Debug)]
pub(super) struct ReaderGuard<'t>(pub(super) &'t AtomicU32);

impl Drop for ReaderGuard<'_> {
    fn drop(&mut self) {
        // Release is enough: the writer only uses it to stop, and the join orders everything else.
        self.0.fetch_sub(1, Ordering::Release);
    }
}
