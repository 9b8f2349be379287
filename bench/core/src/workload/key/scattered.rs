//! Keys of random bytes that sort as their indexes do.
//!
//! The first eight bytes are a random position in the index's own share of all numbers of eight
//! bytes, so the distances of neighbours vary as those of random keys do. All other bytes are
//! random. Keys added after the planned ones have shares too, up to as many again; those after them
//! start with eight bytes `ff` and their index.
//!
//! Invariant: the first sixteen bytes of two keys differ and sort as their indexes do.

use crate::workload::random::mix;

/// Size in bytes of the parts that a key consists of.
const WORD: usize = size_of::<u64>();

/// Separates the random positions from the other bytes.
const SALT: u64 = 0x5ca7_7e4e_d000_0000;

/// A layout of keys of random bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scattered {
    bytes: usize,
    /// Size of the share of an index.
    share: u64,
    /// Number of indexes that have a share.
    shares: u64,
}

impl Scattered {
    /// Creates the layout of `keys` keys of `bytes` bytes, at least sixteen.
    pub(super) const fn new(bytes: usize, keys: u64) -> Self {
        let bytes = if bytes < 2 * WORD { 2 * WORD } else { bytes };
        let shares = if keys == 0 { 2 } else { 2 * keys };
        Self {
            bytes,
            share: u64::MAX / shares,
            shares,
        }
    }

    /// Returns the size of each key in bytes.
    pub(super) const fn bytes(self) -> usize {
        self.bytes
    }

    /// Writes the key of an index.
    #[inline]
    pub(super) fn set(self, key: &mut [u8], index: u64) {
        let (head, second) = if index < self.shares {
            let within = mix(index) % self.share;
            (index * self.share + within, mix(index ^ SALT))
        } else {
            (u64::MAX, index)
        };
        let (words, rest) = key.as_chunks_mut::<WORD>();
        for (at, word) in words.iter_mut().enumerate() {
            *word = match at {
                0 => head.swap_bytes().to_le_bytes(),
                1 => second.swap_bytes().to_le_bytes(),
                _ => other(index, at),
            };
        }
        let last = other(index, words.len());
        rest.copy_from_slice(&last[..rest.len()]);
    }

    /// Returns the index of a key, or `None` for any other bytes.
    pub(super) fn index_of(self, key: &[u8]) -> Option<u64> {
        let (head, rest) = key.split_first_chunk::<WORD>()?;
        let (second, _) = rest.split_first_chunk::<WORD>()?;
        let number = |bytes: &[u8; WORD]| u64::from_le_bytes(*bytes).swap_bytes();
        let index = match number(head) / self.share {
            index if index < self.shares => index,
            _ => number(second),
        };
        let mut expected = vec![0; self.bytes];
        self.set(&mut expected, index);
        (expected == key).then_some(index)
    }
}

/// Returns the bytes of a key from its third word on.
#[inline]
const fn other(index: u64, word: usize) -> [u8; WORD] {
    mix(index ^ SALT.wrapping_mul(word as u64)).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use crate::workload::key::Layout;

    #[test]
    fn keys_sort_as_their_indexes_and_parse_back() {
        for (bytes, keys) in [(16, 1), (24, 1000), (29, 1000), (24, 1_000_000)] {
            let layout = Layout::scattered(bytes, keys);
            let mut last = Vec::new();
            // Within the planned keys, those added after them, and those beyond any share.
            for index in (0..3000).chain([keys * 2 + 4000, u64::MAX - 1]) {
                let mut buffer = layout.buffer();
                let key = buffer.set(index);
                assert_eq!(key.len(), bytes);
                assert!(key[..16] > last[..last.len().min(16)], "{index} of {keys}");
                assert_eq!(layout.index_of(key), Some(index));
                assert_eq!(layout.index_of(buffer.missing()), None);
                last = buffer.bytes().to_vec();
                let mut other = last.clone();
                other[bytes - 1] ^= 1;
                // Of sixteen bytes, the last are the index, where there is no share.
                assert!(bytes == 16 || layout.index_of(&other).is_none());
            }
        }
    }

    #[test]
    fn keys_spread_over_half_of_all_bytes() {
        let layout = Layout::scattered(24, 10_000);
        let mut buffer = layout.buffer();
        let firsts: std::collections::BTreeSet<u8> =
            (0..10_000).map(|index| buffer.set(index)[0]).collect();
        assert_eq!(firsts.len(), 128);
    }
}
