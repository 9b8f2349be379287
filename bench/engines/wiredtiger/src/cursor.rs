//! The session's cursor while it walks.

#![expect(
    unsafe_code,
    reason = "the foreign interface is the point of this crate"
)]

use std::ffi::c_int;

use bench_core::engine::Cursor as Walk;
use bench_core::fault::Fault;

use crate::connection::Connection;
use crate::item::{set_key, shown, stored};
use crate::structs::{Cursor, Item};
use crate::sys::{NOTFOUND, step};

/// A walk with a session's cursor, which is reset at its end.
#[derive(Debug)]
pub struct TigerCursor<'c> {
    connection: &'c Connection<'c>,
    zero_ended: bool,
    cursor: *mut Cursor,
    /// Where a key is put together that needs it.
    buffer: &'c mut Vec<u8>,
    key: Item,
    value: Item,
    valid: bool,
}

impl<'c> TigerCursor<'c> {
    /// A scan with `cursor`, which nothing else uses meanwhile.
    #[inline]
    pub(crate) const fn new(
        connection: &'c Connection<'c>,
        zero_ended: bool,
        cursor: *mut Cursor,
        buffer: &'c mut Vec<u8>,
    ) -> Self {
        Self {
            connection,
            zero_ended,
            cursor,
            buffer,
            key: Item::EMPTY,
            value: Item::EMPTY,
            valid: false,
        }
    }

    #[inline]
    fn check(&self, result: c_int) -> Result<(), Fault> {
        self.connection.check(result)
    }

    /// Looks at the entry that a call has reached, if it has.
    #[inline]
    fn reached(&mut self, result: c_int) -> Result<(), Fault> {
        self.valid = result == 0;
        match result {
            0 => {
                // SAFETY: the cursor is live.
                let get_key = unsafe { (*self.cursor).get_key };
                // SAFETY: the cursor stands on an entry; raw keys are items.
                let got = unsafe { get_key(self.cursor, &raw mut self.key) };
                self.check(got)
            }
            NOTFOUND => Ok(()),
            result => self.check(result),
        }
    }

    fn rewind(&self) -> Result<(), Fault> {
        let reset = step!(self.cursor, reset);
        self.check(reset)
    }
}

impl Drop for TigerCursor<'_> {
    #[inline]
    fn drop(&mut self) {
        // Lets go of the page; a fault would show at the next use.
        let _ = step!(self.cursor, reset);
    }
}

impl Walk for TigerCursor<'_> {
    fn first(&mut self) -> Result<(), Fault> {
        self.rewind()?;
        self.next()
    }

    fn last(&mut self) -> Result<(), Fault> {
        self.rewind()?;
        self.prev()
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        set_key(self.cursor, &stored(key, self.buffer, self.zero_ended));
        let mut side: c_int = 0;
        // SAFETY: the cursor is live.
        let search_near = unsafe { (*self.cursor).search_near };
        // SAFETY: the cursor is live and its key is set; the place is ours.
        let result = unsafe { search_near(self.cursor, &raw mut side) };
        // It may be at the neighbour before the key.
        if result == 0 && side < 0 {
            return self.next();
        }
        self.reached(result)
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        let result = step!(self.cursor, next);
        self.reached(result)
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        let result = step!(self.cursor, prev);
        self.reached(result)
    }

    #[inline]
    fn valid(&self) -> bool {
        self.valid
    }

    #[inline]
    fn key(&self) -> &[u8] {
        assert!(self.valid, "a key of no entry");
        shown(&self.key, self.zero_ended)
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        assert!(self.valid, "a value of no entry");
        // SAFETY: the cursor is live.
        let get_value = unsafe { (*self.cursor).get_value };
        // SAFETY: the cursor stands on an entry; raw values are items.
        let got = unsafe { get_value(self.cursor, &raw mut self.value) };
        self.check(got)?;
        Ok(shown(&self.value, self.zero_ended))
    }
}
