//! WiredTiger's error messages, kept for the fault instead of going to stderr.

#![expect(unsafe_code, reason = "callbacks of the foreign interface")]

use std::ffi::{CStr, c_char, c_int};
use std::ops::Deref;
use std::ptr::{NonNull, null};
use std::sync::{Mutex, PoisonError};

use crate::structs::{EventHandler, Session};

/// The handler passed to the library, followed by the first message since the last look.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Handler {
    /// First, so that a pointer to it is one to the whole.
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

    /// The first message since the last look, which is forgotten.
    pub(crate) fn take(&self) -> String {
        // A text is still a text after another thread panicked.
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *reported)
    }
}

/// A handler at a place of its own, given back with its owner.
///
/// Not a `Box`: the library keeps a pointer to it, and a box says whenever it is moved that there
/// is none but its own.
#[derive(Debug)]
pub(crate) struct OwnHandler(NonNull<Handler>);

impl OwnHandler {
    pub(crate) fn new() -> Self {
        Self(NonNull::from(Box::leak(Box::new(Handler::new()))))
    }

    /// What the library is given; valid as long as the owner lives, wherever that is moved.
    pub(crate) const fn pointer(&self) -> *mut EventHandler {
        self.0.as_ptr().cast()
    }
}

impl Deref for OwnHandler {
    type Target = Handler;

    fn deref(&self) -> &Handler {
        // SAFETY: made from a box that only the owner's drop frees. The library writes to the table
        // only while it opens a connection, when it fills in what is null and no such reference
        // exists.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for OwnHandler {
    fn drop(&mut self) {
        // SAFETY: made from a box, and its owner sees to it that the library has let go of the
        // pointer.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// A message without the time and the thread it begins with in brackets.
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

/// Keeps an error's text.
///
/// # Safety
/// `handler` is the table of a live [`Handler`], `text` ends with zero.
unsafe extern "C" fn error(
    handler: *mut EventHandler,
    _session: *mut Session,
    _error: c_int,
    text: *const c_char,
) -> c_int {
    // SAFETY: promised by the caller; the table is the handler's first field.
    let handler = unsafe { &*handler.cast::<Handler>() };
    // SAFETY: promised by the caller.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    let mut reported = handler
        .reported
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    // The first is the cause; what follows it follows from it.
    if reported.is_empty() {
        plain(&text).clone_into(&mut reported);
    }
    0
}

/// Remarks that are no errors are ignored here.
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
            // SAFETY: as above; the text ends with zero, and the session is not looked at.
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
