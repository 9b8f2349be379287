//! LevelDB's C interface, looked up in the library at run time.
//!
//! Every function is looked up once, when the library is loaded; a missing one is an error that
//! names it. The library is loaded with local scope, so its symbols never conflict with those of
//! another library, and is never unloaded: its background thread lives as long as the process.

#![expect(unsafe_code, reason = "FFI functions looked up by name")]

use std::ffi::{c_char, c_int, c_uchar, c_void};

use bench_core::fault::Fault;
use bench_core::host::library;
use engine_capi::{CursorFunctions, Library, api, functions};

/// Names tried when no path is given: Debian's own first.
pub(crate) const SONAMES: &[&str] = &["libleveldb.so.1d", "libleveldb.so.1", "libleveldb.so"];

/// The location to which the library writes an error string, if any.
pub(crate) type ErrorPointer = *mut *mut c_char;

// The types are those of LevelDB's c.h, which has not changed since 1.23.
functions! {
    "LevelDB", "leveldb_";
    open: fn(*const c_void, *const c_char, ErrorPointer) -> *mut c_void;
    close: fn(*mut c_void);
    put: fn(*mut c_void, *const c_void, *const u8, usize, *const u8, usize, ErrorPointer);
    delete: fn(*mut c_void, *const c_void, *const u8, usize, ErrorPointer);
    write: fn(*mut c_void, *const c_void, *mut c_void, ErrorPointer);
    get: fn(*mut c_void, *const c_void, *const u8, usize, *mut usize, ErrorPointer) -> *mut u8;
    property_value: fn(*mut c_void, *const c_char) -> *mut c_char;
    compact_range: fn(*mut c_void, *const u8, usize, *const u8, usize);
    writebatch_create: fn() -> *mut c_void;
    writebatch_destroy: fn(*mut c_void);
    writebatch_clear: fn(*mut c_void);
    writebatch_delete: fn(*mut c_void, *const u8, usize);
    writebatch_put: fn(*mut c_void, *const u8, usize, *const u8, usize);
    options_create: fn() -> *mut c_void;
    options_destroy: fn(*mut c_void);
    options_set_filter_policy: fn(*mut c_void, *mut c_void);
    options_set_create_if_missing: fn(*mut c_void, c_uchar);
    options_set_write_buffer_size: fn(*mut c_void, usize);
    options_set_max_open_files: fn(*mut c_void, c_int);
    options_set_cache: fn(*mut c_void, *mut c_void);
    options_set_block_size: fn(*mut c_void, usize);
    options_set_max_file_size: fn(*mut c_void, usize);
    options_set_compression: fn(*mut c_void, c_int);
    filterpolicy_create_bloom: fn(c_int) -> *mut c_void;
    filterpolicy_destroy: fn(*mut c_void);
    readoptions_create: fn() -> *mut c_void;
    readoptions_destroy: fn(*mut c_void);
    writeoptions_create: fn() -> *mut c_void;
    writeoptions_destroy: fn(*mut c_void);
    writeoptions_set_sync: fn(*mut c_void, c_uchar);
    cache_create_lru: fn(usize) -> *mut c_void;
    cache_destroy: fn(*mut c_void);
    free: fn(*mut c_void);
    major_version: fn() -> c_int;
    minor_version: fn() -> c_int;
}

api! {
    SONAMES, "libleveldb1d", _library;
    iterator: CursorFunctions = iterator;
}

fn iterator(library: &Library) -> Result<CursorFunctions, Fault> {
    // SAFETY: LevelDB declares its iterator functions with these types.
    unsafe { CursorFunctions::find(library, "LevelDB", "leveldb_") }
}

impl Api {
    /// Returns the file it was loaded from.
    pub(crate) fn library(&self) -> library::Library {
        library::Library::at(self.open as *const ()).of_namespace("leveldb::")
    }

    /// Returns the version in two numbers.
    pub(crate) fn version_text(&self) -> String {
        // SAFETY: takes no arguments and has no side effects.
        let major = unsafe { (self.major_version)() };
        // SAFETY: as above.
        let minor = unsafe { (self.minor_version)() };
        format!("{major}.{minor}")
    }

    /// Turns the error string of a call into a result and frees the string.
    #[inline]
    pub(crate) fn outcome(&self, error: *mut c_char) -> Result<(), Fault> {
        // SAFETY: null, or a string of the library that nothing else refers to.
        unsafe { engine_capi::outcome(error, self.free) }
    }

    /// Copies a string of the library and frees it; `None` for null.
    pub(crate) fn text(&self, text: *mut c_char) -> Option<String> {
        // SAFETY: null, or a string of the library that nothing else refers to.
        unsafe { engine_capi::take_text(text, self.free) }
    }
}
