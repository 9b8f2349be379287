//! RocksDB's C interface, looked up in the library at run time.
//!
//! Every function is looked up once, when the library is loaded; a missing one is an error that
//! names it. The library is loaded with local scope, so its symbols never conflict with those of
//! another library, and is never unloaded: its thread pools outlive every database.

#![expect(unsafe_code, reason = "FFI functions looked up by name")]

use std::ffi::{c_char, c_double, c_int, c_uchar, c_void};

use bench_core::fault::Fault;
use bench_core::host::library;
use engine_capi::{CursorFunctions, Library, api, functions};

/// Names tried when no path is given: Debian's own first.
pub(crate) const SONAMES: &[&str] = &["librocksdb.so.7.8", "librocksdb.so.7", "librocksdb.so"];

/// The location to which the library writes an error string, if any.
pub(crate) type ErrorPointer = *mut *mut c_char;
/// Merges operands into a value, or into one operand if there is no value.
pub(crate) type FullMerge = unsafe extern "C" fn(
    *mut c_void,
    *const u8,
    usize,
    *const u8,
    usize,
    *const *const u8,
    *const usize,
    c_int,
    *mut c_uchar,
    *mut usize,
) -> *const u8;
/// Merges operands into one.
pub(crate) type PartialMerge = unsafe extern "C" fn(
    *mut c_void,
    *const u8,
    usize,
    *const *const u8,
    *const usize,
    c_int,
    *mut c_uchar,
    *mut usize,
) -> *const u8;
pub(crate) type DeleteValue = unsafe extern "C" fn(*mut c_void, *const u8, usize);
pub(crate) type NameOf = unsafe extern "C" fn(*mut c_void) -> *const c_char;
pub(crate) type Destructor = unsafe extern "C" fn(*mut c_void);

// The types are those of RocksDB's c.h of 7.8, which later versions keep.
functions! {
    "RocksDB", "rocksdb_";
    open_column_families: fn(*const c_void, *const c_char, c_int, *const *const c_char, *const *const c_void, *mut *mut c_void, ErrorPointer) -> *mut c_void;
    open_as_secondary_column_families: fn(
        *const c_void, *const c_char, *const c_char, c_int, *const *const c_char,
        *const *const c_void, *mut *mut c_void, ErrorPointer) -> *mut c_void;
    try_catch_up_with_primary: fn(*mut c_void, ErrorPointer);
    column_family_handle_destroy: fn(*mut c_void);
    close: fn(*mut c_void);
    drop_column_family: fn(*mut c_void, *mut c_void, ErrorPointer);
    put_cf: fn(*mut c_void, *const c_void, *mut c_void, *const u8, usize, *const u8, usize, ErrorPointer);
    merge: fn(*mut c_void, *const c_void, *const u8, usize, *const u8, usize, ErrorPointer);
    delete_cf: fn(*mut c_void, *const c_void, *mut c_void, *const u8, usize, ErrorPointer);
    delete_range_cf: fn(
        *mut c_void, *const c_void, *mut c_void, *const u8, usize, *const u8, usize, ErrorPointer);
    write: fn(*mut c_void, *const c_void, *mut c_void, ErrorPointer);
    get_pinned_cf: fn(*mut c_void, *const c_void, *mut c_void, *const u8, usize, ErrorPointer) -> *mut c_void;
    batched_multi_get_cf: fn(*mut c_void, *const c_void, *mut c_void, usize, *const *const u8, *const usize, *mut *mut c_void, *mut *mut c_char, bool);
    pinnableslice_value: fn(*const c_void, *mut usize) -> *const u8;
    pinnableslice_destroy: fn(*mut c_void);
    writebatch_create: fn() -> *mut c_void;
    writebatch_destroy: fn(*mut c_void);
    writebatch_clear: fn(*mut c_void);
    writebatch_delete: fn(*mut c_void, *const u8, usize);
    writebatch_put: fn(*mut c_void, *const u8, usize, *const u8, usize);
    property_value: fn(*mut c_void, *const c_char) -> *mut c_char;
    property_int_cf: fn(*mut c_void, *mut c_void, *const c_char, *mut u64) -> c_int;
    create_iterator_cf: fn(*mut c_void, *const c_void, *mut c_void) -> *mut c_void;
    compact_range_cf_opt: fn(*mut c_void, *mut c_void, *mut c_void, *const u8, usize, *const u8, usize);
    compactoptions_create: fn() -> *mut c_void;
    compactoptions_destroy: fn(*mut c_void);
    compactoptions_set_bottommost_level_compaction: fn(*mut c_void, c_uchar);
    flush_wal: fn(*mut c_void, c_uchar, ErrorPointer);
    flush_cf: fn(*mut c_void, *const c_void, *mut c_void, ErrorPointer);
    flushoptions_create: fn() -> *mut c_void;
    flushoptions_destroy: fn(*mut c_void);
    options_create: fn() -> *mut c_void;
    options_destroy: fn(*mut c_void);
    options_set_create_if_missing: fn(*mut c_void, c_uchar);
    options_set_create_missing_column_families: fn(*mut c_void, c_uchar);
    options_set_db_write_buffer_size: fn(*mut c_void, usize);
    options_set_arena_block_size: fn(*mut c_void, usize);
    options_set_write_buffer_size: fn(*mut c_void, usize);
    options_set_max_write_buffer_number: fn(*mut c_void, c_int);
    options_set_max_file_opening_threads: fn(*mut c_void, c_int);
    options_set_max_open_files: fn(*mut c_void, c_int);
    options_set_target_file_size_base: fn(*mut c_void, u64);
    options_set_compression: fn(*mut c_void, c_int);
    options_set_merge_operator: fn(*mut c_void, *mut c_void);
    options_set_block_based_table_factory: fn(*mut c_void, *mut c_void);
    options_enable_statistics: fn(*mut c_void);
    options_statistics_get_string: fn(*mut c_void) -> *mut c_char;
    block_based_options_create: fn() -> *mut c_void;
    block_based_options_destroy: fn(*mut c_void);
    block_based_options_set_block_cache: fn(*mut c_void, *mut c_void);
    block_based_options_set_block_size: fn(*mut c_void, usize);
    block_based_options_set_filter_policy: fn(*mut c_void, *mut c_void);
    filterpolicy_create_bloom_full: fn(c_double) -> *mut c_void;
    cache_create_lru: fn(usize) -> *mut c_void;
    cache_destroy: fn(*mut c_void);
    mergeoperator_create: fn(*mut c_void, Destructor, FullMerge, PartialMerge, DeleteValue, NameOf) -> *mut c_void;
    readoptions_create: fn() -> *mut c_void;
    readoptions_destroy: fn(*mut c_void);
    writeoptions_create: fn() -> *mut c_void;
    writeoptions_destroy: fn(*mut c_void);
    writeoptions_set_sync: fn(*mut c_void, c_uchar);
    set_perf_level: fn(c_int);
    perfcontext_create: fn() -> *mut c_void;
    perfcontext_reset: fn(*mut c_void);
    perfcontext_metric: fn(*mut c_void, c_int) -> u64;
    perfcontext_destroy: fn(*mut c_void);
    free: fn(*mut c_void);
}

/// `PerfLevel::kDisable`.
const PERF_DISABLE: c_int = 1;
/// `PerfLevel::kEnableCount`.
const PERF_COUNT: c_int = 2;
/// `rocksdb_internal_delete_skipped_count`. The count of skipped keys includes the live key that
/// each step leaves.
const PERF_DELETES_SKIPPED: c_int = 11;

api! {
    SONAMES, "librocksdb7.8", library;
    iterator: CursorFunctions = iterator;
}

fn iterator(library: &Library) -> Result<CursorFunctions, Fault> {
    // SAFETY: RocksDB declares its iterator functions with these types.
    unsafe { CursorFunctions::find(library, "RocksDB", "rocksdb_") }
}

impl Api {
    /// Returns the file it was loaded from.
    pub(crate) fn library(&self) -> library::Library {
        library::Library::at(self.open_column_families as *const ())
            .of_namespace("rocksdb::")
            .with(
                "_ZN7rocksdb9SyncPoint11GetInstanceEv",
                true,
                "exports RocksDB's test hooks (SyncPoint), which exist only if NDEBUG is not set",
            )
    }

    /// Disables the library's performance counters in the calling thread. By default the library
    /// counts each key comparison. Nothing here reads that count, and the library's own program
    /// disables it in each thread.
    pub(crate) fn count_nothing(&self) {
        // SAFETY: takes a number and changes a variable of the calling thread.
        unsafe { (self.set_perf_level)(PERF_DISABLE) };
    }

    /// Starts to count the entries that cursors of the calling thread step over.
    pub(crate) fn begin_counting(&self) {
        // SAFETY: takes a number and changes a variable of the calling thread.
        unsafe { (self.set_perf_level)(PERF_COUNT) };
        self.with_counters(|counters| {
            // SAFETY: live, and of the calling thread.
            unsafe { (self.perfcontext_reset)(counters) };
        });
    }

    /// Returns the number of dead entries that cursors of the calling thread have stepped over.
    pub(crate) fn passed(&self) -> u64 {
        self.with_counters(|counters| {
            // SAFETY: live, and of the calling thread; the metric is one of the header's.
            unsafe { (self.perfcontext_metric)(counters, PERF_DELETES_SKIPPED) }
        })
    }

    fn with_counters<R>(&self, body: impl FnOnce(*mut c_void) -> R) -> R {
        // SAFETY: takes no arguments, returns an owned object that refers to the calling thread's
        // counters.
        let counters = unsafe { (self.perfcontext_create)() };
        let result = body(counters);
        // SAFETY: created above, and not used again. The counters themselves stay.
        unsafe { (self.perfcontext_destroy)(counters) };
        result
    }

    /// Turns the error string of a call into a result and frees the string.
    #[inline]
    pub(crate) fn outcome(&self, error: *mut c_char) -> Result<(), Fault> {
        // SAFETY: null, or a string of the library that nothing else refers to.
        unsafe { engine_capi::outcome(error, self.free) }
    }

    /// Copies a string of the library and frees it; `None` for null.
    pub(crate) fn text(&self, text: *mut c_char) -> Option<String> {
        // SAFETY: null, or a string of the library that nothing else refers to.
        unsafe { engine_capi::take_text(text, self.free) }
    }
}
