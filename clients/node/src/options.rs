//! The options of an open, from a JavaScript object.

use std::path::PathBuf;
use std::time::Duration;

use cairndb::{Compression, KeyspaceOptions, MEMORY_BUDGET_MIN, Options};

use crate::js::failure::Outcome;
use crate::js::scope::Value;
use crate::share::Sharing;

/// `writeBufferSize` if only `cacheSize` is given, as in `classic-level`.
const WRITE_BUFFER_BYTES_DEFAULT: usize = 4 << 20;
/// `cacheSize` if only `writeBufferSize` is given, as in `classic-level`.
const CACHE_BYTES_DEFAULT: usize = 8 << 20;

/// What an open is asked for.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) path: PathBuf,
    pub(crate) options: Options,
    pub(crate) sharing: Sharing,
    pub(crate) must_be_new: bool,
    /// A missing database is not created, whatever `createIfMissing` says.
    pub(crate) only_reads: bool,
    pub(crate) may_upgrade: bool,
}

fn flag(options: Value<'_>, name: &std::ffi::CStr, default: bool) -> Outcome<bool> {
    let value = options.optional(name)?;
    value.map_or(Ok(default), Value::boolean)
}

/// Adds what concerns followers to the options. Returns with whom a shared handle shares.
fn following(given: Value<'_>, mut options: Options) -> Outcome<(Options, Sharing)> {
    if let Some(bytes) = size(given, c"readerSpaceMax")? {
        options = options.reader_space_max(bytes as u64);
    }
    if let Some(lease_ms) = size(given, c"readerLease")? {
        options = options.reader_lease(Duration::from_millis(lease_ms as u64));
    }
    let manual = flag(given, c"manualRefresh", false)?;
    if !flag(given, c"follow", false)? {
        return Ok((options, Sharing::Owners));
    }
    // Another handle's refresh must not change what this one shows.
    let sharing = if manual {
        Sharing::Alone
    } else {
        Sharing::Followers
    };
    Ok((options.follow().manual_refresh(manual), sharing))
}

/// Returns a number of bytes or milliseconds; one that is too large counts as the largest.
pub(crate) fn size(options: Value<'_>, name: &std::ffi::CStr) -> Outcome<Option<usize>> {
    let Some(value) = options.optional(name)? else {
        return Ok(None);
    };
    let number = value.number()?.max(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion saturates, and the number is not negative"
    )]
    let bytes = number as usize;
    Ok(Some(bytes))
}

/// Returns the memory budget: what is asked for, or what LevelDB would use. Two write buffers may
/// be full at a time.
fn memory(options: Value<'_>) -> Outcome<Option<usize>> {
    if let Some(budget) = size(options, c"memory")? {
        return Ok(Some(budget));
    }
    let cache = size(options, c"cacheSize")?;
    let buffer = size(options, c"writeBufferSize")?;
    if cache.is_none() && buffer.is_none() {
        return Ok(None);
    }
    let buffers = buffer
        .unwrap_or(WRITE_BUFFER_BYTES_DEFAULT)
        .saturating_mul(2);
    let budget = cache.unwrap_or(CACHE_BYTES_DEFAULT).saturating_add(buffers);
    Ok(Some(budget.max(MEMORY_BUDGET_MIN)))
}

fn compression(options: Value<'_>) -> Outcome<Option<Compression>> {
    let Some(value) = options.optional(c"compression")? else {
        return Ok(None);
    };
    let fast = value.boolean()?;
    Ok(Some(if fast {
        Compression::Fast
    } else {
        Compression::None
    }))
}

/// Reads the options of a keyspace.
pub(crate) fn keyspace(given: Value<'_>) -> Outcome<KeyspaceOptions> {
    let mut options = KeyspaceOptions::new();
    if let Some(compression) = compression(given)? {
        options = options.compression(compression);
    }
    if let Some(bytes) = size(given, c"valueBytes")? {
        options = options.value_bytes(bytes as u64);
    }
    Ok(options)
}

impl Opening {
    /// Reads the options.
    pub(crate) fn new(path: Value<'_>, given: Value<'_>) -> Outcome<Opening> {
        let must_be_new = flag(given, c"errorIfExists", false)?;
        let may_upgrade = flag(given, c"upgrade", false)?;
        let compression = compression(given)?.unwrap_or_default();
        let read_only = flag(given, c"readOnly", false)?;
        let options = Options::new()
            .create_if_missing(flag(given, c"createIfMissing", true)?)
            .error_if_exists(must_be_new)
            .read_only(read_only)
            .upgrade_leveldb(may_upgrade)
            .upgrade_without_log(flag(given, c"upgradeWithoutLog", false)?)
            .compression(compression);
        let (mut options, mut sharing) = following(given, options)?;
        if let Some(bytes) = memory(given)? {
            options = options.memory_budget(bytes);
        }
        let only_reads = read_only || sharing != Sharing::Owners;
        if !flag(given, c"multithreading", false)? {
            sharing = Sharing::Alone;
        }
        Ok(Opening {
            path: PathBuf::from(path.string()?),
            options,
            sharing,
            must_be_new,
            only_reads,
            may_upgrade,
        })
    }
}
