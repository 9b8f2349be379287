//! RocksDB's options for given settings.

#![expect(unsafe_code, reason = "FFI is the purpose of this crate")]

use std::ffi::{c_double, c_int, c_void};

use bench_core::workload::settings::Settings;

use crate::max_merge;
use crate::sys::Api;

/// Number of write buffers: one is filled while the previous one is flushed. This is the library's
/// default and LevelDB's behaviour.
const WRITE_BUFFERS: c_int = 2;
/// Size of the steps by which a memtable grows if several share the write buffer. The default is an
/// eighth of the buffer, of which each would take one at once. With smaller write buffers instead,
/// `fillrandom` over 200 keyspaces took a quarter less time, and `readrandom` after it three
/// quarters more.
const SHARED_ARENA_BYTES: usize = 4096;
const NO_COMPRESSION: c_int = 0;
const SNAPPY: c_int = 1;

/// The options set on open; everything else is the library's default.
///
/// The defaults also apply to a small memory. Files of 2 MB and a level base of 10 MB, which the
/// library's `OptimizeForSmallDb` sets instead of 64 and 256, write less and read more, because one
/// level becomes two. The ledger has the figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chosen {
    pub(crate) write_buffer: usize,
    /// Number of keyspaces that share the write buffer.
    pub(crate) keyspaces: u32,
    pub(crate) cache: usize,
    pub(crate) compression: c_int,
    pub(crate) bloom_bits: Option<c_double>,
    pub(crate) block: Option<usize>,
    pub(crate) file: Option<u64>,
    pub(crate) files: Option<c_int>,
    pub(crate) statistics: bool,
}

/// Converts a size to the library's `size_t`.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Chosen {
    pub(crate) fn new(settings: &Settings) -> Self {
        let files = settings.open_files.filter(|&files| files > 0);
        Self {
            write_buffer: size(settings.memory.write_bytes),
            keyspaces: settings.keyspaces,
            cache: size(settings.memory.cache_bytes),
            compression: if settings.compression {
                SNAPPY
            } else {
                NO_COMPRESSION
            },
            bloom_bits: settings
                .bloom_bits
                .filter(|&bits| bits > 0)
                .map(c_double::from),
            block: settings.block_bytes.map(size),
            file: settings.file_bytes,
            files: files.map(|files| c_int::try_from(files).unwrap_or(c_int::MAX)),
            statistics: settings.statistics,
        }
    }

    /// Creates an options object with these options; the caller destroys it.
    #[expect(
        clippy::multiple_unsafe_ops_per_block,
        reason = "consecutive setters, one reason"
    )]
    pub(crate) fn options(&self, api: &Api) -> *mut c_void {
        // SAFETY: every setter is called with the live object just created and a value of its type;
        // the options keep their own reference to the table options and own the operator.
        unsafe {
            let options = (api.options_create)();
            (api.options_set_create_if_missing)(options, 1);
            (api.options_set_write_buffer_size)(options, self.write_buffer);
            (api.options_set_max_write_buffer_number)(options, WRITE_BUFFERS);
            (api.options_set_compression)(options, self.compression);
            (api.options_set_merge_operator)(options, max_merge::operator(api));
            if self.keyspaces > 0 {
                (api.options_set_create_missing_column_families)(options, 1);
            }
            if self.keyspaces > 1 {
                (api.options_set_db_write_buffer_size)(options, self.write_buffer);
                (api.options_set_arena_block_size)(options, SHARED_ARENA_BYTES);
            }
            if let Some(file) = self.file {
                (api.options_set_target_file_size_base)(options, file);
            }
            if let Some(files) = self.files {
                (api.options_set_max_open_files)(options, files);
            }
            if self.statistics {
                (api.options_enable_statistics)(options);
            }
            let table = self.table(api);
            (api.options_set_block_based_table_factory)(options, table);
            (api.block_based_options_destroy)(table);
            options
        }
    }

    /// Creates a table options object; the caller destroys it.
    #[expect(
        clippy::multiple_unsafe_ops_per_block,
        reason = "consecutive setters, one reason"
    )]
    fn table(&self, api: &Api) -> *mut c_void {
        // SAFETY: every setter is called with the live object just created and a value of its type;
        // the object keeps its own reference to the cache and owns the filter policy.
        unsafe {
            let table = (api.block_based_options_create)();
            let cache = (api.cache_create_lru)(self.cache);
            (api.block_based_options_set_block_cache)(table, cache);
            (api.cache_destroy)(cache);
            if let Some(block) = self.block {
                (api.block_based_options_set_block_size)(table, block);
            }
            if let Some(bits) = self.bloom_bits {
                let policy = (api.filterpolicy_create_bloom_full)(bits);
                (api.block_based_options_set_filter_policy)(table, policy);
            }
            table
        }
    }
}
