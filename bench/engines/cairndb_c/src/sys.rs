//! The functions of `cairndb.h` that the adapter calls.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{CStr, c_char, c_void};

use bench_core::fault::Fault;
use bench_core::host::library;
use engine_capi::{api, functions};

/// Names of the library, the installed one last.
pub(crate) const SONAMES: &[&str] = &["libcairndb.so.0", "libcairndb.so"];

/// A pointer to an object or a handle of the library.
type Object = *mut c_void;

functions! {
    "CairnDB", "cairndb_";
    version: fn() -> *const c_char;
    error_message: fn(Object) -> *const c_char;
    error_destroy: fn(Object);
    options_create: fn() -> Object;
    options_destroy: fn(Object);
    options_set_create_if_missing: fn(Object, bool);
    options_set_memory_budget: fn(Object, usize);
    options_set_compression: fn(Object, u32);
    options_set_filter_bits_per_key: fn(Object, u32);
    open: fn(Object, *const c_char, *mut Object) -> Object;
    close: fn(Object) -> Object;
    put: fn(Object, *const u8, usize, *const u8, usize, u32) -> Object;
    delete: fn(Object, *const u8, usize, u32) -> Object;
    write: fn(Object, Object, u32) -> Object;
    get: fn(Object, Object, *const u8, usize, *mut Object) -> Object;
    get_into: fn(Object, Object, *const u8, usize, *mut u8, usize, *mut usize, *mut bool) -> Object;
    value_data: fn(Object) -> *const u8;
    value_len: fn(Object) -> usize;
    value_destroy: fn(Object);
    batch_create: fn(*mut Object) -> Object;
    batch_destroy: fn(Object) -> Object;
    batch_put: fn(Object, *const u8, usize, *const u8, usize) -> Object;
    batch_delete: fn(Object, *const u8, usize) -> Object;
    batch_clear: fn(Object) -> Object;
    iter_create: fn(Object, Object, *mut Object) -> Object;
    iter_destroy: fn(Object) -> Object;
    iter_valid: fn(Object) -> bool;
    iter_seek_to_first: fn(Object) -> Object;
    iter_seek_to_last: fn(Object) -> Object;
    iter_seek: fn(Object, *const u8, usize) -> Object;
    iter_next: fn(Object) -> Object;
    iter_prev: fn(Object) -> Object;
    iter_key: fn(Object, *mut usize) -> *const u8;
    iter_value: fn(Object, *mut usize) -> *const u8;
    compact_range: fn(Object, *const u8, usize, *const u8, usize) -> Object;
    flush: fn(Object) -> Object;
    wait_idle: fn(Object, u64, *mut bool) -> Object;
    property: fn(Object, *const c_char, *mut *mut c_char) -> Object;
    figure: fn(Object, *const c_char, *const c_char, *mut u64) -> Object;
}

/// The function that frees strings, which has LevelDB's name.
type Free = unsafe extern "C" fn(*mut c_void);

api! {
    SONAMES, "CairnDB's C library: clients/capi/install.sh", _library;
    free: Free = free;
}

fn free(library: &engine_capi::Library) -> Result<Free, Fault> {
    // SAFETY: the header declares it with this type.
    unsafe { engine_capi::symbol(library, "CairnDB", "leveldb_free") }
}

impl Api {
    /// Returns the file it was loaded from.
    pub(crate) fn library(&self) -> library::Library {
        library::Library::at(self.open as *const ())
    }

    pub(crate) fn version_text(&self) -> String {
        // SAFETY: takes no arguments and has no side effects.
        let text = unsafe { (self.version)() };
        // SAFETY: a string of the library that lives as long as it.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    }

    /// Turns the error of a call into a result and destroys it.
    #[inline]
    pub(crate) fn outcome(&self, error: Object) -> Result<(), Fault> {
        if error.is_null() {
            return Ok(());
        }
        Err(self.fault(error))
    }

    #[cold]
    fn fault(&self, error: Object) -> Fault {
        // SAFETY: the error is live.
        let text = unsafe { (self.error_message)(error) };
        // SAFETY: a string that lives as long as the error.
        let fault = Fault::new(
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned(),
        );
        // SAFETY: the error is not used any more.
        unsafe { (self.error_destroy)(error) };
        fault
    }

    /// Copies a string of the library and frees it; `None` for null.
    pub(crate) fn text(&self, text: *mut c_char) -> Option<String> {
        // SAFETY: null, or a string of the library that nothing else refers to.
        unsafe { engine_capi::take_text(text, self.free) }
    }
}
