//! CLOCK cache: a moving hand evicts unused values (Corbató, 1968, with small counts).
//!
//! A lookup raises the value's count, up to [`COUNT_MAX`], under the shard's shared lock. An insert
//! that needs room advances the hand, which lowers counts and evicts values at 0. New values start
//! at 0, so a scan that reads each page once does not evict pages in use.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use cairndb_base::FileNumber;
use cairndb_env::sync::RwLock;

use super::key::{hash_of, is_of_file};
use super::sharded::{Shard, ShardedCache};
use super::slots::Slots;

/// Number of turns of the hand that a frequently used value survives.
const COUNT_MAX: u8 = 3;

/// A sharded cache with CLOCK eviction within each shard.
///
/// ```
/// use cairndb_mem::{Cache, ClockCache};
/// let cache = ClockCache::new(1 << 20);
/// cache.insert(7, vec![1u8; 100].into(), 100);
/// assert!(cache.lookup(7).is_some());
/// assert!(cache.erase(7) && cache.lookup(7).is_none());
/// ```
pub type ClockCache = ShardedCache<ClockShard>;

/// One shard of a [`ClockCache`].
#[derive(Debug)]
pub struct ClockShard {
    slots: Slots<AtomicU8>,
    hand: u32,
    capacity: usize,
}

impl Shard for ClockShard {
    fn with_capacity(capacity: usize) -> ClockShard {
        ClockShard {
            slots: Slots::new(),
            hand: 0,
            capacity,
        }
    }

    fn insert(&mut self, key: u128, hash: u64, value: Arc<[u8]>, charge: usize) {
        self.erase(key, hash);
        if Slots::<AtomicU8>::new().usage_with(charge) > self.capacity {
            return;
        }
        while self.slots.usage_with(charge) > self.capacity {
            self.evict_one();
        }
        self.slots.insert(key, hash, value, charge);
        debug_assert!(self.slots.usage() <= self.capacity);
    }

    fn lookup(shard: &RwLock<ClockShard>, key: u128, hash: u64) -> Option<Arc<[u8]>> {
        let shard = shard.read();
        let slot = shard.slots.slot(shard.slots.find(key, hash)?);
        // Relaxed, and two concurrent lookups may count as one: the count is only a hint. A count
        // at its maximum is not stored again, so that cache lines of hot values do not bounce
        // between cores.
        let count = slot.policy.load(Ordering::Relaxed);
        if count < COUNT_MAX {
            slot.policy.store(count + 1, Ordering::Relaxed);
        }
        slot.value.clone()
    }

    fn erase(&mut self, key: u128, hash: u64) -> bool {
        let Some(index) = self.slots.find(key, hash) else {
            return false;
        };
        self.slots.remove(index);
        true
    }

    fn evict_file(&mut self, file: FileNumber) {
        for index in self.slots.matching(|key| is_of_file(key, file)) {
            self.slots.remove(index);
        }
    }

    fn usage(&self) -> usize {
        self.slots.usage()
    }

    /// Evicts until the remaining charges fit, then moves the rest into a slab of matching size.
    fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
        if self.slots.usage() <= capacity {
            return;
        }
        let mut kept = ClockShard::with_capacity(capacity);
        for count in (0..=COUNT_MAX).rev() {
            for index in self.slots.matching(|_| true) {
                let slot = self.slots.slot_mut(index);
                if *slot.policy.get_mut() != count {
                    continue;
                }
                if let Some(value) = slot.value.take()
                    && kept.slots.usage_with(slot.charge) <= capacity
                {
                    let hash = hash_of(slot.key);
                    let at = kept.slots.insert(slot.key, hash, value, slot.charge);
                    *kept.slots.slot_mut(at).policy.get_mut() = count;
                }
            }
        }
        *self = kept;
    }

    fn count(&self) -> usize {
        self.slots.count()
    }
}

impl ClockShard {
    /// Advances the hand to the next value with count 0 and drops it, or drops the slab if the slab
    /// alone is too large. Terminates, because each full turn lowers every count.
    fn evict_one(&mut self) {
        if self.slots.count() == 0 {
            *self = ClockShard::with_capacity(self.capacity);
            return;
        }
        loop {
            let index = self.turn();
            let slot = self.slots.slot_mut(index);
            if slot.value.is_none() {
                continue;
            }
            match slot.policy.get_mut() {
                0 => return self.slots.remove(index),
                count => *count -= 1,
            }
        }
    }

    fn turn(&mut self) -> u32 {
        let index = self.hand;
        let next = index + 1;
        self.hand = if (next as usize) < self.slots.slot_count() {
            next
        } else {
            0
        };
        index
    }
}
