//! An open LevelDB, and one thread's way into it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

use bench_core::engine::{Durability, Quiet, Role, Session, Store};
use bench_core::fault::Fault;
use bench_core::settings::Settings;

use crate::cursor::LevelCursor;
use crate::sys::Api;

/// Files LevelDB holds open when nothing else is asked for.
const OPEN_FILES_DEFAULT: u32 = 1000;
const BLOCK_BYTES_DEFAULT: u64 = 4 << 10;
const FILE_BYTES_DEFAULT: u64 = 2 << 20;

/// An open LevelDB.
#[derive(Debug)]
pub struct LevelStore<'e> {
    api: &'e Api,
    db: *mut c_void,
    cache: *mut c_void,
    filter: *mut c_void,
    read_options: *mut c_void,
    options: Vec<(String, String)>,
}

// SAFETY: LevelDB's database object may be used by any thread; the options are only read.
unsafe impl Sync for LevelStore<'_> {}

/// Turns the error text of a call into a result and gives the text back to the library.
#[inline]
pub(crate) fn outcome(api: &Api, error: *mut c_char) -> Result<(), Fault> {
    if error.is_null() {
        Ok(())
    } else {
        Err(fault(api, error))
    }
}

#[cold]
fn fault(api: &Api, error: *mut c_char) -> Fault {
    // SAFETY: the library gives texts that end with zero.
    let text = unsafe { CStr::from_ptr(error) }
        .to_string_lossy()
        .into_owned();
    // SAFETY: the text was allocated by the library and is not used again.
    unsafe { (api.free)(error.cast()) };
    Fault::new(text)
}

/// A size as the library's `size_t`.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl<'e> LevelStore<'e> {
    pub(crate) fn open(api: &'e Api, dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        let name = CString::new(dir.as_os_str().as_bytes())
            .map_err(|_| Fault::new("the directory's name has a zero byte"))?;
        let memory = settings.memory;
        let block = settings.block_bytes.unwrap_or(BLOCK_BYTES_DEFAULT);
        let file = settings.file_bytes.unwrap_or(FILE_BYTES_DEFAULT);
        let files = settings
            .open_files
            .filter(|&files| files > 0)
            .unwrap_or(OPEN_FILES_DEFAULT);
        let files = c_int::try_from(files).unwrap_or(c_int::MAX);
        // SAFETY: takes a number, gives an owned object.
        let cache = unsafe { (api.cache_create_lru)(size(memory.cache_bytes)) };
        let filter = settings.bloom_bits.map_or(null_mut(), |bits| {
            // SAFETY: takes a number, gives an owned object.
            unsafe { (api.filterpolicy_create_bloom)(c_int::try_from(bits).unwrap_or(c_int::MAX)) }
        });
        // SAFETY: takes nothing, gives an owned object.
        let read_options = unsafe { (api.readoptions_create)() };
        // SAFETY: takes nothing, gives an owned object that is destroyed below.
        let options = unsafe { (api.options_create)() };
        #[expect(
            clippy::multiple_unsafe_ops_per_block,
            reason = "one setter after the other, one reason"
        )]
        // SAFETY: every setter is called with the live options object and values of its type.
        unsafe {
            (api.options_set_create_if_missing)(options, 1);
            (api.options_set_write_buffer_size)(options, size(memory.write_bytes));
            (api.options_set_cache)(options, cache);
            (api.options_set_filter_policy)(options, filter);
            (api.options_set_compression)(options, c_int::from(settings.compression));
            (api.options_set_block_size)(options, size(block));
            (api.options_set_max_file_size)(options, size(file));
            (api.options_set_max_open_files)(options, files);
        }
        let mut error = null_mut();
        // SAFETY: the name ends with zero; the error pointer starts as null, as demanded.
        let db = unsafe { (api.open)(options, name.as_ptr(), &raw mut error) };
        // SAFETY: the database has copied the options.
        unsafe { (api.options_destroy)(options) };
        let options = [
            ("write_buffer_size", memory.write_bytes.to_string()),
            ("cache_size", memory.cache_bytes.to_string()),
            (
                "compression",
                if settings.compression {
                    "snappy"
                } else {
                    "none"
                }
                .to_owned(),
            ),
            (
                "bloom_bits",
                settings
                    .bloom_bits
                    .map_or("none".to_owned(), |bits| bits.to_string()),
            ),
            ("block_size", block.to_string()),
            ("max_file_size", file.to_string()),
            ("max_open_files", files.to_string()),
        ];
        let options = options
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        // Made before the check, so that a failed open gives everything back.
        let store = Self {
            api,
            db,
            cache,
            filter,
            read_options,
            options,
        };
        outcome(api, error)?;
        Ok(store)
    }
}

impl Drop for LevelStore<'_> {
    fn drop(&mut self) {
        let api = self.api;
        if !self.db.is_null() {
            // SAFETY: no session outlives the store; nothing uses the object again.
            unsafe { (api.close)(self.db) };
        }
        // SAFETY: the database that used it is closed.
        unsafe { (api.cache_destroy)(self.cache) };
        if !self.filter.is_null() {
            // SAFETY: as above.
            unsafe { (api.filterpolicy_destroy)(self.filter) };
        }
        // SAFETY: no session outlives the store.
        unsafe { (api.readoptions_destroy)(self.read_options) };
    }
}

impl Store for LevelStore<'_> {
    type Session<'s>
        = LevelSession<'s>
    where
        Self: 's;

    fn session(&self, role: Role) -> Result<LevelSession<'_>, Fault> {
        let api = self.api;
        // SAFETY: takes nothing, gives an owned object.
        let write_options = unsafe { (api.writeoptions_create)() };
        // SAFETY: the object was just made.
        unsafe {
            (api.writeoptions_set_sync)(
                write_options,
                (role.durability == Durability::Sync).into(),
            );
        }
        // SAFETY: takes nothing, gives an owned object.
        let batch = unsafe { (api.writebatch_create)() };
        Ok(LevelSession {
            api,
            db: self.db,
            read_options: self.read_options,
            write_options,
            batch,
            _store: self,
        })
    }

    fn compact(&mut self) -> Result<(), Fault> {
        // SAFETY: null ends mean the whole range.
        unsafe { (self.api.compact_range)(self.db, null(), 0, null(), 0) };
        Ok(())
    }

    fn quiesce(&self) -> Result<Quiet, Fault> {
        Ok(Quiet::Watch)
    }

    fn property(&self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        // SAFETY: the name ends with zero.
        let text = unsafe { (self.api.property_value)(self.db, name.as_ptr()) };
        if text.is_null() {
            return None;
        }
        // SAFETY: the library gives texts that end with zero.
        let owned = unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned();
        // SAFETY: the text was allocated by the library and is not used again.
        unsafe { (self.api.free)(text.cast()) };
        Some(owned)
    }

    fn options(&self) -> Vec<(String, String)> {
        self.options.clone()
    }

    fn close(self) -> Result<(), Fault> {
        // LevelDB reports nothing when it closes.
        drop(self);
        Ok(())
    }
}

/// One thread's way into an open LevelDB.
#[derive(Debug)]
pub struct LevelSession<'s> {
    pub(crate) api: &'s Api,
    pub(crate) db: *mut c_void,
    pub(crate) read_options: *mut c_void,
    write_options: *mut c_void,
    batch: *mut c_void,
    /// Keeps the store open while the session lives.
    _store: &'s LevelStore<'s>,
}

impl Drop for LevelSession<'_> {
    fn drop(&mut self) {
        // SAFETY: made by this session, used by nobody else.
        unsafe { (self.api.writebatch_destroy)(self.batch) };
        // SAFETY: as above.
        unsafe { (self.api.writeoptions_destroy)(self.write_options) };
    }
}

impl Session for LevelSession<'_> {
    type Cursor<'c>
        = LevelCursor<'c>
    where
        Self: 'c;

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let mut error = null_mut();
        let (options, error_at) = (self.write_options, &raw mut error);
        // SAFETY: lengths belong to live slices, which the library copies.
        unsafe {
            (self.api.put)(
                self.db,
                options,
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
                error_at,
            );
        }
        outcome(self.api, error)
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        let mut error = null_mut();
        // SAFETY: the length belongs to a live slice, which the library copies.
        unsafe {
            (self.api.delete)(
                self.db,
                self.write_options,
                key.as_ptr(),
                key.len(),
                &raw mut error,
            );
        }
        outcome(self.api, error)
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        let mut error = null_mut();
        let mut length = 0;
        let (options, length_at) = (self.read_options, &raw mut length);
        // SAFETY: the length belongs to a live slice; the library writes the value's length.
        let value = unsafe {
            (self.api.get)(
                self.db,
                options,
                key.as_ptr(),
                key.len(),
                length_at,
                &raw mut error,
            )
        };
        outcome(self.api, error)?;
        if value.is_null() {
            return Ok(None);
        }
        // SAFETY: the library gave this many bytes, allocated for us alone.
        let result = found(unsafe { std::slice::from_raw_parts(value, length) });
        // SAFETY: allocated by the library and not used again.
        unsafe { (self.api.free)(value.cast()) };
        Ok(Some(result))
    }

    #[inline]
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        // SAFETY: lengths belong to live slices, which the library copies.
        unsafe {
            (self.api.writebatch_put)(
                self.batch,
                key.as_ptr(),
                key.len(),
                value.as_ptr(),
                value.len(),
            );
        }
        Ok(())
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        let mut error = null_mut();
        // SAFETY: all three objects are live and belong to this session or its store.
        unsafe { (self.api.write)(self.db, self.write_options, self.batch, &raw mut error) };
        // SAFETY: the batch is live.
        unsafe { (self.api.writebatch_clear)(self.batch) };
        outcome(self.api, error)
    }

    fn merge(&mut self, _key: &[u8], _operand: &[u8]) -> Result<(), Fault> {
        Err(Fault::new("LevelDB has no merge"))
    }

    fn cursor(&mut self) -> Result<LevelCursor<'_>, Fault> {
        Ok(LevelCursor::new(self))
    }
}
