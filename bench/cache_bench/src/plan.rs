//! The plan of one run: everything the measuring process needs.

use serde::{Deserialize, Serialize};

/// Shares of the operations in percent; they add up to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mix {
    /// Look up, and insert if not found.
    pub(crate) lookup_insert: u64,
    /// Insert and hold the value until the thread's next operation.
    pub(crate) insert: u64,
    /// Insert without holding the value.
    pub(crate) blind_insert: u64,
    /// Look up.
    pub(crate) lookup: u64,
    /// Erase.
    pub(crate) erase: u64,
}

/// The plan of one cache in one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The cache.
    pub(crate) cache: String,
    /// The round, counted from 1.
    pub(crate) round: u64,
    /// `classic` or `modern`.
    pub(crate) profile: String,
    /// Number of concurrent threads.
    pub(crate) threads: u64,
    /// Capacity of the cache in bytes.
    pub(crate) cache_bytes: u64,
    /// Binary logarithm of the number of shards, or the cache's own choice.
    pub(crate) shard_bits: Option<u32>,
    /// Exclusive upper bound of the keys.
    pub(crate) max_key: u64,
    /// Requested ratio of keys that fit in the cache to all keys.
    pub(crate) resident_ratio: f64,
    /// Value size in bytes.
    pub(crate) value_bytes: u64,
    /// A key is the smallest of `skew` + 1 draws.
    pub(crate) skew: u32,
    /// Shares of the operations.
    pub(crate) mix: Mix,
    /// Whether threads hold the last value until their next operation.
    pub(crate) hold: bool,
    /// Whether only the first bytes of values are filled and checked.
    pub(crate) lean: bool,
    /// Whether the cache is filled before the run.
    pub(crate) populate: bool,
    /// Number of warm-up operations per thread.
    pub(crate) warmup_ops: u64,
    /// Number of operations per thread.
    pub(crate) ops_per_thread: u64,
    /// Number of operations per thread in the latency pass.
    pub(crate) latency_ops: u64,
    /// The seed of the draws.
    pub(crate) seed: u64,
}
