//! The objects of an open RocksDB database, and its properties and statistics.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

use crate::options::Chosen;
use crate::sys::Api;

/// An open RocksDB database.
#[derive(Debug)]
pub(crate) struct Database<'e> {
    pub(crate) api: &'e Api,
    pub(crate) db: *mut c_void,
    /// The handle that the batched multi-get requires.
    pub(crate) family: *mut c_void,
    pub(crate) read_options: *mut c_void,
    /// Kept for the statistics that belong to it.
    options: *mut c_void,
    statistics: bool,
}

// SAFETY: RocksDB's database object may be used by any thread; the options are only read.
unsafe impl Sync for Database<'_> {}

impl<'e> Database<'e> {
    pub(crate) fn open(api: &'e Api, dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        let path = CString::new(dir.as_os_str().as_bytes())
            .map_err(|_| Fault::new("the directory's name contains a NUL byte"))?;
        let chosen = Chosen::new(settings);
        // This thread replays the log into a memtable.
        api.count_nothing();
        // Complete before anything can fail, so that a failed open frees everything.
        let mut database = Self {
            api,
            db: null_mut(),
            family: null_mut(),
            // SAFETY: takes no arguments, returns an owned object.
            read_options: unsafe { (api.readoptions_create)() },
            options: chosen.options(api),
            statistics: chosen.statistics,
        };
        let mut error = null_mut();
        let names = [c"default".as_ptr()];
        let options = [database.options.cast_const()];
        // SAFETY: one family with its name and options; the strings are NUL-terminated; the
        // locations for the handle and the error are local, the latter null as required.
        database.db = unsafe {
            (api.open_column_families)(
                database.options,
                path.as_ptr(),
                1,
                names.as_ptr(),
                options.as_ptr(),
                &raw mut database.family,
                &raw mut error,
            )
        };
        api.outcome(error)?;
        Ok(database)
    }

    /// Returns a numeric property.
    pub(crate) fn number(&self, name: &CStr) -> Option<u64> {
        let mut number = 0;
        // SAFETY: the database is open, the name is NUL-terminated, the output location is local.
        let reported = unsafe { (self.api.property_int)(self.db, name.as_ptr(), &raw mut number) };
        (reported == 0).then_some(number)
    }

    /// Returns a string property.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        // SAFETY: the database is open; the name is NUL-terminated.
        let text = unsafe { (self.api.property_value)(self.db, name.as_ptr()) };
        self.api.text(text)
    }

    /// Returns the text of the statistics, if they are kept.
    pub(crate) fn statistics(&self) -> Option<String> {
        if !self.statistics {
            return None;
        }
        // SAFETY: the options are live; the caller owns the string.
        let text = unsafe { (self.api.options_statistics_get_string)(self.options) };
        self.api.text(text)
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        let api = self.api;
        if !self.db.is_null() {
            // SAFETY: no session outlives the store; nothing uses the handle again.
            unsafe { (api.column_family_handle_destroy)(self.family) };
            // SAFETY: as above; the handle is destroyed, as required.
            unsafe { (api.close)(self.db) };
        }
        // SAFETY: the database that used it is closed.
        unsafe { (api.options_destroy)(self.options) };
        // SAFETY: no session outlives the store.
        unsafe { (api.readoptions_destroy)(self.read_options) };
    }
}
