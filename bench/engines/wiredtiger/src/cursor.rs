//! The session's cursor during a scan.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::c_int;

use bench_core::engine::Cursor as Walk;
use bench_core::fault::Fault;

use crate::connection::Connection;
use crate::item::{set_key, shown, stored};
use crate::structs::{Cursor, Item};
use crate::sys::{NOTFOUND, step};

/// A scan with a session's cursor, which is reset at its end.
#[derive(Debug)]
pub struct TigerCursor<'c> {
    connection: &'c Connection<'c>,
    zero_ended: bool,
    cursor: *mut Cursor,
    /// A buffer for keys that must be copied.
    buffer: &'c mut Vec<u8>,
    key: Item,
    value: Item,
    valid: bool,
}

impl<'c> TigerCursor<'c> {
    /// Starts a scan with `cursor`, which nothing else uses during the scan.
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

    /// Reads the key of the entry that a call has reached, if any.
    #[inline]
    fn reached(&mut self, result: c_int) -> Result<(), Fault> {
        self.valid = result == 0;
        match result {
            0 => {
                // SAFETY: the cursor is live.
                let get_key = unsafe { (*self.cursor).get_key };
                // SAFETY: the cursor is positioned on an entry; raw keys are items.
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
        // Releases the page; the next use would report a fault.
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
        // SAFETY: the cursor is live and its key is set; the output location is local.
        let result = unsafe { search_near(self.cursor, &raw mut side) };
        // The cursor may be at the entry before the key.
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
        assert!(self.valid, "a key without an entry");
        shown(&self.key, self.zero_ended)
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        assert!(self.valid, "a value without an entry");
        // SAFETY: the cursor is live.
        let get_value = unsafe { (*self.cursor).get_value };
        // SAFETY: the cursor is positioned on an entry; raw values are items.
        let got = unsafe { get_value(self.cursor, &raw mut self.value) };
        self.check(got)?;
        Ok(shown(&self.value, self.zero_ended))
    }
}
