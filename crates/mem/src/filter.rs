//! A filter in front of one memtable, so that most gets for keys it does not hold touch one word.
//!
//! Each hash sets three bits of one 64-bit word. The words take a fixed share of the memtable's
//! capacity: about 40 bits for an entry of 16 + 100 bytes (0.1 % false hits), 14 for one of 8 + 8.
//!
//! Threads: one writer, any number of readers. All accesses are relaxed: the bits of an entry are
//! set before its sequence number is published with release, so a reader that acquired a snapshot
//! covering the entry sees them, and any other reader has no right to the entry yet.

use crate::sync::{AtomicU64, Ordering};

/// The filter's share of a memtable's capacity, as a divisor in bytes.
const CAPACITY_SHARE: usize = 32;

/// The bits of one memtable.
#[derive(Debug)]
pub(crate) struct MemFilter {
    words: Box<[AtomicU64]>,
}

impl MemFilter {
    /// A filter for a memtable of `capacity` bytes.
    pub(crate) fn new(capacity: usize) -> MemFilter {
        let words = (capacity / CAPACITY_SHARE / size_of::<u64>()).max(1);
        MemFilter {
            words: (0..words).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// Adds a key's hash. Only the writer calls this.
    #[inline]
    pub(crate) fn insert(&self, hash: u64) {
        let word = self.word(hash);
        // A load and a store, not a fetch-or: there is one writer, and a locked operation costs as
        // much as the rest of the insert.
        let bits = word.load(Ordering::Relaxed) | mask(hash);
        word.store(bits, Ordering::Relaxed);
    }

    /// Whether a key of this hash may have been added.
    #[inline]
    pub(crate) fn may_contain(&self, hash: u64) -> bool {
        let mask = mask(hash);
        self.word(hash).load(Ordering::Relaxed) & mask == mask
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the product's high half is below len"
    )]
    fn word(&self, hash: u64) -> &AtomicU64 {
        let index = (u128::from(hash) * self.words.len() as u128) >> 64;
        &self.words[index as usize]
    }
}

/// Three bits from the low end of the hash; the word is chosen by its high end.
#[inline]
fn mask(hash: u64) -> u64 {
    1 << (hash & 63) | 1 << ((hash >> 6) & 63) | 1 << ((hash >> 12) & 63)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use cairndb_base::hash64;

    #[test]
    fn what_was_added_is_found_and_little_else() {
        let filter = MemFilter::new(512 << 10);
        assert_eq!(filter.bytes(), 16 << 10);
        let (held, probes) = if cfg!(miri) {
            (100, 200)
        } else {
            (3300, 100_000)
        };
        for i in 0..held {
            filter.insert(hash64(&u64::to_le_bytes(i)));
        }
        assert!((0..held).all(|i| filter.may_contain(hash64(&i.to_le_bytes()))));
        let false_hits = (held..held + probes)
            .filter(|i| filter.may_contain(hash64(&i.to_le_bytes())))
            .count() as u64;
        assert!(false_hits * 300 < probes, "{false_hits} of {probes}");
    }

    #[test]
    fn the_smallest_filter_has_one_word() {
        let filter = MemFilter::new(0);
        assert!(!filter.may_contain(5));
        filter.insert(5);
        assert!(filter.may_contain(5));
    }
}
