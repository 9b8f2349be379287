//! The session's cursor during a scan, in the session's read transaction; both are renewed.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;

use bench_core::engine::Cursor;
use bench_core::fault::Fault;

use crate::sys::{
    Api, Bytes, CURSOR_FIRST, CURSOR_LAST, CURSOR_NEXT, CURSOR_PREV, CURSOR_SET_RANGE, NOTFOUND,
};

/// A scan with a session's cursor.
#[derive(Debug)]
pub struct LmdbCursor<'c> {
    api: &'c Api,
    reader: *mut c_void,
    cursor: *mut c_void,
    key: Bytes,
    value: Bytes,
    valid: bool,
    session: PhantomData<&'c mut ()>,
}

impl<'c> LmdbCursor<'c> {
    /// Starts a scan with `cursor` in `reader`, a reset transaction. Nothing else uses the two
    /// during the scan.
    #[inline]
    pub(crate) fn new(
        api: &'c Api,
        reader: *mut c_void,
        cursor: *mut c_void,
    ) -> Result<Self, Fault> {
        // SAFETY: the reader is live and was reset.
        api.check(unsafe { (api.txn_renew)(reader) })?;
        // From here on, the drop resets the reader.
        let made = Self {
            api,
            reader,
            cursor,
            key: Bytes::EMPTY,
            value: Bytes::EMPTY,
            valid: false,
            session: PhantomData,
        };
        // SAFETY: the reader was renewed, and the cursor was opened in it.
        api.check(unsafe { (api.cursor_renew)(reader, cursor) })?;
        Ok(made)
    }

    #[inline]
    fn go(&mut self, operation: c_int) -> Result<(), Fault> {
        // SAFETY: cursor and reader are live; the output locations are local.
        let went = unsafe {
            (self.api.cursor_get)(
                self.cursor,
                &raw mut self.key,
                &raw mut self.value,
                operation,
            )
        };
        self.valid = went == 0;
        if went == NOTFOUND {
            Ok(())
        } else {
            self.api.check(went)
        }
    }
}

impl Drop for LmdbCursor<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the reader was renewed for this cursor alone.
        unsafe { (self.api.txn_reset)(self.reader) };
    }
}

/// Returns the bytes of a location that LMDB filled.
#[inline]
pub(crate) fn slice(bytes: &Bytes) -> &[u8] {
    // SAFETY: only called while the cursor is positioned on an entry, whose bytes stay valid until
    // it moves.
    unsafe { std::slice::from_raw_parts(bytes.start.cast::<u8>(), bytes.length) }
}

impl Cursor for LmdbCursor<'_> {
    #[inline]
    fn first(&mut self) -> Result<(), Fault> {
        self.go(CURSOR_FIRST)
    }

    #[inline]
    fn last(&mut self) -> Result<(), Fault> {
        self.go(CURSOR_LAST)
    }

    #[inline]
    fn seek(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.key = Bytes::of(key);
        self.go(CURSOR_SET_RANGE)
    }

    #[inline]
    fn next(&mut self) -> Result<(), Fault> {
        self.go(CURSOR_NEXT)
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        self.go(CURSOR_PREV)
    }

    #[inline]
    fn valid(&self) -> bool {
        self.valid
    }

    #[inline]
    fn key(&self) -> &[u8] {
        assert!(self.valid, "a key without an entry");
        slice(&self.key)
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        assert!(self.valid, "a value without an entry");
        Ok(slice(&self.value))
    }
}
