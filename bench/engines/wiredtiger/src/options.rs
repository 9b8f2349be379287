//! WiredTiger's configuration strings for given settings.

use std::path::Path;

use bench_core::engine::{Durability, Variant};
use bench_core::workload::settings::Settings;

use crate::kind::TreeKind;

/// Uncompressed size in bytes of a page, internal or leaf, as in the program for the engine's own
/// published results; smaller in a small cache, which then holds more pages.
const PAGE_BYTES_DEFAULT: u64 = 16 << 10;
const PAGE_BYTES_SMALL: u64 = 4 << 10;
const SMALL_CACHE_BYTES: u64 = 10 << 20;
const LSM_CHUNK_BYTES_MAX: u64 = 20 << 20;
/// Minimum chunk size that the engine accepts.
const LSM_CHUNK_BYTES_MIN: u64 = 512 << 10;
/// Number of pages that the engine reserves for merges: three for each of fifteen chunks.
const LSM_MERGE_PAGES: u64 = 45;
/// Number of additional chunks that fit in the cache; the engine requires three.
const LSM_CHUNKS: u64 = 6;
/// Minimum cache size that the engine accepts.
const CACHE_BYTES_MIN: u64 = 1 << 20;
/// Maximum number of sessions: those of a row's threads and the engine's own.
const SESSIONS_MAX: u32 = 1200;
const CHECKPOINT_SECONDS: u32 = 60;
/// Size of a log segment. The engine preallocates three segments at full size: its default of 100
/// MB would be most of the space of a small database.
const LOG_FILE_BYTES: u64 = 16 << 20;
/// Percentages of the cache that may be dirty: the engine's defaults at the time of its published
/// results. With today's defaults of 5 and 20, the engine writes every page many times over instead
/// of using its memory. Random fills of a million entries in 128 MB take a B-tree 10.7 us per entry
/// with today's defaults and 2.1 us with these; batches of an LSM tree in 4 MB take 10 us and 3 us.
const DIRTY_PERCENT: (u32, u32) = (80, 95);
/// The engine's own defaults, for a B-tree in a small cache, which stalls without room for clean
/// pages: random fills of a million entries in 4 MB take 4.3 to 9.3 us per entry with these
/// percentages and 350 us with [`DIRTY_PERCENT`].
const DIRTY_PERCENT_SMALL: (u32, u32) = (5, 20);

/// Unused handles are closed after two to three seconds. The engine's default is half a minute, and
/// a tree that creates hundreds of chunks in that time would run out of memory for the handles of
/// merged chunks. Chunks that still exist are reopened when they are used.
const LSM_HANDLES: &str =
    ",file_manager=(close_handle_minimum=0,close_idle_time=1,close_scan_interval=1)";

/// The two configuration strings and the additional settings of the seed variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The configuration for opening the directory.
    pub(crate) connection: String,
    /// The configuration for creating the table.
    pub(crate) table: String,
    /// Whether keys and values are NUL-terminated strings.
    pub(crate) zero_ended: bool,
    /// Whether sequential fills of an empty table may use a bulk cursor.
    pub(crate) bulk: bool,
    /// Whether values are compressed.
    pub(crate) compressed: bool,
}

impl Chosen {
    /// Creates the configuration; `snappy` is the compression extension, if available.
    pub(crate) fn new(kind: TreeKind, settings: &Settings, snappy: Option<&Path>) -> Self {
        let seed = settings.variant == Variant::Seed;
        let snappy = snappy.filter(|_| settings.compression);
        let cache = settings.memory.total_bytes.max(CACHE_BYTES_MIN);
        Self {
            connection: connection(kind, settings, cache, snappy),
            table: table(kind, settings, cache, snappy.is_some()),
            zero_ended: seed,
            bulk: seed && settings.durability == Durability::Os,
            compressed: snappy.is_some(),
        }
    }
}

fn connection(kind: TreeKind, settings: &Settings, cache: u64, snappy: Option<&Path>) -> String {
    let fair = settings.variant == Variant::Fair;
    // Writes that must survive a power loss need the log in every variant.
    let log = match (settings.durability, settings.variant) {
        (Durability::Os, Variant::Seed) => String::new(),
        (asked, _) => format!(
            ",log=(enabled=true,file_max={LOG_FILE_BYTES}),transaction_sync=(enabled=true,method={}),checkpoint=(wait={CHECKPOINT_SECONDS})",
            if asked == Durability::Sync {
                "fsync"
            } else {
                "none"
            }
        ),
    };
    let handles = if fair && kind == TreeKind::Lsm {
        LSM_HANDLES
    } else {
        ""
    };
    let extension = snappy.map_or(String::new(), |path| {
        format!(",extensions=[\"{}\"]", path.display())
    });
    let (target, trigger) = match kind {
        TreeKind::Btree if fair && cache < SMALL_CACHE_BYTES => DIRTY_PERCENT_SMALL,
        _ => DIRTY_PERCENT,
    };
    // The counters are off by default. They report the bytes written and whether the engine is
    // idle, so they are enabled from the start; the ledger records their cost.
    format!(
        "create,cache_size={cache},eviction_dirty_target={target},eviction_dirty_trigger={trigger},\
         session_max={SESSIONS_MAX},statistics=(fast){log}{handles}{extension}"
    )
}

fn table(kind: TreeKind, settings: &Settings, cache: u64, compressed: bool) -> String {
    let page = settings
        .block_bytes
        .unwrap_or(if cache < SMALL_CACHE_BYTES {
            PAGE_BYTES_SMALL
        } else {
            PAGE_BYTES_DEFAULT
        });
    let compressor = if compressed { "snappy" } else { "none" };
    let variant = match settings.variant {
        Variant::Fair => "key_format=u,value_format=u,checksum=on".to_owned(),
        Variant::Seed => format!(
            "key_format=S,value_format=S,prefix_compression=false,checksum=off,memory_page_max={}",
            cache / 10 * 9 + cache % 10 * 9 / 10
        ),
    };
    let structure = match kind {
        TreeKind::Btree => "type=file".to_owned(),
        TreeKind::Lsm => lsm(settings, cache, page),
    };
    format!(
        "{variant},internal_page_max={page},leaf_page_max={page},block_compressor={compressor},{structure}"
    )
}

/// Returns the LSM settings. A chunk takes at most a quarter of the cache, and less in a small one:
/// other chunks and merges need room too.
fn lsm(settings: &Settings, cache: u64, page: u64) -> String {
    let room = cache.saturating_sub(LSM_MERGE_PAGES * page) / LSM_CHUNKS;
    let chunk = LSM_CHUNK_BYTES_MAX
        .min(cache / 4)
        .min(room)
        .max(LSM_CHUNK_BYTES_MIN);
    let bloom = match settings.bloom_bits {
        None => String::new(),
        Some(0) => ",bloom=false".to_owned(),
        Some(bits) => format!(",bloom_bit_count={}", bits.max(2)),
    };
    format!("type=lsm,lsm=(chunk_size={chunk}{bloom})")
}

/// The settings of a table that are shown as reported by the engine.
const SHOWN: &[&str] = &[
    "type",
    "key_format",
    "value_format",
    "checksum",
    "prefix_compression",
    "internal_page_max",
    "leaf_page_max",
    "memory_page_max",
    "chunk_size",
    "bloom_bit_count",
];

/// Returns the value of a setting in a configuration string of the engine.
pub(crate) fn reported<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut rest = text;
    loop {
        let at = rest.find(name)?;
        let whole = rest[..at].ends_with(['(', ',']) || at == 0;
        let behind = &rest[at + name.len()..];
        if let Some(value) = behind.strip_prefix('=').filter(|_| whole) {
            return value.split([',', ')']).next();
        }
        rest = behind;
    }
}

/// Returns the settings in effect, parsed from the engine's own description of the table.
pub(crate) fn describe(table: &str, kind: TreeKind) -> Vec<(String, String)> {
    let lsm_only = |name: &str| matches!(name, "chunk_size" | "bloom_bit_count");
    SHOWN
        .iter()
        .filter(|name| kind == TreeKind::Lsm || !lsm_only(name))
        .filter_map(|name| Some(((*name).to_owned(), reported(table, name)?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests;
