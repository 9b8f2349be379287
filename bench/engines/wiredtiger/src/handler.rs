//! What WiredTiger says when something goes wrong, kept for the fault instead of going to stderr.

#![expect(unsafe_code, reason = "callbacks of the foreign interface")]

use std::ffi::{CStr, c_char, c_int};
use std::ptr::null;
use std::sync::{Mutex, PoisonError};

use crate::structs::{EventHandler, Session};

/// The handler handed to the library, and behind it the first message since the last look.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Handler {
    /// First, so that a pointer to it is one to the whole.
    table: EventHandler,
    told: Mutex<String>,
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
            told: Mutex::new(String::new()),
        }
    }

    /// What the library is given; valid as long as the handler stays where it is.
    pub(crate) const fn pointer(&mut self) -> *mut EventHandler {
        (&raw mut *self).cast()
    }

    /// The first message since the last look, which is forgotten.
    pub(crate) fn take(&self) -> String {
        // A text behind a panicked thread is still a text.
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *told)
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
    let mut told = handler.told.lock().unwrap_or_else(PoisonError::into_inner);
    // The first is the cause; what follows it follows from it.
    if told.is_empty() {
        plain(&text).clone_into(&mut told);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_told_without_its_time_and_thread() {
        let text = "[1795244513:365565][27536:0x7f96b2b53c40], file:data.wt: pwrite: [5] failed";
        assert_eq!(plain(text), "file:data.wt: pwrite: [5] failed");
        assert_eq!(plain("no [brackets] first"), "no [brackets] first");
    }
}
