//! Decoding against a dictionary, without a branch that depends on a length.
//!
//! How many sequences a value has no processor guesses, and a loop that asks of each whether it stays within its bounds is
//! most of the work. What up to eight sequences say, those of a record of 100 or 200 bytes, fits three words: all are
//! asked together, before the first copy, and those that there are not are carried out as sequences of nothing, up to
//! four, six or eight. Of more sequences, or where one is a run of literals, one follows the other; four at a time in a
//! loop gained little.

#![allow(
    unsafe_code,
    reason = "writes into spare capacity; what each copy touches is bounded once a sequence"
)]
#![expect(
    clippy::inline_always,
    reason = "a call costs a tenth of what decoding a value of 100 bytes does"
)]

use std::ops::Range;

use super::{
    DICTIONARY_BYTES_MAX, Dictionary, LENGTH_BITS, MATCH_BYTES_MAX, PLAIN, RUN, RUN_BYTES, head_len,
};
use crate::codec::{copy, decode};

/// Spare room behind the raw length: a sequence that begins within it writes at most 15 literals and
/// one match, each copied at full length.
const SLACK: usize = 64;

/// Bytes behind the encoded value that loads may touch.
pub(super) const BEHIND: usize = 16;

/// Sequences whose numbers of literals one load holds.
const HALVES_PER_WORD: usize = 16;

/// Most sequences that are looked at together.
const FEW_MAX: u8 = 8;

/// Bits of a match as it is stored.
const LANE_BITS: u32 = 16;

/// The lowest lane; the lowest bit of each, and the highest.
const LANE: u64 = 0xffff;
const ONES: u64 = 0x0001_0001_0001_0001;
const HIGHS: u64 = ONES << (LANE_BITS - 1);

/// What of the words of matches and literals counts where there are so many sequences.
struct Present {
    lanes: [u64; 2],
    halves: u32,
}

/// By the number of sequences. (As shifts by that number they were a seventh slower.)
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
    let source = Source { bytes, start, end };
    let sides = (to, raw_len);
    if bytes.len() - end < BEHIND {
        // SAFETY: `reserve` made the room; the head ends within the value, as was checked; and the dictionary has its
        // padding as it has bytes.
        unsafe { source.decode::<false>(dictionary, count.into(), sides) }?;
    } else if !(1..=FEW_MAX).contains(&count)
        // SAFETY: as above; `BEHIND` bytes stand behind the value, and the count was checked just now.
        || unsafe { source.decode_few(dictionary, count.into(), sides) }.is_none()
    {
        // SAFETY: as above.
        unsafe { source.decode::<true>(dictionary, count.into(), sides) }?;
    }
    // SAFETY: one of them initialised the `raw_len` bytes behind the old length.
    unsafe { out.set_len(old_len + raw_len) };
    Some(())
}

/// An encoded value: `bytes[start..end]`.
#[derive(Clone, Copy)]
struct Source<'a> {
    bytes: &'a [u8],
    start: usize,
    end: usize,
}

impl Source<'_> {
    /// Decodes `count` sequences to `to`, as [`Source::decode`], which is asked again where this gives `None`: because one of
    /// them is a run of literals, or what is stored is malformed.
    ///
    /// # Safety
    ///
    /// As of `decode`; `BEHIND` bytes stand behind the value, and `count` is 1 to [`FEW_MAX`].
    #[inline(always)]
    unsafe fn decode_few(
        self,
        dictionary: &Dictionary,
        count: usize,
        (to, raw_len): (*mut u8, usize),
    ) -> Option<()> {
        let (head, present) = (self.start + 1, &PRESENT[count]);
        // SAFETY: the head begins within the value, behind whose end 16 bytes stand; so much is loaded from there at most.
        let words = [0, 8].map(|at| unsafe { copy::load_u64(self.bytes, head + at) });
        // SAFETY: as above, from the head's end on at most.
        let halves = unsafe { copy::load_u32(self.bytes, head + 2 * count) } & present.halves;
        let [four, more] = [0, 1].map(|at| Four::new(words[at], present.lanes[at]));
        // A run of literals says so here, before more is asked.
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
        // SAFETY: all of them together end within the literals and the room, as was checked just now, and each match within
        // the dictionary.
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
        // SAFETY: `rest` bytes are left on both sides, and the slack besides.
        unsafe { copy_rest::<true>(copying.from, rest, copying.to) };
        Some(())
    }

    /// Decodes `count` sequences to `to`; on `Some`, `raw_len` bytes there are initialised. With `ROOM`, `BEHIND` bytes stand
    /// behind the value.
    ///
    /// # Safety
    ///
    /// `raw_len + SLACK` bytes are writable at `to`, apart from everything else. `head_len(count)` bytes stand
    /// in the value. The dictionary is padded unless `count` is 0.
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
            // SAFETY: the lengths of the sequences from `first` on stand there, in the head.
            let mut halves = unsafe { self.load_halves::<ROOM>(head + 2 * count + first / 2) };
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

    /// Loads the numbers of literals that begin at `bytes[at]`; of up to 16 sequences, as far as the value
    /// has them.
    ///
    /// # Safety
    ///
    /// `at <= end`.
    #[inline]
    unsafe fn load_halves<const ROOM: bool>(self, at: usize) -> u64 {
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

/// Four matches, or those of them that there are, in lanes of 16 bits; of the others, none.
#[derive(Clone, Copy)]
struct Four {
    places: u64,
    lens: u64,
}

impl Four {
    /// The matches of `words`, those of `lanes`.
    #[inline(always)]
    fn new(words: u64, lanes: u64) -> Four {
        let words = words & lanes;
        Four {
            places: (words >> LENGTH_BITS) & (ONES * RUN as u64),
            // One less is stored.
            lens: (words & (ONES * (MATCH_BYTES_MAX as u64 - 1))) + (lanes & ONES),
        }
    }

    /// Whether each ends within a dictionary of this length; a run of literals would not.
    #[inline(always)]
    fn is_within(self, len: usize) -> bool {
        debug_assert!(len <= DICTIONARY_BYTES_MAX);
        // A lane that would be less than nothing borrows its highest bit, and no other's.
        let left = ((ONES * len as u64) | HIGHS) - (self.places + self.lens);
        left & HIGHS == HIGHS
    }
}

/// The sum of four lanes, which fits one.
#[inline(always)]
fn sum_of_lanes(lanes: u64) -> usize {
    (lanes.wrapping_mul(ONES) >> (u64::BITS - LANE_BITS)) as usize
}

/// The sum of eight halves of bytes.
#[inline(always)]
fn sum_of_halves(halves: u32) -> usize {
    let pairs = (halves & 0x0f0f_0f0f) + ((halves >> 4) & 0x0f0f_0f0f);
    (pairs.wrapping_mul(0x0101_0101) >> 24) as usize
}

/// Sequences under way: from where the next literals come, and to where they go.
struct Copying<'d> {
    from: *const u8,
    to: *mut u8,
    /// The numbers of literals of those that are left.
    halves: u32,
    dictionary: &'d Dictionary,
}

impl Copying<'_> {
    /// Carries out two sequences, with the lowest two of these matches; gives the others.
    ///
    /// # Safety
    ///
    /// Both end within the literals and the room, behind which 16 bytes and `SLACK` are, and their matches within the
    /// dictionary; a sequence that there is not has no bytes, at place 0.
    #[inline(always)]
    unsafe fn follow_two(&mut self, mut four: Four) -> Four {
        for _ in 0..2 {
            let few = (self.halves & 15) as usize;
            self.halves >>= 4;
            let place = (four.places & LANE) as usize;
            let len = (four.lens & LANE) as usize;
            four.places >>= LANE_BITS;
            four.lens >>= LANE_BITS;
            // SAFETY: 16 bytes stand at the literals' end, and have room behind `to`.
            unsafe { copy::copy_16(self.from, self.to) };
            // SAFETY: the caller promises that so many are left.
            self.from = unsafe { self.from.add(few) };
            // SAFETY: the caller promises the room.
            self.to = unsafe { self.to.add(few) };
            // SAFETY: `place` is 0, or below `RUN`, since the match ends within the dictionary, and from there the padded one
            // has 32 bytes.
            let from = unsafe { self.dictionary.padded.as_ptr().add(place) };
            // SAFETY: as above; the slack has 32 bytes.
            unsafe { copy::copy_32(from, self.to) };
            // SAFETY: the caller promises the room.
            self.to = unsafe { self.to.add(len) };
        }
        four
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
