//! CairnDB's own page cache, and a variant with another eviction order.

use std::sync::Arc;

use cairndb_mem::Cache;
use cairndb_mem::cache::{ClockShard, Shard, ShardedCache};

use super::lru_cache::LruShard;
use super::{Subject, charge};
use crate::plan::Plan;

/// A sharded cache and the charge of each value.
#[derive(Debug)]
pub(crate) struct Ours<S> {
    cache: ShardedCache<S>,
    charge: usize,
}

/// Creates the cache that evicts the least recently used value.
pub(crate) fn lru(plan: &Plan) -> Ours<LruShard> {
    ours(plan)
}

/// Creates the cache that evicts with the CLOCK algorithm.
pub(crate) fn clock(plan: &Plan) -> Ours<ClockShard> {
    ours(plan)
}

fn ours<S: Shard>(plan: &Plan) -> Ours<S> {
    let bytes = size(plan.cache_bytes);
    let cache = match plan.shard_bits {
        Some(bits) => ShardedCache::with_shards(bytes, 1 << bits),
        None => ShardedCache::new(bytes),
    };
    Ours {
        cache,
        charge: size(charge(plan)),
    }
}

/// Converts bytes to a size, saturating at the maximum of this machine.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl<S: Shard> Subject for Ours<S> {
    #[inline]
    fn insert(&self, key: u128, value: Arc<[u8]>) {
        Cache::insert(&self.cache, key, value, self.charge);
    }

    #[inline]
    fn lookup(&self, key: u128) -> Option<Arc<[u8]>> {
        self.cache.lookup(key)
    }

    #[inline]
    fn erase(&self, key: u128) -> bool {
        self.cache.erase(key)
    }

    fn entries(&self) -> u64 {
        self.cache.len() as u64
    }

    fn usage(&self) -> u64 {
        self.cache.usage() as u64
    }

    fn shards(&self) -> Option<u64> {
        Some(self.cache.shard_count() as u64)
    }
}
