//! WiredTiger's library, loaded at run time.
//!
//! Only three functions are exported by name; the others are in structures whose layout belongs to
//! one version, so any other version is rejected.

#![expect(unsafe_code, reason = "FFI functions looked up by name")]

use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use bench_core::fault::Fault;
use bench_core::host::{library, load_library};
use libloading::os::unix::Library;

use crate::handler::{Handler, OwnHandler};
use crate::structs::{Connection, Cursor, EventHandler, Session};

/// Names tried when no path is given: Debian's own first.
pub(crate) const SONAMES: &[&str] = &["libwiredtiger.so.0", "libwiredtiger.so"];
/// The compression extension, next to the library.
const SNAPPY: &str = "libwiredtiger_snappy.so";
/// The version whose structures are known here.
const KNOWN: (c_int, c_int) = (3, 2);

/// The transaction conflicts with another one or blocks cache eviction: it must be retried.
pub(crate) const ROLLBACK: c_int = -31800;
/// The key does not exist, or the cursor moved past the end.
pub(crate) const NOTFOUND: c_int = -31803;

type Open = unsafe extern "C" fn(
    *const c_char,
    *mut EventHandler,
    *const c_char,
    *mut *mut Connection,
) -> c_int;

/// The library.
#[derive(Debug)]
pub(crate) struct Api {
    open: Open,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    version: (c_int, c_int, c_int),
    snappy: Option<PathBuf>,
    /// Last, so that the functions never outlive the library.
    _library: Library,
}

/// Looks up the function with this name.
macro_rules! symbol {
    ($library:expr, $name:literal) => {{
        // SAFETY: the type is that of wiredtiger.h, the same in every version.
        let found = unsafe { $library.get(concat!($name).as_bytes()) };
        *found
            .map_err(|_| Fault::new(concat!("the WiredTiger library lacks the symbol ", $name)))?
    }};
}

/// Returns the compression extension: next to a named library, otherwise where the loader finds it.
fn snappy(library: Option<&Path>) -> Option<PathBuf> {
    let beside = library
        .and_then(Path::parent)
        .map(|folder| folder.join(SNAPPY));
    beside
        .into_iter()
        .chain([PathBuf::from(SNAPPY)])
        .find(|path| load_library::load(Some(path), &[], "").is_ok())
}

impl Api {
    /// Loads the library at `path`, or the first of [`SONAMES`] that is installed.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, Fault> {
        let library = load_library::load(path, SONAMES, "libwiredtiger0")?;
        let reported: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> *const c_char =
            symbol!(library, "wiredtiger_version");
        let (mut major, mut minor, mut third) = (0, 0, 0);
        // SAFETY: the three output locations are local.
        unsafe { reported(&raw mut major, &raw mut minor, &raw mut third) };
        if (major, minor) != KNOWN {
            return Err(Fault::new(format!(
                "the WiredTiger library is version {major}.{minor}.{third}; its structures are known \
                 here for {}.{} only (Debian 12's libwiredtiger0)",
                KNOWN.0, KNOWN.1
            )));
        }
        Ok(Self {
            open: symbol!(library, "wiredtiger_open"),
            strerror: symbol!(library, "wiredtiger_strerror"),
            version: (major, minor, third),
            snappy: snappy(path),
            _library: library,
        })
    }

    /// Returns the file it was loaded from.
    pub(crate) fn library(&self) -> library::Library {
        library::Library::at(self.open as *const ())
            .with(
                "was not built in diagnostic mode",
                false,
                "reports that it was not built in diagnostic mode, and only that mode has WiredTiger's assertions",
            )
    }

    /// Returns the version in three numbers.
    pub(crate) fn version_text(&self) -> String {
        let (major, minor, patch) = self.version;
        format!("{major}.{minor}.{patch}")
    }

    /// Returns the compression extension, if there is one.
    pub(crate) fn snappy(&self) -> Option<&Path> {
        self.snappy.as_deref()
    }

    /// Opens a directory.
    pub(crate) fn open(
        &self,
        home: &CStr,
        handler: &OwnHandler,
        config: &CStr,
    ) -> Result<*mut Connection, Fault> {
        let mut connection = null_mut();
        let events = handler.pointer();
        // SAFETY: strings are NUL-terminated; the owner ensures that the handler outlives the
        // connection.
        let opened =
            unsafe { (self.open)(home.as_ptr(), events, config.as_ptr(), &raw mut connection) };
        self.check(opened, handler)?;
        Ok(connection)
    }

    /// Converts the result of a call.
    #[inline]
    pub(crate) fn check(&self, result: c_int, handler: &Handler) -> Result<(), Fault> {
        if result == 0 {
            Ok(())
        } else {
            Err(self.fault(result, handler))
        }
    }

    #[cold]
    fn fault(&self, result: c_int, handler: &Handler) -> Fault {
        // SAFETY: takes a number.
        let text = unsafe { (self.strerror)(result) };
        // SAFETY: the library returns NUL-terminated strings.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        let said = handler.take();
        Fault::new(if said.is_empty() {
            text.into_owned()
        } else {
            format!("{text} ({said})")
        })
    }
}

/// Calls a function of a cursor that takes no other arguments.
macro_rules! step {
    ($cursor:expr, $name:ident) => {{
        let cursor: *mut $crate::structs::Cursor = $cursor;
        // SAFETY: the cursor is live: its owner closes it last.
        let function = unsafe { (*cursor).$name };
        // SAFETY: as above.
        unsafe { function(cursor) }
    }};
}
pub(crate) use step;

/// Opens a cursor in a session.
pub(crate) fn open_cursor(
    session: *mut Session,
    uri: &CStr,
    config: &CStr,
) -> Result<*mut Cursor, c_int> {
    let mut cursor = null_mut();
    // SAFETY: the session is live.
    let function = unsafe { (*session).open_cursor };
    let (uri, config) = (uri.as_ptr(), config.as_ptr());
    // SAFETY: the session is live and strings are NUL-terminated.
    let opened = unsafe { function(session, uri, null_mut(), config, &raw mut cursor) };
    if opened == 0 { Ok(cursor) } else { Err(opened) }
}
