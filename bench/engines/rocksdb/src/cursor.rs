//! RocksDB's iterator as a cursor.

#![expect(
    unsafe_code,
    reason = "the foreign interface is the point of this crate"
)]

use std::ffi::c_void;
use std::ptr::null_mut;

use bench_core::engine::Cursor;
use bench_core::fault::Fault;

use crate::sys::Api;

/// An iterator of RocksDB's.
#[derive(Debug)]
pub struct RocksCursor<'c> {
    api: &'c Api,
    iterator: *mut c_void,
}

impl<'c> RocksCursor<'c> {
    /// A cursor over a database with these read options, both of which outlive it.
    pub(crate) fn new(api: &'c Api, db: *mut c_void, read_options: *mut c_void) -> Self {
        // SAFETY: database and options live as long as the session that is borrowed.
        let iterator = unsafe { (api.create_iterator)(db, read_options) };
        Self { api, iterator }
    }
}

impl Drop for RocksCursor<'_> {
    fn drop(&mut self) {
        // SAFETY: made by this cursor, used by nobody else.
        unsafe { (self.api.iter_destroy)(self.iterator) };
    }
}

impl Cursor for RocksCursor<'_> {
    #[inline]
    fn first(&mut self) -> Result<(), Fault> {
        // SAFETY: the iterator is live.
        unsafe { (self.api.iter_seek_to_first)(self.iterator) };
        Ok(())
    }

    #[inline]
    fn last(&mut self) -> Result<(), Fault> {
        // SAFETY: the iterator is live.
        unsafe { (self.api.iter_seek_to_last)(self.iterator) };
        Ok(())
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        // SAFETY: the iterator is live; the length belongs to a live slice.
        unsafe { (self.api.iter_seek)(self.iterator, key.as_ptr(), key.len()) };
        Ok(())
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        debug_assert!(self.valid(), "a step from no entry");
        // SAFETY: the iterator is live and stands on an entry.
        unsafe { (self.api.iter_next)(self.iterator) };
        Ok(())
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        debug_assert!(self.valid(), "a step from no entry");
        // SAFETY: the iterator is live and stands on an entry.
        unsafe { (self.api.iter_prev)(self.iterator) };
        Ok(())
    }

    #[inline]
    fn valid(&self) -> bool {
        // SAFETY: the iterator is live.
        unsafe { (self.api.iter_valid)(self.iterator) != 0 }
    }

    #[inline]
    fn key(&self) -> &[u8] {
        debug_assert!(self.valid(), "a key of no entry");
        let mut length = 0;
        // SAFETY: the iterator is live and stands on an entry.
        let bytes = unsafe { (self.api.iter_key)(self.iterator, &raw mut length) };
        // SAFETY: the bytes stay until the next step, which needs this cursor unborrowed.
        unsafe { std::slice::from_raw_parts(bytes, length) }
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        debug_assert!(self.valid(), "a value of no entry");
        let mut length = 0;
        // SAFETY: the iterator is live and stands on an entry.
        let bytes = unsafe { (self.api.iter_value)(self.iterator, &raw mut length) };
        // SAFETY: the bytes stay until the next step, which needs this cursor unborrowed.
        Ok(unsafe { std::slice::from_raw_parts(bytes, length) })
    }

    fn check(&self) -> Result<(), Fault> {
        let mut error = null_mut();
        // SAFETY: the iterator is live; the error pointer starts as null.
        unsafe { (self.api.iter_get_error)(self.iterator, &raw mut error) };
        self.api.outcome(error)
    }
}
