//! LMDB's C interface, looked up at run time in the library, which is loaded with local scope.
//!
//! Every function is looked up once; a missing one is an error that names it.

#![expect(unsafe_code, reason = "FFI functions looked up by name")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use bench_core::fault::Fault;
use bench_core::host::library;
use engine_capi::{api, functions};

/// Names tried when no path is given: Debian's own first.
pub(crate) const SONAMES: &[&str] = &["liblmdb.so.0", "liblmdb.so"];

// Values of lmdb.h, which are part of its binary interface.
pub(crate) const NOSYNC: c_uint = 0x1_0000;
pub(crate) const RDONLY: c_uint = 0x2_0000;
pub(crate) const WRITEMAP: c_uint = 0x8_0000;
pub(crate) const NORDAHEAD: c_uint = 0x80_0000;
pub(crate) const APPEND: c_uint = 0x2_0000;
pub(crate) const CREATE: c_uint = 0x4_0000;
pub(crate) const COPY_COMPACT: c_uint = 1;
pub(crate) const NOTFOUND: c_int = -30798;
pub(crate) const CURSOR_FIRST: c_int = 0;
pub(crate) const CURSOR_LAST: c_int = 6;
pub(crate) const CURSOR_NEXT: c_int = 8;
pub(crate) const CURSOR_PREV: c_int = 12;
pub(crate) const CURSOR_SET_RANGE: c_int = 17;

/// `MDB_val`: bytes that belong to the map.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes {
    pub(crate) length: usize,
    pub(crate) start: *mut c_void,
}

impl Bytes {
    pub(crate) const EMPTY: Self = Self {
        length: 0,
        start: std::ptr::null_mut(),
    };

    /// Creates a view of bytes that LMDB only reads.
    #[inline]
    pub(crate) const fn of(bytes: &[u8]) -> Self {
        Self {
            length: bytes.len(),
            start: bytes.as_ptr().cast_mut().cast(),
        }
    }
}

/// `MDB_stat`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stat {
    pub(crate) page_bytes: c_uint,
    pub(crate) depth: c_uint,
    pub(crate) branch_pages: usize,
    pub(crate) leaf_pages: usize,
    pub(crate) overflow_pages: usize,
    pub(crate) entries: usize,
}

/// `MDB_envinfo`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    pub(crate) map_address: *mut c_void,
    pub(crate) map_bytes: usize,
    pub(crate) last_page: usize,
    pub(crate) last_txn: usize,
    pub(crate) readers_max: c_uint,
    pub(crate) readers: c_uint,
}

// The types are those of lmdb.h of 0.9, whose interface is frozen.
functions! {
    "LMDB", "mdb_";
    version: fn(*mut c_int, *mut c_int, *mut c_int) -> *const c_char;
    strerror: fn(c_int) -> *const c_char;
    env_create: fn(*mut *mut c_void) -> c_int;
    env_open: fn(*mut c_void, *const c_char, c_uint, c_uint) -> c_int;
    env_close: fn(*mut c_void);
    env_set_mapsize: fn(*mut c_void, usize) -> c_int;
    env_set_maxreaders: fn(*mut c_void, c_uint) -> c_int;
    env_set_maxdbs: fn(*mut c_void, c_uint) -> c_int;
    env_copyfd2: fn(*mut c_void, c_int, c_uint) -> c_int;
    env_sync: fn(*mut c_void, c_int) -> c_int;
    env_stat: fn(*mut c_void, *mut Stat) -> c_int;
    env_info: fn(*mut c_void, *mut Info) -> c_int;
    env_get_flags: fn(*mut c_void, *mut c_uint) -> c_int;
    txn_begin: fn(*mut c_void, *mut c_void, c_uint, *mut *mut c_void) -> c_int;
    txn_commit: fn(*mut c_void) -> c_int;
    txn_abort: fn(*mut c_void);
    txn_reset: fn(*mut c_void);
    txn_renew: fn(*mut c_void) -> c_int;
    dbi_open: fn(*mut c_void, *const c_char, c_uint, *mut c_uint) -> c_int;
    drop: fn(*mut c_void, c_uint, c_int) -> c_int;
    get: fn(*mut c_void, c_uint, *mut Bytes, *mut Bytes) -> c_int;
    put: fn(*mut c_void, c_uint, *mut Bytes, *mut Bytes, c_uint) -> c_int;
    del: fn(*mut c_void, c_uint, *mut Bytes, *mut Bytes) -> c_int;
    cursor_open: fn(*mut c_void, c_uint, *mut *mut c_void) -> c_int;
    cursor_close: fn(*mut c_void);
    cursor_renew: fn(*mut c_void, *mut c_void) -> c_int;
    cursor_del: fn(*mut c_void, c_uint) -> c_int;
    cursor_get: fn(*mut c_void, *mut Bytes, *mut Bytes, c_int) -> c_int;
}

api! { SONAMES, "liblmdb0", _library; }

impl Api {
    /// Returns the file it was loaded from.
    pub(crate) fn library(&self) -> library::Library {
        library::Library::at(self.version as *const ()).with(
            "Assertion '%.200s' failed in",
            true,
            "contains the text of LMDB's own assertions, which are compiled in unless NDEBUG is set",
        )
    }

    /// Returns the version in three numbers.
    pub(crate) fn version_text(&self) -> String {
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: the three output locations are live.
        unsafe { (self.version)(&raw mut major, &raw mut minor, &raw mut patch) };
        format!("{major}.{minor}.{patch}")
    }

    /// Writes the dirty pages of the map of `env`, an open environment.
    pub(crate) fn sync(&self, env: *mut c_void) -> Result<(), Fault> {
        const ALWAYS: c_int = 1;
        // SAFETY: the environment is open.
        self.check(unsafe { (self.env_sync)(env, ALWAYS) })
    }

    /// Converts a return code to a result.
    #[inline]
    pub(crate) fn check(&self, code: c_int) -> Result<(), Fault> {
        if code == 0 {
            Ok(())
        } else {
            Err(self.fault(code))
        }
    }

    #[cold]
    fn fault(&self, code: c_int) -> Fault {
        // SAFETY: takes a number, returns a static string or the system's.
        let text = unsafe { (self.strerror)(code) };
        // SAFETY: null, or a NUL-terminated string.
        let text = unsafe { engine_capi::copy_text(text) };
        Fault::new(text.unwrap_or_else(|| format!("LMDB error {code}")))
    }
}
