//! An open LevelDB database and one thread's session.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{CString, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use bench_core::engine::{Durability, Quiet, Role, Session, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use engine_capi::{IteratorCursor, path_text};

use crate::options::Chosen;
use crate::sys::Api;

/// An open LevelDB database.
#[derive(Debug)]
pub struct LevelStore<'e> {
    api: &'e Api,
    db: *mut c_void,
    cache: *mut c_void,
    filter: *mut c_void,
    read_options: *mut c_void,
    chosen: Chosen,
}

// SAFETY: LevelDB's database object may be used by any thread; the options are only read.
unsafe impl Sync for LevelStore<'_> {}

impl<'e> LevelStore<'e> {
    pub(crate) fn open(api: &'e Api, dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        let name = path_text(dir)?;
        let chosen = Chosen::new(settings);
        // SAFETY: takes a number, returns an owned object.
        let cache = unsafe { (api.cache_create_lru)(chosen.cache) };
        let filter = chosen.bloom_bits.map_or(null_mut(), |bits| {
            // SAFETY: takes a number, returns an owned object.
            unsafe { (api.filterpolicy_create_bloom)(bits) }
        });
        // SAFETY: takes no arguments, returns an owned object.
        let read_options = unsafe { (api.readoptions_create)() };
        // Complete before anything can fail, so that a failed open frees everything.
        let mut store = Self {
            api,
            db: null_mut(),
            cache,
            filter,
            read_options,
            chosen,
        };
        // SAFETY: takes no arguments, returns an owned object that is destroyed below.
        let options = unsafe { (api.options_create)() };
        store.apply(&chosen, options);
        let mut error = null_mut();
        // SAFETY: the name is NUL-terminated; the error pointer starts as null, as required.
        store.db = unsafe { (api.open)(options, name.as_ptr(), &raw mut error) };
        // SAFETY: the database has copied the options.
        unsafe { (api.options_destroy)(options) };
        api.outcome(error)?;
        Ok(store)
    }

    /// Sets the chosen options in an options object of the library.
    #[expect(
        clippy::multiple_unsafe_ops_per_block,
        reason = "consecutive setters, one reason"
    )]
    fn apply(&self, chosen: &Chosen, options: *mut c_void) {
        let api = self.api;
        // SAFETY: every setter is called with the live options object and values of its type.
        unsafe {
            (api.options_set_create_if_missing)(options, 1);
            (api.options_set_write_buffer_size)(options, chosen.write_buffer);
            (api.options_set_cache)(options, self.cache);
            (api.options_set_filter_policy)(options, self.filter);
            (api.options_set_compression)(options, chosen.compression.into());
            (api.options_set_block_size)(options, chosen.block);
            (api.options_set_max_file_size)(options, chosen.file);
            (api.options_set_max_open_files)(options, chosen.files);
        }
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
        // SAFETY: takes no arguments, returns an owned object.
        let write_options = unsafe { (api.writeoptions_create)() };
        let synced = role.durability == Durability::Sync;
        // SAFETY: the object was just created.
        unsafe { (api.writeoptions_set_sync)(write_options, synced.into()) };
        // SAFETY: takes no arguments, returns an owned object.
        let batch = unsafe { (api.writebatch_create)() };
        Ok(LevelSession {
            api,
            db: self.db,
            read_options: self.read_options,
            write_options,
            synced,
            batch,
            _store: self,
        })
    }

    /// The call returns nothing and ends early if background work has failed. The library stores
    /// that error and returns it for each write: an empty batch fetches it in a microsecond or two.
    fn compact(&mut self) -> Result<(), Fault> {
        // SAFETY: null ends mean the whole range.
        unsafe { (self.api.compact_range)(self.db, null(), 0, null(), 0) };
        let role = Role::single(Durability::Os);
        self.session(role)?.batch_write()
    }

    fn quiesce(&self) -> Result<Quiet, Fault> {
        Ok(Quiet::Watch)
    }

    fn property(&self, name: &str) -> Option<String> {
        let name = CString::new(name).ok()?;
        // SAFETY: the name is NUL-terminated.
        let text = unsafe { (self.api.property_value)(self.db, name.as_ptr()) };
        self.api.text(text)
    }

    fn options(&self) -> Vec<(String, String)> {
        self.chosen.describe()
    }
}

/// One thread's session in an open LevelDB database.
#[derive(Debug)]
pub struct LevelSession<'s> {
    api: &'s Api,
    db: *mut c_void,
    read_options: *mut c_void,
    write_options: *mut c_void,
    /// Whether each write is synced.
    synced: bool,
    batch: *mut c_void,
    /// Keeps the store open for the lifetime of the session.
    _store: &'s LevelStore<'s>,
}

impl Drop for LevelSession<'_> {
    fn drop(&mut self) {
        // SAFETY: created by this session, which alone uses it.
        unsafe { (self.api.writebatch_destroy)(self.batch) };
        // SAFETY: as above.
        unsafe { (self.api.writeoptions_destroy)(self.write_options) };
    }
}

impl Session for LevelSession<'_> {
    type Cursor<'c>
        = IteratorCursor<'c>
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
        self.api.outcome(error)
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
        self.api.outcome(error)
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
        self.api.outcome(error)?;
        if value.is_null() {
            return Ok(None);
        }
        // SAFETY: the library returned this many bytes, allocated for the caller.
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

    #[inline]
    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        // SAFETY: the length belongs to a live slice, which the library copies.
        unsafe { (self.api.writebatch_delete)(self.batch, key.as_ptr(), key.len()) };
        Ok(())
    }

    /// Writes an empty batch with a sync, which syncs the log.
    fn sync(&mut self) -> Result<(), Fault> {
        // SAFETY: the options are live.
        unsafe { (self.api.writeoptions_set_sync)(self.write_options, 1) };
        let written = self.batch_write();
        // SAFETY: as above.
        unsafe { (self.api.writeoptions_set_sync)(self.write_options, self.synced.into()) };
        written
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        let mut error = null_mut();
        // SAFETY: all three objects are live and belong to this session or its store.
        unsafe { (self.api.write)(self.db, self.write_options, self.batch, &raw mut error) };
        // SAFETY: the batch is live.
        unsafe { (self.api.writebatch_clear)(self.batch) };
        self.api.outcome(error)
    }

    fn cursor(&mut self) -> Result<IteratorCursor<'_>, Fault> {
        // SAFETY: database and options are live and outlive the session, which is borrowed.
        let cursor = unsafe { IteratorCursor::new(&self.api.iterator, self.db, self.read_options) };
        Ok(cursor)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bench_core::engine::{Durability, Engine as _, Role, Session as _, Store as _};
    use bench_core::workload::settings::{Memory, Settings};

    use crate::LevelDb;

    #[test]
    fn a_compaction_that_ends_by_an_error_shows_it() {
        let Ok(engine) = LevelDb::load(None) else {
            bench_core::host::test_skip::skip("install libleveldb1d");
            return;
        };
        let home = tempfile::tempdir().expect("a directory");
        let settings = Settings::plain(Memory::split(4 << 20, false));
        let open = || (&engine).open(home.path(), &settings).expect("opens");
        let store = open();
        let role = Role::single(Durability::Os);
        let mut session = store.session(role).expect("a session");
        session.put(b"key", b"value").expect("put");
        drop(session);
        store.close().expect("closes");
        // On open, LevelDB writes the log to a table in level 0, which a full compaction must read.
        open().close().expect("closes");
        let files = fs::read_dir(home.path()).expect("readable").flatten();
        let tables: Vec<_> = files
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|end| end == "ldb"))
            .collect();
        assert!(!tables.is_empty());
        for table in tables {
            fs::write(table, [0; 4096]).expect("overwritten");
        }
        // On open, LevelDB only checks that each table exists.
        let mut store = open();
        let reported = store.compact().expect_err("refused").to_string();
        assert!(reported.starts_with("Corruption: "), "{reported}");
    }
}
