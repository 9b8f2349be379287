//! A RocksDB database, opened to be read, and a cursor over each of its column families.
//!
//! RocksDB opens a database for reading without a lock. It reads the log into memory. Its own
//! messages would go to a file in the directory of the database; they go to a directory of the
//! caller's instead, so that nothing is written beside the database.

#![expect(unsafe_code, reason = "functions of a C library, looked up by name")]

use std::ffi::{CStr, CString, c_int, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null_mut, slice_from_raw_parts};

use crate::ForeignError;
use crate::api::Api;

/// Files that RocksDB keeps open.
const OPEN_FILES_MAX: c_int = 200;

/// The family that every database has.
const DEFAULT_FAMILY: &CStr = c"default";

/// The library's options, destroyed with this value.
struct Options<'a> {
    api: &'a Api,
    pointer: *mut c_void,
}

impl<'a> Options<'a> {
    fn new(api: &'a Api, messages: &CStr) -> Options<'a> {
        // SAFETY: takes nothing, and returns an object that is ours.
        let pointer = unsafe { (api.options_create)() };
        // SAFETY: the object was just created; the library copies the string.
        unsafe { (api.options_set_db_log_dir)(pointer, messages.as_ptr()) };
        // SAFETY: as above.
        unsafe { (api.options_set_max_open_files)(pointer, OPEN_FILES_MAX) };
        Options { api, pointer }
    }
}

impl Drop for Options<'_> {
    fn drop(&mut self) {
        // SAFETY: created by `new`; a database copies what it needs of its options.
        unsafe { (self.api.options_destroy)(self.pointer) };
    }
}

fn c_path(path: &Path) -> Result<CString, ForeignError> {
    let text = CString::new(path.as_os_str().as_bytes());
    text.map_err(|_| ForeignError("a path with a zero byte cannot be opened".to_owned()))
}

/// Returns the names of the column families of the database at `path`, whose messages go to the
/// directory `messages`. [`RocksDb::open`] has an example.
///
/// # Errors
/// If the library is not installed, or there is no database of RocksDB.
pub fn rocksdb_families(path: &Path, messages: &Path) -> Result<Vec<Vec<u8>>, ForeignError> {
    let api = Api::load()?;
    let (path, messages) = (c_path(path)?, c_path(messages)?);
    let options = Options::new(&api, &messages);
    let (mut count, mut error) = (0, null_mut());
    // SAFETY: options and strings live until the call returns, and the pointers are to variables of
    // the types that the header declares.
    let names = unsafe {
        (api.list_column_families)(
            options.pointer,
            path.as_ptr(),
            &raw mut count,
            &raw mut error,
        )
    };
    api.outcome(error)?;
    if names.is_null() {
        return Ok(Vec::new());
    }
    let list = slice_from_raw_parts(names, count);
    // SAFETY: the library has returned an array of `count` pointers, which stays until it is
    // destroyed below.
    let list = unsafe { &*list };
    let copied = list.iter().map(|name| {
        // SAFETY: each is a string that ends with a zero byte.
        let name = unsafe { CStr::from_ptr(*name) };
        name.to_bytes().to_vec()
    });
    let copied = copied.collect();
    // SAFETY: the array is the one that the library returned, and its strings were copied.
    unsafe { (api.list_column_families_destroy)(names, count) };
    Ok(copied)
}

/// An open database. It is read as of its opening, and nothing is written to its directory.
#[derive(Debug)]
pub struct RocksDb {
    api: Api,
    database: *mut c_void,
    /// A handle for each family that was opened.
    families: Vec<*mut c_void>,
    read_options: *mut c_void,
}

impl RocksDb {
    /// Opens a database with these of its column families. Its messages go to the directory
    /// `messages`.
    ///
    /// # Errors
    /// If the library is not installed, the database is damaged or of another comparator, or a
    /// family does not exist.
    ///
    /// ```no_run
    /// use std::path::Path;
    /// use cairndb_foreign::{RocksDb, rocksdb_families};
    /// let (path, messages) = (Path::new("rocks"), Path::new("/tmp/messages"));
    /// let names = rocksdb_families(path, messages)?;
    /// let database = RocksDb::open(path, &names, messages)?;
    /// let mut cursor = database.cursor(0).expect("every database has a family");
    /// cursor.seek_to_first()?;
    /// while cursor.valid() {
    ///     println!("{:?} {:?}", cursor.key(), cursor.value());
    ///     cursor.next()?;
    /// }
    /// # Ok::<(), cairndb_foreign::ForeignError>(())
    /// ```
    pub fn open(path: &Path, names: &[Vec<u8>], messages: &Path) -> Result<RocksDb, ForeignError> {
        let api = Api::load()?;
        let (path, messages) = (c_path(path)?, c_path(messages)?);
        let to_c = |name: &Vec<u8>| {
            let name = CString::new(name.clone());
            name.map_err(|_| ForeignError("a family's name has a zero byte".to_owned()))
        };
        let mut names: Vec<CString> = names.iter().map(to_c).collect::<Result<_, _>>()?;
        // RocksDB opens no database without its default family.
        if !names.iter().any(|name| name.as_c_str() == DEFAULT_FAMILY) {
            names.push(DEFAULT_FAMILY.to_owned());
        }
        let pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let count = c_int::try_from(names.len());
        let count = count.map_err(|_| ForeignError("too many column families".to_owned()))?;
        let mut families = vec![null_mut(); names.len()];
        let (database, outcome) = {
            let options = Options::new(&api, &messages);
            let each: Vec<*const c_void> = vec![options.pointer.cast_const(); names.len()];
            let mut error = null_mut();
            // SAFETY: the three arrays have `count` elements; options, strings and arrays live
            // until the call returns; the library writes `count` handles.
            let database = unsafe {
                (api.open_for_read_only_column_families)(
                    options.pointer,
                    path.as_ptr(),
                    count,
                    pointers.as_ptr(),
                    each.as_ptr(),
                    families.as_mut_ptr(),
                    0,
                    &raw mut error,
                )
            };
            (database, api.outcome(error))
        };
        outcome?;
        // SAFETY: takes nothing, and returns an object that is ours.
        let read_options = unsafe { (api.readoptions_create)() };
        // SAFETY: the object was just created.
        unsafe { (api.readoptions_set_verify_checksums)(read_options, 1) };
        // SAFETY: as above. A scan has no use for the cache.
        unsafe { (api.readoptions_set_fill_cache)(read_options, 0) };
        Ok(RocksDb {
            api,
            database,
            families,
            read_options,
        })
    }

    /// A cursor over the family of this index in the names that `open` was given, which stands on
    /// no entry; `None` if there is no such family.
    pub fn cursor(&self, family: usize) -> Option<RocksCursor<'_>> {
        let family = *self.families.get(family)?;
        // SAFETY: database, options and handle are this value's, which the cursor borrows.
        let pointer =
            unsafe { (self.api.create_iterator_cf)(self.database, self.read_options, family) };
        Some(RocksCursor {
            api: &self.api,
            pointer,
            database: PhantomData,
        })
    }
}

impl Drop for RocksDb {
    fn drop(&mut self) {
        // SAFETY: created by `open`; cursors borrow this value, so none is left.
        unsafe { (self.api.readoptions_destroy)(self.read_options) };
        for family in &self.families {
            // SAFETY: a handle of `open`, destroyed once, before its database.
            unsafe { (self.api.column_family_handle_destroy)(*family) };
        }
        // SAFETY: opened by `open`, and closed once.
        unsafe { (self.api.close)(self.database) };
    }
}

/// A position in a column family. [`RocksDb::open`] has an example.
#[derive(Debug)]
pub struct RocksCursor<'a> {
    api: &'a Api,
    pointer: *mut c_void,
    database: PhantomData<&'a RocksDb>,
}

impl RocksCursor<'_> {
    /// Whether the cursor is at an entry.
    pub fn valid(&self) -> bool {
        // SAFETY: the iterator is this value's.
        unsafe { (self.api.iter_valid)(self.pointer) != 0 }
    }

    /// Goes to the first entry.
    ///
    /// # Errors
    /// The library's, if a block cannot be read or is damaged.
    pub fn seek_to_first(&mut self) -> Result<(), ForeignError> {
        // SAFETY: the iterator is this value's, and nothing borrows its entry now.
        unsafe { (self.api.iter_seek_to_first)(self.pointer) };
        self.check()
    }

    /// Goes to the next entry; after the last one, the cursor is at none.
    ///
    /// # Errors
    /// As [`RocksCursor::seek_to_first`].
    #[expect(
        clippy::should_implement_trait,
        reason = "not an `Iterator`: key and value are borrowed until the next step"
    )]
    pub fn next(&mut self) -> Result<(), ForeignError> {
        if !self.valid() {
            return Ok(());
        }
        // SAFETY: the iterator is this value's and at an entry, which nothing borrows now.
        unsafe { (self.api.iter_next)(self.pointer) };
        self.check()
    }

    fn check(&self) -> Result<(), ForeignError> {
        if self.valid() {
            return Ok(());
        }
        let mut error = null_mut();
        // SAFETY: the iterator is this value's, and the pointer is to a variable.
        unsafe { (self.api.iter_get_error)(self.pointer, &raw mut error) };
        self.api.outcome(error)
    }

    /// The current key; empty if there is none.
    pub fn key(&self) -> &[u8] {
        if !self.valid() {
            return &[];
        }
        let mut len = 0;
        // SAFETY: the iterator is at an entry.
        let start = unsafe { (self.api.iter_key)(self.pointer, &raw mut len) };
        if len == 0 {
            return &[];
        }
        let bytes = slice_from_raw_parts(start, len);
        // SAFETY: the library returns `len` bytes that stay until the cursor moves, which needs it
        // exclusively.
        unsafe { &*bytes }
    }

    /// The current value; empty if there is none.
    pub fn value(&self) -> &[u8] {
        if !self.valid() {
            return &[];
        }
        let mut len = 0;
        // SAFETY: the iterator is at an entry.
        let start = unsafe { (self.api.iter_value)(self.pointer, &raw mut len) };
        if len == 0 {
            return &[];
        }
        let bytes = slice_from_raw_parts(start, len);
        // SAFETY: as for the key.
        unsafe { &*bytes }
    }
}

impl Drop for RocksCursor<'_> {
    fn drop(&mut self) {
        // SAFETY: created by `RocksDb::cursor`, and destroyed once, before the database.
        unsafe { (self.api.iter_destroy)(self.pointer) };
    }
}
