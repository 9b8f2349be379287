//! The iterator of LevelDB and RocksDB as a cursor.

use std::ffi::{c_char, c_uchar, c_void};
use std::ptr::null_mut;

use bench_core::engine::Cursor;
use bench_core::fault::Fault;

use crate::text::{Free, outcome};
use crate::{Library, symbol};

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of an iterator, by their C names without the library's prefix.
        #[derive(Debug)]
        pub struct CursorFunctions {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            free: Free,
        }

        impl CursorFunctions {
            /// Looks up the functions with this name prefix in a library.
            ///
            /// # Errors
            /// If a function is missing; the error names it.
            ///
            /// # Safety
            /// The library must declare them as LevelDB's `c.h` does.
            pub unsafe fn find(library: &Library, title: &str, prefix: &str) -> Result<Self, Fault> {
                Ok(Self {
                    $($name: {
                        let name = format!("{prefix}{}", stringify!($name));
                        // SAFETY: guaranteed by the caller.
                        unsafe { symbol(library, title, &name) }?
                    },)*
                    // SAFETY: guaranteed by the caller.
                    free: unsafe { symbol(library, title, &format!("{prefix}free")) }?,
                })
            }
        }
    };
}

functions! {
    create_iterator: fn(*mut c_void, *const c_void) -> *mut c_void;
    iter_destroy: fn(*mut c_void);
    iter_valid: fn(*const c_void) -> c_uchar;
    iter_seek_to_first: fn(*mut c_void);
    iter_seek_to_last: fn(*mut c_void);
    iter_seek: fn(*mut c_void, *const u8, usize);
    iter_next: fn(*mut c_void);
    iter_prev: fn(*mut c_void);
    iter_key: fn(*const c_void, *mut usize) -> *const u8;
    iter_value: fn(*const c_void, *mut usize) -> *const u8;
    iter_get_error: fn(*const c_void, *mut *mut c_char);
}

/// An iterator of the library.
#[derive(Debug)]
pub struct IteratorCursor<'c> {
    api: &'c CursorFunctions,
    iterator: *mut c_void,
}

impl<'c> IteratorCursor<'c> {
    /// Creates a cursor over a database with these read options.
    ///
    /// # Safety
    /// Both must be live, belong to the library of `api` and outlive the cursor.
    pub unsafe fn new(
        api: &'c CursorFunctions,
        db: *mut c_void,
        read_options: *const c_void,
    ) -> Self {
        // SAFETY: guaranteed by the caller.
        let iterator = unsafe { (api.create_iterator)(db, read_options) };
        // SAFETY: just created, with what the caller guarantees to outlive it.
        unsafe { Self::of(api, iterator) }
    }

    /// Creates a cursor that owns an iterator.
    ///
    /// # Safety
    /// The iterator must be live and used by nothing else; what it reads must outlive the cursor.
    pub const unsafe fn of(api: &'c CursorFunctions, iterator: *mut c_void) -> Self {
        Self { api, iterator }
    }
}

impl Drop for IteratorCursor<'_> {
    fn drop(&mut self) {
        // SAFETY: created by this cursor, which alone uses it.
        unsafe { (self.api.iter_destroy)(self.iterator) };
    }
}

impl Cursor for IteratorCursor<'_> {
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
        debug_assert!(self.valid(), "a step without an entry");
        // SAFETY: the iterator is live and positioned on an entry.
        unsafe { (self.api.iter_next)(self.iterator) };
        Ok(())
    }

    #[inline]
    fn prev(&mut self) -> Result<(), Fault> {
        debug_assert!(self.valid(), "a step without an entry");
        // SAFETY: the iterator is live and positioned on an entry.
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
        debug_assert!(self.valid(), "a key without an entry");
        let mut length = 0;
        // SAFETY: the iterator is live and positioned on an entry.
        let bytes = unsafe { (self.api.iter_key)(self.iterator, &raw mut length) };
        // SAFETY: the bytes stay valid until the next step, which needs this cursor unborrowed.
        unsafe { std::slice::from_raw_parts(bytes, length) }
    }

    #[inline]
    fn value(&mut self) -> Result<&[u8], Fault> {
        debug_assert!(self.valid(), "a value without an entry");
        let mut length = 0;
        // SAFETY: the iterator is live and positioned on an entry.
        let bytes = unsafe { (self.api.iter_value)(self.iterator, &raw mut length) };
        // SAFETY: the bytes stay valid until the next step, which needs this cursor unborrowed.
        Ok(unsafe { std::slice::from_raw_parts(bytes, length) })
    }

    fn check(&self) -> Result<(), Fault> {
        let mut error = null_mut();
        // SAFETY: the iterator is live; the error pointer starts as null.
        unsafe { (self.api.iter_get_error)(self.iterator, &raw mut error) };
        // SAFETY: null, or a string of the library that nothing else refers to.
        unsafe { outcome(error, self.api.free) }
    }
}
