//! Dictionary form of the codec: each value is encoded and decoded alone, as copies from a
//! dictionary that the table stores once, and literals between them.
//!
//! ```text
//! count      1 byte            n, at most 254; 255: the rest is a value encoded without a dictionary
//! matches    n times 2 bytes   little-endian; low 5 bits: length less 1, high 11 bits: position in
//!                              the dictionary. Position 2047: no match but 16 literals times the low
//!                              bits, at least once
//! lengths    n times 4 bits    literals before each match, low half of a byte first
//! literals   the rest          of all sequences, then those after the last match, whose number follows
//!                              from the raw length
//! ```
//!
//! A decoder knows at once where every match and the first literals are. There is no chain of loads
//! from one sequence to the next, no length needs a branch, and each match is one copy of 32 bytes.
//! That is why matches within the value are not supported, except through the escape of count 255.

mod decode;
mod encode;
mod matcher;
pub(super) mod portable;
pub(super) mod sequences;

#[cfg(test)]
mod tests;

pub use decode::decode_with;
pub use matcher::{Matcher, Padded};

/// Longest dictionary: a match's position fits eleven bits, one value of which means "no match".
pub const DICTIONARY_BYTES_MAX: usize = (1 << 11) - 1;

/// Longest match.
const MATCH_BYTES_MAX: usize = 1 << LENGTH_BITS;

/// Bits of a match that hold its length less one.
const LENGTH_BITS: u32 = 5;

/// The position that announces a run of literals.
const RUN: usize = DICTIONARY_BYTES_MAX;

/// Literals of a run for each count of its length.
const RUN_BYTES: usize = 16;

/// Most sequences of a value; the rest of it would be literals.
const SEQUENCES_MAX: usize = 254;

/// The count that marks a value encoded without a dictionary.
const PLAIN: u8 = 255;

/// Bytes that `count` sequences take before the literals, including the count itself.
#[inline]
fn head_len(count: usize) -> usize {
    1 + 2 * count + count.div_ceil(2)
}

/// A dictionary as a decoder needs it: padded, so that each match is copied at one fixed length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionary {
    /// The bytes and, unless there are none, padding: `MATCH_BYTES_MAX` bytes are readable from
    /// every position that a match can have.
    padded: Box<[u8]>,
    len: usize,
}

impl Dictionary {
    /// A dictionary of these bytes, or of the last [`DICTIONARY_BYTES_MAX`] of them.
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

    /// The bytes, without the padding.
    pub fn bytes(&self) -> &[u8] {
        &self.padded[..self.len]
    }

    /// Heap bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.padded.len()
    }
}
