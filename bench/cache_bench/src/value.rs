//! Values that identify their key.
//!
//! A value is a sequence of 64-bit words, each computed from the key and its position, so that any
//! byte of another key's value is detected. Filling and checking are branch-free sums: they must be
//! cheap compared with the cache, and cost the same for all caches.

use std::sync::Arc;

const WORD: usize = 8;
/// Odd, so that no two words of a value are equal.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the first word of a key's value.
#[inline]
fn first(key: u64) -> u64 {
    let mixed = (key ^ (key >> 31)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

/// Creates values and checks them.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    scratch: Vec<u8>,
    lean: bool,
}

impl Values {
    /// Creates values of this many bytes; with `lean`, only the first word is filled and checked.
    pub(crate) fn new(bytes: usize, lean: bool) -> Self {
        Self {
            scratch: vec![0; bytes],
            lean,
        }
    }

    /// Returns the number of bytes that are filled and checked.
    fn covered(&self) -> usize {
        let bytes = self.scratch.len();
        if self.lean { bytes.min(WORD) } else { bytes }
    }

    /// Creates the value of a key.
    #[inline]
    pub(crate) fn make(&mut self, key: u64) -> Arc<[u8]> {
        let covered = self.covered();
        let mut word = first(key);
        let mut chunks = self.scratch[..covered].chunks_exact_mut(WORD);
        for chunk in &mut chunks {
            chunk.copy_from_slice(&word.to_le_bytes());
            word = word.wrapping_add(STEP);
        }
        let rest = chunks.into_remainder();
        let end = word.to_le_bytes();
        rest.copy_from_slice(&end[..rest.len()]);
        Arc::from(self.scratch.as_slice())
    }

    /// Returns whether these bytes are the value of a key.
    #[inline]
    pub(crate) fn is_right(&self, key: u64, value: &[u8]) -> bool {
        if value.len() != self.scratch.len() {
            return false;
        }
        let mut word = first(key);
        let mut wrong = 0;
        let (chunks, rest) = value[..self.covered()].as_chunks::<WORD>();
        for chunk in chunks {
            wrong |= u64::from_le_bytes(*chunk) ^ word;
            word = word.wrapping_add(STEP);
        }
        wrong == 0 && rest == &word.to_le_bytes()[..rest.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_its_keys_and_nobody_elses() {
        for bytes in [1, 7, 8, 9, 10, 16, 100, 8192] {
            let mut values = Values::new(bytes, false);
            for key in [0, 1, 2, 77, u64::MAX] {
                let value = values.make(key);
                assert_eq!(value.len(), bytes);
                assert!(values.is_right(key, &value), "{bytes} bytes of {key}");
                assert!(
                    bytes < WORD || !values.is_right(key ^ 1, &value),
                    "{bytes} bytes of {key}"
                );
            }
        }
    }

    #[test]
    fn any_flipped_byte_and_any_other_length_is_noticed() {
        let mut values = Values::new(1003, false);
        let value = values.make(5);
        for at in 0..value.len() {
            let mut broken = value.to_vec();
            broken[at] ^= 0x10;
            assert!(!values.is_right(5, &broken), "byte {at}");
        }
        assert!(!values.is_right(5, &value[..1002]));
        assert!(!values.is_right(5, &[]));
    }

    #[test]
    fn lean_values_are_judged_by_their_first_word() {
        let mut values = Values::new(100, true);
        let value = values.make(5);
        let mut broken = value.to_vec();
        broken[8] ^= 1;
        assert!(values.is_right(5, &broken));
        broken[7] ^= 1;
        assert!(!values.is_right(5, &broken));
        assert!(!values.is_right(6, &value));
    }
}
