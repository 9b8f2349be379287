//! WiredTiger's library, found at run time.
//!
//! Only three functions are exported by name; the rest hangs in structures whose shape belongs to
//! one version, so any other one is refused.

#![expect(unsafe_code, reason = "foreign functions found by name")]

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
/// The extension that compresses, next to the library.
const SNAPPY: &str = "libwiredtiger_snappy.so";
/// The version whose structures are known here.
const KNOWN: (c_int, c_int) = (3, 2);

/// The transaction lost against another one, or is in the way of the cache: to be tried again.
pub(crate) const ROLLBACK: c_int = -31800;
/// There is no such key, or the cursor went past its end.
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

/// The function of this name.
macro_rules! symbol {
    ($library:expr, $name:literal) => {{
        // SAFETY: the type is that of wiredtiger.h, the same in every version.
        let found = unsafe { $library.get(concat!($name).as_bytes()) };
        *found
            .map_err(|_| Fault::new(concat!("the WiredTiger library lacks the symbol ", $name)))?
    }};
}

/// The compressing extension: next to a named library, else where the loader finds it.
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
    /// Loads the library at `path`, or the first of [`SONAMES`] that is there.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, Fault> {
        let library = load_library::load(path, SONAMES, "libwiredtiger0")?;
        let reported: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> *const c_char =
            symbol!(library, "wiredtiger_version");
        let (mut major, mut minor, mut third) = (0, 0, 0);
        // SAFETY: the three places are ours.
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

    /// The file it was loaded from.
    pub(crate) fn library(&self) -> library::Library {
        library::Library::at(self.open as *const ())
            .with(
                "was not built in diagnostic mode",
                false,
                "says of itself that it was not built in diagnostic mode, which alone has WiredTiger's assertions",
            )
    }

    /// The version in three numbers.
    pub(crate) fn version_text(&self) -> String {
        let (major, minor, patch) = self.version;
        format!("{major}.{minor}.{patch}")
    }

    /// The compressing extension, where there is one.
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
        // SAFETY: texts end with zero; the handler outlives the connection, as its owner sees to.
        let opened =
            unsafe { (self.open)(home.as_ptr(), events, config.as_ptr(), &raw mut connection) };
        self.check(opened, handler)?;
        Ok(connection)
    }

    /// Turns the result of a call into ours.
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
        // SAFETY: the library returns texts that end with zero.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        let said = handler.take();
        Fault::new(if said.is_empty() {
            text.into_owned()
        } else {
            format!("{text} ({said})")
        })
    }
}

/// Calls a function of a cursor that takes nothing else.
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
    // SAFETY: the session is live and texts end with zero.
    let opened = unsafe { function(session, uri, null_mut(), config, &raw mut cursor) };
    if opened == 0 { Ok(cursor) } else { Err(opened) }
}
