//! Decoding against a dictionary, without a branch that depends on a length.

#![allow(
    unsafe_code,
    reason = "writes into spare capacity; what each copy touches is bounded once a sequence"
)]
#![expect(
    clippy::inline_always,
    reason = "a call costs a tenth of what decoding a value of 100 bytes does"
)]

use std::ops::Range;

use super::{Dictionary, LENGTH_BITS, MATCH_BYTES_MAX, PLAIN, RUN, RUN_BYTES, head_len};
use crate::codec::{copy, decode};

/// Spare room behind the raw length: a sequence that begins within it writes at most 15 literals and
/// one match, each copied at full length.
const SLACK: usize = 64;

/// Bytes behind the encoded value that loads may touch.
pub(super) const BEHIND: usize = 16;

/// Sequences whose numbers of literals one load holds.
const HALVES_PER_WORD: usize = 16;

const _: () = assert!(SLACK >= 15 + MATCH_BYTES_MAX);

/// Appends the `raw_len` bytes to `out` that `bytes[span]` stands for with the dictionary.
///
/// `None` when the encoded value is malformed, lies outside of `bytes`, or stands for another length;
/// `out` then has its old length. What stands behind the value in `bytes` may be loaded, but has no
/// influence.
#[inline(always)]
pub fn decode_with(
    dictionary: &Dictionary,
    bytes: &[u8],
    span: Range<usize>,
    raw_len: usize,
    out: &mut Vec<u8>,
) -> Option<()> {
    let &count = bytes.get(..span.end)?.get(span.start)?;
    let (start, end) = (span.start, span.end);
    if count == PLAIN {
        return decode(&bytes[start + 1..end], raw_len, out);
    }
    let literals = start + head_len(count.into());
    // Each byte of a match stands for less than its length.
    if literals > end
        || raw_len > MATCH_BYTES_MAX.saturating_mul(end - start)
        || (dictionary.len == 0 && count > 0)
    {
        return None;
    }
    out.reserve(raw_len.checked_add(SLACK)?);
    let old_len = out.len();
    let to = out.spare_capacity_mut().as_mut_ptr().cast::<u8>();
    if bytes.len() - end >= BEHIND {
        let source = Source::<true> { bytes, start, end };
        // SAFETY: `reserve` made the room; the head ends within the value, as was checked; `BEHIND` bytes
        // stand behind it; and the dictionary has its padding as it has bytes.
        unsafe { source.decode(dictionary, count.into(), to, raw_len) }?;
    } else {
        let source = Source::<false> { bytes, start, end };
        // SAFETY: as above, but for the bytes behind.
        unsafe { source.decode_apart(dictionary, count.into(), to, raw_len) }?;
    }
    // SAFETY: `decode` initialised the `raw_len` bytes behind the old length.
    unsafe { out.set_len(old_len + raw_len) };
    Some(())
}

/// An encoded value: `bytes[start..end]`. With `ROOM`, at least `BEHIND` bytes stand behind it.
#[derive(Clone, Copy)]
struct Source<'a, const ROOM: bool> {
    bytes: &'a [u8],
    start: usize,
    end: usize,
}

impl<const ROOM: bool> Source<'_, ROOM> {
    /// Decodes `count` sequences to `to`; on `Some`, `raw_len` bytes there are initialised.
    ///
    /// # Safety
    ///
    /// `raw_len + SLACK` bytes are writable at `to`, apart from everything else. `head_len(count)` bytes stand
    /// in the value. The dictionary is padded unless `count` is 0.
    #[inline(always)]
    unsafe fn decode(
        self,
        dictionary: &Dictionary,
        count: usize,
        to: *mut u8,
        raw_len: usize,
    ) -> Option<()> {
        let head = self.start + 1;
        // SAFETY: the head ends within the value.
        let mut literals = unsafe { self.bytes.as_ptr().add(self.start + head_len(count)) };
        // SAFETY: `end <= bytes.len()`.
        let end = unsafe { self.bytes.as_ptr().add(self.end) };
        // SAFETY: `raw_len` bytes are writable at `to`.
        let full = unsafe { to.add(raw_len) };
        let mut target = to;
        let mut farthest = 0;
        for first in (0..count).step_by(HALVES_PER_WORD) {
            // SAFETY: the lengths of the sequences from `first` on stand there, in the head.
            let mut halves = unsafe { self.load_halves(head + 2 * count + first / 2) };
            let last = count.min(first + HALVES_PER_WORD);
            for word in self.bytes[head + 2 * first..head + 2 * last].as_chunks().0 {
                let few = (halves & 15) as usize;
                halves >>= 4;
                let word = usize::from(u16::from_le_bytes(*word));
                let (place, low) = (word >> LENGTH_BITS, word % MATCH_BYTES_MAX);
                // SAFETY: `literals <= end` and `target <= full`, by the checks at the end of each turn.
                unsafe { copy_few::<ROOM>(literals, end, few, target) }?;
                // SAFETY: 16 bytes stand behind `end`, or else `few` were left before it.
                literals = unsafe { literals.add(few) };
                // SAFETY: the slack begins at `full`.
                target = unsafe { target.add(few) };
                let mut len = low + 1;
                if place == RUN {
                    len = RUN_BYTES * low;
                    // SAFETY: both are as above, and may be a few bytes beyond their ends, which it checks.
                    unsafe { copy_run((literals, end), (target, full), len) }?;
                    // SAFETY: so many bytes were left.
                    literals = unsafe { literals.add(len) };
                } else {
                    // SAFETY: `place` is below `RUN`, and from there the padded dictionary has 32 bytes.
                    let from = unsafe { dictionary.padded.as_ptr().add(place) };
                    // SAFETY: as above; behind 15 literals the slack has 32 bytes more.
                    unsafe { copy::copy_32(from, target) };
                    farthest = farthest.max(place + len);
                }
                // SAFETY: as the copies were.
                target = unsafe { target.add(len) };
                if target > full || literals > end {
                    return None;
                }
            }
        }
        let rest = full.addr() - target.addr();
        if farthest > dictionary.len || end.addr() - literals.addr() != rest {
            return None;
        }
        // SAFETY: `rest` bytes are left on both sides, and the slack besides.
        unsafe { copy_rest::<ROOM>(literals, rest, target) };
        Some(())
    }

    /// [`Source::decode`] as a function of its own, for the few values that end a page.
    ///
    /// # Safety
    ///
    /// That of `decode`.
    #[inline(never)]
    unsafe fn decode_apart(
        self,
        dictionary: &Dictionary,
        count: usize,
        to: *mut u8,
        raw_len: usize,
    ) -> Option<()> {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { self.decode(dictionary, count, to, raw_len) }
    }

    /// Loads the numbers of literals that begin at `bytes[at]`; of up to 16 sequences, as far as the value
    /// has them.
    ///
    /// # Safety
    ///
    /// `at <= end`.
    #[inline]
    unsafe fn load_halves(self, at: usize) -> u64 {
        if ROOM {
            // SAFETY: eight bytes stand there, in the value or behind it.
            return unsafe { copy::load_u64(self.bytes, at) };
        }
        let mut word = [0; 8];
        for (byte, half) in word.iter_mut().zip(&self.bytes[at..self.end]) {
            *byte = *half;
        }
        u64::from_le_bytes(word)
    }
}

/// Copies at most 15 literals; `None` when there are less before `end`, unless `ROOM`.
///
/// # Safety
///
/// `from <= end` in one slice, in which 16 bytes more stand if `ROOM`. 16 bytes are writable at `to`.
#[inline(always)]
unsafe fn copy_few<const ROOM: bool>(
    from: *const u8,
    end: *const u8,
    len: usize,
    to: *mut u8,
) -> Option<()> {
    if ROOM {
        // SAFETY: 16 bytes stand at `from`, before `end` or behind it, and have room at `to`.
        unsafe { copy::copy_16(from, to) };
        return Some(());
    }
    if len > end.addr() - from.addr() {
        return None;
    }
    // SAFETY: `len <= 15` bytes are left on both sides.
    unsafe { copy::copy_exact(from, to, len) };
    Some(())
}

/// Copies a run of literals; `None` when it is empty, or when less are left before the end of either side.
///
/// # Safety
///
/// What lies between the addresses of either side can be read, and written.
#[inline(always)]
unsafe fn copy_run(
    (from, end): (*const u8, *const u8),
    (to, full): (*mut u8, *mut u8),
    len: usize,
) -> Option<()> {
    let room = full.addr().checked_sub(to.addr())?;
    if len == 0 || len > room || len > end.addr().checked_sub(from.addr())? {
        return None;
    }
    // SAFETY: `len` bytes are left on both sides.
    unsafe { copy::copy_exact(from, to, len) };
    Some(())
}

/// Copies the last literals.
///
/// # Safety
///
/// `len` bytes are readable at `from`, and writable at `to`, but at least 16; so they are at `from` if `ROOM`.
#[inline(always)]
unsafe fn copy_rest<const ROOM: bool>(from: *const u8, len: usize, to: *mut u8) {
    if ROOM && len <= 16 {
        // SAFETY: 16 bytes are readable, and have room.
        unsafe { copy::copy_16(from, to) };
    } else {
        // SAFETY: the caller promises `len` bytes on both sides.
        unsafe { copy::copy_exact(from, to, len) };
    }
}
