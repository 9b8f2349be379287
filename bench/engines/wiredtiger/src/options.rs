//! WiredTiger's configuration texts for given settings.

use std::path::Path;

use bench_core::engine::{Durability, Variant};
use bench_core::workload::settings::Settings;

use crate::kind::Kind;

/// Uncompressed bytes of a page, inner or leaf, as in the program for the engine's own page of
/// results; smaller in a small cache, which then holds more of them.
const PAGE_BYTES_DEFAULT: u64 = 16 << 10;
const PAGE_BYTES_SMALL: u64 = 4 << 10;
const SMALL_CACHE_BYTES: u64 = 10 << 20;
const LSM_CHUNK_BYTES_MAX: u64 = 20 << 20;
/// The smallest chunk the engine takes.
const LSM_CHUNK_BYTES_MIN: u64 = 512 << 10;
/// Pages the engine sets aside for merges: three for each of fifteen chunks.
const LSM_MERGE_PAGES: u64 = 45;
/// Chunks that the cache has room for in addition; the engine demands three.
const LSM_CHUNKS: u64 = 6;
/// The smallest cache the engine takes.
const CACHE_BYTES_MIN: u64 = 1 << 20;
/// Room for as many threads as a row may have, and the engine's own.
const SESSIONS_MAX: u32 = 1200;
const CHECKPOINT_SECONDS: u32 = 60;
/// Segments of the log are made in advance at their full size, three of them: the engine's 100 MB
/// would be most of what a small database occupies.
const LOG_FILE_BYTES: u64 = 16 << 20;
/// Percent of the cache that may be waiting to be written: what the engine itself had in the days
/// of its page. With the 5 and 20 of today it writes every page many times over instead of using
/// the memory it was given: random fills of a million in 128 MB take a B-tree 10.7 us an entry
/// then, and 2.1 so; an LSM tree's batches in 4 MB 10 us, and 3.
const DIRTY_PERCENT: (u32, u32) = (80, 95);
/// The engine's own, for a B-tree in a small cache, which goes nowhere without room for clean
/// pages: random fills of a million in 4 MB take 4.3 to 9.3 us an entry so, and 350 with the other.
const DIRTY_PERCENT_SMALL: (u32, u32) = (5, 20);

/// Unused handles are closed after two to three seconds. The engine keeps them for half a minute,
/// and a tree that makes hundreds of chunks in that time would run out of memory for those that
/// were merged. Chunks that still exist are opened again when they are used.
const LSM_HANDLES: &str =
    ",file_manager=(close_handle_minimum=0,close_idle_time=1,close_scan_interval=1)";

/// The two configuration texts, and what the seed variant needs in addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// For opening the directory.
    pub(crate) connection: String,
    /// For creating the table.
    pub(crate) table: String,
    /// Keys and values are texts that end with zero.
    pub(crate) zero_ended: bool,
    /// Sequential fills of an empty table may use a bulk cursor.
    pub(crate) bulk: bool,
    /// Values are compressed.
    pub(crate) compressed: bool,
}

impl Chosen {
    /// `snappy` is the extension that compresses, where there is one.
    pub(crate) fn new(kind: Kind, settings: &Settings, snappy: Option<&Path>) -> Self {
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

fn connection(kind: Kind, settings: &Settings, cache: u64, snappy: Option<&Path>) -> String {
    let fair = settings.variant == Variant::Fair;
    // Writes that must survive loss of power need the log in every variant.
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
    let handles = if fair && kind == Kind::Lsm {
        LSM_HANDLES
    } else {
        ""
    };
    let extension = snappy.map_or(String::new(), |path| {
        format!(",extensions=[\"{}\"]", path.display())
    });
    let (target, trigger) = match kind {
        Kind::Btree if fair && cache < SMALL_CACHE_BYTES => DIRTY_PERCENT_SMALL,
        _ => DIRTY_PERCENT,
    };
    // The counters are off by default. They report what was written and whether the engine is idle,
    // so they are kept from the start; the ledger has what they cost.
    format!(
        "create,cache_size={cache},eviction_dirty_target={target},eviction_dirty_trigger={trigger},\
         session_max={SESSIONS_MAX},statistics=(fast){log}{handles}{extension}"
    )
}

fn table(kind: Kind, settings: &Settings, cache: u64, compressed: bool) -> String {
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
        Kind::Btree => "type=file".to_owned(),
        Kind::Lsm => lsm(settings, cache, page),
    };
    format!(
        "{variant},internal_page_max={page},leaf_page_max={page},block_compressor={compressor},{structure}"
    )
}

/// A chunk takes at most a quarter of the cache, and less in a small one: other chunks and merges
/// need room too.
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

/// The settings of a table that are shown, as the engine reports them.
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

/// The value of a setting in one of the engine's own texts.
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

/// The settings in effect, out of the engine's own description of the table.
pub(crate) fn describe(table: &str, kind: Kind) -> Vec<(String, String)> {
    let lsm_only = |name: &str| matches!(name, "chunk_size" | "bloom_bit_count");
    SHOWN
        .iter()
        .filter(|name| kind == Kind::Lsm || !lsm_only(name))
        .filter_map(|name| Some(((*name).to_owned(), reported(table, name)?.to_owned())))
        .collect()
}

#[cfg(test)]
mod tests;
