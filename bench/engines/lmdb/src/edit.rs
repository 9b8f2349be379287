//! A cursor in a write transaction.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use bench_core::fault::Fault;

use crate::cursor::slice;
use crate::sys::{Api, Bytes, CURSOR_SET_RANGE, NOTFOUND};

/// A cursor in a write transaction, which outlives it.
pub(crate) struct Edit<'e> {
    api: &'e Api,
    cursor: *mut c_void,
    key: Bytes,
    value: Bytes,
    valid: bool,
}

impl Drop for Edit<'_> {
    fn drop(&mut self) {
        // SAFETY: live, and not used again; its transaction is live too.
        unsafe { (self.api.cursor_close)(self.cursor) };
    }
}

impl<'e> Edit<'e> {
    /// Opens a cursor in `writer`, a live write transaction.
    #[inline]
    pub(crate) fn new(api: &'e Api, writer: *mut c_void, dbi: c_uint) -> Result<Self, Fault> {
        let mut cursor = null_mut();
        // SAFETY: the transaction is live.
        api.check(unsafe { (api.cursor_open)(writer, dbi, &raw mut cursor) })?;
        Ok(Self {
            api,
            cursor,
            key: Bytes::EMPTY,
            value: Bytes::EMPTY,
            valid: false,
        })
    }

    /// Moves the cursor. Returns whether it is at an entry.
    #[inline]
    pub(crate) fn go(&mut self, operation: c_int) -> Result<bool, Fault> {
        let (key, value) = (&raw mut self.key, &raw mut self.value);
        // SAFETY: the cursor is live, and so are the output locations.
        let went = unsafe { (self.api.cursor_get)(self.cursor, key, value, operation) };
        self.valid = went == 0;
        if went != NOTFOUND {
            self.api.check(went)?;
        }
        Ok(self.valid)
    }

    /// Moves to the first entry at or after `key`. Returns whether there is one.
    #[inline]
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<bool, Fault> {
        self.key = Bytes::of(key);
        self.go(CURSOR_SET_RANGE)
    }

    /// Returns the current entry.
    #[inline]
    pub(crate) fn entry(&self) -> (&[u8], &[u8]) {
        assert!(self.valid, "an entry without a position");
        (slice(&self.key), slice(&self.value))
    }

    /// Deletes the current entry; the next step comes to the one after it.
    #[inline]
    pub(crate) fn delete(&mut self) -> Result<(), Fault> {
        self.valid = false;
        // SAFETY: the cursor is live.
        self.api
            .check(unsafe { (self.api.cursor_del)(self.cursor, 0) })
    }
}
