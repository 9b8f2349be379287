//! Number and hash of a sequence of entries, to compare what was read with what was written.

use cairndb_base::hash64;

/// Odd, so that multiplication loses no bit; the golden ratio's, so that it mixes them.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Number, length and hash of entries. The hash depends on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) entries: u64,
    /// Bytes of keys and values.
    pub(crate) bytes: u64,
    pub(crate) hash: u64,
}

impl Digest {
    /// Appends an entry.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) {
        self.entries += 1;
        self.bytes += key.len() as u64 + value.len() as u64;
        for part in [hash64(key), hash64(value)] {
            self.hash = (self.hash.rotate_left(23) ^ part).wrapping_mul(FACTOR);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(entries: &[(&[u8], &[u8])]) -> Digest {
        let mut digest = Digest::default();
        for (key, value) in entries {
            digest.add(key, value);
        }
        digest
    }

    #[test]
    fn order_and_division_of_the_bytes_count() {
        let digests = [
            digest(&[(b"a", b"1"), (b"b", b"2")]),
            digest(&[(b"b", b"2"), (b"a", b"1")]),
            digest(&[(b"a1", b""), (b"b", b"2")]),
            digest(&[(b"", b"a1"), (b"b", b"2")]),
            digest(&[(b"a", b"2"), (b"b", b"1")]),
            digest(&[(b"b", b"2")]),
            digest(&[]),
        ];
        for (at, one) in digests.iter().enumerate() {
            assert!(!digests[at + 1..].contains(one), "{at}");
        }
        assert_eq!((digests[0].entries, digests[0].bytes), (2, 4));
    }
}
