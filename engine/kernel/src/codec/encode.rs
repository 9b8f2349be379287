//! Greedy encoder with a hash table of positions that is never cleared.
//!
//! The table stores `base + position` for the last position of each hash. `base` grows by the
//! length of every value, so entries of earlier values lie below it, and one comparison
//! distinguishes them from current ones. A candidate is used only after its position and its four
//! bytes were compared, so a wrong table entry cannot corrupt the output.

#![allow(
    unsafe_code,
    reason = "loads within checked bounds, and calls for instructions detected at run time"
)]

use super::copy;
use super::dictionary::sequences::Sequences;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::fast::lanes::Wide;
use super::fast::lanes::{Lanes, SLACK_BYTES, Words};
use super::sink::Sink;
use super::token::{
    COVER, COVER_MODULUS, HASH_BITS, HASH_BITS_LONG, HASH_BITS_SHORT, HASHED_BYTES_LONG,
    MATCH_BYTES_MIN, MEDIUM_BYTES_MAX, RAW_BYTES_MAX, RAW_BYTES_MIN, SHORT_BYTES_MAX, SKIP_SHIFT,
    hash, hash_long,
};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::cpu::{Level, level};

/// Number of entries in the hash table.
const TABLE_LEN: usize = 1 << HASH_BITS;
const _: () = assert!(HASH_BITS >= HASH_BITS_LONG && HASH_BITS >= HASH_BITS_SHORT);

/// Maximum base: the base plus the positions of one more value stay below 2^32.
const BASE_MAX: u32 = u32::MAX - (1 << 16);

const _: () = assert!((u32::MAX - BASE_MAX) as usize >= RAW_BYTES_MAX);

/// An encoder for single values that reuses its table of 64 KiB. An encoder belongs to one thread.
///
/// ```
/// use cairndb_kernel::codec::Encoder;
/// let mut encoder = Encoder::new();
/// let mut out = Vec::new();
/// assert!(encoder.encode(&[7; 100], &mut out));
/// assert_eq!(out, [0x1f, 7, 1, 0, 80]); // one literal, 99 bytes from one byte back
/// assert!(!encoder.encode(b"no repeats", &mut out));
/// assert_eq!(out.len(), 5);
/// ```
#[derive(Clone)]
pub struct Encoder {
    table: Box<[u32; TABLE_LEN]>,
    /// Stored form of position 0 of the next value; at least 1, so that an empty entry lies below
    /// it.
    base: u32,
    /// Whether this processor has the instructions of [`Wide`]; queried once.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    wide: bool,
    /// Buffers for values that are encoded against a dictionary.
    pub(super) sequences: Sequences,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// Returns an encoder with an empty table; allocates 64 KiB.
    pub fn new() -> Self {
        Encoder {
            table: empty_table(),
            base: 1,
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            wide: level() >= Level::Avx512,
            sequences: Sequences::default(),
        }
    }

    /// Appends the encoded form of `src` to `out` if it is shorter than `src`.
    ///
    /// Returns `false` and leaves the contents of `out` unchanged if it is not, or if `src` is
    /// longer than [`RAW_BYTES_MAX`]. The appended bytes depend only on `src`.
    #[inline]
    pub fn encode(&mut self, src: &[u8], out: &mut Vec<u8>) -> bool {
        if !(RAW_BYTES_MIN..=RAW_BYTES_MAX).contains(&src.len()) {
            return false;
        }
        out.reserve(src.len() + SLACK_BYTES);
        let old_len = out.len();
        let spare = out.spare_capacity_mut();
        debug_assert!(spare.len() >= src.len() + SLACK_BYTES);
        // The encoded form must be shorter than the value, so its room is one byte smaller. SAFETY:
        // the spare capacity holds the value and the slack, and `out` is not touched before
        // `set_len`.
        let mut sink = unsafe { Sink::new(spare.as_mut_ptr().cast(), src.len() - 1) };
        let base = self.advance(src.len());
        let fits = if src.len() <= SHORT_BYTES_MAX {
            self.search_here::<true, false>(src, base, &mut sink)
        } else if src.len() <= MEDIUM_BYTES_MAX {
            self.search_here::<false, false>(src, base, &mut sink)
        } else {
            self.search_here::<false, true>(src, base, &mut sink)
        };
        if fits.is_none() {
            return false;
        }
        // SAFETY: the sink initialised its `len() <= room` bytes of the spare capacity.
        unsafe { out.set_len(old_len + sink.len()) };
        true
    }

    /// Encodes `src` into `sink` with the best instructions of this processor.
    #[inline]
    fn search_here<const SHORT: bool, const LONG: bool>(
        &mut self,
        src: &[u8],
        base: u32,
        sink: &mut Sink,
    ) -> Option<()> {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if self.wide {
            // SAFETY: the encoder's constructor has checked for these instructions.
            return unsafe { search_wide::<SHORT, LONG>(src, &mut self.table, base, sink) };
        }
        // SAFETY: every processor supports words.
        unsafe { search::<SHORT, LONG, Words>(src, &mut self.table, base, sink) }
    }

    /// Returns the same encoder for a processor without the instructions of [`Wide`].
    #[cfg(test)]
    pub(super) fn by_words(&self) -> Encoder {
        Encoder {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            wide: false,
            ..self.clone()
        }
    }

    /// Reserves `len` table values and returns the first; clears the table if they run out.
    #[inline]
    fn advance(&mut self, len: usize) -> u32 {
        debug_assert!(len <= RAW_BYTES_MAX);
        let base = self.base;
        if base > BASE_MAX {
            self.table.fill(0);
            self.base = 1;
            return self.advance(len);
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "at most 64 Ki, checked by encode"
        )]
        let len = len as u32;
        self.base = base + len;
        base
    }

    /// Makes the base values run out soon, as happens after four gigabytes of values.
    #[cfg(test)]
    pub(super) fn skip_ahead(&mut self) {
        self.base = BASE_MAX - 1000;
    }
}

/// Allocates the table directly on the heap, without moving it there from the stack.
fn empty_table() -> Box<[u32; TABLE_LEN]> {
    let table = vec![0; TABLE_LEN].into_boxed_slice();
    table.try_into().expect("it has that length")
}

/// A match: `len` bytes at `at` equal those at `at - offset`.
struct Match {
    at: usize,
    offset: usize,
    len: usize,
}

/// Runs [`search`] compiled for the instructions of [`Wide`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
fn search_wide<const SHORT: bool, const LONG: bool>(
    src: &[u8],
    table: &mut [u32; TABLE_LEN],
    base: u32,
    sink: &mut Sink,
) -> Option<()> {
    // SAFETY: the caller has verified that the processor has the instructions of `Wide`.
    unsafe { search::<SHORT, LONG, Wide>(src, table, base, sink) }
}

/// Encodes `src` into `sink`; returns `None` if the encoded form does not fit.
///
/// # Safety
///
/// The processor has the instructions of the lanes.
#[expect(
    clippy::inline_always,
    reason = "inlined into functions that are compiled for different instructions"
)]
#[inline(always)]
unsafe fn search<const SHORT: bool, const LONG: bool, L: Lanes>(
    src: &[u8],
    table: &mut [u32; TABLE_LEN],
    base: u32,
    sink: &mut Sink,
) -> Option<()> {
    let mut anchor = 0;
    // A value whose last match reaches its end leaves nothing to search.
    while anchor + MATCH_BYTES_MIN <= src.len() {
        let found = if SHORT {
            find_covered::<HASH_BITS_SHORT>(src, table, base, anchor)
        } else {
            find_striding::<LONG>(src, table, base, anchor)
        };
        let Some((at, candidate)) = found else {
            break;
        };
        // SAFETY: the caller promises the instructions; `probe` returned `candidate < at`, and four
        // bytes were loaded at both.
        let found = unsafe { widen::<L>(src, at, candidate, anchor) };
        let offset = u16::try_from(found.offset).ok()?;
        // SAFETY: as above.
        unsafe {
            sink.sequence::<SHORT, L>(&src[anchor..found.at], Some((offset, found.len)))?;
        }
        anchor = found.at + found.len;
        // The next match often starts right after this one, so the end of this one is entered as a
        // candidate.
        if anchor - 2 + hashed_bytes::<LONG>() <= src.len() {
            // SAFETY: `anchor >= 4`, and the bytes from `anchor - 2` on were checked.
            let bytes = unsafe { bytes_at::<LONG>(src, anchor - 2) };
            let slot = if SHORT {
                hash::<HASH_BITS_SHORT>(low_u32(bytes))
            } else {
                slot_of::<LONG>(bytes)
            };
            table[slot] = stored(base, anchor - 2);
        }
    }
    if anchor < src.len() {
        // SAFETY: as above.
        unsafe { sink.sequence::<SHORT, L>(&src[anchor..], None)? };
    }
    Some(())
}

/// Finds the first match at or after `anchor` in a short value: the position of four bytes, and of
/// an earlier occurrence of the same four.
///
/// Three positions of every seven are entered and tested. [`COVER`] is a difference cover: for any
/// distance between two equal runs, one of seven consecutive positions of the later run is such
/// that both it and its counterpart lie in the cover. So a match of ten bytes is found, unless
/// another run with the same hash came between or its earlier part lies in a match itself. Shorter
/// matches are often found. The three positions share one load. The idea is from Burkhardt and
/// Kärkkäinen (2003), who use it to sort suffixes.
///
/// Testing every other position would find matches of five bytes and make text slightly smaller,
/// but encode more slowly.
#[expect(
    clippy::inline_always,
    reason = "inlined into the one search that uses it and compiled for its instructions"
)]
#[inline(always)]
fn find_covered<const BITS: u32>(
    src: &[u8],
    table: &mut [u32; TABLE_LEN],
    base: u32,
    anchor: usize,
) -> Option<(usize, usize)> {
    // Blocks are aligned to the start of the value, not to the anchor, so one cover applies to the
    // whole value.
    let mut block = 0;
    // The first call needs no division.
    if anchor > 0 {
        block = anchor - anchor % COVER_MODULUS;
        if block < anchor {
            if let found @ Some(_) = find_at_edge::<BITS>(src, table, base, anchor, block) {
                return found;
            }
            block += COVER_MODULUS;
        }
    }
    // Start of the last block that one load covers; without such a block, the loop does not run.
    if let Some(last) = src.len().checked_sub(8) {
        // Incremented with the block: computing it at each position takes two more instructions.
        let mut first = stored(base, block);
        while block <= last {
            // SAFETY: `block + 8 <= src.len()` by the loop's condition.
            let word = unsafe { copy::load_u64(src, block) };
            for step in COVER {
                let (at, bytes) = (block + step, low_u32(word >> (8 * step)));
                let (place, slot) = ((at, stored(first, step)), hash::<BITS>(bytes));
                if let Some(candidate) = probe_as(src, table, base, place, slot, bytes) {
                    return Some((at, candidate));
                }
            }
            block += COVER_MODULUS;
            first = stored(first, COVER_MODULUS);
        }
    }
    find_at_edge::<BITS>(src, table, base, anchor, block)
}

/// Like [`find_covered`], but for a single block, part of which may lie before the anchor or after
/// the end of the value.
fn find_at_edge<const BITS: u32>(
    src: &[u8],
    table: &mut [u32; TABLE_LEN],
    base: u32,
    anchor: usize,
    block: usize,
) -> Option<(usize, usize)> {
    for at in COVER.map(|step| block + step) {
        if at < anchor || at + MATCH_BYTES_MIN > src.len() {
            continue;
        }
        // SAFETY: `at + 4 <= src.len()` was checked.
        let bytes = unsafe { copy::load_u32(src, at) };
        if let Some(candidate) = probe(src, table, base, at, hash::<BITS>(bytes), bytes) {
            return Some((at, candidate));
        }
    }
    None
}

/// Like [`find_covered`], but for longer values: tests every position, then with growing strides.
#[expect(
    clippy::inline_always,
    reason = "inlined into the one search that uses it and compiled for its instructions"
)]
#[inline(always)]
fn find_striding<const LONG: bool>(
    src: &[u8],
    table: &mut [u32; TABLE_LEN],
    base: u32,
    anchor: usize,
) -> Option<(usize, usize)> {
    let mut at = anchor;
    let mut tries = 1usize << SKIP_SHIFT;
    // The first tries test every position: four of them share one load and one bounds check.
    while at + 8 <= src.len() && tries < 2 << SKIP_SHIFT {
        // SAFETY: `at + 8 <= src.len()` is the loop's condition.
        let word = unsafe { copy::load_u64(src, at) };
        for step in 0..4 {
            let bytes = word >> (8 * step);
            let slot = slot_of::<LONG>(bytes);
            if let Some(candidate) = probe(src, table, base, at + step, slot, low_u32(bytes)) {
                return Some((at + step, candidate));
            }
        }
        at += 4;
        tries += 4;
    }
    while at + hashed_bytes::<LONG>() <= src.len() {
        // SAFETY: this is the loop's condition.
        let bytes = unsafe { bytes_at::<LONG>(src, at) };
        let slot = slot_of::<LONG>(bytes);
        if let Some(candidate) = probe(src, table, base, at, slot, low_u32(bytes)) {
            return Some((at, candidate));
        }
        at += tries >> SKIP_SHIFT;
        tries += 1;
    }
    None
}

// Four positions share one load of eight bytes.
const _: () = assert!(3 + HASHED_BYTES_LONG <= 8 && 3 + MATCH_BYTES_MIN <= 8);

/// Returns the number of bytes of a position that are hashed.
#[inline]
const fn hashed_bytes<const LONG: bool>() -> usize {
    if LONG {
        HASHED_BYTES_LONG
    } else {
        MATCH_BYTES_MIN
    }
}

/// Returns the bytes that are hashed at position `at`.
///
/// # Safety
///
/// `src` has [`hashed_bytes`] bytes from `at` on.
#[inline]
unsafe fn bytes_at<const LONG: bool>(src: &[u8], at: usize) -> u64 {
    // SAFETY: the caller promises at least these bytes.
    let low = unsafe { copy::load_u32(src, at) };
    if LONG {
        u64::from(low) | u64::from(src[at + 4]) << 32
    } else {
        u64::from(low)
    }
}

/// Returns the slot for these bytes, in values that are not short.
#[inline]
fn slot_of<const LONG: bool>(bytes: u64) -> usize {
    if LONG {
        hash_long(bytes)
    } else {
        hash::<HASH_BITS>(low_u32(bytes))
    }
}

/// Enters position `at`, whose first four bytes are `bytes`, into the table. Returns the previous
/// position with the same hash if it has the same four bytes.
#[inline]
fn probe(
    src: &[u8],
    table: &mut [u32; TABLE_LEN],
    base: u32,
    at: usize,
    slot: usize,
    bytes: u32,
) -> Option<usize> {
    probe_as(src, table, base, (at, stored(base, at)), slot, bytes)
}

/// Like [`probe`], but for callers that have already computed the table entry of the position.
#[inline]
fn probe_as(
    src: &[u8],
    table: &mut [u32; TABLE_LEN],
    base: u32,
    (at, entered): (usize, u32),
    slot: usize,
    bytes: u32,
) -> Option<usize> {
    debug_assert_eq!(entered, stored(base, at));
    let entry = &mut table[slot];
    let earlier = std::mem::replace(entry, entered);
    // Entries of earlier values lie below the base. Most positions need only this one comparison.
    if earlier < base {
        return None;
    }
    let candidate = (earlier - base) as usize;
    // Never true, because positions are entered in ascending order; but the safety of the load
    // below must not depend on that.
    if candidate >= at {
        return None;
    }
    // SAFETY: `candidate < at` was checked, and four bytes at `at` lie within `src`.
    let there = unsafe { copy::load_u32(src, candidate) };
    (there == bytes).then_some(candidate)
}

/// Returns the low half of a word.
#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
#[inline]
fn low_u32(word: u64) -> u32 {
    word as u32
}

/// Returns the table entry for the position `at` bytes after the position with entry `from`, which
/// may be the base.
#[expect(clippy::cast_possible_truncation, reason = "positions are below 64 Ki")]
#[inline]
fn stored(from: u32, at: usize) -> u32 {
    debug_assert!(at < RAW_BYTES_MAX);
    from + at as u32
}

/// Extends a match of four bytes in both directions, but not backwards beyond `anchor`.
///
/// # Safety
///
/// The processor has the instructions of the lanes; `candidate < at`, and four bytes from `at` on
/// lie within `src`.
#[inline]
unsafe fn widen<L: Lanes>(src: &[u8], at: usize, candidate: usize, anchor: usize) -> Match {
    debug_assert!(candidate < at && at + MATCH_BYTES_MIN <= src.len());
    let offset = at - candidate;
    // SAFETY: the caller promises the instructions, and bounds by which
    // `1 <= offset <= at < end <= src.len()`.
    let end = unsafe { L::run_end(src, at + MATCH_BYTES_MIN, offset) };
    debug_assert!(end <= src.len());
    let len = end - at;
    widen_back(src, Match { at, offset, len }, anchor)
}

#[inline]
fn widen_back(src: &[u8], mut found: Match, anchor: usize) -> Match {
    while found.at > anchor && found.at > found.offset {
        if src[found.at - 1] != src[found.at - found.offset - 1] {
            break;
        }
        found.at -= 1;
        found.len += 1;
    }
    found
}
