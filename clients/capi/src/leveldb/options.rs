//! Options of databases, reads and writes.

use std::ffi::c_int;
use std::sync::Arc;

use crate::callbacks::comparator::CallerOrder;
use crate::handle::Handle;
use crate::leveldb::objects::{
    give, leveldb_cache_t, leveldb_comparator_t, leveldb_env_t, leveldb_filterpolicy_t, take_back,
};
use crate::leveldb::{leveldb_logger_t, leveldb_snapshot_t};

/// LevelDB's default for `write_buffer_size`.
const WRITE_BUFFER_BYTES_DEFAULT: usize = 4 << 20;
/// Bytes of the cache that LevelDB makes if the options name none.
const CACHE_BYTES_DEFAULT: usize = 8 << 20;

/// Options of a database. Setters that are without effect are listed in the header.
pub struct leveldb_options_t {
    pub(crate) order: Option<Arc<CallerOrder>>,
    pub(crate) filter_bits: Option<u32>,
    pub(crate) create_if_missing: bool,
    pub(crate) error_if_exists: bool,
    pub(crate) write_buffer_bytes: usize,
    pub(crate) cache_bytes: usize,
    pub(crate) compression: bool,
}

impl Default for leveldb_options_t {
    fn default() -> leveldb_options_t {
        leveldb_options_t {
            order: None,
            filter_bits: None,
            create_if_missing: false,
            error_if_exists: false,
            write_buffer_bytes: WRITE_BUFFER_BYTES_DEFAULT,
            cache_bytes: CACHE_BYTES_DEFAULT,
            compression: true,
        }
    }
}

impl std::fmt::Debug for leveldb_options_t {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("leveldb_options_t").finish_non_exhaustive()
    }
}

/// Options of a read.
#[derive(Debug)]
pub struct leveldb_readoptions_t {
    /// The snapshot to read; the null handle for none.
    pub(crate) snapshot: SnapshotChoice,
}

/// The snapshot of a read, which may be none.
#[derive(Debug)]
pub(crate) struct SnapshotChoice(pub(crate) Handle);

/// Options of a write.
#[derive(Debug)]
pub struct leveldb_writeoptions_t {
    pub(crate) sync: bool,
}

/// Sets an option of the object; does nothing if the object is NULL.
///
/// # Safety
/// `object` must be NULL or live, and not in use by another thread.
unsafe fn set<T>(object: *mut T, set: impl FnOnce(&mut T)) {
    // SAFETY: guaranteed by the caller.
    if let Some(object) = unsafe { object.as_mut() } {
        set(object);
    }
}

/// Makes options with LevelDB's defaults.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_options_create() -> *mut leveldb_options_t {
    give(leveldb_options_t::default())
}

/// Destroys options. Databases opened with them keep their settings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_options_destroy(options: *mut leveldb_options_t) {
    // SAFETY: the header requires NULL or live options.
    unsafe { take_back(options) };
}

/// Sets the order of keys; NULL for the bytewise order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_options_set_comparator(
    options: *mut leveldb_options_t,
    comparator: *mut leveldb_comparator_t,
) {
    // SAFETY: the header requires NULL or a live comparator.
    let comparator = unsafe { comparator.as_ref() };
    let order = comparator.map(|comparator| Arc::clone(&comparator.0));
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| options.order = order) };
}

/// Sets the number of filter bits to that of the policy; NULL, and a policy of the caller, stand
/// for the default of 10.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_options_set_filter_policy(
    options: *mut leveldb_options_t,
    policy: *mut leveldb_filterpolicy_t,
) {
    // SAFETY: the header requires NULL or a live policy.
    let bits = unsafe { policy.as_ref() }.and_then(|policy| policy.bits);
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| options.filter_bits = bits) };
}

/// Sets whether a missing database is created.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_options_set_create_if_missing(
    options: *mut leveldb_options_t,
    create: u8,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| options.create_if_missing = create != 0) };
}

/// Sets whether an existing database is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_options_set_error_if_exists(
    options: *mut leveldb_options_t,
    error: u8,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| options.error_if_exists = error != 0) };
}

/// Without effect: damage is always an error.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_options_set_paranoid_checks(
    _options: *mut leveldb_options_t,
    _paranoid: u8,
) {
}

/// Without effect: there is one environment.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_options_set_env(
    _options: *mut leveldb_options_t,
    _env: *mut leveldb_env_t,
) {
}

/// Without effect: nothing is logged.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_options_set_info_log(
    _options: *mut leveldb_options_t,
    _logger: *mut leveldb_logger_t,
) {
}

/// Sets the share of writes in the memory budget, which is this plus the capacity of the cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_options_set_write_buffer_size(
    options: *mut leveldb_options_t,
    bytes: usize,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| options.write_buffer_bytes = bytes) };
}

/// Without effect: mapped tables take no descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_options_set_max_open_files(
    _options: *mut leveldb_options_t,
    _files: c_int,
) {
}

/// Sets the share of reads in the memory budget to the cache's capacity; NULL for 8 MiB.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_options_set_cache(
    options: *mut leveldb_options_t,
    cache: *mut leveldb_cache_t,
) {
    // SAFETY: the header requires NULL or a live cache.
    let cache = unsafe { cache.as_ref() };
    let bytes = cache.map_or(CACHE_BYTES_DEFAULT, |cache| cache.capacity);
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| options.cache_bytes = bytes) };
}

/// Without effect: pages have 4096 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_options_set_block_size(_options: *mut leveldb_options_t, _bytes: usize) {}

/// Without effect: pages have no restart points.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_options_set_block_restart_interval(
    _options: *mut leveldb_options_t,
    _interval: c_int,
) {
}

/// Without effect: the length of a table follows from the memory budget.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_options_set_max_file_size(
    _options: *mut leveldb_options_t,
    _bytes: usize,
) {
}

/// Sets whether values are compressed: 0 for no, anything else for CairnDB's own compression.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_options_set_compression(
    options: *mut leveldb_options_t,
    compression: c_int,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| options.compression = compression != 0) };
}

/// Makes read options: of the current state.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_readoptions_create() -> *mut leveldb_readoptions_t {
    give(leveldb_readoptions_t {
        snapshot: SnapshotChoice(Handle::NULL),
    })
}

/// Destroys read options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_readoptions_destroy(options: *mut leveldb_readoptions_t) {
    // SAFETY: the header requires NULL or live options.
    unsafe { take_back(options) };
}

/// Without effect: what is read is always verified, once per open.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_readoptions_set_verify_checksums(
    _options: *mut leveldb_readoptions_t,
    _verify: u8,
) {
}

/// Without effect: the operating system caches mapped tables.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_readoptions_set_fill_cache(
    _options: *mut leveldb_readoptions_t,
    _fill: u8,
) {
}

/// Sets the snapshot to read; NULL for the current state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_readoptions_set_snapshot(
    options: *mut leveldb_readoptions_t,
    snapshot: *const leveldb_snapshot_t,
) {
    let choice = SnapshotChoice(Handle::of(snapshot));
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| options.snapshot = choice) };
}

/// Makes write options: not synced.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_writeoptions_create() -> *mut leveldb_writeoptions_t {
    give(leveldb_writeoptions_t { sync: false })
}

/// Destroys write options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_writeoptions_destroy(options: *mut leveldb_writeoptions_t) {
    // SAFETY: the header requires NULL or live options.
    unsafe { take_back(options) };
}

/// Sets whether a write returns only once it survives a power failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_writeoptions_set_sync(
    options: *mut leveldb_writeoptions_t,
    sync: u8,
) {
    // SAFETY: the header requires NULL or live options.
    unsafe { set(options, |options| options.sync = sync != 0) };
}
