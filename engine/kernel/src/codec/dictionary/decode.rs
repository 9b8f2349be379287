//! Decoder for the dictionary form, without branches that depend on a length.
//!
//! Processors cannot predict how many sequences a value has, and checking the bounds of each
//! sequence in a loop would dominate the cost. The fields of up to eight sequences, enough for a
//! record of 100 or 200 bytes, fit in three words. They are checked together before the first copy.
//! The sequences are then padded with empty ones to four, six or eight. Values with more sequences,
//! or with a run of literals, are decoded sequence by sequence. Rejected: a loop over four
//! sequences at a time, because it gained little.

#![allow(
    unsafe_code,
    reason = "writes into spare capacity; bounds are checked once per sequence"
)]
#![expect(
    clippy::inline_always,
    reason = "a call would add a tenth to decoding a 100-byte value"
)]

use std::ops::Range;

use super::{
    DICTIONARY_BYTES_MAX, Dictionary, LENGTH_BITS, MATCH_BYTES_MAX, PLAIN, RUN, RUN_BYTES, head_len,
};
use crate::codec::{copy, decode};

/// Spare room after the raw length. A sequence that starts within it writes at most 15 literals and
/// one match, each with a copy of full width.
const SLACK: usize = 64;

/// Number of bytes after the encoded value that loads may touch.
pub(super) const BEHIND: usize = 16;

/// Number of sequences whose literal counts fit in one load.
const HALVES_PER_WORD: usize = 16;

/// Maximum number of sequences that are checked together.
const FEW_MAX: u8 = 8;

/// Number of bits of a stored match.
const LANE_BITS: u32 = 16;

/// Masks: the lowest lane, the lowest bit of each lane, and the highest bit of each lane.
const LANE: u64 = 0xffff;
const ONES: u64 = 0x0001_0001_0001_0001;
const HIGHS: u64 = ONES << (LANE_BITS - 1);

/// Masks of the parts of the match words and literal counts that a number of sequences uses.
struct Present {
    lanes: [u64; 2],
    halves: u32,
}

/// The masks, indexed by the number of sequences. Computing them by shifts was slower.
static PRESENT: [Present; FEW_MAX as usize + 1] = {
    const NONE: Present = Present {
        lanes: [0; 2],
        halves: 0,
    };
    let mut present = [NONE; FEW_MAX as usize + 1];
    let mut count = 1;
    while count < present.len() {
        let lane = count - 1;
        present[count] = Present {
            lanes: present[lane].lanes,
            halves: present[lane].halves | 15 << (4 * lane),
        };
        present[count].lanes[lane / 4] |= LANE << (LANE_BITS as usize * (lane % 4));
        count += 1;
    }
    present
};

const _: () = assert!(SLACK >= 15 + MATCH_BYTES_MAX);

/// Decodes `bytes[span]` with the dictionary and appends its `raw_len` bytes to `out`.
///
/// Returns `None` if the encoded value is malformed, lies outside `bytes`, or decodes to another
/// length; `out` then keeps its old length. Bytes after the value may be loaded but do not affect
/// the result.
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
    // The two bytes of a match represent at most 32 bytes.
    if literals > end
        || raw_len > MATCH_BYTES_MAX.saturating_mul(end - start)
        || (dictionary.len == 0 && count > 0)
    {
        return None;
    }
    out.reserve(raw_len.checked_add(SLACK)?);
    let old_len = out.len();
    let to = out.spare_capacity_mut().as_mut_ptr().cast::<u8>();
    let source = EncodedValue { bytes, start, end };
    let sides = (to, raw_len);
    if bytes.len() - end < BEHIND {
        // SAFETY: `reserve` made the room; the head ends within the value, as was checked; and the
        // dictionary is padded because it is not empty.
        unsafe { source.decode::<false>(dictionary, count.into(), sides) }?;
    } else if !(1..=FEW_MAX).contains(&count)
        // SAFETY: as above; `BEHIND` bytes follow the value, and the count has just been checked.
        || unsafe { source.decode_few(dictionary, count.into(), sides) }.is_none()
    {
        // SAFETY: as above.
        unsafe { source.decode::<true>(dictionary, count.into(), sides) }?;
    }
    // SAFETY: one of these calls initialised the `raw_len` bytes after the old length.
    unsafe { out.set_len(old_len + raw_len) };
    Some(())
}

/// An encoded value: `bytes[start..end]`.
#[derive(Clone, Copy)]
struct EncodedValue<'a> {
    bytes: &'a [u8],
    start: usize,
    end: usize,
}

impl EncodedValue<'_> {
    /// Decodes `count` sequences to `to`, like [`EncodedValue::decode`]. Returns `None` if one of
    /// them is a run of literals or if the stored value is malformed; the caller then calls
    /// `decode`, which distinguishes the two cases.
    ///
    /// # Safety
    ///
    /// Same as for `decode`; in addition, `BEHIND` bytes follow the value, and `count` is 1 to
    /// [`FEW_MAX`].
    #[inline(always)]
    unsafe fn decode_few(
        self,
        dictionary: &Dictionary,
        count: usize,
        (to, raw_len): (*mut u8, usize),
    ) -> Option<()> {
        let (head, present) = (self.start + 1, &PRESENT[count]);
        // SAFETY: the head starts within the value, and 16 bytes follow the value; no more is
        // loaded.
        let words = [0, 8].map(|at| unsafe { copy::load_u64(self.bytes, head + at) });
        // SAFETY: as above, at most from the head's end on.
        let halves = unsafe { copy::load_u32(self.bytes, head + 2 * count) } & present.halves;
        let [four, more] = [0, 1].map(|at| Four::new(words[at], present.lanes[at]));
        // A run of literals is detected here, before anything else is checked.
        if !four.is_within(dictionary.len) || !more.is_within(dictionary.len) {
            return None;
        }
        let literals = head_len(count) + self.start;
        let (left, few) = (self.end - literals, sum_of_halves(halves));
        let rest = left.checked_sub(few)?;
        let lens = four.lens + more.lens;
        if few + rest + sum_of_lanes(lens) != raw_len {
            return None;
        }
        // SAFETY: the head ends within the value.
        let from = unsafe { self.bytes.as_ptr().add(literals) };
        let mut copying = Copying {
            from,
            to,
            halves,
            dictionary,
        };
        // SAFETY: all sequences end within the literals and the room, as has just been checked, and
        // each match ends within the dictionary.
        let four = unsafe { copying.follow_two(four) };
        // SAFETY: as above.
        unsafe { copying.follow_two(four) };
        if count > 4 {
            // SAFETY: as above.
            let more = unsafe { copying.follow_two(more) };
            if count > 6 {
                // SAFETY: as above.
                unsafe { copying.follow_two(more) };
            }
        }
        // SAFETY: `rest` bytes are left on both sides, plus the slack.
        unsafe { copy_rest::<true>(copying.from, rest, copying.to) };
        Some(())
    }

    /// Decodes `count` sequences to `to`; on `Some`, `raw_len` bytes there are initialised. With
    /// `ROOM`, `BEHIND` bytes follow the value.
    ///
    /// # Safety
    ///
    /// `raw_len + SLACK` bytes are writable at `to` and overlap no other memory in use. The value
    /// has at least `head_len(count)` bytes. The dictionary is padded unless `count` is 0.
    #[inline(never)]
    unsafe fn decode<const ROOM: bool>(
        self,
        dictionary: &Dictionary,
        count: usize,
        (to, raw_len): (*mut u8, usize),
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
            // SAFETY: the head contains the lengths of the sequences from `first` on.
            let mut halves = unsafe { self.load_halves::<ROOM>(head + 2 * count + first / 2) };
            let last = count.min(first + HALVES_PER_WORD);
            for word in self.bytes[head + 2 * first..head + 2 * last].as_chunks().0 {
                let few = (halves & 15) as usize;
                halves >>= 4;
                let word = usize::from(u16::from_le_bytes(*word));
                let (place, low) = (word >> LENGTH_BITS, word % MATCH_BYTES_MAX);
                // SAFETY: each iteration ends with `literals <= end` and `target <= full`.
                unsafe { copy_few::<ROOM>(literals, end, few, target) }?;
                // SAFETY: 16 bytes follow `end`, or at least `few` bytes were left before it.
                literals = unsafe { literals.add(few) };
                // SAFETY: the slack starts at `full`.
                target = unsafe { target.add(few) };
                let mut len = low + 1;
                if place == RUN {
                    len = RUN_BYTES * low;
                    // SAFETY: as above; both may be past their ends, which the function checks.
                    unsafe { copy_run((literals, end), (target, full), len) }?;
                    // SAFETY: that many bytes were left.
                    literals = unsafe { literals.add(len) };
                } else {
                    // SAFETY: `place < RUN`, from where the padded dictionary has 32 bytes.
                    let from = unsafe { dictionary.padded.as_ptr().add(place) };
                    // SAFETY: as above; after 15 literals the slack has 32 more bytes.
                    unsafe { copy::copy_32(from, target) };
                    farthest = farthest.max(place + len);
                }
                // SAFETY: as for the copies.
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
        // SAFETY: `rest` bytes are left on both sides, plus the slack.
        unsafe { copy_rest::<ROOM>(literals, rest, target) };
        Some(())
    }

    /// Loads the literal counts that start at `bytes[at]`, for up to 16 sequences, as far as the
    /// value contains them.
    ///
    /// # Safety
    ///
    /// `at <= end`.
    #[inline]
    unsafe fn load_halves<const ROOM: bool>(self, at: usize) -> u64 {
        if ROOM {
            // SAFETY: eight bytes are readable there, in the value or after it.
            return unsafe { copy::load_u64(self.bytes, at) };
        }
        let mut word = [0; 8];
        for (byte, half) in word.iter_mut().zip(&self.bytes[at..self.end]) {
            *byte = *half;
        }
        u64::from_le_bytes(word)
    }
}

/// Four matches in lanes of 16 bits. Lanes without a match are zero.
#[derive(Clone, Copy)]
struct Four {
    places: u64,
    lens: u64,
}

impl Four {
    /// Returns the matches in `words` that `lanes` selects.
    #[inline(always)]
    fn new(words: u64, lanes: u64) -> Four {
        let words = words & lanes;
        Four {
            places: (words >> LENGTH_BITS) & (ONES * RUN as u64),
            // The length is stored minus one.
            lens: (words & (ONES * (MATCH_BYTES_MAX as u64 - 1))) + (lanes & ONES),
        }
    }

    /// Returns whether each match ends within a dictionary of this length; a run of literals does
    /// not.
    #[inline(always)]
    fn is_within(self, len: usize) -> bool {
        debug_assert!(len <= DICTIONARY_BYTES_MAX);
        // A lane that would become negative borrows from its own highest bit, not from another
        // lane.
        let left = ((ONES * len as u64) | HIGHS) - (self.places + self.lens);
        left & HIGHS == HIGHS
    }
}

/// Returns the sum of four lanes, which fits in one lane.
#[inline(always)]
fn sum_of_lanes(lanes: u64) -> usize {
    (lanes.wrapping_mul(ONES) >> (u64::BITS - LANE_BITS)) as usize
}

/// Returns the sum of eight halves of bytes.
#[inline(always)]
fn sum_of_halves(halves: u32) -> usize {
    let pairs = (halves & 0x0f0f_0f0f) + ((halves >> 4) & 0x0f0f_0f0f);
    (pairs.wrapping_mul(0x0101_0101) >> 24) as usize
}

/// State of executing sequences: the source and the target of the next literals.
struct Copying<'d> {
    from: *const u8,
    to: *mut u8,
    /// The literal counts of the remaining sequences.
    halves: u32,
    dictionary: &'d Dictionary,
}

impl Copying<'_> {
    /// Executes two sequences with the two lowest of these matches and returns the other matches.
    ///
    /// # Safety
    ///
    /// Both end within the literals and the room, which are followed by 16 bytes and by `SLACK`,
    /// and their matches end within the dictionary. A padding sequence has no bytes, at position 0.
    #[inline(always)]
    unsafe fn follow_two(&mut self, mut four: Four) -> Four {
        for _ in 0..2 {
            let few = (self.halves & 15) as usize;
            self.halves >>= 4;
            let place = (four.places & LANE) as usize;
            let len = (four.lens & LANE) as usize;
            four.places >>= LANE_BITS;
            four.lens >>= LANE_BITS;
            // SAFETY: 16 bytes are readable at the literals' end, and writable after `to`.
            unsafe { copy::copy_16(self.from, self.to) };
            // SAFETY: the caller promises that this many are left.
            self.from = unsafe { self.from.add(few) };
            // SAFETY: the caller promises the room.
            self.to = unsafe { self.to.add(few) };
            // SAFETY: `place` is 0, or below `RUN` because the match ends within the dictionary;
            // the padded one has 32 bytes from there.
            let from = unsafe { self.dictionary.padded.as_ptr().add(place) };
            // SAFETY: as above; the slack has 32 bytes.
            unsafe { copy::copy_32(from, self.to) };
            // SAFETY: the caller promises the room.
            self.to = unsafe { self.to.add(len) };
        }
        four
    }
}

/// Copies `len` literals, at most 15; returns `None` if fewer are left before `end`, unless `ROOM`
/// is set.
///
/// # Safety
///
/// `from <= end` in one slice, which has 16 more bytes if `ROOM`. 16 bytes are writable at `to`.
#[inline(always)]
unsafe fn copy_few<const ROOM: bool>(
    from: *const u8,
    end: *const u8,
    len: usize,
    to: *mut u8,
) -> Option<()> {
    if ROOM {
        // SAFETY: 16 bytes are readable at `from`, before `end` or after it, and there is room for
        // them at `to`.
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

/// Copies a run of literals; returns `None` if it is empty, or if either side has too few bytes
/// left.
///
/// # Safety
///
/// The bytes between the two addresses of the source are readable; those of the target are
/// writable.
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
/// `len` bytes are readable at `from`. At least 16 and at least `len` bytes are writable at `to`.
/// With `ROOM`, at least 16 bytes are readable at `from` as well.
#[inline(always)]
unsafe fn copy_rest<const ROOM: bool>(from: *const u8, len: usize, to: *mut u8) {
    if ROOM && len <= 16 {
        // SAFETY: 16 bytes are readable, and there is room for them.
        unsafe { copy::copy_16(from, to) };
    } else {
        // SAFETY: the caller promises `len` bytes on both sides.
        unsafe { copy::copy_exact(from, to, len) };
    }
}
