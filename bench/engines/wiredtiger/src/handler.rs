//! WiredTiger's error messages, stored for the fault instead of being written to stderr.

#![expect(unsafe_code, reason = "FFI callbacks")]

use std::ffi::{CStr, c_char, c_int};
use std::ops::Deref;
use std::ptr::{NonNull, null};
use std::sync::{Mutex, PoisonError};

use crate::structs::{EventHandler, Session};

/// The handler passed to the library, followed by the first message since the last call of
/// [`Handler::take`].
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Handler {
    /// The first field, so that a pointer to it is also a pointer to the handler.
    table: EventHandler,
    reported: Mutex<String>,
}

impl Handler {
    const fn new() -> Self {
        Self {
            table: EventHandler {
                error,
                message,
                progress: null(),
                close: null(),
            },
            reported: Mutex::new(String::new()),
        }
    }

    /// Returns the first message since the last call and clears it.
    pub(crate) fn take(&self) -> String {
        // The string is valid even if another thread panicked.
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *reported)
    }
}

/// A handler at a stable address, freed on drop.
///
/// Not a `Box`: the library keeps a pointer to it, and moving a box asserts that no other pointer
/// exists.
#[derive(Debug)]
pub(crate) struct OwnHandler(NonNull<Handler>);

impl OwnHandler {
    pub(crate) fn new() -> Self {
        Self(NonNull::from(Box::leak(Box::new(Handler::new()))))
    }

    /// Returns the pointer for the library; it is valid for the lifetime of the owner, even if the
    /// owner is moved.
    pub(crate) const fn pointer(&self) -> *mut EventHandler {
        self.0.as_ptr().cast()
    }
}

impl Deref for OwnHandler {
    type Target = Handler;

    fn deref(&self) -> &Handler {
        // SAFETY: created from a box that only the owner's drop frees. The library writes to the
        // table only while it opens a connection, to fill in null fields; no such reference exists
        // then.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for OwnHandler {
    fn drop(&mut self) {
        // SAFETY: created from a box, and the owner ensures that the library no longer uses the
        // pointer.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Returns a message without its leading timestamp and thread in brackets.
fn plain(text: &str) -> &str {
    let mut rest = text;
    while let Some(behind) = rest
        .strip_prefix('[')
        .and_then(|inner| inner.split_once(']'))
    {
        rest = behind.1.trim_start_matches([',', ':', ' ']);
    }
    rest
}

/// Stores an error message.
///
/// # Safety
/// `handler` must be the table of a live [`Handler`], and `text` must be NUL-terminated.
unsafe extern "C" fn error(
    handler: *mut EventHandler,
    _session: *mut Session,
    _error: c_int,
    text: *const c_char,
) -> c_int {
    // SAFETY: guaranteed by the caller; the table is the handler's first field.
    let handler = unsafe { &*handler.cast::<Handler>() };
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let mut reported = handler
        .reported
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    // The first message is the cause; later ones are consequences.
    if reported.is_empty() {
        plain(&text).clone_into(&mut reported);
    }
    0
}

/// Ignores messages that are not errors.
const unsafe extern "C" fn message(
    _handler: *mut EventHandler,
    _session: *mut Session,
    _text: *const c_char,
) -> c_int {
    0
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;

    #[test]
    fn what_the_library_says_is_kept_wherever_the_owner_goes() {
        let owner = OwnHandler::new();
        let given = owner.pointer();
        let notify = |text: &CStr| {
            // SAFETY: the table belongs to a live handler.
            let error = unsafe { (*given).error };
            // SAFETY: as above; the string is NUL-terminated, and the session is not used.
            unsafe { error(given, null_mut(), 5, text.as_ptr()) }
        };
        assert_eq!(notify(c"[1:2] first"), 0);
        let moved = Box::new(owner);
        assert_eq!(notify(c"second"), 0);
        assert_eq!(moved.take(), "first");
        assert_eq!(notify(c"third"), 0);
        assert_eq!(moved.take(), "third");
        assert_eq!(moved.take(), "");
    }

    #[test]
    fn a_message_is_reported_without_its_time_and_thread() {
        let text = "[1795244513:365565][27536:0x7f96b2b53c40], file:data.wt: pwrite: [5] failed";
        assert_eq!(plain(text), "file:data.wt: pwrite: [5] failed");
        assert_eq!(plain("no [brackets] first"), "no [brackets] first");
    }
}
