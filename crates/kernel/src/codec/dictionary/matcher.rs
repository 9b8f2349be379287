//! Finds the parts of a value in a dictionary: greedily, by the positions of each four of its bytes.

#![allow(
    unsafe_code,
    reason = "loads whose bounds hold for the whole search loop"
)]

use super::{MATCH_BYTES_MAX, RUN_BYTES, head_len};
use crate::codec::copy;
use crate::codec::token::{MATCH_BYTES_MIN, RAW_BYTES_MAX, SKIP_SHIFT, hash};

/// Bits of the hash of a dictionary's position: two positions for each, so that most have a place.
pub(super) const HASH_BITS: u32 = 11;
/// Positions kept of each hash, the last ones.
pub(super) const WAYS: usize = 2;
/// What an encoder needs of a dictionary: its bytes, and where each four of them stand.
///
/// ```
/// use cairndb_kernel::codec::{Dictionary, Encoder, Matcher, decode_with};
/// let words = b"one fish two fish red fish blue fish";
/// let (mut encoded, mut raw) = (Vec::new(), Vec::new());
/// assert!(Encoder::new().encode_with(&Matcher::new(words), b"red fish, two fish", &mut encoded));
/// assert!(encoded.len() < 9);
/// let span = 0..encoded.len();
/// assert!(decode_with(&Dictionary::new(words), &encoded, span, 18, &mut raw).is_some());
/// assert_eq!(raw, b"red fish, two fish");
/// ```
#[derive(Clone, Debug)]
pub struct Matcher {
    /// The bytes, and four more.
    padded: Box<[u8]>,
    len: usize,
    /// Positions of each hash, none above `len`, which stands for none.
    table: Box<[[u16; WAYS]; 1 << HASH_BITS]>,
}

/// A part of the value that equals a part of the dictionary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) at: usize,
    pub(super) from: usize,
    pub(super) len: usize,
}

impl Matcher {
    /// A matcher for these bytes, of which it takes no more than the last 64 Ki. Values are encoded
    /// against them unless they are more than [`DICTIONARY_BYTES_MAX`](super::DICTIONARY_BYTES_MAX).
    pub fn new(bytes: &[u8]) -> Matcher {
        let start = bytes.len().saturating_sub(RAW_BYTES_MAX - 1);
        let bytes = &bytes[start..];
        let none = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        let mut table = Box::new([[none; WAYS]; 1 << HASH_BITS]);
        for (at, four) in (0..none).zip(bytes.array_windows()) {
            let ways = &mut table[hash::<HASH_BITS>(u32::from_le_bytes(*four))];
            *ways = [at, ways[0]];
        }
        Matcher {
            padded: [bytes, &[0; MATCH_BYTES_MIN]].concat().into(),
            len: none.into(),
            table,
        }
    }

    /// The bytes of the dictionary.
    pub fn bytes(&self) -> &[u8] {
        &self.padded[..self.len]
    }

    /// Heap bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.padded.len() + size_of_val(&*self.table)
    }

    /// Calls `part` for each part of `src` that is copied from the dictionary, in order: with its start, where
    /// it stands in the dictionary, and its length. Gives the bytes that `src` takes encoded so.
    pub fn parts(&self, src: &[u8], mut part: impl FnMut(usize, usize, usize)) -> usize {
        let (mut anchor, mut count, mut literals) = (0, 0, 0);
        while let Some(found) = self.find(src, anchor) {
            part(found.at, found.from, found.len);
            count += 1 + usize::from(found.at - anchor >= RUN_BYTES);
            literals += found.at - anchor;
            anchor = found.at + found.len;
        }
        head_len(count) + literals + src.len() - anchor
    }

    /// Finds the first match at or behind `anchor`, the longest of its position, widened back but not
    /// beyond `anchor`.
    #[inline]
    pub(super) fn find(&self, src: &[u8], anchor: usize) -> Option<Found> {
        let mut at = anchor;
        let mut tries = 1usize << SKIP_SHIFT;
        while at + MATCH_BYTES_MIN <= src.len() {
            // SAFETY: `at + 4 <= src.len()` is the loop's condition.
            let four = unsafe { copy::load_u32(src, at) };
            let [last, before] = self.table[hash::<HASH_BITS>(four)];
            if (self.four_at(last) == four || self.four_at(before) == four)
                && let Some(found) = self.longest(src, at, [last, before], anchor)
            {
                return Some(found);
            }
            at += tries >> SKIP_SHIFT;
            tries += 1;
        }
        None
    }

    /// The four bytes at a position of the table.
    #[inline]
    fn four_at(&self, place: u16) -> u32 {
        // SAFETY: no position in the table is above `len`, and `padded` has four bytes more.
        unsafe { copy::load_u32(&self.padded, place.into()) }
    }

    /// The longest of the matches of `src[at..]` at these positions, widened both ways.
    #[inline]
    fn longest(&self, src: &[u8], at: usize, places: [u16; WAYS], anchor: usize) -> Option<Found> {
        let bytes = self.bytes();
        let mut longest = Found {
            at,
            from: 0,
            len: 0,
        };
        for place in places {
            let from = usize::from(place);
            let ahead = common_start(&bytes[from..], &src[at..]);
            if ahead < MATCH_BYTES_MIN {
                continue;
            }
            let ahead = ahead.min(MATCH_BYTES_MAX);
            let back = common_end(&bytes[..from], &src[anchor..at], MATCH_BYTES_MAX - ahead);
            if back + ahead > longest.len {
                longest = Found {
                    at: at - back,
                    from: from - back,
                    len: back + ahead,
                };
            }
        }
        (longest.len > 0).then_some(longest)
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

/// Bytes that both end with, at most so many.
#[inline]
fn common_end(a: &[u8], b: &[u8], most: usize) -> usize {
    let most = a.len().min(b.len()).min(most);
    let mut len = 0;
    while len < most && a[a.len() - 1 - len] == b[b.len() - 1 - len] {
        len += 1;
    }
    len
}
