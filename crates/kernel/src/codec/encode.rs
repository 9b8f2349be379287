//! Greedy encoding with a hash table of positions that is never cleared.
//!
//! The table keeps `base + position` for the last position of each hash; `base` grows by the
//! length of every value, so that entries of earlier values lie below it and are told from
//! present ones by the same comparison that a candidate needs anyway. A candidate counts only
//! after its four bytes were compared, so the table can mislead but never corrupt.

#![allow(
    unsafe_code,
    reason = "loads and copies whose bounds hold for the whole search loop"
)]

use super::copy;
use super::dictionary::sequences::Sequences;
use super::token::{
    COVER, COVER_MODULUS, HALF_MAX, HASH_BITS, HASH_BITS_SHORT, MATCH_BYTES_MIN, RAW_BYTES_MAX,
    RAW_BYTES_MIN, SHORT_BYTES_MAX, SKIP_SHIFT, hash,
};

/// Entries of the hash table.
const TABLE_LEN: usize = 1 << HASH_BITS;

/// Highest base: a stale entry less the base wraps to above any position as long as base and one
/// more value's positions stay below 2^32.
const BASE_MAX: u32 = u32::MAX - (2 << 16);

const _: () = assert!((u32::MAX - BASE_MAX) as usize >= 2 * RAW_BYTES_MAX);

/// Encodes values one by one, reusing its 16 KiB table. One encoder belongs to one thread.
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
    /// What position 0 of the next value is stored as; at least 1, so that an entry never written
    /// lies below it.
    base: u32,
    /// Kept for values that are encoded against a dictionary.
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
    /// An encoder with an empty table; allocates 16 KiB.
    pub fn new() -> Self {
        Encoder {
            table: Box::new([0; TABLE_LEN]),
            base: 1,
            sequences: Sequences::default(),
        }
    }

    /// Appends the encoded form of `src` to `out` if it is shorter than `src`.
    ///
    /// Returns `false` and leaves the content of `out` unchanged if it is not, or if `src` is
    /// longer than [`RAW_BYTES_MAX`]. What is appended depends on `src` alone.
    #[inline]
    pub fn encode(&mut self, src: &[u8], out: &mut Vec<u8>) -> bool {
        if !(RAW_BYTES_MIN..=RAW_BYTES_MAX).contains(&src.len()) {
            return false;
        }
        out.reserve(src.len());
        let old_len = out.len();
        let spare = out.spare_capacity_mut();
        debug_assert!(spare.len() >= src.len());
        // The encoded form must be shorter than the value: one byte less is all the room it has.
        let mut sink = Sink {
            to: spare.as_mut_ptr().cast(),
            len: 0,
            room: src.len() - 1,
        };
        let base = self.advance(src.len());
        let fits = if src.len() <= SHORT_BYTES_MAX {
            search::<HASH_BITS_SHORT>(src, &mut self.table, base, &mut sink)
        } else {
            search::<HASH_BITS>(src, &mut self.table, base, &mut sink)
        };
        if fits.is_none() {
            return false;
        }
        // SAFETY: the sink initialised its `len <= room` bytes of the spare capacity.
        unsafe { out.set_len(old_len + sink.len) };
        true
    }

    /// Reserves `len` table values and returns the first; clears the table when they run out.
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

    /// Makes the base values run out soon, as they do after four gigabytes of values.
    #[cfg(test)]
    pub(super) fn skip_ahead(&mut self) {
        self.base = BASE_MAX - 1000;
    }
}

/// A match: `len` bytes at `at` equal those at `at - offset`.
struct Match {
    at: usize,
    offset: usize,
    len: usize,
}

/// Encodes `src` into `sink`; `None` when the encoded form does not fit.
#[inline]
fn search<const BITS: u32>(
    src: &[u8],
    table: &mut [u32; TABLE_LEN],
    base: u32,
    sink: &mut Sink,
) -> Option<()> {
    const {
        assert!(
            HASH_BITS != HASH_BITS_SHORT,
            "short values are told by them"
        );
    };
    let find = if BITS == HASH_BITS_SHORT {
        find_covered::<BITS>
    } else {
        find_striding::<BITS>
    };
    let mut anchor = 0;
    // A value that repeats to its end leaves nothing to be searched.
    while anchor + MATCH_BYTES_MIN <= src.len() {
        let Some(found) = find(src, table, base, anchor) else {
            break;
        };
        let offset = u16::try_from(found.offset).ok()?;
        sink.sequence(&src[anchor..found.at], Some((offset, found.len)))?;
        anchor = found.at + found.len;
        // The next match often begins just behind; let it find the end of this one.
        if anchor + 2 <= src.len() {
            // SAFETY: `anchor >= 4`, and `anchor - 2 + 4 <= src.len()` was checked.
            let bytes = unsafe { copy::load_u32(src, anchor - 2) };
            table[hash::<BITS>(bytes)] = stored(base, anchor - 2);
        }
    }
    if anchor < src.len() {
        sink.sequence(&src[anchor..], None)?;
    }
    Some(())
}

/// Finds the first match at or behind `anchor` that the table knows, in a short value; widened both
/// ways but not back beyond `anchor`.
///
/// Three positions of seven are entered and looked at. [`COVER`] is a difference cover: whatever the
/// distance of two equal runs, among seven consecutive positions of the later one there is one that
/// lies in the cover as its counterpart does. So a match of ten bytes is found (unless another run of
/// its hash came between, or its earlier part lies in a match itself) and a shorter one often. The
/// three share one load. The idea is Burkhardt and Kärkkäinen's, who sort suffixes by it (2003).
///
/// Looking at every other position finds matches of five bytes: text of 100 to 256 bytes is 1 to 5 %
/// smaller then, and takes a third longer to encode.
#[inline]
fn find_covered<const BITS: u32>(
    src: &[u8],
    table: &mut [u32; TABLE_LEN],
    base: u32,
    anchor: usize,
) -> Option<Match> {
    // Blocks lie on the grid of the value, not of the anchor: the cover is one for the whole value.
    let mut block = anchor - anchor % COVER_MODULUS;
    if block < anchor {
        if let found @ Some(_) = find_at_edge::<BITS>(src, table, base, anchor, block) {
            return found;
        }
        block += COVER_MODULUS;
    }
    while block + 8 <= src.len() {
        // SAFETY: `block + 8 <= src.len()` is the loop's condition.
        let word = unsafe { copy::load_u64(src, block) };
        for step in COVER {
            let (at, bytes) = (block + step, low_u32(word >> (8 * step)));
            if let Some(candidate) = probe::<BITS>(src, table, base, at, bytes) {
                return Some(widen(src, at, candidate, anchor));
            }
        }
        block += COVER_MODULUS;
    }
    find_at_edge::<BITS>(src, table, base, anchor, block)
}

/// As [`find_covered`] in a single block, of which a part may lie before the anchor or behind the value.
fn find_at_edge<const BITS: u32>(
    src: &[u8],
    table: &mut [u32; TABLE_LEN],
    base: u32,
    anchor: usize,
    block: usize,
) -> Option<Match> {
    for at in COVER.map(|step| block + step) {
        if at < anchor || at + MATCH_BYTES_MIN > src.len() {
            continue;
        }
        // SAFETY: `at + 4 <= src.len()` was checked.
        let bytes = unsafe { copy::load_u32(src, at) };
        if let Some(candidate) = probe::<BITS>(src, table, base, at, bytes) {
            return Some(widen(src, at, candidate, anchor));
        }
    }
    None
}

/// As [`find_covered`] for longer values: every position at first, then with growing strides.
#[inline]
fn find_striding<const BITS: u32>(
    src: &[u8],
    table: &mut [u32; TABLE_LEN],
    base: u32,
    anchor: usize,
) -> Option<Match> {
    let mut at = anchor;
    let mut tries = 1usize << SKIP_SHIFT;
    // The first tries take every position: four of them share one load and one bounds check.
    while at + 8 <= src.len() && tries < 2 << SKIP_SHIFT {
        // SAFETY: `at + 8 <= src.len()` is the loop's condition.
        let word = unsafe { copy::load_u64(src, at) };
        for step in 0..4 {
            let bytes = low_u32(word >> (8 * step));
            if let Some(candidate) = probe::<BITS>(src, table, base, at + step, bytes) {
                return Some(widen(src, at + step, candidate, anchor));
            }
        }
        at += 4;
        tries += 4;
    }
    while at + MATCH_BYTES_MIN <= src.len() {
        // SAFETY: `at + 4 <= src.len()` is the loop's condition.
        let bytes = unsafe { copy::load_u32(src, at) };
        if let Some(candidate) = probe::<BITS>(src, table, base, at, bytes) {
            return Some(widen(src, at, candidate, anchor));
        }
        at += tries >> SKIP_SHIFT;
        tries += 1;
    }
    None
}

/// Enters position `at` with its four `bytes` into the table; returns the position entered before
/// for the same hash if the same four bytes stand there.
#[inline]
fn probe<const BITS: u32>(
    src: &[u8],
    table: &mut [u32; TABLE_LEN],
    base: u32,
    at: usize,
    bytes: u32,
) -> Option<usize> {
    let entry = &mut table[hash::<BITS>(bytes)];
    let earlier = std::mem::replace(entry, stored(base, at));
    // Entries of earlier values lie below the base; this one comparison is all that most positions need.
    if earlier < base {
        return None;
    }
    // Positions are entered in ascending order, so that an entry of this value is one below `at`.
    let candidate = (earlier - base) as usize;
    if candidate >= at {
        return None;
    }
    // SAFETY: `candidate < at` was checked, and four bytes at `at` lie within `src`.
    let there = unsafe { copy::load_u32(src, candidate) };
    (there == bytes).then_some(candidate)
}

/// The low half of a word.
#[expect(clippy::cast_possible_truncation, reason = "the low half is asked for")]
#[inline]
fn low_u32(word: u64) -> u32 {
    word as u32
}

/// The table's form of a position.
#[expect(clippy::cast_possible_truncation, reason = "positions are below 64 Ki")]
#[inline]
fn stored(base: u32, at: usize) -> u32 {
    debug_assert!(at < RAW_BYTES_MAX);
    base + at as u32
}

/// Extends a match of four bytes as far as it goes, backwards not beyond `anchor`.
#[inline]
fn widen(src: &[u8], at: usize, candidate: usize, anchor: usize) -> Match {
    debug_assert!(candidate < at && at + MATCH_BYTES_MIN <= src.len());
    let offset = at - candidate;
    let mut end = at + MATCH_BYTES_MIN;
    while end + 8 <= src.len() {
        // SAFETY: `end + 8 <= src.len()` is the loop's condition.
        let here = unsafe { copy::load_u64(src, end) };
        // SAFETY: `end - offset < end`.
        let earlier = unsafe { copy::load_u64(src, end - offset) };
        let differing = here ^ earlier;
        if differing != 0 {
            end += differing.trailing_zeros() as usize / 8;
            return widen_back(
                src,
                Match {
                    at,
                    offset,
                    len: end - at,
                },
                anchor,
            );
        }
        end += 8;
    }
    if end < src.len() {
        end = widen_tail(src, end, offset);
    }
    widen_back(
        src,
        Match {
            at,
            offset,
            len: end - at,
        },
        anchor,
    )
}

/// Extends a match that ends at `end`, fewer than eight bytes before the end of `src`. One load that
/// reaches back behind `end`, where there is one: byte by byte, the processor mispredicts where it ends.
#[inline]
fn widen_tail(src: &[u8], mut end: usize, offset: usize) -> usize {
    debug_assert!(end < src.len() && end + 8 > src.len());
    if let Some(last) = src.len().checked_sub(8)
        && last >= offset
    {
        // SAFETY: `last + 8 == src.len()`.
        let here = unsafe { copy::load_u64(src, last) };
        // SAFETY: `last >= offset` was checked, and `last - offset + 8 <= src.len()`.
        let earlier = unsafe { copy::load_u64(src, last - offset) };
        // Of the eight bytes those before `end` are shifted out; one to seven are left.
        let differing = (here ^ earlier) >> (8 * (end - last));
        return match differing {
            0 => src.len(),
            _ => end + differing.trailing_zeros() as usize / 8,
        };
    }
    while end < src.len() && src[end] == src[end - offset] {
        end += 1;
    }
    end
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

/// Where encoded bytes go: spare capacity with a fixed bound.
struct Sink {
    /// `room` writable bytes, of which the first `len` are initialised.
    to: *mut u8,
    len: usize,
    room: usize,
}

impl Sink {
    /// Writes one sequence; `None` when it does not fit, with nothing written.
    #[inline]
    fn sequence(&mut self, literals: &[u8], matched: Option<(u16, usize)>) -> Option<()> {
        let more = matched.map_or(0, |(_, len)| len - MATCH_BYTES_MIN);
        let tail = if matched.is_some() {
            2 + extension_len(more)
        } else {
            0
        };
        let bytes = 1 + extension_len(literals.len()) + literals.len() + tail;
        if bytes > self.room - self.len {
            return None;
        }
        let end = self.len + bytes;
        self.byte(half(literals.len()) << 4 | half(more));
        self.extension(literals.len());
        // SAFETY: `len < end <= room`, as the token and extension were counted in `bytes`.
        let to = unsafe { self.to.add(self.len) };
        // SAFETY: `bytes` counts the literals, and `room - len` covered `bytes`; the spare
        // capacity of the output and the value are different allocations.
        unsafe { copy::copy_exact(literals.as_ptr(), to, literals.len()) };
        self.len += literals.len();
        if let Some((offset, _)) = matched {
            let [low, high] = offset.to_le_bytes();
            self.byte(low);
            self.byte(high);
            self.extension(more);
        }
        debug_assert_eq!(self.len, end);
        Some(())
    }

    /// Writes one byte of those that `sequence` has made sure of.
    #[inline]
    fn byte(&mut self, byte: u8) {
        debug_assert!(self.len < self.room);
        // SAFETY: `sequence` checked the room for all its bytes, of which this is one.
        let to = unsafe { self.to.add(self.len) };
        // SAFETY: as above: the address lies within the room.
        unsafe { to.write(byte) };
        self.len += 1;
    }

    /// Writes the extension bytes of a length, if it needs any.
    #[inline]
    fn extension(&mut self, len: usize) {
        let Some(mut rest) = len.checked_sub(HALF_MAX) else {
            return;
        };
        while let Some(less) = rest.checked_sub(255) {
            self.byte(255);
            rest = less;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the loop left less than 255"
        )]
        self.byte(rest as u8);
    }
}

/// Extension bytes that a length needs.
#[inline]
fn extension_len(len: usize) -> usize {
    if len < HALF_MAX {
        0
    } else {
        1 + (len - HALF_MAX) / 255
    }
}

/// The token half of a length.
#[expect(clippy::cast_possible_truncation, reason = "at most 15")]
#[inline]
fn half(len: usize) -> u8 {
    len.min(HALF_MAX) as u8
}
