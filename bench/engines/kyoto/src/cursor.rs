//! Kyoto Cabinet's cursor.
//!
//! One call visits a record and steps in the direction of the last jump. The visitor copies the
//! record to a buffer that every step reuses: the record in the library may move as soon as the
//! call has returned.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::c_void;
use std::marker::PhantomData;

use bench_core::engine::Cursor;
use bench_core::fault::Fault;

use crate::sys::{Api, NOREC};
use crate::visit::Visit;

/// The position of the library's cursor relative to the record that was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CursorPlace {
    /// On the record.
    On,
    /// On the record after it, moving forward.
    After,
    /// On the record before it, moving backward.
    Before,
}

/// A cursor of Kyoto Cabinet.
#[derive(Debug)]
pub struct TreeCursor<'c> {
    api: &'c Api,
    db: *mut c_void,
    cursor: *mut c_void,
    /// Key and value of the current record.
    record: Vec<u8>,
    key_length: usize,
    valid: bool,
    place: CursorPlace,
    session: PhantomData<&'c mut ()>,
}

impl<'c> TreeCursor<'c> {
    /// Creates a cursor over a database that outlives it.
    pub(crate) fn new(api: &'c Api, db: *mut c_void) -> Self {
        // SAFETY: the database is open; the cursor is deleted before it is closed.
        let cursor = unsafe { (api.dbcursor)(db) };
        Self {
            api,
            db,
            cursor,
            record: Vec::new(),
            key_length: 0,
            valid: false,
            place: CursorPlace::On,
            session: PhantomData,
        }
    }

    /// Copies the record at the library's cursor, which is then at that record.
    #[inline]
    fn fetch(&mut self, place: CursorPlace) -> Result<(), Fault> {
        let (record, key_length) = (&mut self.record, &mut self.key_length);
        let mut visit = Visit::new(self.api, |key: &[u8], value: &[u8]| {
            record.clear();
            record.extend_from_slice(key);
            record.extend_from_slice(value);
            *key_length = key.len();
        });
        let full = callback(&visit);
        let steps = i32::from(place != CursorPlace::On);
        // SAFETY: cursor and visit are live, and the callback is this visit's own.
        let visited = unsafe { (self.api.curaccept)(self.cursor, full, visit.context(), 0, steps) };
        self.place = place;
        self.reached(visited)
    }

    /// Records whether there is an entry. Returns any error other than its absence.
    #[inline]
    fn reached(&mut self, succeeded: i32) -> Result<(), Fault> {
        self.valid = succeeded != 0;
        if self.valid || self.api.code(self.db) == NOREC {
            Ok(())
        } else {
            Err(self.api.fault(self.db))
        }
    }

    /// Copies the record in `place` if the library's cursor is at one.
    #[inline]
    fn after(&mut self, moved: i32, place: CursorPlace) -> Result<(), Fault> {
        self.reached(moved)?;
        if self.valid {
            self.fetch(place)
        } else {
            Ok(())
        }
    }

    fn key_parts(&self) -> (*const u8, usize) {
        (self.record.as_ptr(), self.key_length)
    }
}

/// Returns the callback for a visit.
const fn callback<F: FnMut(&[u8], &[u8])>(_visit: &Visit<F>) -> crate::sys::Full {
    Visit::<F>::full
}

impl Drop for TreeCursor<'_> {
    fn drop(&mut self) {
        // SAFETY: created by this cursor, which alone uses it.
        unsafe { (self.api.curdel)(self.cursor) };
    }
}

impl Cursor for TreeCursor<'_> {
    fn first(&mut self) -> Result<(), Fault> {
        // SAFETY: the cursor is live.
        let moved = unsafe { (self.api.curjump)(self.cursor) };
        self.after(moved, CursorPlace::After)
    }

    fn last(&mut self) -> Result<(), Fault> {
        // SAFETY: the cursor is live.
        let moved = unsafe { (self.api.curjumpback)(self.cursor) };
        self.after(moved, CursorPlace::Before)
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        // SAFETY: the cursor is live; the length belongs to a live slice.
        let moved = unsafe { (self.api.curjumpkey)(self.cursor, key.as_ptr(), key.len()) };
        self.after(moved, CursorPlace::On)
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        if self.place == CursorPlace::After {
            return self.fetch(CursorPlace::After);
        }
        let (key, length) = self.key_parts();
        // SAFETY: the cursor is live; the key is this cursor's own.
        let mut moved = unsafe { (self.api.curjumpkey)(self.cursor, key, length) };
        if moved != 0 {
            // SAFETY: the cursor is live.
            moved = unsafe { (self.api.curstep)(self.cursor) };
        }
        self.after(moved, CursorPlace::After)
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        if self.place == CursorPlace::Before {
            return self.fetch(CursorPlace::Before);
        }
        let (key, length) = self.key_parts();
        // SAFETY: the cursor is live; the key is this cursor's own.
        let mut moved = unsafe { (self.api.curjumpbackkey)(self.cursor, key, length) };
        if moved != 0 {
            // SAFETY: the cursor is live.
            moved = unsafe { (self.api.curstepback)(self.cursor) };
        }
        self.after(moved, CursorPlace::Before)
    }

    #[inline]
    fn valid(&self) -> bool {
        self.valid
    }

    #[inline]
    fn key(&self) -> &[u8] {
        debug_assert!(self.valid, "a key without an entry");
        &self.record[..self.key_length]
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        debug_assert!(self.valid, "a value without an entry");
        Ok(&self.record[self.key_length..])
    }
}
