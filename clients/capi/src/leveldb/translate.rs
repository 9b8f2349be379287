//! LevelDB's options as CairnDB's.

use cairndb::{Compression, Durability, MEMORY_BUDGET_MIN, Options, Result, WriteOptions};

use crate::handle::Handle;
use crate::leveldb::options::{leveldb_options_t, leveldb_readoptions_t, leveldb_writeoptions_t};

/// Returns the options with which CairnDB opens, converts and repairs.
///
/// The memory budget is the write buffer and the cache together, at least CairnDB's minimum.
///
/// # Errors
/// `InvalidArgument` if the comparator's name cannot be used.
pub(super) fn options(options: Option<&leveldb_options_t>) -> Result<Options> {
    let default = leveldb_options_t::default();
    let given = options.unwrap_or(&default);
    let budget = given.write_buffer_bytes.saturating_add(given.cache_bytes);
    let compression = if given.compression {
        Compression::Fast
    } else {
        Compression::None
    };
    let mut options = Options::new()
        .create_if_missing(given.create_if_missing)
        .error_if_exists(given.error_if_exists)
        .memory_budget(budget.max(MEMORY_BUDGET_MIN))
        .compression(compression)
        .upgrade_leveldb(true);
    if let Some(bits) = given.filter_bits {
        options = options.filter_bits_per_key(bits);
    }
    if let Some(order) = &given.order {
        options = options.comparator(order.named_freely()?);
    }
    Ok(options)
}

/// Returns the snapshot to read, the null handle for none.
///
/// # Safety
/// `options` must be NULL or live.
#[inline]
pub(super) unsafe fn snapshot(options: *const leveldb_readoptions_t) -> Handle {
    // SAFETY: guaranteed by the caller.
    let options = unsafe { options.as_ref() };
    options.map_or(Handle::NULL, |options| options.snapshot.0)
}

/// Returns the options of a write: `Os`, or `Sync` if LevelDB's option asks for it.
///
/// # Safety
/// `options` must be NULL or live.
#[inline]
pub(super) unsafe fn write_options(options: *const leveldb_writeoptions_t) -> WriteOptions {
    // SAFETY: guaranteed by the caller.
    let sync = unsafe { options.as_ref() }.is_some_and(|options| options.sync);
    let durability = if sync {
        Durability::Sync
    } else {
        Durability::Os
    };
    WriteOptions::new().durability(durability)
}
