//! Kyoto Cabinet's C interface, looked up in the library at run time.
//!
//! Every function is looked up once, when the library is loaded; a missing one is an error that
//! names it. The library is loaded with local scope, so its symbols never conflict with those of
//! another library.

#![expect(unsafe_code, reason = "FFI functions looked up by name")]

use std::ffi::{c_char, c_void};

use bench_core::fault::Fault;
use bench_core::host::library;
use engine_capi::{Library, api, functions};

/// Names tried when no path is given: Debian's own first.
pub(crate) const SONAMES: &[&str] = &["libkyotocabinet.so.16", "libkyotocabinet.so"];

/// Open for writing.
pub(crate) const OWRITER: u32 = 1 << 1;
/// Create the file if it does not exist.
pub(crate) const OCREATE: u32 = 1 << 2;
/// Synchronize with the device after every update.
pub(crate) const OAUTOSYNC: u32 = 1 << 5;

/// The error code for an absent record and for a cursor past the end.
pub(crate) const NOREC: i32 = 7;

/// Called with a record in place; returns [`Api::nop`] or a new value.
pub(crate) type Full = unsafe extern "C" fn(
    *const u8,
    usize,
    *const u8,
    usize,
    *mut usize,
    *mut c_void,
) -> *const c_char;

/// Called if there is no record.
pub(crate) type Empty =
    unsafe extern "C" fn(*const u8, usize, *mut usize, *mut c_void) -> *const c_char;

/// Called with the file after a synchronization; never used here.
pub(crate) type FileProcedure = *const c_void;

// The types are those of kclangc.h, which is the same in all versions 1.2.
functions! {
    "Kyoto Cabinet", "kc";
    free: fn(*mut c_void);
    ecodename: fn(i32) -> *const c_char;
    dbnew: fn() -> *mut c_void;
    dbdel: fn(*mut c_void);
    dbopen: fn(*mut c_void, *const c_char, u32) -> i32;
    dbclose: fn(*mut c_void) -> i32;
    dbecode: fn(*mut c_void) -> i32;
    dbemsg: fn(*mut c_void) -> *const c_char;
    dbaccept: fn(*mut c_void, *const u8, usize, Full, Empty, *mut c_void, i32) -> i32;
    dbcheck: fn(*mut c_void, *const u8, usize) -> i32;
    dbset: fn(*mut c_void, *const u8, usize, *const u8, usize) -> i32;
    dbremove: fn(*mut c_void, *const u8, usize) -> i32;
    dbsync: fn(*mut c_void, i32, FileProcedure, *mut c_void) -> i32;
    dbstatus: fn(*mut c_void) -> *mut c_char;
    dbcursor: fn(*mut c_void) -> *mut c_void;
    curdel: fn(*mut c_void);
    curaccept: fn(*mut c_void, Full, *mut c_void, i32, i32) -> i32;
    curjump: fn(*mut c_void) -> i32;
    curjumpkey: fn(*mut c_void, *const u8, usize) -> i32;
    curjumpback: fn(*mut c_void) -> i32;
    curjumpbackkey: fn(*mut c_void, *const u8, usize) -> i32;
    curstep: fn(*mut c_void) -> i32;
    curstepback: fn(*mut c_void) -> i32;
}

api! {
    SONAMES, "libkyotocabinet16v5", _library;
    /// The return value of a visitor that leaves a record unchanged.
    nop: *const c_char = nop;
    version: String = version;
}

// SAFETY: functions and constants of a library may be used by any thread.
unsafe impl Sync for Api {}

/// Returns the value of one of the library's `const char*` constants.
fn text_at(library: &Library, symbol: &str) -> Result<*const c_char, Fault> {
    // SAFETY: kclangc.h declares the constants of this name as pointers to characters.
    let place: *const *const c_char =
        unsafe { engine_capi::symbol(library, "Kyoto Cabinet", symbol) }?;
    // SAFETY: the address is that of a variable of the loaded library.
    Ok(unsafe { *place })
}

fn nop(library: &Library) -> Result<*const c_char, Fault> {
    text_at(library, "KCVISNOP")
}

fn version(library: &Library) -> Result<String, Fault> {
    let text = text_at(library, "KCVERSION")?;
    // SAFETY: the library's version is null or a NUL-terminated string.
    let text = unsafe { engine_capi::copy_text(text) };
    text.ok_or_else(|| Fault::new("the Kyoto Cabinet library reports no version"))
}

impl Api {
    /// Returns the file it was loaded from.
    pub(crate) fn library(&self) -> library::Library {
        library::Library::at(self.dbnew as *const ()).of_namespace("kyotocabinet::")
    }

    /// Returns the library's own version.
    pub(crate) fn version_text(&self) -> String {
        self.version.clone()
    }

    /// Returns the last error of a database in the calling thread, with the library's message.
    #[cold]
    pub(crate) fn fault(&self, db: *mut c_void) -> Fault {
        // SAFETY: the object is live, open or not.
        let message = unsafe { (self.dbemsg)(db) };
        // SAFETY: takes a number.
        let name = unsafe { (self.ecodename)(self.code(db)) };
        // SAFETY: null, or a NUL-terminated string.
        let name = unsafe { engine_capi::copy_text(name) }.unwrap_or_default();
        // SAFETY: as above.
        let message = unsafe { engine_capi::copy_text(message) }.unwrap_or_default();
        Fault::new(format!("{name}: {message}"))
    }

    /// Returns the code of the last error of a database in the calling thread.
    pub(crate) fn code(&self, db: *mut c_void) -> i32 {
        // SAFETY: the object is live, open or not.
        unsafe { (self.dbecode)(db) }
    }
}
