//! The objects of an open RocksDB database, and its properties and statistics.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{CStr, CString, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use engine_capi::path_text;

use crate::options::Chosen;
use crate::sys::Api;

/// An open RocksDB database.
#[derive(Debug)]
pub(crate) struct Database<'e> {
    pub(crate) api: &'e Api,
    pub(crate) db: *mut c_void,
    /// The handles of the column families: the default one, then the keyspaces.
    pub(crate) families: Vec<*mut c_void>,
    pub(crate) read_options: *mut c_void,
    /// Kept for the statistics that belong to it.
    options: *mut c_void,
    statistics: bool,
    /// Whether it is a secondary instance.
    secondary: bool,
    /// Whether new sessions count the dead entries that they step over.
    counts_passed: AtomicBool,
    /// Dead entries that sessions which have ended stepped over.
    passed: AtomicU64,
}

// SAFETY: RocksDB's database object may be used by any thread; the options are only read.
unsafe impl Sync for Database<'_> {}

/// Returns the options of a database, which is a secondary instance or not.
fn options(api: &Api, chosen: &Chosen, secondary: bool) -> *mut c_void {
    let options = chosen.options(api);
    if secondary {
        // SAFETY: the options are live and not used yet.
        unsafe { (api.options_set_max_file_opening_threads)(options, 1) };
    }
    options
}

impl<'e> Database<'e> {
    /// Opens `dir`, as a secondary instance if that has a folder.
    pub(crate) fn open(
        api: &'e Api,
        dir: &Path,
        folder: Option<&Path>,
        settings: &Settings,
    ) -> Result<Self, Fault> {
        let folder = folder.map(path_text).transpose()?;
        let path = path_text(dir)?;
        let chosen = Chosen::new(settings);
        // This thread replays the log into a memtable.
        api.count_nothing();
        // Complete before anything can fail, so that a failed open frees everything.
        let mut database = Self {
            api,
            db: null_mut(),
            families: Vec::new(),
            // SAFETY: takes no arguments, returns an owned object.
            read_options: unsafe { (api.readoptions_create)() },
            options: options(api, &chosen, folder.is_some()),
            statistics: chosen.statistics,
            secondary: folder.is_some(),
            counts_passed: AtomicBool::new(false),
            passed: AtomicU64::new(0),
        };
        let mut error = null_mut();
        let names = std::iter::once("default".to_owned()).chain(settings.keyspace_names());
        let names: Vec<CString> = names.filter_map(|name| CString::new(name).ok()).collect();
        let starts: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let options = vec![database.options.cast_const(); names.len()];
        let mut families = vec![null_mut(); names.len()];
        let count = c_int::try_from(names.len()).unwrap_or(c_int::MAX);
        let (starts, options) = (starts.as_ptr(), options.as_ptr());
        let (places, error_at) = (families.as_mut_ptr(), &raw mut error);
        let (all, path) = (database.options.cast_const(), path.as_ptr());
        database.db = match &folder {
            // SAFETY: each array has one element per family; the strings are NUL-terminated; the
            // locations for the handles and the error are local, the latter null as required.
            None => unsafe {
                (api.open_column_families)(all, path, count, starts, options, places, error_at)
            },
            // SAFETY: as above.
            Some(folder) => unsafe {
                (api.open_as_secondary_column_families)(
                    all,
                    path,
                    folder.as_ptr(),
                    count,
                    starts,
                    options,
                    places,
                    error_at,
                )
            },
        };
        api.outcome(error)?;
        database.families = families;
        Ok(database)
    }

    /// Makes a secondary instance see all writes so far.
    #[inline]
    pub(crate) fn catch_up(&self) -> Result<(), Fault> {
        if !self.secondary {
            return Ok(());
        }
        let mut error = null_mut();
        // SAFETY: the database is live; the error pointer starts as null, as required.
        unsafe { (self.api.try_catch_up_with_primary)(self.db, &raw mut error) };
        self.api.outcome(error)
    }

    /// Drops a column family by its position.
    pub(crate) fn drop_family(&self, index: usize) -> Result<(), Fault> {
        let mut error = null_mut();
        // SAFETY: database and family are live; the error pointer starts as null, as required.
        unsafe {
            (self.api.drop_column_family)(self.db, self.families[index], &raw mut error);
        };
        self.api.outcome(error)
    }

    /// Returns a numeric property of the default column family.
    pub(crate) fn number(&self, name: &CStr) -> Option<u64> {
        self.number_of(self.families[0], name)
    }

    /// Returns the sum of a numeric property over all column families.
    pub(crate) fn number_of_all(&self, name: &CStr) -> Option<u64> {
        let families = self.families.iter();
        families.map(|&family| self.number_of(family, name)).sum()
    }

    fn number_of(&self, family: *mut c_void, name: &CStr) -> Option<u64> {
        let (mut number, ask) = (0, self.api.property_int_cf);
        // SAFETY: the database is open and has the family, the name is NUL-terminated, the output
        // location is local.
        let reported = unsafe { ask(self.db, family, name.as_ptr(), &raw mut number) };
        (reported == 0).then_some(number)
    }

    /// Returns a string property.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        // SAFETY: the database is open; the name is NUL-terminated.
        let text = unsafe { (self.api.property_value)(self.db, name.as_ptr()) };
        self.api.text(text)
    }

    /// Lets new sessions count the dead entries that they step over.
    pub(crate) fn count_passed(&self) {
        // Relaxed, here and below: set before the threads of the sessions start.
        self.counts_passed.store(true, Ordering::Relaxed);
    }

    fn counts_passed(&self) -> bool {
        self.counts_passed.load(Ordering::Relaxed)
    }

    /// Prepares the counters of the calling thread, whose session begins.
    pub(crate) fn begin_session(&self) {
        if self.counts_passed() {
            self.api.begin_counting();
        } else {
            self.api.count_nothing();
        }
    }

    /// Adds what the calling thread has counted, whose session ends.
    pub(crate) fn end_session(&self) {
        if self.counts_passed() {
            // Relaxed: a sum that is read after the threads have ended.
            self.passed.fetch_add(self.api.passed(), Ordering::Relaxed);
        }
    }

    /// Returns the number of dead entries that sessions have stepped over, if it is counted.
    pub(crate) fn passed(&self) -> Option<u64> {
        self.counts_passed()
            .then(|| self.passed.load(Ordering::Relaxed))
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
            for family in &self.families {
                // SAFETY: no session outlives the store; nothing uses the handle again.
                unsafe { (api.column_family_handle_destroy)(*family) };
            }
            // SAFETY: as above; the handles are destroyed, as required.
            unsafe { (api.close)(self.db) };
        }
        // SAFETY: the database that used it is closed.
        unsafe { (api.options_destroy)(self.options) };
        // SAFETY: no session outlives the store.
        unsafe { (api.readoptions_destroy)(self.read_options) };
    }
}
