//! Encoding against a dictionary: bytes that stand before every value, so that values which share
//! structure are small although each is encoded, and decoded, alone.
//!
//! An offset that reaches back beyond the start of the value reaches into the dictionary, as if it
//! stood just before. Such a match must end within the dictionary: then its copy is one run. An
//! encoded value that never reaches back so far means the same with any dictionary and with none.

#![allow(
    unsafe_code,
    reason = "loads whose bounds hold for the whole search loop"
)]

#[cfg(test)]
mod tests;

use super::copy;
use super::encode::{Encoder, Match, probe, search, widen};
use super::portable::take_len;
use super::token::{
    DICTIONARY_BYTES_MAX, DICTIONARY_HASH_BITS, HASH_BITS, HASH_BITS_SHORT, MATCH_BYTES_MIN,
    RAW_BYTES_MAX, RAW_BYTES_MIN, SHORT_BYTES_MAX, SKIP_SHIFT, hash, literal_half, match_half,
};

/// Entries of the hash table.
const TABLE_LEN: usize = 1 << DICTIONARY_HASH_BITS;
/// What stands for a hash that no position has.
const NOWHERE: u16 = u16::MAX;

const _: () = assert!(DICTIONARY_BYTES_MAX < NOWHERE as usize);

/// A dictionary as an encoder needs it: its bytes, and where each four of them stand.
///
/// ```
/// use cairndb_kernel::codec::{Dictionary, Encoder, decode_with};
/// let dictionary = Dictionary::new(b"one fish two fish red fish blue fish");
/// let (mut encoded, mut raw) = (Vec::new(), Vec::new());
/// assert!(Encoder::new().encode_with(&dictionary, b"red fish, two fish", &mut encoded));
/// assert!(encoded.len() < 12);
/// assert!(decode_with(dictionary.bytes(), &encoded, 18, &mut raw).is_some());
/// assert_eq!(raw, b"red fish, two fish");
/// ```
#[derive(Clone, Debug)]
pub struct Dictionary {
    bytes: Box<[u8]>,
    /// The last position of each hash.
    table: Box<[u16; TABLE_LEN]>,
}

impl Dictionary {
    /// A dictionary of these bytes; of their end only, where they are more than
    /// [`DICTIONARY_BYTES_MAX`].
    pub fn new(bytes: &[u8]) -> Dictionary {
        let start = bytes.len().saturating_sub(DICTIONARY_BYTES_MAX);
        let bytes: Box<[u8]> = bytes[start..].into();
        let mut table = Box::new([NOWHERE; TABLE_LEN]);
        for (at, four) in bytes.array_windows().enumerate() {
            let at = u16::try_from(at).unwrap_or(NOWHERE);
            table[hash::<DICTIONARY_HASH_BITS>(u32::from_le_bytes(*four))] = at;
        }
        Dictionary { bytes, table }
    }

    /// The bytes, as a decoder needs them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Heap bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.len() + TABLE_LEN * size_of::<u16>()
    }

    /// The match of `four`, which stand at `src[at]`, widened both ways but not back beyond
    /// `anchor`.
    #[inline]
    fn find(&self, src: &[u8], at: usize, four: u32, anchor: usize) -> Option<Match> {
        let from = usize::from(self.table[hash::<DICTIONARY_HASH_BITS>(four)]);
        if from + MATCH_BYTES_MIN > self.bytes.len() {
            return None;
        }
        // SAFETY: `from + 4 <= bytes.len()`, checked just above.
        let there = unsafe { copy::load_u32(&self.bytes, from) };
        if there != four {
            return None;
        }
        let back = common_end(&self.bytes[..from], &src[anchor..at]);
        let behind = from + MATCH_BYTES_MIN;
        let ahead = common_start(&self.bytes[behind..], &src[at + MATCH_BYTES_MIN..]);
        Some(Match {
            at: at - back,
            offset: at + self.bytes.len() - from,
            len: back + MATCH_BYTES_MIN + ahead,
        })
    }
}

/// Bytes that both begin with.
#[inline]
fn common_start(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let mut len = 0;
    while len + 8 <= most {
        // SAFETY: `len + 8 <= a.len()`.
        let here = unsafe { copy::load_u64(a, len) };
        // SAFETY: `len + 8 <= b.len()`.
        let there = unsafe { copy::load_u64(b, len) };
        let differing = here ^ there;
        if differing != 0 {
            return len + differing.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    while len < most && a[len] == b[len] {
        len += 1;
    }
    len
}

/// Bytes that both end with.
#[inline]
fn common_end(a: &[u8], b: &[u8]) -> usize {
    let pairs = a.iter().rev().zip(b.iter().rev());
    pairs.take_while(|(a, b)| a == b).count()
}

impl Encoder {
    /// As [`Encoder::encode`], but matches may lie in `dictionary`, which decoding then needs.
    ///
    /// A value too long for offsets to reach the dictionary from everywhere is encoded without.
    #[inline]
    pub fn encode_with(&mut self, dictionary: &Dictionary, src: &[u8], out: &mut Vec<u8>) -> bool {
        if src.len() + dictionary.bytes.len() > RAW_BYTES_MAX || src.len() < RAW_BYTES_MIN {
            return self.encode(src, out);
        }
        self.encode_by(src, out, |table, base, sink| {
            if src.len() <= SHORT_BYTES_MAX {
                search::<HASH_BITS_SHORT>(src, table, base, sink, |table, anchor| {
                    find::<HASH_BITS_SHORT>(dictionary, src, table, base, anchor)
                })
            } else {
                search::<HASH_BITS>(src, table, base, sink, |table, anchor| {
                    find::<HASH_BITS>(dictionary, src, table, base, anchor)
                })
            }
        })
    }
}

/// Finds the first match at or behind `anchor`, in the value itself or else in the dictionary.
#[inline]
fn find<const BITS: u32>(
    dictionary: &Dictionary,
    src: &[u8],
    table: &mut [u32; 1 << HASH_BITS],
    base: u32,
    anchor: usize,
) -> Option<Match> {
    let mut at = anchor;
    let mut tries = 1usize << SKIP_SHIFT;
    while at + MATCH_BYTES_MIN <= src.len() {
        // SAFETY: `at + 4 <= src.len()` is the loop's condition.
        let four = unsafe { copy::load_u32(src, at) };
        if let Some(candidate) = probe::<BITS>(src, table, base, at, four) {
            return Some(widen(src, at, candidate, anchor));
        }
        if let Some(found) = dictionary.find(src, at, four, anchor) {
            return Some(found);
        }
        at += tries >> SKIP_SHIFT;
        tries += 1;
    }
    None
}

/// Calls `used` with the start and end of every part of a dictionary of `len` bytes that `src`, an
/// encoded value, copies. Stops where `src` is malformed.
pub fn parts_used(src: &[u8], len: usize, mut used: impl FnMut(usize, usize)) {
    let mut rest = src;
    let mut written = 0usize;
    while let Some(&token) = rest.split_off_first() {
        let Some(literals) = take_len(&mut rest, literal_half(token), RAW_BYTES_MAX) else {
            return;
        };
        written += literals;
        if rest.split_off(..literals).is_none() {
            return;
        }
        let Some((&[low, high], behind)) = rest.split_first_chunk() else {
            return;
        };
        rest = behind;
        let offset = usize::from(u16::from_le_bytes([low, high]));
        let Some(more) = take_len(&mut rest, match_half(token), RAW_BYTES_MAX) else {
            return;
        };
        let matched = more + MATCH_BYTES_MIN;
        if let Some(back) = offset.checked_sub(written)
            && let Some(start) = len.checked_sub(back)
            && start + matched <= len
            && back > 0
        {
            used(start, start + matched);
        }
        written += matched;
    }
}
