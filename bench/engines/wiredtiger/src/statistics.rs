//! WiredTiger's counters, read through a statistics cursor.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{CStr, c_char, c_int};
use std::fmt::Write as _;
use std::ptr::null;

use crate::connection::OwnedSession;
use crate::structs::Cursor;
use crate::sys::{open_cursor, step};

/// Keys of the counters in 3.2, each with its description, so that a changed meaning is detected.
const BLOCK_BYTES: (c_int, &str) = (1027, "block-manager: bytes written");
const LOG_BYTES: (c_int, &str) = (1233, "log: log bytes written");
const READ_BYTES: (c_int, &str) = (1026, "block-manager: bytes read");
const MERGED_ROWS: (c_int, &str) = (1002, "LSM: rows merged in an LSM tree");
const CACHE_BYTES: (c_int, &str) = (1103, "cache: maximum bytes configured");

/// An open cursor over the connection's counters.
pub(crate) struct Statistics {
    cursor: *mut Cursor,
}

impl Statistics {
    /// Takes a snapshot of the current counters.
    pub(crate) fn open(session: &OwnedSession) -> Option<Self> {
        let cursor = open_cursor(session.0, c"statistics:", c"").ok()?;
        Some(Self { cursor })
    }

    /// Resets the event counters: opening this cursor clears them.
    pub(crate) fn clear(session: &OwnedSession) -> bool {
        let config = c"statistics=(fast,clear)";
        let cursor = open_cursor(session.0, c"statistics:", config);
        cursor.map(|cursor| Self { cursor }).is_ok()
    }

    /// Returns the counter at the cursor: description, text, number.
    fn present(&self) -> Option<(String, String, i64)> {
        let (mut name, mut text, mut number): (*const c_char, *const c_char, i64) =
            (null(), null(), 0);
        // SAFETY: the cursor is live.
        let get_value = unsafe { (*self.cursor).get_value };
        let (name_at, text_at) = (&raw mut name, &raw mut text);
        // SAFETY: values of a statistics cursor are two strings and a number.
        if unsafe { get_value(self.cursor, name_at, text_at, &raw mut number) } != 0 {
            return None;
        }
        let owned = |text| {
            // SAFETY: the strings are NUL-terminated and stay valid until the cursor moves.
            let text = unsafe { CStr::from_ptr(text) };
            text.to_string_lossy().into_owned()
        };
        Some((owned(name), owned(text), number))
    }

    /// Returns one counter, if its description is the expected one.
    fn counter(&self, (key, description): (c_int, &str)) -> Option<u64> {
        // SAFETY: the cursor is live.
        let set_key = unsafe { (*self.cursor).set_key };
        // SAFETY: keys of a statistics cursor are numbers.
        unsafe { set_key(self.cursor, key) };
        if step!(self.cursor, search) != 0 {
            return None;
        }
        let (name, _, number) = self.present()?;
        u64::try_from(number).ok().filter(|_| name == description)
    }

    /// Returns the bytes written to files and to the log.
    pub(crate) fn bytes_written(&self) -> Option<u64> {
        Some(self.counter(BLOCK_BYTES)? + self.counter(LOG_BYTES)?)
    }

    /// Returns a number that grows while pages or the log are written, pages are read or entries
    /// are merged.
    pub(crate) fn progress(&self) -> Option<u64> {
        let parts = [BLOCK_BYTES, LOG_BYTES, READ_BYTES, MERGED_ROWS];
        parts.into_iter().map(|counter| self.counter(counter)).sum()
    }

    /// Returns the cache size in effect.
    pub(crate) fn cache_bytes(&self) -> Option<u64> {
        self.counter(CACHE_BYTES)
    }

    /// Returns all nonzero counters, one per line.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // The result is checked at each step below.
        let _ = step!(self.cursor, reset);
        while step!(self.cursor, next) == 0 {
            if let Some((name, value, number)) = self.present()
                && number != 0
            {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{name}: {value}");
            }
        }
        text
    }
}

impl Drop for Statistics {
    fn drop(&mut self) {
        // Nothing was written through it.
        let _ = step!(self.cursor, close);
    }
}
