//! Decoding with 16-byte copies inside reserved room, and one bounds check per run.
//!
//! Short runs are copied by one 16-byte move whatever their length, if both sides have the room;
//! longer runs by 16-byte moves whose last one is aligned to the end of the run, so that the
//! source needs no slack at all. A match that lies wholly within the literals just copied is
//! taken from the encoded bytes instead of the output: those loads need not wait for the stores.

#![allow(
    unsafe_code,
    reason = "writes into spare capacity; every copy follows its bounds check"
)]

use super::copy;
use super::token::{HALF_MAX, MATCH_BYTES_MIN, literal_half, match_half, raw_len_max};

/// Spare room behind the raw length that [`decode`] wants, so that short runs near the end may be copied whole.
pub const DECODE_SLACK: usize = 64;

/// Appends the `raw_len` bytes that `src` stands for to `out`.
///
/// `None` when `src` is malformed or stands for another length; `out` then has its old length.
/// Reserves at most 64 bytes more than `raw_len`, and nothing for a `raw_len` that `src` is too
/// short to reach, so that hostile lengths cannot exhaust memory.
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
    // SAFETY: `append` gives `raw_len` bytes and slack, apart from `src`.
    let whole = |to: *mut u8, room: usize| unsafe { decode_raw(src, to, raw_len, room) };
    // SAFETY: on `Some`, `decode_raw` has initialised `raw_len` bytes.
    unsafe { append(out, raw_len, whole) }
}

/// Appends what the values of `stored_len` bytes stand for that `src` consists of, `raw_len` bytes each: as
/// [`decode`] of one after the other, whose bounds are checked and whose room is made once.
///
/// `None` when one of them is malformed or stands for another length, or when a part of one is left behind the
/// last; `out` then has its old length.
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
        let mut done = 0;
        for value in src.chunks_exact(stored_len) {
            // SAFETY: `done` is at most `total`, which lies within the room.
            let to = unsafe { to.add(done) };
            // SAFETY: of the room `done` bytes were taken by as many values as came before, so that `raw_len`
            // and `DECODE_SLACK` are left, apart from `src`.
            unsafe { decode_raw(value, to, raw_len, room - done) }?;
            done += raw_len;
        }
        debug_assert_eq!(done, total);
        Some(())
    };
    // SAFETY: on `Some`, `decode_raw` has initialised `raw_len` bytes for each value, `total` together.
    unsafe { append(out, total, each) }
}

/// Appends the `len` bytes that `fill` writes at the address it is given, where `len` and [`DECODE_SLACK`] are
/// writable; nothing where it gives `None`.
///
/// # Safety
///
/// On `Some` it has initialised `len` bytes there.
#[inline]
unsafe fn append(
    out: &mut Vec<u8>,
    len: usize,
    fill: impl FnOnce(*mut u8, usize) -> Option<()>,
) -> Option<()> {
    // On 32 bits a source of 17 MB may stand for more than there are addresses.
    let room = len.checked_add(DECODE_SLACK)?;
    out.reserve(room);
    let old_len = out.len();
    let spare = out.spare_capacity_mut();
    debug_assert!(spare.len() >= room);
    fill(spare.as_mut_ptr().cast::<u8>(), room)?;
    // SAFETY: the caller promises that the `len` bytes behind the old length are initialised.
    unsafe { out.set_len(old_len + len) };
    Some(())
}

/// Decodes `src` into the whole of `out`.
///
/// `None` when `src` is malformed or stands for another length than `out.len()`; `out` then holds
/// arbitrary bytes.
pub fn decode_into(src: &[u8], out: &mut [u8]) -> Option<()> {
    let raw_len = out.len();
    // SAFETY: `out` is `raw_len` writable bytes, apart from `src` as it is borrowed exclusively.
    unsafe { decode_raw(src, out.as_mut_ptr(), raw_len, raw_len) }
}

/// Decodes `src` to `to`; on `Some`, exactly `raw_len` bytes there are initialised.
///
/// # Safety
///
/// `room` bytes are writable at `to`, `room >= raw_len`, and they do not overlap `src`.
#[expect(
    clippy::inline_always,
    reason = "a page's values are decoded in one loop, in which a call is a tenth"
)]
#[inline(always)]
unsafe fn decode_raw(src: &[u8], to: *mut u8, raw_len: usize, room: usize) -> Option<()> {
    debug_assert!(room >= raw_len);
    let mut read = 0;
    let mut written = 0;
    while let Some(&token) = src.get(read) {
        read += 1;
        let mut literals = literal_half(token);
        if literals == HALF_MAX {
            literals += extension(src, &mut read, raw_len)?;
        }
        if literals > src.len() - read || literals > raw_len - written {
            return None;
        }
        // SAFETY: `read <= src.len()`.
        let from = unsafe { src.as_ptr().add(read) };
        // SAFETY: `written <= raw_len <= room`.
        let target = unsafe { to.add(written) };
        if literals <= 16 && src.len() - read >= 16 && room - written >= 16 {
            // SAFETY: 16 bytes remain in `src` and in the room, checked just above.
            unsafe { copy::copy_16(from, target) };
        } else {
            // SAFETY: `literals` bytes remain in `src` and in the room, checked above.
            unsafe { copy::copy_exact(from, target, literals) };
        }
        read += literals;
        written += literals;
        if read == src.len() {
            return (written == raw_len && match_half(token) == 0).then_some(());
        }
        let (&[low, high], _) = src.get(read..)?.split_first_chunk()?;
        let offset = usize::from(u16::from_le_bytes([low, high]));
        let literals_end = read;
        read += 2;
        let mut len = match_half(token);
        if len == HALF_MAX {
            len += extension(src, &mut read, raw_len)?;
        }
        len += MATCH_BYTES_MIN;
        if offset == 0 || offset > written || len > raw_len - written {
            return None;
        }
        // SAFETY: `written <= raw_len <= room`.
        let target = unsafe { to.add(written) };
        if offset <= literals && len <= offset {
            // SAFETY: `offset <= literals <= literals_end`.
            let from = unsafe { src.as_ptr().add(literals_end - offset) };
            // SAFETY: the source ends at or before `literals_end` as `len <= offset`; `len` bytes
            // remain in the room, checked above.
            unsafe { copy::copy_exact(from, target, len) };
        } else {
            // SAFETY: `1 <= offset <= written` and `len <= raw_len - written`, checked above.
            unsafe { copy_match(target, offset, len, room - written) };
        }
        written += len;
    }
    (written == raw_len).then_some(())
}

/// Copies a match of `len` bytes that begins `offset` bytes below `to`.
///
/// # Safety
///
/// `offset >= 1` initialised bytes lie below `to`, and `room >= len` bytes are writable at `to`.
#[inline]
unsafe fn copy_match(to: *mut u8, offset: usize, len: usize, room: usize) {
    if offset < 16 {
        // SAFETY: the caller's promise is the one asked for.
        return unsafe { copy::repeat_period(to, offset, len) };
    }
    // SAFETY: the caller promises `offset` bytes below `to`.
    let from = unsafe { to.cast_const().sub(offset) };
    if len <= 16 && room >= 16 {
        // SAFETY: `room >= 16`, and the 16 bytes at `from` end at or below `to`.
        unsafe { copy::copy_16(from, to) };
    } else {
        // SAFETY: `len <= room`, and `from` lies 16 bytes or more below `to`.
        unsafe { copy::copy_exact(from, to, len) };
    }
}

/// Adds up extension bytes at `*read` and moves `*read` behind them.
///
/// `None` when `src` ends before a byte below 255, or when the sum exceeds `limit`, which also
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
