//! Greedy search for parts of a value in a dictionary, using a table of the positions of four-byte
//! strings.

#![allow(
    unsafe_code,
    reason = "loads whose bounds hold for the whole search loop"
)]
#![expect(
    clippy::inline_always,
    reason = "parts of one loop; as separate functions they take 50% more instructions"
)]

use super::{MATCH_BYTES_MAX, RUN_BYTES, head_len};
use crate::codec::copy;
use crate::codec::token::{MATCH_BYTES_MIN, RAW_BYTES_MAX, SKIP_SHIFT, hash};

/// Number of hash bits of a dictionary position. The table has room for two positions per hash, so
/// most positions find a slot.
pub(super) const HASH_BITS: u32 = 11;
/// Number of positions kept per hash, the most recent ones.
pub(super) const WAYS: usize = 2;

/// Padding after a dictionary and after a value, so that a match can always be compared over the
/// maximum length.
const PADDING: usize = MATCH_BYTES_MAX;

/// The form of a dictionary that an encoder needs: its bytes, and the positions of all four-byte
/// strings.
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
    /// The bytes, followed by [`PADDING`] more.
    padded: Box<[u8]>,
    len: usize,
    /// Positions for each hash, each at least four bytes before the end. `len` marks an empty slot.
    table: Box<[[u16; WAYS]; 1 << HASH_BITS]>,
}

/// A part of the value that equals a part of the dictionary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Match {
    pub(super) at: usize,
    pub(super) from: usize,
    pub(super) len: usize,
}

impl Matcher {
    /// Returns a matcher for `bytes`, or for the last 64 KiB of them. Values are encoded against
    /// them unless there are more than [`DICTIONARY_BYTES_MAX`](super::DICTIONARY_BYTES_MAX).
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
            padded: [bytes, &[0; PADDING]].concat().into(),
            len: none.into(),
            table,
        }
    }

    /// Returns the bytes of the dictionary.
    pub fn bytes(&self) -> &[u8] {
        &self.padded[..self.len]
    }

    /// Returns the number of heap bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.padded.len() + size_of_val(&*self.table)
    }

    /// Calls `part` for each part of `src` that is copied from the dictionary, in order, with its
    /// start, its position in the dictionary, and its length. Returns the encoded length of `src`.
    ///
    /// `padded` is a buffer that the caller reuses from value to value.
    pub fn parts(
        &self,
        src: &[u8],
        padded: &mut Padded,
        mut part: impl FnMut(usize, usize, usize),
    ) -> usize {
        padded.set(src);
        let (mut anchor, mut count, mut literals) = (0, 0, 0);
        while let Some(found) = self.find(padded, anchor) {
            part(found.at, found.from, found.len);
            count += 1 + usize::from(found.at - anchor >= RUN_BYTES);
            literals += found.at - anchor;
            anchor = found.at + found.len;
        }
        head_len(count) + literals + src.len() - anchor
    }

    /// Finds the first match at or after `anchor`: the longest match at its position, extended
    /// backwards, but not beyond `anchor`.
    #[inline(always)]
    pub(super) fn find(&self, src: &Padded, anchor: usize) -> Option<Match> {
        let mut at = anchor;
        let mut tries = 1usize << SKIP_SHIFT;
        while at + MATCH_BYTES_MIN <= src.len {
            // SAFETY: `at + 4 <= src.len` is the loop's condition, and `bytes` is longer.
            let four = unsafe { copy::load_u32(&src.bytes, at) };
            if let Some(found) = self.find_at(src, at, four, anchor) {
                return Some(found);
            }
            at += tries >> SKIP_SHIFT;
            tries += 1;
        }
        None
    }

    /// Returns the longest match for the `four` bytes at `at`, extended backwards, but not beyond
    /// `anchor`.
    #[inline(always)]
    fn find_at(&self, src: &Padded, at: usize, four: u32, anchor: usize) -> Option<Match> {
        let [last, before] = self.table[hash::<HASH_BITS>(four)];
        let (last_is, before_is) = (self.four_at(last) == four, self.four_at(before) == four);
        if !last_is && !before_is {
            return None;
        }
        let none = Match {
            at,
            from: 0,
            len: 0,
        };
        let longest = if last_is {
            self.widened(src, at, last, anchor)
        } else {
            none
        };
        let other = if before_is {
            self.widened(src, at, before, anchor)
        } else {
            none
        };
        let longest = if other.len > longest.len {
            other
        } else {
            longest
        };
        (longest.len > 0).then_some(longest)
    }

    /// Returns the four bytes at a position of the table.
    #[inline(always)]
    fn four_at(&self, place: u16) -> u32 {
        // SAFETY: no position in the table exceeds `len`, and `padded` has 32 bytes after `len`.
        unsafe { copy::load_u32(&self.padded, place.into()) }
    }

    /// Returns a match of four bytes, extended both ways. Its length is 0 if the slot was empty and
    /// the padding happened to match.
    #[inline(always)]
    fn widened(&self, src: &Padded, at: usize, place: u16, anchor: usize) -> Match {
        let from = usize::from(place);
        if from == self.len {
            return Match { at, from, len: 0 };
        }
        let ahead = self.ahead(src, at, from);
        let back = self.back(src, at, from, (at - anchor).min(MATCH_BYTES_MAX - ahead));
        Match {
            at: at - back,
            from: from - back,
            len: back + ahead,
        }
    }

    /// Returns the length of a match that starts at `at`, and at `from` in the dictionary, whose
    /// first four bytes have been compared. Compares words up to the maximum match length, then
    /// subtracts the bytes past either end. Comparing single bytes near an end took twice as long.
    #[inline(always)]
    fn ahead(&self, src: &Padded, at: usize, from: usize) -> usize {
        debug_assert!(at + MATCH_BYTES_MIN <= src.len && from + MATCH_BYTES_MIN <= self.len);
        let most = MATCH_BYTES_MAX.min(src.len - at).min(self.len - from);
        let mut len = MATCH_BYTES_MIN;
        while len < most {
            // SAFETY: `len < 32` and `len` is four more than a multiple of eight, so
            // `len + 8 <= 36`; `at` lies at least four bytes before the end of the value, which is
            // followed by 32.
            let here = unsafe { copy::load_u64(&src.bytes, at + len) };
            // SAFETY: `from` lies at least four bytes before the end of the dictionary, which is
            // followed by 32.
            let there = unsafe { copy::load_u64(&self.padded, from + len) };
            let differing = here ^ there;
            if differing != 0 {
                len += differing.trailing_zeros() as usize / 8;
                break;
            }
            len += 8;
        }
        len.min(most)
    }

    /// Returns the number of equal bytes before both positions, at most `most`. It is usually 0,
    /// because earlier positions were tried before.
    #[inline(always)]
    fn back(&self, src: &Padded, at: usize, from: usize, most: usize) -> usize {
        let most = most.min(from);
        let mut back = 0;
        while back < most && src.bytes[at - 1 - back] == self.padded[from - 1 - back] {
            back += 1;
        }
        back
    }
}

/// A value being encoded, with padding; see [`Matcher::parts`].
#[derive(Clone, Debug, Default)]
pub struct Padded {
    /// The value, followed by at least [`PADDING`] arbitrary bytes.
    bytes: Vec<u8>,
    len: usize,
}

impl Padded {
    #[inline]
    pub(super) fn set(&mut self, value: &[u8]) {
        let wanted = value.len() + PADDING;
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
        self.bytes[..value.len()].copy_from_slice(value);
        self.len = value.len();
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the value from `at` on, with the padding.
    #[inline]
    pub(super) fn from(&self, at: usize) -> &[u8] {
        &self.bytes[at..]
    }
}
