//! An open TreeDB and one thread's session.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::c_void;
use std::path::Path;
use std::ptr::{null, null_mut};

use bench_core::engine::{Durability, Quiet, Role, Session, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

use crate::cursor::TreeCursor;
use crate::options;
use crate::sys::{Api, Empty, Full, NOREC, OAUTOSYNC, OCREATE, OWRITER};
use crate::visit::Visit;

/// Number of key lookups that make room for a large value: with two, random puts still grew the
/// cache; with four, the cache stays at its setting, for a fraction of the time the value itself
/// takes.
const LOOKS: u32 = 4;

/// An open TreeDB.
#[derive(Debug)]
pub struct TreeStore<'e> {
    api: &'e Api,
    db: *mut c_void,
    open: bool,
    autosync: bool,
    page_bytes: usize,
}

// SAFETY: a database object may be used by any thread; errors are kept per thread.
unsafe impl Sync for TreeStore<'_> {}

impl<'e> TreeStore<'e> {
    pub(crate) fn open(api: &'e Api, dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        let path = options::tuned_path(dir, settings)?;
        let autosync = settings.durability == Durability::Sync;
        let mode = OWRITER | OCREATE | if autosync { OAUTOSYNC } else { 0 };
        // SAFETY: takes no arguments, returns an owned object.
        let db = unsafe { (api.dbnew)() };
        // Complete before anything can fail, so that a failed open frees the object.
        let mut store = Self {
            api,
            db,
            open: false,
            autosync,
            page_bytes: usize::try_from(options::page_bytes(settings)).unwrap_or(usize::MAX),
        };
        // SAFETY: the object is live and not open yet; the path is NUL-terminated.
        let opened = unsafe { (api.dbopen)(db, path.as_ptr(), mode) };
        if opened == 0 {
            return Err(api.fault(db));
        }
        store.open = true;
        Ok(store)
    }

    /// Converts the result of a call.
    #[inline]
    fn outcome(&self, succeeded: i32) -> Result<(), Fault> {
        if succeeded == 0 {
            Err(self.api.fault(self.db))
        } else {
            Ok(())
        }
    }

    /// Writes every dirty page to the system.
    fn write_back(&self) -> Result<(), Fault> {
        // SAFETY: the database is open; no procedure is passed.
        let synced = unsafe { (self.api.dbsync)(self.db, 0, null(), null_mut()) };
        self.outcome(synced)
    }

    /// Returns the library's status text: a name, a tab and a value per line.
    fn status(&self) -> Option<String> {
        // SAFETY: the database is open.
        let text = unsafe { (self.api.dbstatus)(self.db) };
        // SAFETY: null, or a NUL-terminated string of the library that is not used again.
        unsafe { engine_capi::take_text(text, self.api.free) }
    }

    fn shut(&mut self) -> Result<(), Fault> {
        if !self.open {
            return Ok(());
        }
        self.open = false;
        // SAFETY: no session outlives the store.
        let closed = unsafe { (self.api.dbclose)(self.db) };
        self.outcome(closed)
    }
}

impl Drop for TreeStore<'_> {
    fn drop(&mut self) {
        // A fault cannot be reported here: `close` reports it where it matters.
        let _ = self.shut();
        // SAFETY: created by this store, closed, and not used again.
        unsafe { (self.api.dbdel)(self.db) };
    }
}

impl Store for TreeStore<'_> {
    type Session<'s>
        = TreeSession<'s>
    where
        Self: 's;

    fn session(&self, _role: Role) -> Result<TreeSession<'_>, Fault> {
        Ok(TreeSession {
            store: self,
            api: self.api,
            db: self.db,
        })
    }

    fn flush(&mut self) -> Result<(), Fault> {
        self.write_back()
    }

    /// Nothing runs in the background: the only remaining work is to write back dirty pages.
    fn quiesce(&self) -> Result<Quiet, Fault> {
        self.write_back()?;
        Ok(Quiet::Known)
    }

    fn property(&self, name: &str) -> Option<String> {
        if !matches!(name, "leveldb.stats" | "statistics") {
            return None;
        }
        self.status().map(|text| text.replace('\t', ": "))
    }

    fn options(&self) -> Vec<(String, String)> {
        options::describe(&self.status().unwrap_or_default(), self.autosync)
    }

    fn close(mut self) -> Result<(), Fault> {
        self.shut()
    }
}

/// One thread's session in an open TreeDB.
#[derive(Debug)]
pub struct TreeSession<'s> {
    /// Keeps the store open for the lifetime of the session.
    store: &'s TreeStore<'s>,
    api: &'s Api,
    db: *mut c_void,
}

impl TreeSession<'_> {
    /// Makes room in the page cache. The library evicts a page only in calls that do not split one.
    /// A value larger than a page splits one with every put, and the page cache would grow by
    /// everything written: a few lookups of the key keep it at its size.
    #[cold]
    fn make_room(&self, key: &[u8]) {
        for _ in 0..LOOKS {
            // SAFETY: the length belongs to a live slice. The result does not matter.
            unsafe { (self.api.dbcheck)(self.db, key.as_ptr(), key.len()) };
        }
    }
}

/// Returns the callbacks for a visit.
const fn callbacks<F: FnMut(&[u8], &[u8])>(_visit: &Visit<F>) -> (Full, Empty) {
    (Visit::<F>::full, Visit::<F>::empty)
}

impl Session for TreeSession<'_> {
    type Cursor<'c>
        = TreeCursor<'c>
    where
        Self: 'c;

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let (bytes, length) = (value.as_ptr(), value.len());
        // SAFETY: lengths belong to live slices, which the library copies.
        let set = unsafe { (self.api.dbset)(self.db, key.as_ptr(), key.len(), bytes, length) };
        if length > self.store.page_bytes {
            self.make_room(key);
        }
        self.store.outcome(set)
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        // SAFETY: the length belongs to a live slice.
        let removed = unsafe { (self.api.dbremove)(self.db, key.as_ptr(), key.len()) };
        if removed == 0 && self.api.code(self.db) == NOREC {
            return Ok(());
        }
        self.store.outcome(removed)
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        let (mut found, mut result) = (Some(found), None);
        let mut visit = Visit::new(self.api, |_key: &[u8], value: &[u8]| {
            result = found.take().map(|found| found(value));
        });
        let (full, empty) = callbacks(&visit);
        let context = visit.context();
        // SAFETY: the key and the visit are live for the call, and the callbacks are this visit's.
        let visited = unsafe {
            (self.api.dbaccept)(self.db, key.as_ptr(), key.len(), full, empty, context, 0)
        };
        self.store.outcome(visited)?;
        Ok(result)
    }

    fn cursor(&mut self) -> Result<TreeCursor<'_>, Fault> {
        Ok(TreeCursor::new(self.api, self.db))
    }
}
