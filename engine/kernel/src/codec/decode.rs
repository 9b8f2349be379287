//! Decoder of the short-value codec: 16-byte copies inside reserved room, one bounds check per run.
//!
//! A short run of any length is copied by one 16-byte move if both sides have room. Longer runs are
//! copied by 16-byte moves, the last of which is aligned to the end of the run, so the source needs
//! no padding. [Consecutive sequences with short runs](super::fast::short) use moves of one fixed
//! length. A match that lies wholly within the literals just copied is read from the encoded bytes
//! instead of the output: those loads do not have to wait for the stores.
//!
//! Values of a column, and the pieces of a long value, often have the same sequence bytes at the
//! same offsets. Such [rows](super::fast::row) are decoded with two copies per value. For a single
//! short value the search for a row would cost as much as it saves.

#![allow(
    unsafe_code,
    reason = "writes into spare capacity; every copy follows its bounds check"
)]

use std::ops::Range;

use super::copy;
use super::fast::period;
use super::fast::row::{self, BYTES_AHEAD, Done, Rows};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::fast::runs::Wide;
use super::fast::runs::{Runs, Words};
use super::fast::shape::Shape;
use super::fast::short::decode_short;
use super::token::{HALF_MAX, MATCH_BYTES_MIN, literal_half, match_half, raw_len_max};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::cpu::{Level, level};
use crate::prefetch::prefetch_span;

/// Minimum number of bytes for which calling the function with wider copies pays off.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const WIDE_BYTES_MIN: usize = 400;

/// Minimum number of bytes for which a value is likely to have several sequences with short runs.
const MANY_BYTES_MIN: usize = 300;

/// Maximum number of values of a row that are tested for their shape. Testing a few allows for a
/// value that differs from the others, without testing a whole row that has no common shape.
const SHAPES_MAX: usize = 4;

/// Spare room that [`decode`] reserves after the raw length, so that short runs near the end can be
/// copied with one move.
pub const DECODE_SLACK: usize = 64;

/// Decodes `src` and appends its `raw_len` bytes to `out`.
///
/// Returns `None` if `src` is malformed or decodes to another length; `out` then keeps its old
/// length. Reserves at most 64 bytes more than `raw_len`, and nothing if `src` is too short for
/// `raw_len`, so that hostile lengths cannot exhaust memory.
///
/// ```
/// use cairndb_kernel::codec::{Encoder, decode};
/// let value = b"one fish two fish red fish blue fish";
/// let mut encoded = Vec::new();
/// assert!(Encoder::new().encode(value, &mut encoded));
/// let mut raw = Vec::new();
/// assert!(decode(&encoded, value.len(), &mut raw).is_some());
/// assert_eq!(raw, value);
/// ```
pub fn decode(src: &[u8], raw_len: usize, out: &mut Vec<u8>) -> Option<()> {
    if raw_len > raw_len_max(src.len()) {
        return None;
    }
    let whole = |to: *mut u8, room: usize| {
        // SAFETY: `append` provides `raw_len` bytes and slack that do not overlap `src`.
        unsafe { decode_best::<false>(src, to, raw_len..raw_len, room) }
    };
    // SAFETY: on `Some`, `decode_best` has initialised `raw_len` bytes.
    unsafe { append(out, raw_len..raw_len, whole) }
}

/// Appends the first `wanted` of the `raw_len` bytes that `src` decodes to, as [`decode`] does, but
/// reads little more of `src` than it needs. Meant for reading one value from a group that was
/// encoded together.
///
/// Returns `None` if `wanted` is more than `raw_len`, or if the part that was read is malformed.
///
/// ```
/// use cairndb_kernel::codec::{Encoder, decode_until};
/// let value = b"one fish two fish red fish blue fish";
/// let mut encoded = Vec::new();
/// assert!(Encoder::new().encode(value, &mut encoded));
/// let mut raw = Vec::new();
/// assert!(decode_until(&encoded, value.len(), 17, &mut raw).is_some());
/// assert_eq!(raw, b"one fish two fish");
/// ```
pub fn decode_until(src: &[u8], raw_len: usize, wanted: usize, out: &mut Vec<u8>) -> Option<()> {
    if raw_len > raw_len_max(src.len()) || wanted > raw_len {
        return None;
    }
    let part = |to: *mut u8, room: usize| {
        // SAFETY: `append` provides `raw_len` bytes and slack that do not overlap `src`.
        unsafe { decode_best::<true>(src, to, wanted..raw_len, room) }
    };
    // The last sequence may extend beyond the `wanted` bytes. SAFETY: on `Some`, `decode_best` has
    // initialised `wanted` bytes.
    unsafe { append(out, wanted..raw_len, part) }
}

/// Calls [`decode_raw`] with the copies that are best for the length.
///
/// # Safety
///
/// Same as for [`decode_raw`], but works on any processor.
#[inline]
unsafe fn decode_best<const PART: bool>(
    src: &[u8],
    to: *mut u8,
    lens: Range<usize>,
    room: usize,
) -> Option<()> {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if lens.end >= WIDE_BYTES_MIN && level() >= Level::Avx2 {
        if src.len() > 2 * BYTES_AHEAD {
            // SAFETY: the level just read means that this processor has AVX2; the caller promises
            // the rest.
            return unsafe { decode_wide::<true, PART>(src, to, lens, room) };
        }
        // SAFETY: as above.
        return unsafe { decode_wide::<false, PART>(src, to, lens, room) };
    }
    // SAFETY: every processor can copy words; the caller promises the rest.
    unsafe { decode_raw::<Words, PART>(src, to, lens, room) }
}

/// Decodes `src`, which consists of values of `stored_len` bytes each, and appends `raw_len` bytes
/// for each. Equivalent to calling [`decode`] for each value in order, but checks bounds and
/// reserves room only once.
///
/// Returns `None` if a value is malformed or decodes to another length, or if bytes are left after
/// the last value; `out` then keeps its old length.
///
/// ```
/// use cairndb_kernel::codec::{Encoder, decode_each};
/// let mut encoded = Vec::new();
/// for value in [&[1; 50], &[2; 50]] {
///     assert!(Encoder::new().encode(value, &mut encoded));
/// }
/// let mut raw = Vec::new();
/// assert!(decode_each(&encoded, encoded.len() / 2, 50, &mut raw).is_some());
/// assert_eq!(raw, [[1; 50], [2; 50]].concat());
/// ```
pub fn decode_each(src: &[u8], stored_len: usize, raw_len: usize, out: &mut Vec<u8>) -> Option<()> {
    if stored_len == 0 || !src.len().is_multiple_of(stored_len) || raw_len > raw_len_max(stored_len)
    {
        return None;
    }
    let total = raw_len.checked_mul(src.len() / stored_len)?;
    let each = |to: *mut u8, room: usize| {
        let (mut done, mut rest) = (0, src);
        let (mut shape, mut shapes) = (None::<Shape>, SHAPES_MAX);
        while let Some((value, behind)) = rest.split_at_checked(stored_len) {
            // SAFETY: `done` is at most `total`, the length of all decoded values, for which there
            // is room.
            let to = unsafe { to.add(done) };
            if let Some(shape) = shape.as_ref().filter(|shape| shape.is_of(value)) {
                // SAFETY: the room for the rest of `total` does not overlap `src`.
                let alike = unsafe { row::decode(rest, shape, to, total - done) };
                done += alike.written;
                rest = &rest[alike.read..];
                continue;
            }
            // SAFETY: the values so far took `done` bytes of the room, so `raw_len` and
            // `DECODE_SLACK` bytes are left, which do not overlap `src`.
            unsafe { decode_raw::<Words, false>(value, to, raw_len..raw_len, room - done) }?;
            if shapes > 0 {
                shapes -= 1;
                shape = Shape::of(value, raw_len);
            }
            done += raw_len;
            rest = behind;
        }
        debug_assert_eq!(done, total);
        Some(())
    };
    // SAFETY: on `Some`, `raw_len` bytes are initialised for each value, `total` bytes altogether.
    unsafe { append(out, total..total, each) }
}

/// Appends the `lens.start` bytes that `fill` writes to the given address, where `lens.end` and
/// [`DECODE_SLACK`] bytes are writable. Appends nothing if `fill` returns `None`.
///
/// # Safety
///
/// If `fill` returns `Some`, it has initialised `lens.start` bytes there, which are at most
/// `lens.end`.
#[inline]
unsafe fn append(
    out: &mut Vec<u8>,
    lens: Range<usize>,
    fill: impl FnOnce(*mut u8, usize) -> Option<()>,
) -> Option<()> {
    debug_assert!(lens.start <= lens.end);
    // On 32-bit machines a source of 17 MB may claim more bytes than there are addresses.
    let room = lens.end.checked_add(DECODE_SLACK)?;
    out.reserve(room);
    let old_len = out.len();
    let spare = out.spare_capacity_mut();
    debug_assert!(spare.len() >= room);
    fill(spare.as_mut_ptr().cast::<u8>(), room)?;
    // SAFETY: the caller promises that this many bytes after the old length are initialised, and
    // there is room for them.
    unsafe { out.set_len(old_len + lens.start) };
    Some(())
}

/// Decodes `src` and fills `out` completely.
///
/// Returns `None` if `src` is malformed or decodes to a length other than `out.len()`; `out` then
/// holds arbitrary bytes.
pub fn decode_into(src: &[u8], out: &mut [u8]) -> Option<()> {
    let raw_len = out.len();
    // SAFETY: `out` has `raw_len` writable bytes, which do not overlap `src` because `out` is
    // borrowed exclusively.
    unsafe { decode_raw::<Words, false>(src, out.as_mut_ptr(), raw_len..raw_len, raw_len) }
}

/// Calls [`decode_raw`] with the widest copies available; prefetches the source if `AHEAD`.
///
/// # Safety
///
/// Same as for [`decode_raw`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
unsafe fn decode_wide<const AHEAD: bool, const PART: bool>(
    src: &[u8],
    to: *mut u8,
    lens: Range<usize>,
    room: usize,
) -> Option<()> {
    // SAFETY: `Wide` has the instructions named above; the caller promises the rest.
    unsafe { decode_raw::<Wide<AHEAD>, PART>(src, to, lens, room) }
}

/// Decodes `src`, which represents `lens.end` bytes, to `to`. On `Some`, exactly that many bytes
/// are initialised there; with `PART`, at least `lens.start`.
///
/// # Safety
///
/// `room` bytes are writable at `to`, `room >= lens.end`, and they do not overlap `src`. The
/// processor has the instructions of `R`.
#[expect(
    clippy::inline_always,
    reason = "inlined into the loop over a page's values; a call would add a tenth to its time"
)]
#[inline(always)]
unsafe fn decode_raw<R: Runs, const PART: bool>(
    src: &[u8],
    to: *mut u8,
    lens: Range<usize>,
    room: usize,
) -> Option<()> {
    let raw_len = lens.end;
    debug_assert!(room >= raw_len && lens.start <= raw_len);
    let Done {
        mut read,
        mut written,
    } = Done::default();
    let mut rows = Rows::default();
    let end = if PART { lens.start } else { raw_len };
    loop {
        if raw_len >= MANY_BYTES_MIN {
            // SAFETY: `end` bytes are writable, outside of `src`; `written` are initialised.
            Done { read, written } = unsafe { decode_short(src, Done { read, written }, to, end) };
        }
        if read == src.len() || PART && written >= end {
            return (written >= end && written <= raw_len).then_some(());
        }
        let (begin, token) = (read, src[read]);
        look_ahead::<R>(src, read);
        read += 1;
        let literals = length(literal_half(token), src, &mut read, raw_len)?;
        if literals > src.len() - read || literals > raw_len - written {
            return None;
        }
        // SAFETY: `written <= raw_len <= room`.
        let target = unsafe { to.add(written) };
        // SAFETY: `literals` bytes remain in `src` and in the room, which does not overlap it.
        unsafe { copy_literals::<R>(&src[read..], target, room - written, literals) };
        read += literals;
        written += literals;
        if read == src.len() {
            return (written == raw_len && match_half(token) == 0).then_some(());
        }
        let offset = offset_at(src, read)?;
        let before = &src[..read];
        read += 2;
        let len = MATCH_BYTES_MIN + length(match_half(token), src, &mut read, raw_len)?;
        if offset == 0 || offset > written || len > raw_len - written {
            return None;
        }
        // SAFETY: `written <= raw_len <= room`.
        let target = unsafe { to.add(written) };
        // SAFETY: `offset` and `len` were checked above; the literals end at `before`.
        unsafe { copy_match::<R>(before, literals, target, offset, len, room - written) };
        written += len;
        if R::LONG && rows.may_go_on(src.get(read) == Some(&token)) {
            let room = written..row_end::<PART>(&lens, literals + len);
            // SAFETY: the room is writable up to `raw_len` and does not overlap `src`; the caller
            // promises the instructions.
            let more = unsafe { rows.go_on::<R>(src, begin..read, literals + len, to, room) };
            read += more.read;
            written += more.written;
        }
    }
}

/// Returns the latest end of a row of sequences that represent `stands` bytes each.
#[inline]
fn row_end<const PART: bool>(lens: &Range<usize>, stands: usize) -> usize {
    if PART {
        lens.end.min(lens.start + stands)
    } else {
        lens.end
    }
}

/// Returns the offset of the match at `read`.
#[inline]
fn offset_at(src: &[u8], read: usize) -> Option<usize> {
    let (&[low, high], _) = src.get(read..)?.split_first_chunk()?;
    Some(usize::from(u16::from_le_bytes([low, high])))
}

/// Prefetches the bytes that a decoder at `read` will read next.
#[inline]
fn look_ahead<R: Runs>(src: &[u8], read: usize) {
    if R::AHEAD {
        prefetch_span(src.as_ptr().wrapping_add(read + BYTES_AHEAD), 1);
    }
}

/// Copies the first `len` bytes of `from`.
///
/// # Safety
///
/// `from` has at least `len` bytes, and `room >= len` bytes are writable at `to` and do not overlap
/// `from`. The processor has the instructions of `R`.
#[expect(clippy::inline_always, reason = "inlined into `decode_raw`'s loop")]
#[inline(always)]
unsafe fn copy_literals<R: Runs>(from: &[u8], to: *mut u8, room: usize, len: usize) {
    debug_assert!(len <= from.len() && len <= room);
    let (from, readable) = (from.as_ptr(), from.len());
    if len <= 16 && readable >= 16 && room >= 16 {
        // SAFETY: 16 bytes remain on both sides, checked just above.
        unsafe { copy::copy_16(from, to) };
    } else {
        // SAFETY: the caller promises `len` bytes on both sides.
        unsafe { R::copy_exact(from, to, len) };
    }
}

/// Copies a match of `len` bytes that starts `offset` bytes below `to`. If it lies within the
/// literals just before it, which are at the end of `src`, it is copied from `src`.
///
/// # Safety
///
/// `offset >= 1` initialised bytes lie below `to`, and `room >= len` bytes are writable at `to` and
/// do not overlap `src`. The last `literals` bytes of `src` equal those below `to`. The processor
/// has the instructions of `R`.
#[expect(
    clippy::inline_always,
    reason = "compiled for the caller's instructions"
)]
#[inline(always)]
unsafe fn copy_match<R: Runs>(
    src: &[u8],
    literals: usize,
    to: *mut u8,
    offset: usize,
    len: usize,
    room: usize,
) {
    if offset <= literals && len <= offset {
        // SAFETY: `offset <= literals`, and `src` has at least `literals` bytes.
        let from = unsafe { src.as_ptr().add(src.len() - offset) };
        // SAFETY: the source ends within `src` because `len <= offset`; `len` bytes remain in the
        // room.
        return unsafe { R::copy_exact(from, to, len) };
    }
    if period::fits(src, literals, offset, len, room) {
        // SAFETY: just checked; the last `offset` bytes of `src` are literals.
        return unsafe { period::repeat(src, to, offset, len) };
    }
    if offset < 16 {
        // SAFETY: the caller promises exactly this.
        return unsafe { copy::repeat_period(to, offset, len) };
    }
    // SAFETY: the caller promises `offset` bytes below `to`.
    let from = unsafe { to.cast_const().sub(offset) };
    if len <= 16 && room >= 16 {
        // SAFETY: `room >= 16`, and the 16 bytes at `from` end at or below `to`.
        unsafe { copy::copy_16(from, to) };
    } else if len <= offset {
        // SAFETY: `len <= room`, and as many bytes from `from` on lie below `to`.
        unsafe { R::copy_exact(from, to, len) };
    } else {
        // SAFETY: `len <= room`, and `from` lies 16 bytes or more below `to`.
        unsafe { copy::copy_exact(from, to, len) };
    }
}

/// Returns a length whose token half is `half`, plus the extension bytes at `*read`, if any.
#[inline]
fn length(half: usize, src: &[u8], read: &mut usize, limit: usize) -> Option<usize> {
    if half < HALF_MAX {
        return Some(half);
    }
    Some(half + extension(src, read, limit)?)
}

/// Sums the extension bytes at `*read` and moves `*read` past them.
///
/// Returns `None` if `src` ends before a byte below 255, or if the sum exceeds `limit`, which also
/// keeps it from overflowing.
#[inline]
fn extension(src: &[u8], read: &mut usize, limit: usize) -> Option<usize> {
    let mut sum = 0;
    loop {
        let &byte = src.get(*read)?;
        *read += 1;
        sum += usize::from(byte);
        if sum > limit {
            return None;
        }
        if byte < u8::MAX {
            return Some(sum);
        }
    }
}

/// Like [`decode`] for a long value, but without vectors.
#[cfg(test)]
pub(super) fn decode_long_by_words(src: &[u8], raw_len: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    // SAFETY: `append` provides `raw_len` bytes and slack that do not overlap `src`; every
    // processor can copy words.
    let whole = |to: *mut u8, room: usize| unsafe {
        decode_raw::<super::fast::runs::LongWords, false>(src, to, raw_len..raw_len, room)
    };
    // SAFETY: on `Some`, `decode_raw` has initialised `raw_len` bytes.
    unsafe { append(&mut out, raw_len..raw_len, whole) }?;
    Some(out)
}
