//! SQLite's C interface, looked up at run time in the library, which is loaded with local scope.
//!
//! Every function is looked up once; a missing one is an error that names it.

#![expect(unsafe_code, reason = "FFI functions looked up by name")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use bench_core::fault::Fault;
use bench_core::host::library;
use engine_capi::{api, functions};

/// Names tried when no path is given: Debian's own first.
pub(crate) const SONAMES: &[&str] = &["libsqlite3.so.0", "libsqlite3.so"];

// Values of sqlite3.h, which are part of its binary interface.
pub(crate) const OK: c_int = 0;
pub(crate) const ROW: c_int = 100;
pub(crate) const DONE: c_int = 101;
pub(crate) const OPEN_READONLY: c_int = 0x1;
pub(crate) const OPEN_READWRITE: c_int = 0x2;
pub(crate) const OPEN_CREATE: c_int = 0x4;
pub(crate) const OPEN_NOMUTEX: c_int = 0x8000;
pub(crate) const PREPARE_PERSISTENT: c_uint = 1;
pub(crate) const CHECKPOINT_TRUNCATE: c_int = 3;

// The types are those of sqlite3.h, whose interface only grows.
functions! {
    "SQLite", "sqlite3_";
    libversion: fn() -> *const c_char;
    threadsafe: fn() -> c_int;
    open_v2: fn(*const c_char, *mut *mut c_void, c_int, *const c_char) -> c_int;
    close: fn(*mut c_void) -> c_int;
    exec: fn(*mut c_void, *const c_char, *const c_void, *mut c_void, *mut *mut c_char) -> c_int;
    errmsg: fn(*mut c_void) -> *const c_char;
    prepare_v3: fn(*mut c_void, *const c_char, c_int, c_uint, *mut *mut c_void, *mut *const c_char) -> c_int;
    finalize: fn(*mut c_void) -> c_int;
    step: fn(*mut c_void) -> c_int;
    reset: fn(*mut c_void) -> c_int;
    bind_blob: fn(*mut c_void, c_int, *const c_void, c_int, *const c_void) -> c_int;
    column_blob: fn(*mut c_void, c_int) -> *const u8;
    column_bytes: fn(*mut c_void, c_int) -> c_int;
    column_text: fn(*mut c_void, c_int) -> *const c_char;
    db_status: fn(*mut c_void, c_int, *mut c_int, *mut c_int, c_int) -> c_int;
    wal_checkpoint_v2: fn(*mut c_void, *const c_char, c_int, *mut c_int, *mut c_int) -> c_int;
}

api! { SONAMES, "libsqlite3-0", _library; }

impl Api {
    /// Rejects a library that only one thread may use.
    pub(crate) fn check_threads(&self) -> Result<(), Fault> {
        // SAFETY: takes no arguments and has no side effects.
        if unsafe { (self.threadsafe)() } == 0 {
            return Err(Fault::new("the SQLite library was built single-threaded"));
        }
        Ok(())
    }

    /// Returns the file it was loaded from.
    pub(crate) fn library(&self) -> library::Library {
        library::Library::at(self.libversion as *const ())
    }

    /// Returns the version in three numbers.
    pub(crate) fn version_text(&self) -> String {
        // SAFETY: returns a static NUL-terminated string.
        let text = unsafe { (self.libversion)() };
        // SAFETY: as above.
        unsafe { engine_capi::copy_text(text) }.unwrap_or_default()
    }

    /// Returns a connection's message about the last failed call.
    ///
    /// # Safety
    /// `db` must be null or a connection that no other thread is using.
    #[cold]
    pub(crate) unsafe fn fault(&self, db: *mut c_void) -> Fault {
        // SAFETY: guaranteed by the caller; null yields "out of memory".
        let text = unsafe { (self.errmsg)(db) };
        // SAFETY: the string is NUL-terminated and stays valid until the next call.
        Fault::new(unsafe { engine_capi::copy_text(text) }.unwrap_or_default())
    }
}
