//! What WiredTiger says when something goes wrong, kept for the fault instead of going to stderr.

#![expect(unsafe_code, reason = "callbacks of the foreign interface")]

use std::ffi::{CStr, c_char, c_int};
use std::ptr::null;
use std::sync::{Mutex, PoisonError};

use crate::structs::{EventHandler, Session};

/// The handler handed to the library, and behind it the last message.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Handler {
    /// First, so that a pointer to it is one to the whole.
    table: EventHandler,
    last: Mutex<String>,
}

impl Handler {
    pub(crate) const fn new() -> Self {
        Self {
            table: EventHandler {
                error,
                message,
                progress: null(),
                close: null(),
            },
            last: Mutex::new(String::new()),
        }
    }

    /// What the library is given; valid as long as the handler stays where it is.
    pub(crate) const fn pointer(&mut self) -> *mut EventHandler {
        (&raw mut *self).cast()
    }

    /// The last message, which is forgotten.
    pub(crate) fn take(&self) -> String {
        // A text behind a panicked thread is still a text.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *last)
    }
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
    let mut last = handler.last.lock().unwrap_or_else(PoisonError::into_inner);
    // Each line begins with the time and the thread; what is of use stands behind them.
    let useful = text.split_once("]: ").map_or(&*text, |(_, rest)| rest);
    useful.clone_into(&mut last);
    0
}

/// Remarks that are no errors are nobody's concern here.
const unsafe extern "C" fn message(
    _handler: *mut EventHandler,
    _session: *mut Session,
    _text: *const c_char,
) -> c_int {
    0
}
