//! Visitors: Rust closures called through the library's callbacks.
//!
//! The library calls a visitor with a record in place, under the lock of its page. A visitor here
//! only reads, so it returns the library's no-operation constant, which is stored with the closure.

#![expect(unsafe_code, reason = "FFI callbacks")]

use std::ffi::{c_char, c_void};

use crate::sys::Api;

/// A closure for one record and the return value of its callback.
pub(crate) struct Visit<F> {
    look: F,
    nop: *const c_char,
}

impl<F: FnMut(&[u8], &[u8])> Visit<F> {
    pub(crate) const fn new(api: &Api, look: F) -> Self {
        Self { look, nop: api.nop }
    }

    /// Returns the context that the callbacks get as their last argument.
    pub(crate) const fn context(&mut self) -> *mut c_void {
        (&raw mut *self).cast()
    }

    /// The callback for a record.
    ///
    /// # Safety
    /// `context` must be that of a live visit of this very type, and the slices must be readable.
    #[expect(
        clippy::multiple_unsafe_ops_per_block,
        reason = "the library passes the two slices and the context together"
    )]
    pub(crate) unsafe extern "C" fn full(
        key: *const u8,
        key_length: usize,
        value: *const u8,
        value_length: usize,
        _new_length: *mut usize,
        context: *mut c_void,
    ) -> *const c_char {
        // SAFETY: guaranteed by the caller; the library pins the record's page during the call.
        let (visit, key, value) = unsafe {
            (
                &mut *context.cast::<Self>(),
                std::slice::from_raw_parts(key, key_length),
                std::slice::from_raw_parts(value, value_length),
            )
        };
        (visit.look)(key, value);
        visit.nop
    }

    /// The callback for an absent record.
    ///
    /// # Safety
    /// `context` must be that of a live visit of this very type.
    pub(crate) unsafe extern "C" fn empty(
        _key: *const u8,
        _key_length: usize,
        _new_length: *mut usize,
        context: *mut c_void,
    ) -> *const c_char {
        // SAFETY: guaranteed by the caller.
        unsafe { (*context.cast::<Self>()).nop }
    }
}
