//! `moka`, with its defaults. Its number of shards cannot be set.

use std::sync::Arc;

use moka::sync::Cache;

use super::{Subject, charge};
use crate::plan::Plan;

/// Bytes per entry in addition to the value: entry, key, list nodes and hash bucket, each a
/// separate allocation, and the admission filter. A test measures it.
pub(super) const ENTRY_BYTES: u64 = 450;

/// The cache.
#[derive(Debug)]
pub(crate) struct Moka(Cache<u128, Arc<[u8]>>);

impl Moka {
    /// Creates an empty cache.
    pub(crate) fn new(plan: &Plan) -> Self {
        let weight = u32::try_from(charge(plan) + ENTRY_BYTES).unwrap_or(u32::MAX);
        Self(
            Cache::builder()
                .max_capacity(plan.cache_bytes)
                .weigher(move |_, _| weight)
                .build(),
        )
    }
}

impl Subject for Moka {
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

    fn settle(&self) {
        self.0.run_pending_tasks();
    }

    fn entries(&self) -> u64 {
        self.0.entry_count()
    }

    fn usage(&self) -> u64 {
        self.0.weighted_size()
    }
}
