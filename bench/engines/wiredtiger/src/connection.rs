//! An open connection, and sessions that close themselves.

#![expect(
    unsafe_code,
    reason = "the foreign interface is the point of this crate"
)]

use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

use bench_core::fault::Fault;

use crate::handler::OwnHandler;
use crate::structs::{Connection as Raw, Session};
use crate::sys::{Api, open_cursor, step};

/// The one table.
pub(crate) const TABLE: &CStr = c"table:data";
/// What the engine's own list of tables says of how each was made.
const DESCRIPTIONS: &CStr = c"metadata:create";
/// Times a compaction that met a checkpoint is tried again.
const COMPACT_TRIES: u32 = 100;
const BUSY: c_int = 16;

/// A connection to a directory, closed at the end.
#[derive(Debug)]
pub(crate) struct Connection<'e> {
    api: &'e Api,
    raw: *mut Raw,
    /// The library keeps a pointer to it until the connection is closed, which the drop below does
    /// before this one's.
    handler: OwnHandler,
}

// SAFETY: a connection may be used by any thread; sessions belong to one each.
unsafe impl Sync for Connection<'_> {}

impl<'e> Connection<'e> {
    pub(crate) fn open(api: &'e Api, home: &CStr, config: &CStr) -> Result<Self, Fault> {
        let handler = OwnHandler::new();
        let raw = api.open(home, &handler, config)?;
        Ok(Self { api, raw, handler })
    }

    /// Turns the result of a call into ours.
    #[inline]
    pub(crate) fn check(&self, result: c_int) -> Result<(), Fault> {
        self.api.check(result, &self.handler)
    }

    /// A session that is closed with its owner.
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

    /// Closes it; a second time does nothing.
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
        // A fault here has no reader: who wants one closes it before.
        let _ = self.shut();
    }
}

/// A session, closed at the end.
#[derive(Debug)]
pub(crate) struct OwnedSession(pub(crate) *mut Session);

impl OwnedSession {
    /// How the engine says that the table was made.
    pub(crate) fn description(&self) -> Option<String> {
        let cursor = open_cursor(self.0, DESCRIPTIONS, c"").ok()?;
        // SAFETY: the cursor is live.
        let set_key = unsafe { (*cursor).set_key };
        // SAFETY: as above.
        let get_value = unsafe { (*cursor).get_value };
        // SAFETY: keys of this cursor are texts.
        unsafe { set_key(cursor, TABLE.as_ptr()) };
        let mut text: *const c_char = std::ptr::null();
        let found = step!(cursor, search) == 0
            // SAFETY: values of this cursor are texts.
            && unsafe { get_value(cursor, &raw mut text) } == 0;
        let text = found.then(|| {
            // SAFETY: the text ends with zero and stays until the cursor is closed.
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned()
        });
        // Nothing was written through it.
        let _ = step!(cursor, close);
        text
    }

    /// Makes the table if there is none.
    pub(crate) fn create(&self, config: &CStr) -> c_int {
        // SAFETY: the session is live.
        let create = unsafe { (*self.0).create };
        // SAFETY: the session is live and the texts end with zero.
        unsafe { create(self.0, TABLE.as_ptr(), config.as_ptr()) }
    }

    /// Compacts the table; a checkpoint in the way is waited for.
    pub(crate) fn compact(&self) -> c_int {
        // SAFETY: the session is live.
        let compact = unsafe { (*self.0).compact };
        let mut result = BUSY;
        for _ in 0..COMPACT_TRIES {
            // SAFETY: the session is live and the texts end with zero.
            result = unsafe { compact(self.0, TABLE.as_ptr(), c"timeout=0".as_ptr()) };
            if result != BUSY {
                break;
            }
            std::thread::yield_now();
        }
        result
    }

    /// Writes everything that has changed to the files.
    pub(crate) fn checkpoint(&self) -> c_int {
        // SAFETY: the session is live.
        let checkpoint = unsafe { (*self.0).checkpoint };
        // SAFETY: as above.
        unsafe { checkpoint(self.0, c"".as_ptr()) }
    }

    /// Waits until the log is on the disk as far as it has been written.
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
        // SAFETY: nothing uses the session again. What it might report was reported by its calls.
        let _ = unsafe { close(self.0, c"".as_ptr()) };
    }
}
