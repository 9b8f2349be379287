//! Number and hash of a sequence of entries, to compare what was read with what was written.

use crate::hash64;

/// Odd, so that multiplication loses no bit; the golden ratio's, so that it mixes them.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Number, length and hash of entries. The hash depends on their order. Two sequences with
/// different entries have the same hash by chance only, once in 2^64; it does not withstand an
/// attacker.
///
/// ```
/// use cairndb_base::Digest;
/// let mut digest = Digest::default();
/// digest.add(b"granite", b"grey");
/// assert_eq!((digest.entries, digest.bytes), (1, 11));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// Number of entries.
    pub entries: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
    /// Hash of the entries; 0 if there are none.
    pub hash: u64,
}

impl Digest {
    /// Appends an entry.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
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
