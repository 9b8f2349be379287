//! RocksDB's C interface: the functions that reading needs, looked up by name.
//!
//! The types are those of `rocksdb/c.h` of version 7.8, which later versions keep.

#![expect(unsafe_code, reason = "functions of a C library, looked up by name")]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::ForeignError;

/// Names of the library: the one without a version belongs to the development package.
const NAMES: [&str; 9] = [
    "librocksdb.so",
    "librocksdb.so.11",
    "librocksdb.so.10",
    "librocksdb.so.9",
    "librocksdb.so.8.9",
    "librocksdb.so.8",
    "librocksdb.so.7.8",
    "librocksdb.so.7",
    "librocksdb.dylib",
];

/// Where a function writes an error, if any.
pub(crate) type ErrorPointer = *mut *mut c_char;

/// Declares the functions, with a field for each, named without the prefix.
macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of the library.
        #[derive(Debug)]
        pub(crate) struct Api {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Last, so that the functions do not outlive it.
            _library: Library,
        }

        impl Api {
            fn find(library: Library) -> Result<Api, ForeignError> {
                Ok(Api {
                    $($name: {
                        let symbol = concat!("rocksdb_", stringify!($name));
                        // SAFETY: the type is the one that the library's header declares.
                        let found = unsafe { library.get(symbol.as_bytes()) };
                        *found.map_err(|_| {
                            ForeignError(format!("RocksDB's library has no function {symbol}"))
                        })?
                    },)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    options_create: fn() -> *mut c_void;
    options_destroy: fn(*mut c_void);
    options_set_db_log_dir: fn(*mut c_void, *const c_char);
    options_set_max_open_files: fn(*mut c_void, c_int);
    list_column_families: fn(*const c_void, *const c_char, *mut usize, ErrorPointer) -> *mut *mut c_char;
    list_column_families_destroy: fn(*mut *mut c_char, usize);
    open_for_read_only_column_families: fn(*const c_void, *const c_char, c_int, *const *const c_char, *const *const c_void, *mut *mut c_void, c_uchar, ErrorPointer) -> *mut c_void;
    column_family_handle_destroy: fn(*mut c_void);
    close: fn(*mut c_void);
    readoptions_create: fn() -> *mut c_void;
    readoptions_destroy: fn(*mut c_void);
    readoptions_set_verify_checksums: fn(*mut c_void, c_uchar);
    readoptions_set_fill_cache: fn(*mut c_void, c_uchar);
    create_iterator_cf: fn(*mut c_void, *const c_void, *mut c_void) -> *mut c_void;
    iter_destroy: fn(*mut c_void);
    iter_valid: fn(*const c_void) -> c_uchar;
    iter_seek_to_first: fn(*mut c_void);
    iter_next: fn(*mut c_void);
    iter_key: fn(*const c_void, *mut usize) -> *const u8;
    iter_value: fn(*const c_void, *mut usize) -> *const u8;
    iter_get_error: fn(*const c_void, ErrorPointer);
    free: fn(*mut c_void);
}

impl Api {
    /// Loads the library from where the system's loader finds it.
    pub(crate) fn load() -> Result<Api, ForeignError> {
        let flags = RTLD_NOW | RTLD_LOCAL | libc::RTLD_NODELETE;
        let library = NAMES.iter().find_map(|name| {
            // SAFETY: loading runs the constructors of a library that the system has installed
            // under RocksDB's name.
            unsafe { Library::open(Some(*name), flags) }.ok()
        });
        let library = library.ok_or_else(|| {
            let message = "RocksDB's library is not on this machine; install it, as Debian's \
                package librocksdb7.8 does";
            ForeignError(message.to_owned())
        })?;
        Api::find(library)
    }

    /// Turns what a function has written to its error pointer into a result.
    pub(crate) fn outcome(&self, error: *mut c_char) -> Result<(), ForeignError> {
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: the library has written a string that ends with a zero byte.
        let text = unsafe { CStr::from_ptr(error) };
        let text = text.to_string_lossy().into_owned();
        // SAFETY: the string is the caller's, who frees it with the library's function, and it was
        // copied.
        unsafe { (self.free)(error.cast()) };
        Err(ForeignError(text))
    }
}
