//! A number of the running thread, by which a value remembers the thread that uses it.

use std::ptr;

thread_local! {
    /// Its address names the thread.
    static MARK: u8 = const { 0 };
}

/// Returns a number that no other living thread has, or 0 in a thread that ends.
pub(crate) fn this_thread() -> usize {
    MARK.try_with(|mark| ptr::from_ref(mark).addr())
        .unwrap_or(0)
}
