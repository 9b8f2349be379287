//! Signals the concurrent writer that the readers have ended.

use std::sync::atomic::{AtomicU32, Ordering};

/// The readers that a concurrent writer runs for: it stops when they end, even by a panic.
#[derive(Debug)]
pub(super) struct Reader<'t>(pub(super) &'t AtomicU32);

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        // Release is enough: the writer only stops by it, the join orders everything else.
        self.0.fetch_sub(1, Ordering::Release);
    }
}
