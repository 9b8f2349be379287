//! One thread's session in an open RocksDB database.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use bench_core::engine::{Durability, Role, Session};
use bench_core::fault::Fault;
use engine_capi::IteratorCursor;

use crate::database::Database;
use crate::sys::Api;

/// One thread's session in an open RocksDB database.
#[derive(Debug)]
pub struct RocksSession<'s> {
    database: &'s Database<'s>,
    /// The column family of the next call.
    family: *mut c_void,
    write_options: *mut c_void,
    batch: *mut c_void,
    several: Several,
}

/// The buffers of a multi-get, reused by the next.
#[derive(Debug, Default)]
struct Several {
    keys: Vec<*const u8>,
    lengths: Vec<usize>,
    values: Vec<*mut c_void>,
    errors: Vec<*mut c_char>,
}

impl<'s> RocksSession<'s> {
    pub(crate) fn new(database: &'s Database<'s>, role: Role) -> Self {
        let api = database.api;
        // A session is created by the thread that uses it.
        database.begin_session();
        // SAFETY: takes no arguments, returns an owned object.
        let write_options = unsafe { (api.writeoptions_create)() };
        let sync = role.durability == Durability::Sync;
        // SAFETY: the object was just created.
        unsafe { (api.writeoptions_set_sync)(write_options, sync.into()) };
        Self {
            database,
            family: database.families[0],
            write_options,
            // SAFETY: takes no arguments, returns an owned object.
            batch: unsafe { (api.writebatch_create)() },
            several: Several::default(),
        }
    }
}

impl Drop for RocksSession<'_> {
    fn drop(&mut self) {
        let api = self.database.api;
        self.database.end_session();
        // SAFETY: created by this session, which alone uses it.
        unsafe { (api.writebatch_destroy)(self.batch) };
        // SAFETY: as above.
        unsafe { (api.writeoptions_destroy)(self.write_options) };
    }
}

/// Passes the bytes of a pinned value to `found` and releases the value.
#[inline]
fn show<R>(api: &Api, pinned: *mut c_void, found: impl FnOnce(&[u8]) -> R) -> R {
    let mut length = 0;
    // SAFETY: the caller has a live pinned value; the output location is local.
    let bytes = unsafe { (api.pinnableslice_value)(pinned, &raw mut length) };
    // SAFETY: the bytes stay valid until the value is released.
    let result = found(unsafe { std::slice::from_raw_parts(bytes, length) });
    // SAFETY: live, and not used again.
    unsafe { (api.pinnableslice_destroy)(pinned) };
    result
}

impl Session for RocksSession<'_> {
    type Cursor<'c>
        = IteratorCursor<'c>
    where
        Self: 'c;

    #[inline]
    fn enter(&mut self, keyspace: u32) -> Result<(), Fault> {
        self.family = self.database.families[keyspace as usize + 1];
        Ok(())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let mut error = null_mut();
        let (db, options, error_at) = (self.database.db, self.write_options, &raw mut error);
        let (start, length) = (value.as_ptr(), value.len());
        let put = self.database.api.put_cf;
        // SAFETY: lengths belong to live slices, which the library copies.
        unsafe {
            put(
                db,
                options,
                self.family,
                key.as_ptr(),
                key.len(),
                start,
                length,
                error_at,
            );
        };
        self.database.api.outcome(error)
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        let mut error = null_mut();
        let (db, options, error_at) = (self.database.db, self.write_options, &raw mut error);
        let delete = self.database.api.delete_cf;
        // SAFETY: the length belongs to a live slice, which the library copies.
        unsafe { delete(db, options, self.family, key.as_ptr(), key.len(), error_at) };
        self.database.api.outcome(error)
    }

    fn delete_range(&mut self, from: &[u8], to: &[u8]) -> Result<(), Fault> {
        let mut error = null_mut();
        let (db, options, family) = (self.database.db, self.write_options, self.family);
        let (first, end) = (from.as_ptr(), to.as_ptr());
        let delete = self.database.api.delete_range_cf;
        // SAFETY: lengths belong to live slices, which the library copies.
        unsafe {
            delete(
                db,
                options,
                family,
                first,
                from.len(),
                end,
                to.len(),
                &raw mut error,
            );
        };
        self.database.api.outcome(error)
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        let api = self.database.api;
        self.database.catch_up()?;
        let mut error = null_mut();
        let (db, options, error_at) =
            (self.database.db, self.database.read_options, &raw mut error);
        let (get, family) = (api.get_pinned_cf, self.family);
        // SAFETY: the length belongs to a live slice.
        let pinned = unsafe { get(db, options, family, key.as_ptr(), key.len(), error_at) };
        api.outcome(error)?;
        Ok((!pinned.is_null()).then(|| show(api, pinned, found)))
    }

    #[inline]
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let (start, length) = (value.as_ptr(), value.len());
        let put = self.database.api.writebatch_put;
        // SAFETY: lengths belong to live slices, which the library copies.
        unsafe { put(self.batch, key.as_ptr(), key.len(), start, length) };
        Ok(())
    }

    #[inline]
    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        let delete = self.database.api.writebatch_delete;
        // SAFETY: the length belongs to a live slice, which the library copies.
        unsafe { delete(self.batch, key.as_ptr(), key.len()) };
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Fault> {
        let mut error = null_mut();
        let flush = self.database.api.flush_wal;
        // SAFETY: the database is live; the error pointer starts as null, as required.
        unsafe { flush(self.database.db, 1, &raw mut error) };
        self.database.api.outcome(error)
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        let api = self.database.api;
        let mut error = null_mut();
        // SAFETY: all three objects are live and belong to this session or its store.
        unsafe {
            (api.write)(
                self.database.db,
                self.write_options,
                self.batch,
                &raw mut error,
            );
        };
        // SAFETY: the batch is live.
        unsafe { (api.writebatch_clear)(self.batch) };
        api.outcome(error)
    }

    #[inline]
    fn merge(&mut self, key: &[u8], operand: &[u8]) -> Result<(), Fault> {
        let mut error = null_mut();
        let (db, options, error_at) = (self.database.db, self.write_options, &raw mut error);
        let (start, length) = (operand.as_ptr(), operand.len());
        let merge = self.database.api.merge;
        // SAFETY: lengths belong to live slices, which the library copies.
        unsafe {
            merge(
                db,
                options,
                key.as_ptr(),
                key.len(),
                start,
                length,
                error_at,
            );
        };
        self.database.api.outcome(error)
    }

    fn multi_get(
        &mut self,
        keys: &[&[u8]],
        mut each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Fault> {
        let api = self.database.api;
        let places = &mut self.several;
        places.keys.clear();
        places.keys.extend(keys.iter().map(|key| key.as_ptr()));
        places.lengths.clear();
        places.lengths.extend(keys.iter().map(|key| key.len()));
        places.values.clear();
        places.values.resize(keys.len(), null_mut());
        places.errors.clear();
        places.errors.resize(keys.len(), null_mut());
        // SAFETY: each array has one element per key; the slices are live.
        unsafe {
            (api.batched_multi_get_cf)(
                self.database.db,
                self.database.read_options,
                self.family,
                keys.len(),
                places.keys.as_ptr(),
                places.lengths.as_ptr(),
                places.values.as_mut_ptr(),
                places.errors.as_mut_ptr(),
                false,
            );
        }
        let mut outcome = Ok(());
        for (index, (&pinned, &error)) in places.values.iter().zip(&places.errors).enumerate() {
            outcome = outcome.and(api.outcome(error));
            if pinned.is_null() {
                each(index, None);
            } else {
                show(api, pinned, |value| each(index, Some(value)));
            }
        }
        outcome
    }

    #[inline]
    fn cursor(&mut self) -> Result<IteratorCursor<'_>, Fault> {
        let Database {
            api,
            db,
            read_options,
            ..
        } = self.database;
        // SAFETY: database, family and options are live and outlive the session, which is borrowed.
        let iterator = unsafe { (api.create_iterator_cf)(*db, *read_options, self.family) };
        // SAFETY: just created; the session is borrowed.
        Ok(unsafe { IteratorCursor::of(&api.iterator, iterator) })
    }
}
