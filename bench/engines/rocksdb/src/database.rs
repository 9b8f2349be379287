//! The objects of an open RocksDB, and what it reports about itself.

#![expect(
    unsafe_code,
    reason = "the foreign interface is the point of this crate"
)]

use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

use crate::options::Chosen;
use crate::sys::Api;

/// An open RocksDB.
#[derive(Debug)]
pub(crate) struct Database<'e> {
    pub(crate) api: &'e Api,
    pub(crate) db: *mut c_void,
    /// The handle that the batched multi-get asks for.
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
            .map_err(|_| Fault::new("the directory's name has a zero byte"))?;
        let chosen = Chosen::new(settings);
        // What is in the log is put into a memtable by this thread.
        api.count_nothing();
        // Complete before anything can fail, so that a failed open frees everything.
        let mut database = Self {
            api,
            db: null_mut(),
            family: null_mut(),
            // SAFETY: takes nothing, returns an owned object.
            read_options: unsafe { (api.readoptions_create)() },
            options: chosen.options(api),
            statistics: chosen.statistics,
        };
        let mut error = null_mut();
        let names = [c"default".as_ptr()];
        let options = [database.options.cast_const()];
        // SAFETY: one family with its name and options; the texts end with zero; the places for
        // the handle and the error are ours, the latter null as demanded.
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

    /// One of the properties that are numbers.
    pub(crate) fn number(&self, name: &CStr) -> Option<u64> {
        let mut number = 0;
        // SAFETY: the database is open, the name ends with zero, the place is ours.
        let reported = unsafe { (self.api.property_int)(self.db, name.as_ptr(), &raw mut number) };
        (reported == 0).then_some(number)
    }

    /// One of the properties that are texts.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        // SAFETY: the database is open; the name ends with zero.
        let text = unsafe { (self.api.property_value)(self.db, name.as_ptr()) };
        self.api.text(text)
    }

    /// The text of the statistics, if they are kept.
    pub(crate) fn statistics(&self) -> Option<String> {
        if !self.statistics {
            return None;
        }
        // SAFETY: the options are live; the text belongs to the caller.
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
            // SAFETY: as above; the handle is gone, as demanded.
            unsafe { (api.close)(self.db) };
        }
        // SAFETY: the database that used it is closed.
        unsafe { (api.options_destroy)(self.options) };
        // SAFETY: no session outlives the store.
        unsafe { (api.readoptions_destroy)(self.read_options) };
    }
}
