//! Number, length and hash of a set of entries, whatever their order.
//!
//! The hash is the sum of the hashes of the entries, so that an entry can be taken out again when
//! another one replaces it. The hash of an entry is the one that a conversion compares.

use cairndb_base::Digest;
use serde::{Deserialize, Serialize};

/// What a set of entries amounts to. Two sets with different entries have the same contents by
/// chance only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Contents {
    pub(crate) entries: u64,
    /// Bytes of keys and values.
    pub(crate) bytes: u64,
    pub(crate) hash: u64,
}

fn of_entry(key: &[u8], value: &[u8]) -> Digest {
    let mut digest = Digest::default();
    digest.add(key, value);
    digest
}

impl Contents {
    /// Adds an entry.
    #[inline]
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.add_in(0, key, value);
    }

    /// Adds an entry of the keyspace whose name has the hash `keyspace`; 0 is the default one.
    #[inline]
    pub(crate) fn add_in(&mut self, keyspace: u64, key: &[u8], value: &[u8]) {
        let entry = of_entry(key, value);
        self.entries += 1;
        self.bytes += entry.bytes;
        self.hash = self.hash.wrapping_add(entry.hash ^ keyspace);
    }

    /// Takes out an entry that was added.
    pub(crate) fn remove_in(&mut self, keyspace: u64, key: &[u8], value: &[u8]) {
        let entry = of_entry(key, value);
        debug_assert!(self.entries > 0 && self.bytes >= entry.bytes);
        self.entries = self.entries.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(entry.bytes);
        self.hash = self.hash.wrapping_sub(entry.hash ^ keyspace);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_does_not_count_and_division_does() {
        let mut one = Contents::default();
        one.add(b"a", b"1");
        one.add(b"b", b"2");
        let mut other = Contents::default();
        other.add(b"b", b"2");
        other.add(b"x", b"");
        other.add(b"a", b"1");
        assert_ne!(one, other);
        other.remove_in(0, b"x", b"");
        assert_eq!(one, other);
        let mut divided = Contents::default();
        divided.add(b"a1", b"");
        divided.add(b"b", b"2");
        assert_eq!((divided.entries, divided.bytes), (one.entries, one.bytes));
        assert_ne!(divided.hash, one.hash);
    }
}
