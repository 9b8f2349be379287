//! An open connection, and sessions that are closed on drop.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

use bench_core::fault::Fault;

use crate::handler::OwnHandler;
use crate::structs::{Connection as Raw, Session};
use crate::sys::{Api, open_cursor, step};

/// The one table.
pub(crate) const TABLE: &CStr = c"table:data";
/// The engine's own list of tables with the configuration of each.
const DESCRIPTIONS: &CStr = c"metadata:create";
/// Maximum number of retries of a compaction that conflicts with a checkpoint.
const COMPACT_TRIES: u32 = 100;
const BUSY: c_int = 16;

/// A connection to a directory, closed on drop.
#[derive(Debug)]
pub(crate) struct Connection<'e> {
    api: &'e Api,
    raw: *mut Raw,
    /// The library keeps a pointer to the handler until the connection is closed, which the drop
    /// below does before the handler is dropped.
    handler: OwnHandler,
}

// SAFETY: a connection may be used by any thread; each session belongs to one thread.
unsafe impl Sync for Connection<'_> {}

impl<'e> Connection<'e> {
    pub(crate) fn open(api: &'e Api, home: &CStr, config: &CStr) -> Result<Self, Fault> {
        let handler = OwnHandler::new();
        let raw = api.open(home, &handler, config)?;
        Ok(Self { api, raw, handler })
    }

    /// Converts the result of a call.
    #[inline]
    pub(crate) fn check(&self, result: c_int) -> Result<(), Fault> {
        self.api.check(result, &self.handler)
    }

    /// Opens a session that is closed on drop.
    pub(crate) fn open_session(&self) -> Result<OwnedSession, Fault> {
        let mut session = null_mut();
        // SAFETY: the connection is open.
        let open_session = unsafe { (*self.raw).open_session };
        let (none, config) = (null_mut(), c"".as_ptr());
        // SAFETY: as above; without a handler the session uses the connection's.
        let opened = unsafe { open_session(self.raw, none, config, &raw mut session) };
        self.check(opened)?;
        Ok(OwnedSession(session))
    }

    /// Closes the connection; a second call does nothing.
    pub(crate) fn shut(&mut self) -> Result<(), Fault> {
        if self.raw.is_null() {
            return Ok(());
        }
        let raw = std::mem::replace(&mut self.raw, null_mut());
        // SAFETY: the connection is open.
        let close = unsafe { (*raw).close };
        // SAFETY: no session outlives the connection; nothing uses it again.
        let closed = unsafe { close(raw, c"".as_ptr()) };
        self.check(closed)
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        // A fault cannot be reported here: a caller that needs it closes the connection first.
        let _ = self.shut();
    }
}

/// A session, closed on drop.
#[derive(Debug)]
pub(crate) struct OwnedSession(pub(crate) *mut Session);

impl OwnedSession {
    /// Returns the engine's record of how the table was created.
    pub(crate) fn description(&self) -> Option<String> {
        let cursor = open_cursor(self.0, DESCRIPTIONS, c"").ok()?;
        // SAFETY: the cursor is live.
        let set_key = unsafe { (*cursor).set_key };
        // SAFETY: as above.
        let get_value = unsafe { (*cursor).get_value };
        // SAFETY: keys of this cursor are strings.
        unsafe { set_key(cursor, TABLE.as_ptr()) };
        let mut text: *const c_char = std::ptr::null();
        let found = step!(cursor, search) == 0
            // SAFETY: values of this cursor are strings.
            && unsafe { get_value(cursor, &raw mut text) } == 0;
        let text = found.then(|| {
            // SAFETY: the string is NUL-terminated and stays valid until the cursor is closed.
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned()
        });
        // Nothing was written through it.
        let _ = step!(cursor, close);
        text
    }

    /// Creates the table if it does not exist.
    pub(crate) fn create(&self, config: &CStr) -> c_int {
        // SAFETY: the session is live.
        let create = unsafe { (*self.0).create };
        // SAFETY: the session is live and the strings are NUL-terminated.
        unsafe { create(self.0, TABLE.as_ptr(), config.as_ptr()) }
    }

    /// Compacts the table; waits for a checkpoint that is in progress.
    pub(crate) fn compact(&self) -> c_int {
        // SAFETY: the session is live.
        let compact = unsafe { (*self.0).compact };
        let mut result = BUSY;
        for _ in 0..COMPACT_TRIES {
            // SAFETY: the session is live and the strings are NUL-terminated.
            result = unsafe { compact(self.0, TABLE.as_ptr(), c"timeout=0".as_ptr()) };
            if result != BUSY {
                break;
            }
            std::thread::yield_now();
        }
        result
    }

    /// Writes all changes to the files.
    pub(crate) fn checkpoint(&self) -> c_int {
        // SAFETY: the session is live.
        let checkpoint = unsafe { (*self.0).checkpoint };
        // SAFETY: as above.
        unsafe { checkpoint(self.0, c"".as_ptr()) }
    }

    /// Syncs the log as far as it has been written.
    pub(crate) fn sync_log(&self) -> c_int {
        // SAFETY: the session is live.
        let log_flush = unsafe { (*self.0).log_flush };
        // SAFETY: as above.
        unsafe { log_flush(self.0, c"sync=on".as_ptr()) }
    }
}

impl Drop for OwnedSession {
    fn drop(&mut self) {
        // SAFETY: the session is live.
        let close = unsafe { (*self.0).close };
        // SAFETY: nothing uses the session again. Its calls have already reported any error.
        let _ = unsafe { close(self.0, c"".as_ptr()) };
    }
}
