//! Decoding against a dictionary, without a branch that depends on a length.

#![allow(
    unsafe_code,
    reason = "writes into spare capacity; what each copy touches is bounded once a sequence"
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
#[inline]
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
        || raw_len > MATCH_BYTES_MAX * (end - start)
        || (dictionary.len == 0 && count > 0)
    {
        return None;
    }
    out.reserve(raw_len + SLACK);
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
        unsafe { source.decode(dictionary, count.into(), to, raw_len) }?;
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
    #[inline]
    unsafe fn decode(
        self,
        dictionary: &Dictionary,
        count: usize,
        to: *mut u8,
        raw_len: usize,
    ) -> Option<()> {
        let matches = self.start + 1;
        let mut literals = self.start + head_len(count);
        let (mut written, mut farthest, mut halves) = (0, 0, 0u64);
        for index in 0..count {
            if index % HALVES_PER_WORD == 0 {
                // SAFETY: the lengths of the sequences from `index` on stand there, in the head.
                halves = unsafe { self.load_halves(matches + 2 * count + index / 2) };
            }
            let few = (halves & 15) as usize;
            halves >>= 4;
            // SAFETY: `written <= raw_len`, by the check at the end of each turn.
            let target = unsafe { to.add(written) };
            // SAFETY: `literals <= end`, by the same check; the slack has 16 bytes.
            unsafe { self.copy_few(literals, few, target) }?;
            literals += few;
            written += few;
            // SAFETY: the matches stand in the head.
            let word = usize::from(unsafe { copy::load_u16(self.bytes, matches + 2 * index) });
            let (place, low) = (word >> LENGTH_BITS, word % MATCH_BYTES_MAX);
            // SAFETY: `written <= raw_len + 15`, still within the slack.
            let target = unsafe { to.add(written) };
            if place == RUN {
                let run = RUN_BYTES * low;
                let room = raw_len.checked_sub(written)?;
                // SAFETY: `room` bytes are writable at the target.
                unsafe { self.copy_run(literals, run, target, room) }?;
                literals += run;
                written += run;
                continue;
            }
            // SAFETY: `place` is below `RUN`, and from there the padded dictionary has 32 bytes.
            let from = unsafe { dictionary.padded.as_ptr().add(place) };
            // SAFETY: as above; the slack has 15 + 32 bytes.
            unsafe { copy::copy_32(from, target) };
            farthest = farthest.max(place + low + 1);
            written += low + 1;
            if written > raw_len || literals > self.end {
                return None;
            }
        }
        let rest = raw_len - written;
        if farthest > dictionary.len || self.end - literals != rest {
            return None;
        }
        // SAFETY: `written <= raw_len`.
        let target = unsafe { to.add(written) };
        // SAFETY: `rest` bytes are left in the value and at the target, which has the slack besides.
        unsafe { self.copy_rest(literals, rest, target) };
        Some(())
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

    /// Copies at most 15 literals from `bytes[at]`; `None` when there are less, unless `ROOM`.
    ///
    /// # Safety
    ///
    /// `at <= end`, and 16 bytes are writable at `to`.
    #[inline]
    unsafe fn copy_few(self, at: usize, len: usize, to: *mut u8) -> Option<()> {
        if ROOM {
            // SAFETY: `at <= end <= bytes.len()`.
            let from = unsafe { self.bytes.as_ptr().add(at) };
            // SAFETY: 16 bytes stand there, in the value or behind it, and have room at `to`.
            unsafe { copy::copy_16(from, to) };
        } else {
            let from = self.bytes[at..self.end].get(..len)?;
            // SAFETY: `len <= 15` bytes are in `from` and in the room.
            unsafe { copy::copy_exact(from.as_ptr(), to, len) };
        }
        Some(())
    }

    /// Copies a run of literals from `bytes[at]`; `None` when it is empty, or there are less.
    ///
    /// # Safety
    ///
    /// `room` bytes are writable at `to`.
    #[cold]
    unsafe fn copy_run(self, at: usize, len: usize, to: *mut u8, room: usize) -> Option<()> {
        let from = self.bytes.get(at..self.end)?.get(..len)?;
        if len == 0 || len > room {
            return None;
        }
        // SAFETY: `len` bytes are in `from` and in the room.
        unsafe { copy::copy_exact(from.as_ptr(), to, len) };
        Some(())
    }

    /// Copies the last literals, from `bytes[at]`.
    ///
    /// # Safety
    ///
    /// `at + len <= end`, and `len` bytes are writable at `to`, but at least 16.
    #[inline]
    unsafe fn copy_rest(self, at: usize, len: usize, to: *mut u8) {
        // SAFETY: `at <= end <= bytes.len()`.
        let from = unsafe { self.bytes.as_ptr().add(at) };
        if ROOM && len <= 16 {
            // SAFETY: 16 bytes stand there, in the value or behind it, and have room at `to`.
            unsafe { copy::copy_16(from, to) };
        } else {
            // SAFETY: the caller promises `len` bytes on both sides.
            unsafe { copy::copy_exact(from, to, len) };
        }
    }
}
