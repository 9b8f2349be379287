//! Dictionary form of the codec: each value is encoded and decoded separately, as copies from a
//! dictionary that the table stores once, with literals between them.
//!
//! ```text
//! count      1 byte            n, at most 254; 255: a value without a dictionary follows
//! matches    n times 2 bytes   little-endian; low 5 bits: length minus 1; high 11 bits: position
//!                              in the dictionary. Position 2047 means a run of literals instead:
//!                              16 for each unit of the low bits, which are at least 1
//! lengths    n times 4 bits    number of literals before each match, low half of a byte first
//! literals   the rest          literals of all sequences, then those after the last match, whose
//!                              number follows from the raw length
//! ```
//!
//! A decoder knows the position of every match and of the first literals from the start. No load
//! depends on the previous sequence, no length needs a branch, and each match is one copy of 32
//! bytes. Therefore matches within the value are not supported, except through the escape count
//! 255.

mod decode;
mod encode;
mod matcher;
pub(super) mod portable;
pub(super) mod sequences;

#[cfg(test)]
mod tests;

pub use decode::decode_with;
pub use matcher::{Matcher, Padded};

/// Maximum dictionary length: a match position has eleven bits, and one value means "no match".
pub const DICTIONARY_BYTES_MAX: usize = (1 << 11) - 1;

/// Maximum match length.
const MATCH_BYTES_MAX: usize = 1 << LENGTH_BITS;

/// Number of bits of a match that hold its length minus one.
const LENGTH_BITS: u32 = 5;

/// The position that marks a run of literals.
const RUN: usize = DICTIONARY_BYTES_MAX;

/// Number of literals in a run per unit of its stored length.
const RUN_BYTES: usize = 16;

/// Maximum number of sequences in a value; the rest of the value is stored as literals.
const SEQUENCES_MAX: usize = 254;

/// The count that marks a value encoded without a dictionary.
const PLAIN: u8 = 255;

/// Returns the number of bytes that `count` sequences take before the literals, including the count
/// itself.
#[inline]
fn head_len(count: usize) -> usize {
    1 + 2 * count + count.div_ceil(2)
}

/// A dictionary for a decoder: padded, so that each match is copied with one fixed length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionary {
    /// The bytes and, unless there are none, padding: `MATCH_BYTES_MAX` bytes are readable from
    /// every position that a match can have.
    padded: Box<[u8]>,
    len: usize,
}

impl Dictionary {
    /// Returns a dictionary of `bytes`, or of the last [`DICTIONARY_BYTES_MAX`] of them.
    pub fn new(bytes: &[u8]) -> Dictionary {
        let start = bytes.len().saturating_sub(DICTIONARY_BYTES_MAX);
        let bytes = &bytes[start..];
        if bytes.is_empty() {
            return Dictionary::default();
        }
        let mut padded = vec![0; DICTIONARY_BYTES_MAX + MATCH_BYTES_MAX];
        padded[..bytes.len()].copy_from_slice(bytes);
        Dictionary {
            padded: padded.into(),
            len: bytes.len(),
        }
    }

    /// Returns the bytes, without the padding.
    pub fn bytes(&self) -> &[u8] {
        &self.padded[..self.len]
    }

    /// Returns the number of heap bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.padded.len()
    }
}
