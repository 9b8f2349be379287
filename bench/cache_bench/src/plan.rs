//! The plan of one run: everything the measuring process has to know.

use serde::{Deserialize, Serialize};

/// Shares of the operations in percent; they add up to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mix {
    /// Look up, and insert what was not found.
    pub(crate) lookup_insert: u64,
    /// Insert and keep hold of the value until the thread's next operation.
    pub(crate) insert: u64,
    /// Insert and let go.
    pub(crate) blind_insert: u64,
    /// Look up.
    pub(crate) lookup: u64,
    /// Erase.
    pub(crate) erase: u64,
}

impl Mix {
    /// All shares.
    pub(crate) const fn sum(self) -> u64 {
        self.lookup_insert + self.insert + self.blind_insert + self.lookup + self.erase
    }
}

/// One cache, one round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Which cache.
    pub(crate) cache: String,
    /// Which round, from 1.
    pub(crate) round: u64,
    /// `classic` or `modern`.
    pub(crate) profile: String,
    /// Threads that run at once.
    pub(crate) threads: u64,
    /// What the cache may hold.
    pub(crate) cache_bytes: u64,
    /// Binary logarithm of the number of shards, or the cache's own choice.
    pub(crate) shard_bits: Option<u32>,
    /// Keys are below this.
    pub(crate) max_key: u64,
    /// Requested ratio of keys that fit in the cache to all keys.
    pub(crate) resident_ratio: f64,
    /// Bytes of each value.
    pub(crate) value_bytes: u64,
    /// A key is the smallest of this many draws, and one more.
    pub(crate) skew: u32,
    /// Shares of the operations.
    pub(crate) mix: Mix,
    /// Whether threads keep hold of the last value until their next operation.
    pub(crate) hold: bool,
    /// Whether only the first bytes of values are made and checked.
    pub(crate) lean: bool,
    /// Whether the cache is filled before.
    pub(crate) populate: bool,
    /// Operations of each thread before those measured.
    pub(crate) warmup_ops: u64,
    /// Operations of each thread.
    pub(crate) ops_per_thread: u64,
    /// Operations of each thread in the latency pass.
    pub(crate) latency_ops: u64,
    /// Where draws begin.
    pub(crate) seed: u64,
}
