//! The two interfaces of a cache, over shards that each keep their own eviction order.
//!
//! A key's hash picks its shard. The capacity is divided evenly among the shards; the shares add up
//! exactly.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairndb_base::{FileNumber, PageCache};
use cairndb_env::sync::RwLock;

use super::key::{hash_of, page_key};

/// Maximum default number of shards: more do not help with fewer than dozens of threads.
const SHARDS_MAX: usize = 16;
/// Minimum default size of a shard in bytes, so that a multi-page extent still fits.
const SHARD_BYTES_MIN: usize = 256 << 10;
/// Number of bytes that an `Arc<[u8]>` allocates besides its contents: two reference counts.
const ARC_HEADER_BYTES: usize = 2 * size_of::<usize>();

/// A bounded map from numbers to bytes, shared by all threads.
pub trait Cache: Debug + Send + Sync {
    /// Stores `value` under `key`, replacing any previous value, and evicts others until `charge`
    /// and the bookkeeping fit. A value whose charge exceeds its shard's share is not kept.
    fn insert(&self, key: u128, value: Arc<[u8]>, charge: usize);
    /// Returns the value under `key` and marks it as used.
    fn lookup(&self, key: u128) -> Option<Arc<[u8]>>;
    /// Drops the value under `key`; returns whether one existed.
    fn erase(&self, key: u128) -> bool;
    /// Returns the sum of the charges of all values and the bytes of slots and buckets.
    fn usage(&self) -> usize;
    /// Returns the bound on [`Cache::usage`].
    fn capacity(&self) -> usize;
    /// Changes the bound; evicts immediately if the bound shrinks.
    fn set_capacity(&self, bytes: usize);
    /// Returns the number of values held.
    fn len(&self) -> usize;
    /// Returns whether the cache holds no values.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One shard: a bounded map with an eviction order. Its methods are called under the shard's lock.
pub trait Shard: Debug + Send + Sync + Sized {
    /// Returns an empty shard of this capacity, which allocates nothing yet.
    fn with_capacity(bytes: usize) -> Self;
    /// See [`Cache::insert`]. Here and below, `hash` is the key's hash.
    fn insert(&mut self, key: u128, hash: u64, value: Arc<[u8]>, charge: usize);
    /// See [`Cache::lookup`]; takes the lock in the mode that the eviction order needs.
    fn lookup(shard: &RwLock<Self>, key: u128, hash: u64) -> Option<Arc<[u8]>>;
    /// See [`Cache::erase`].
    fn erase(&mut self, key: u128, hash: u64) -> bool;
    /// Drops all pages of `file`.
    fn evict_file(&mut self, file: FileNumber);
    /// See [`Cache::usage`].
    fn usage(&self) -> usize;
    /// See [`Cache::set_capacity`].
    fn set_capacity(&mut self, bytes: usize);
    /// See [`Cache::len`].
    fn count(&self) -> usize;
}

/// A cache of shards. Use it under the name `ClockCache`.
#[derive(Debug)]
pub struct ShardedCache<S> {
    shards: Box<[RwLock<S>]>,
    capacity: AtomicUsize,
}

impl<S: Shard> ShardedCache<S> {
    /// Returns a cache bounded by `capacity` bytes, with the default number of shards for this
    /// capacity.
    pub fn new(capacity: usize) -> ShardedCache<S> {
        let shards = (capacity / SHARD_BYTES_MIN).clamp(1, SHARDS_MAX);
        ShardedCache::with_shards(capacity, shards)
    }

    /// Returns a cache bounded by `capacity` bytes, with `shards` shards but at least one.
    pub fn with_shards(capacity: usize, shards: usize) -> ShardedCache<S> {
        let shards = shards.max(1);
        let shard = |index| RwLock::new(S::with_capacity(share_of(capacity, index, shards)));
        ShardedCache {
            shards: (0..shards).map(shard).collect(),
            capacity: AtomicUsize::new(capacity),
        }
    }

    /// Returns the number of shards.
    pub fn shard_count(&self) -> usize {
        self.shards.len()
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the product's high half is below len"
    )]
    fn shard(&self, hash: u64) -> &RwLock<S> {
        // Uses the hash's high bits, because its low bits select the bucket within a shard.
        let index = (u128::from(hash) * self.shards.len() as u128) >> 64;
        &self.shards[index as usize]
    }
}

impl<S: Shard> Cache for ShardedCache<S> {
    fn insert(&self, key: u128, value: Arc<[u8]>, charge: usize) {
        let hash = hash_of(key);
        self.shard(hash).write().insert(key, hash, value, charge);
    }

    fn lookup(&self, key: u128) -> Option<Arc<[u8]>> {
        let hash = hash_of(key);
        S::lookup(self.shard(hash), key, hash)
    }

    fn erase(&self, key: u128) -> bool {
        let hash = hash_of(key);
        self.shard(hash).write().erase(key, hash)
    }

    fn usage(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().usage()).sum()
    }

    fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    fn set_capacity(&self, bytes: usize) {
        self.capacity.store(bytes, Ordering::Relaxed);
        for (index, shard) in self.shards.iter().enumerate() {
            let share = share_of(bytes, index, self.shards.len());
            shard.write().set_capacity(share);
        }
    }

    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().count()).sum()
    }
}

impl<S: Shard> PageCache for ShardedCache<S> {
    fn get(&self, file: FileNumber, page: u32) -> Option<Arc<[u8]>> {
        self.lookup(page_key(file, page))
    }

    fn insert(&self, file: FileNumber, page: u32, bytes: Arc<[u8]>) {
        let charge = bytes.len() + ARC_HEADER_BYTES;
        Cache::insert(self, page_key(file, page), bytes, charge);
    }

    fn evict_file(&self, file: FileNumber) {
        for shard in &self.shards {
            shard.write().evict_file(file);
        }
    }

    fn bytes(&self) -> usize {
        self.usage()
    }
}

/// Returns the share of shard `index` in `capacity`; the shares add up to `capacity`.
fn share_of(capacity: usize, index: usize, shards: usize) -> usize {
    capacity / shards + usize::from(index < capacity % shards)
}
