//! An open WiredTiger directory.

#![expect(
    unsafe_code,
    reason = "the foreign interface is the point of this crate"
)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

use bench_core::engine::{Quiet, Role, Store};
use bench_core::fault::Fault;
use bench_core::settings::Settings;

use crate::Kind;
use crate::chosen::{Chosen, describe, told};
use crate::handler::Handler;
use crate::session::TigerSession;
use crate::statistics::Statistics;
use crate::structs::{Connection, Session};
use crate::sys::{Api, open_cursor, step};

/// The one table.
pub(crate) const TABLE: &CStr = c"table:data";
/// What the engine's own list of tables says of how each was made.
const DESCRIPTIONS: &CStr = c"metadata:create";
/// Times a compaction that met a checkpoint is tried again.
const COMPACT_TRIES: u32 = 100;
const BUSY: c_int = 16;

/// An open WiredTiger directory with its one table.
#[derive(Debug)]
pub struct TigerStore<'e> {
    pub(crate) api: &'e Api,
    connection: *mut Connection,
    /// At a place of its own: the library keeps a pointer to it until the connection is closed.
    pub(crate) handler: Box<Handler>,
    /// Whether sequential fills may use a bulk cursor.
    pub(crate) bulk: bool,
    /// Whether keys and values are texts that end with zero.
    pub(crate) zero_ended: bool,
    options: Vec<(String, String)>,
}

// SAFETY: a connection may be used by any thread; sessions belong to one each.
unsafe impl Sync for TigerStore<'_> {}

fn c_text(text: impl Into<Vec<u8>>) -> Result<CString, Fault> {
    CString::new(text).map_err(|_| Fault::new("the directory's name has a zero byte"))
}

impl<'e> TigerStore<'e> {
    pub(crate) fn open(
        api: &'e Api,
        kind: Kind,
        dir: &Path,
        settings: &Settings,
    ) -> Result<Self, Fault> {
        let chosen = Chosen::new(kind, settings, api.snappy());
        let home = c_text(dir.as_os_str().as_bytes())?;
        let config = c_text(chosen.connection)?;
        // Complete before anything can fail, so that a failed open gives everything back.
        let mut store = Self {
            api,
            connection: null_mut(),
            handler: Box::new(Handler::new()),
            bulk: chosen.bulk,
            zero_ended: false,
            options: Vec::new(),
        };
        store.connection = api.open(&home, &mut store.handler, &config)?;
        let table = store.create(&c_text(chosen.table)?)?;
        // A table made by an earlier run keeps its shape, whatever is asked for now.
        store.zero_ended = told(&table, "key_format") == Some("S");
        store.options = store.describe(&table, kind);
        if settings.compression && !chosen.compressed {
            let missing = "none (libwiredtiger_snappy.so was not found)";
            store.options.push(("compression".into(), missing.into()));
        }
        store
            .options
            .push(("variant".into(), settings.variant.word().into()));
        Ok(store)
    }

    /// Makes the table if there is none; gives the engine's own description of it.
    fn create(&self, config: &CStr) -> Result<String, Fault> {
        let session = self.open_session()?;
        // SAFETY: the session is live and the texts end with zero.
        let create = unsafe { (*session.0).create };
        // SAFETY: as above.
        let created = unsafe { create(session.0, TABLE.as_ptr(), config.as_ptr()) };
        self.api.check(created, &self.handler)?;
        session
            .description(TABLE)
            .ok_or_else(|| Fault::new("WiredTiger does not list the table it has just made"))
    }

    /// The settings in effect.
    fn describe(&self, table: &str, kind: Kind) -> Vec<(String, String)> {
        let cache = self
            .open_session()
            .ok()
            .and_then(|session| Statistics::open(session.0)?.cache_bytes());
        let cache = cache.map(|bytes| ("cache_size".to_owned(), bytes.to_string()));
        let compressor = told(table, "block_compressor").filter(|name| !name.is_empty());
        let compressor = (
            "block_compressor".to_owned(),
            compressor.unwrap_or("none").to_owned(),
        );
        cache
            .into_iter()
            .chain([compressor])
            .chain(describe(table, kind))
            .collect()
    }

    /// A session that is closed with its owner.
    pub(crate) fn open_session(&self) -> Result<OwnedSession, Fault> {
        let mut session = null_mut();
        // SAFETY: the connection is open.
        let open_session = unsafe { (*self.connection).open_session };
        // SAFETY: as above; without a handler the session uses the connection's.
        let opened =
            unsafe { open_session(self.connection, null_mut(), c"".as_ptr(), &raw mut session) };
        self.api.check(opened, &self.handler)?;
        Ok(OwnedSession(session))
    }

    fn shut(&mut self) -> Result<(), Fault> {
        if self.connection.is_null() {
            return Ok(());
        }
        let connection = std::mem::replace(&mut self.connection, null_mut());
        // SAFETY: the connection is open.
        let close = unsafe { (*connection).close };
        // SAFETY: no session outlives the store; nothing uses the connection again.
        let closed = unsafe { close(connection, c"".as_ptr()) };
        self.api.check(closed, &self.handler)
    }
}

impl Drop for TigerStore<'_> {
    fn drop(&mut self) {
        // A fault here has no reader: `close` reports it where it matters.
        let _ = self.shut();
    }
}

/// A session, closed at the end.
#[derive(Debug)]
pub(crate) struct OwnedSession(pub(crate) *mut Session);

impl OwnedSession {
    /// How the engine says that a table was made.
    fn description(&self, table: &CStr) -> Option<String> {
        let cursor = open_cursor(self.0, DESCRIPTIONS, c"").ok()?;
        // SAFETY: the cursor is live.
        let set_key = unsafe { (*cursor).set_key };
        // SAFETY: as above.
        let get_value = unsafe { (*cursor).get_value };
        // SAFETY: keys of this cursor are texts.
        unsafe { set_key(cursor, table.as_ptr()) };
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

    /// Compacts the table; a checkpoint in the way is waited for.
    fn compact(&self) -> c_int {
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

    fn checkpoint(&self) -> c_int {
        // SAFETY: the session is live.
        let checkpoint = unsafe { (*self.0).checkpoint };
        // SAFETY: as above.
        unsafe { checkpoint(self.0, c"".as_ptr()) }
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

impl Store for TigerStore<'_> {
    type Session<'s>
        = TigerSession<'s>
    where
        Self: 's;

    fn session(&self, role: Role) -> Result<TigerSession<'_>, Fault> {
        TigerSession::new(self, role)
    }

    fn compact(&mut self) -> Result<(), Fault> {
        let compacted = self.open_session()?.compact();
        self.api.check(compacted, &self.handler)
    }

    fn flush(&mut self) -> Result<(), Fault> {
        let written = self.open_session()?.checkpoint();
        self.api.check(written, &self.handler)
    }

    /// Its threads stir several times a second even when idle; its counters do not.
    fn quiesce(&self) -> Result<Quiet, Fault> {
        let session = self.open_session()?;
        let statistics = Statistics::open(session.0);
        let progress = statistics.and_then(|counters| counters.progress());
        Ok(progress.map_or(Quiet::Watch, Quiet::Progress))
    }

    fn property(&self, name: &str) -> Option<String> {
        if !matches!(name, "leveldb.stats" | "statistics") {
            return None;
        }
        let session = self.open_session().ok()?;
        Some(Statistics::open(session.0)?.text())
    }

    fn bytes_written(&self) -> Option<u64> {
        let session = self.open_session().ok()?;
        Statistics::open(session.0)?.bytes_written()
    }

    fn options(&self) -> Vec<(String, String)> {
        self.options.clone()
    }

    fn close(mut self) -> Result<(), Fault> {
        self.shut()
    }
}
