//! The storage of one cache shard: a slab of slots with a chained hash index.
//!
//! Not a `HashMap`, because shards must know the exact size of their bookkeeping and eviction
//! orders link slots by number.
//!
//! Invariants: every slot is on exactly one chain, either its bucket's or the free list; `len`
//! slots hold a value; `charges` is the sum of their charges; there are at least as many buckets as
//! slots.

use std::sync::Arc;

use super::key::hash_of;

/// The slot number that means "no slot".
pub const NIL: u32 = u32::MAX;
/// Number of slots in the first slab.
const SLOTS_MIN: usize = 8;

/// A value with its key, or a free slot.
#[derive(Debug)]
pub struct Slot<P> {
    /// The key.
    pub key: u128,
    /// The value; `None` in a free slot.
    pub value: Option<Arc<[u8]>>,
    /// The charge of the value against the bound.
    pub charge: usize,
    chain: u32,
    /// The eviction order's state of the value.
    pub policy: P,
}

/// All slots of a shard.
#[derive(Debug)]
pub struct Slots<P> {
    slab: Vec<Slot<P>>,
    buckets: Vec<u32>,
    free: u32,
    len: usize,
    charges: usize,
}

impl<P: Default> Default for Slots<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Default> Slots<P> {
    /// Returns an empty store that has allocated nothing.
    pub fn new() -> Slots<P> {
        Slots {
            slab: Vec::new(),
            buckets: Vec::new(),
            free: NIL,
            len: 0,
            charges: 0,
        }
    }

    /// Returns the number of values held.
    pub fn count(&self) -> usize {
        self.len
    }

    /// Returns the number of slots, including free ones; slot numbers are below it.
    pub fn slot_count(&self) -> usize {
        self.slab.len()
    }

    /// Returns the sum of the charges and the size of the bookkeeping.
    pub fn usage(&self) -> usize {
        self.charges + bookkeeping_bytes::<P>(self.slab.capacity(), self.buckets.capacity())
    }

    /// Returns the value that [`Slots::usage`] would have after an insert of `charge`.
    pub fn usage_with(&self, charge: usize) -> usize {
        if self.free != NIL || self.slab.len() < self.slab.capacity() {
            return self.usage().saturating_add(charge);
        }
        let (slots, buckets) = self.grown();
        (self.charges + bookkeeping_bytes::<P>(slots, buckets)).saturating_add(charge)
    }

    /// Returns the slot at `index`.
    pub fn slot(&self, index: u32) -> &Slot<P> {
        &self.slab[index as usize]
    }

    /// Returns the slot at `index`.
    pub fn slot_mut(&mut self, index: u32) -> &mut Slot<P> {
        &mut self.slab[index as usize]
    }

    /// Returns the slot that holds `key`.
    pub fn find(&self, key: u128, hash: u64) -> Option<u32> {
        if self.buckets.is_empty() {
            return None;
        }
        let mut index = self.buckets[self.bucket(hash)];
        while index != NIL {
            let slot = self.slot(index);
            if slot.key == key {
                return Some(index);
            }
            index = slot.chain;
        }
        None
    }

    /// Adds a value whose key is not present, and returns its slot.
    pub fn insert(&mut self, key: u128, hash: u64, value: Arc<[u8]>, charge: usize) -> u32 {
        debug_assert!(self.find(key, hash).is_none());
        if self.free == NIL && self.slab.len() == self.slab.capacity() {
            self.grow();
        }
        let bucket = self.bucket(hash);
        let slot = Slot {
            key,
            value: Some(value),
            charge,
            chain: self.buckets[bucket],
            policy: P::default(),
        };
        let index = self.place(slot);
        self.buckets[bucket] = index;
        self.len += 1;
        self.charges += charge;
        index
    }

    fn place(&mut self, slot: Slot<P>) -> u32 {
        if self.free == NIL {
            let index = u32::try_from(self.slab.len()).expect("growth is bounded below 2^32");
            self.slab.push(slot);
            return index;
        }
        let index = self.free;
        self.free = self.slot(index).chain;
        *self.slot_mut(index) = slot;
        index
    }

    /// Empties a slot that holds a value.
    pub fn remove(&mut self, index: u32) {
        let hash = hash_of(self.slot(index).key);
        let chain = self.slot(index).chain;
        let bucket = self.bucket(hash);
        if self.buckets[bucket] == index {
            self.buckets[bucket] = chain;
        } else {
            let mut at = self.buckets[bucket];
            while self.slot(at).chain != index {
                at = self.slot(at).chain;
            }
            self.slot_mut(at).chain = chain;
        }
        let free = self.free;
        let slot = self.slot_mut(index);
        slot.chain = free;
        let held = slot.value.take();
        debug_assert!(held.is_some(), "only held slots are removed");
        self.charges -= self.slab[index as usize].charge;
        self.free = index;
        self.len -= 1;
    }

    /// Returns the slots whose keys `wanted` accepts.
    pub fn matching(&self, wanted: impl Fn(u128) -> bool) -> Vec<u32> {
        (0u32..)
            .zip(&self.slab)
            .filter(|(_, slot)| slot.value.is_some() && wanted(slot.key))
            .map(|(index, _)| index)
            .collect()
    }

    fn bucket(&self, hash: u64) -> usize {
        // The number of buckets is a power of two.
        let mask = self.buckets.len() as u64 - 1;
        usize::try_from(hash & mask).expect("below the number of buckets")
    }

    /// Returns the next sizes of slab and index. They grow by only 50%, because unused slots count
    /// against the bound.
    fn grown(&self) -> (usize, usize) {
        let slots = (self.slab.capacity() + self.slab.capacity() / 2).max(SLOTS_MIN);
        (slots, slots.next_power_of_two())
    }

    fn grow(&mut self) {
        let (slots, buckets) = self.grown();
        assert!(slots < NIL as usize, "a shard holds less than 2^32 pages");
        self.slab.reserve_exact(slots - self.slab.len());
        if buckets == self.buckets.len() {
            return;
        }
        self.buckets = vec![NIL; buckets];
        // The free list is empty when the slab grows, so every slot holds a value.
        for index in (0u32..).take(self.slab.len()) {
            let bucket = self.bucket(hash_of(self.slot(index).key));
            self.slot_mut(index).chain = self.buckets[bucket];
            self.buckets[bucket] = index;
        }
    }
}

fn bookkeeping_bytes<P>(slots: usize, buckets: usize) -> usize {
    slots * size_of::<Slot<P>>() + buckets * size_of::<u32>()
}
