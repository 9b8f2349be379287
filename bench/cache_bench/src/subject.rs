//! The caches under test: one small trait, and each cache as an implementation.
//!
//! All caches take the same 128-bit numbers as keys and the same reference-counted values, as a
//! store's page cache does. All have the same limit in bytes, including bookkeeping: ours count it
//! exactly, and the others are given the weight of an entry plus the overhead known from their
//! documentation or a measurement.

mod cairndb;
mod lru_cache;
mod moka;
mod null;
mod quick_cache;

use std::sync::Arc;

use crate::plan::Plan;

pub(crate) use cairndb::{clock, lru};
pub(crate) use moka::Moka;
pub(crate) use null::Null;
pub(crate) use quick_cache::Quick;

/// Bytes that a reference-counted value allocates in addition to its contents: two counts.
pub(crate) const ARC_BYTES: u64 = 16;

/// A cache as the benchmark uses it.
pub(crate) trait Subject: Sync {
    /// Inserts a value under a key, replacing any previous one.
    fn insert(&self, key: u128, value: Arc<[u8]>);
    /// Returns the value under a key and marks it as used.
    fn lookup(&self, key: u128) -> Option<Arc<[u8]>>;
    /// Removes the value of a key. Returns whether there was one, if the cache reports that.
    fn erase(&self, key: u128) -> bool;
    /// Finishes postponed work.
    fn settle(&self) {}
    /// Returns the number of values.
    fn entries(&self) -> u64;
    /// Returns the number of bytes charged against the limit.
    fn usage(&self) -> u64;
    /// Returns the number of shards, if the cache has shards.
    fn shards(&self) -> Option<u64> {
        None
    }
}

/// Returns the number of bytes of a value that every cache charges against the limit.
pub(crate) fn charge(plan: &Plan) -> u64 {
    plan.value_bytes + ARC_BYTES
}

/// Returns the cache's own name and the version with which the program was built.
pub(crate) fn title(cache: &str) -> String {
    let ours = env!("CARGO_PKG_VERSION");
    match cache {
        "lru" => format!("CairnDB {ours} LRU"),
        "clock" => format!("CairnDB {ours} CLOCK"),
        "quick_cache" => format!("quick_cache {}", locked("quick_cache")),
        "moka" => format!("moka {}", locked("moka")),
        _ => "Null".to_owned(),
    }
}

/// Returns the version of a package in the lock file with which the program was built.
fn locked(package: &str) -> &'static str {
    const LOCK: &str = include_str!("../../../Cargo.lock");
    let entry = LOCK
        .split("[[package]]")
        .find(|entry| entry.contains(&format!("name = \"{package}\"\n")));
    let version = entry.and_then(|entry| entry.split_once("version = \""));
    version.map_or("of unknown version", |(_, rest)| {
        rest.split('"').next().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests;
