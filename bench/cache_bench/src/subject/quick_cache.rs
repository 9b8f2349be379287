//! `quick_cache`, with its defaults except for the number of shards.

use std::sync::Arc;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use super::{Subject, charge};
use crate::plan::Plan;

/// Bytes per entry in addition to the value: a slot with key, pointer and links, its place in the
/// hash table, and its share of the keys remembered after eviction. A test measures it.
pub(super) const ENTRY_BYTES: u64 = 112;

/// The same weight for every entry.
#[derive(Clone, Debug)]
pub(crate) struct Weight(u64);

impl Weighter<u128, Arc<[u8]>> for Weight {
    fn weight(&self, _key: &u128, _value: &Arc<[u8]>) -> u64 {
        self.0
    }
}

/// The cache.
#[derive(Debug)]
pub(crate) struct Quick(Cache<u128, Arc<[u8]>, Weight>);

impl Quick {
    /// Creates an empty cache.
    pub(crate) fn new(plan: &Plan) -> Result<Self, String> {
        let weight = charge(plan) + ENTRY_BYTES;
        let items = usize::try_from(plan.cache_bytes / weight).unwrap_or(usize::MAX);
        let mut options = OptionsBuilder::new();
        options
            .weight_capacity(plan.cache_bytes)
            .estimated_items_capacity(items.max(1));
        if let Some(bits) = plan.shard_bits {
            options.shards(1 << bits);
        }
        let options = options
            .build()
            .map_err(|error| format!("quick_cache: {error}"))?;
        Ok(Self(Cache::with_options(
            options,
            Weight(weight),
            DefaultHashBuilder::default(),
            DefaultLifecycle::default(),
        )))
    }

    /// Returns the size of its slots and hash tables in bytes.
    #[cfg(test)]
    pub(super) fn bookkeeping(&self) -> u64 {
        let used = self.0.memory_used();
        (used.entries + used.map) as u64
    }
}

impl Subject for Quick {
    #[inline]
    fn insert(&self, key: u128, value: Arc<[u8]>) {
        self.0.insert(key, value);
    }

    #[inline]
    fn lookup(&self, key: u128) -> Option<Arc<[u8]>> {
        self.0.get(&key)
    }

    #[inline]
    fn erase(&self, key: u128) -> bool {
        self.0.remove(&key).is_some()
    }

    fn entries(&self) -> u64 {
        self.0.len() as u64
    }

    fn usage(&self) -> u64 {
        self.0.weight()
    }

    fn shards(&self) -> Option<u64> {
        Some(self.0.num_shards() as u64)
    }
}
