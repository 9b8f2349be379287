//! LRU cache: evicts the least recently used value.

use std::sync::Arc;

use cairndb_base::FileNumber;
use cairndb_env::sync::RwLock;

use cairndb_mem::cache::{NIL, Shard, Slots, hash_of, is_of_file};

/// Neighbours in usage order.
#[derive(Debug)]
struct Links {
    newer: u32,
    older: u32,
}

impl Default for Links {
    fn default() -> Links {
        Links {
            newer: NIL,
            older: NIL,
        }
    }
}

/// One shard of a cache, with exact least-recently-used eviction.
#[derive(Debug)]
pub(crate) struct LruShard {
    slots: Slots<Links>,
    newest: u32,
    oldest: u32,
    capacity: usize,
}

impl Shard for LruShard {
    fn with_capacity(capacity: usize) -> LruShard {
        LruShard {
            slots: Slots::new(),
            newest: NIL,
            oldest: NIL,
            capacity,
        }
    }

    fn insert(&mut self, key: u128, hash: u64, value: Arc<[u8]>, charge: usize) {
        self.erase(key, hash);
        if Slots::<Links>::new().usage_with(charge) > self.capacity {
            return;
        }
        while self.slots.usage_with(charge) > self.capacity {
            self.evict_one();
        }
        let index = self.slots.insert(key, hash, value, charge);
        self.push_newest(index);
        debug_assert!(self.slots.usage() <= self.capacity);
    }

    fn lookup(shard: &RwLock<LruShard>, key: u128, hash: u64) -> Option<Arc<[u8]>> {
        let mut shard = shard.write();
        let index = shard.slots.find(key, hash)?;
        if index != shard.newest {
            shard.unlink(index);
            shard.push_newest(index);
        }
        shard.slots.slot(index).value.clone()
    }

    fn erase(&mut self, key: u128, hash: u64) -> bool {
        let Some(index) = self.slots.find(key, hash) else {
            return false;
        };
        self.remove(index);
        true
    }

    fn evict_file(&mut self, file: FileNumber) {
        for index in self.slots.matching(|key| is_of_file(key, file)) {
            self.remove(index);
        }
    }

    fn usage(&self) -> usize {
        self.slots.usage()
    }

    /// Moves the newest values that fit into a slab of the correct size.
    fn set_capacity(&mut self, capacity: usize) {
        self.capacity = capacity;
        if self.slots.usage() <= capacity {
            return;
        }
        let mut kept = LruShard::with_capacity(capacity);
        let mut index = self.newest;
        while index != NIL {
            let slot = self.slots.slot_mut(index);
            if let Some(value) = slot.value.take()
                && kept.slots.usage_with(slot.charge) <= capacity
            {
                let hash = hash_of(slot.key);
                let at = kept.slots.insert(slot.key, hash, value, slot.charge);
                kept.push_oldest(at);
            }
            index = self.slots.slot(index).policy.older;
        }
        *self = kept;
    }

    fn count(&self) -> usize {
        self.slots.count()
    }
}

impl LruShard {
    /// Drops the oldest value, or the slab itself if that alone is too large.
    fn evict_one(&mut self) {
        if self.oldest == NIL {
            self.slots = Slots::new();
        } else {
            self.remove(self.oldest);
        }
    }

    fn remove(&mut self, index: u32) {
        self.unlink(index);
        self.slots.remove(index);
    }

    fn unlink(&mut self, index: u32) {
        let Links { newer, older } = self.slots.slot(index).policy;
        match newer {
            NIL => self.newest = older,
            newer => self.slots.slot_mut(newer).policy.older = older,
        }
        match older {
            NIL => self.oldest = newer,
            older => self.slots.slot_mut(older).policy.newer = newer,
        }
    }

    fn push_newest(&mut self, index: u32) {
        let older = self.newest;
        self.slots.slot_mut(index).policy = Links { newer: NIL, older };
        match older {
            NIL => self.oldest = index,
            older => self.slots.slot_mut(older).policy.newer = index,
        }
        self.newest = index;
    }

    fn push_oldest(&mut self, index: u32) {
        let newer = self.oldest;
        self.slots.slot_mut(index).policy = Links { newer, older: NIL };
        match newer {
            NIL => self.newest = index,
            newer => self.slots.slot_mut(newer).policy.older = index,
        }
        self.oldest = index;
    }
}

#[cfg(test)]
mod tests;
