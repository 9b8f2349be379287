//! Fast path of the decoder: sequences whose literals and match are at most 18 bytes. It benefits
//! text.
//!
//! Processors cannot predict how many bytes a length stands for, so a branch on a length is
//! mispredicted half of the time and costs more than copying bytes that are not needed. Every run
//! is therefore one move of fixed length, as in LZ4's decoder.

#![allow(
    unsafe_code,
    reason = "moves inside bounds that are checked once for each sequence"
)]

use super::row::Done;
use crate::codec::copy;
use crate::codec::token::{HALF_MAX, MATCH_BYTES_MIN, literal_half, match_half};

/// Maximum number of bytes that such a sequence takes or that are read for it: token, literals,
/// offset.
const READ_MAX: usize = 1 + 16;
const _: () = assert!(1 + (HALF_MAX - 1) + 2 <= READ_MAX);
/// Maximum match length: one 16-byte move plus the rest.
const MATCH_BYTES_MAX: usize = MATCH_BYTES_MIN + HALF_MAX - 1;
const _: () = assert!(MATCH_BYTES_MAX == 16 + 2);
/// Maximum number of bytes written for one sequence, including unneeded ones.
const WRITTEN_MAX: usize = HALF_MAX - 1 + MATCH_BYTES_MAX;

/// Decodes sequences of `src` from `done` on to `to`, as long as both of their runs are short,
/// [`READ_MAX`] bytes of `src` are left, and [`WRITTEN_MAX`] bytes of the first `end` are left.
/// Returns its progress. Leaves an error in the next sequence for the caller to detect.
///
/// # Safety
///
/// `end` bytes are writable at `to` and do not overlap `src`; the first `done.written` of them are
/// initialised. On return, those before the returned position are initialised. `done.read` is at
/// most `src.len()`.
#[expect(clippy::inline_always, reason = "inlined into the decoder's loop")]
#[inline(always)]
pub(in crate::codec) unsafe fn decode_short(
    src: &[u8],
    mut done: Done,
    to: *mut u8,
    end: usize,
) -> Done {
    debug_assert!(done.read <= src.len());
    while src.len() - done.read >= READ_MAX && done.written + WRITTEN_MAX <= end {
        // SAFETY: at least one byte is left.
        let at = unsafe { src.as_ptr().add(done.read) };
        // SAFETY: as above.
        let token = unsafe { at.read() };
        let (literals, half) = (literal_half(token), match_half(token));
        // SAFETY: `READ_MAX` bytes are left, and the literals take fewer than sixteen of them.
        let behind = unsafe { at.add(1 + literals) };
        if literals == HALF_MAX || half == HALF_MAX {
            break;
        }
        // SAFETY: two bytes after at most fourteen literals are within `READ_MAX`; a byte array
        // needs no alignment.
        let offset = usize::from(u16::from_le_bytes(unsafe {
            behind.cast::<[u8; 2]>().read()
        }));
        let target = done.written + literals;
        if offset < 16 || offset > target {
            break;
        }
        // SAFETY: sixteen bytes after the token are within `READ_MAX`.
        let from = unsafe { at.add(1) };
        // SAFETY: `done.written <= end`.
        let first = unsafe { to.add(done.written) };
        // SAFETY: `WRITTEN_MAX` bytes of the room are left, which is more than sixteen, and the
        // room does not overlap `src`.
        unsafe { copy::copy_16(from, first) };
        // SAFETY: the literals lie within the room.
        let target_at = unsafe { to.add(target) };
        // SAFETY: `offset <= target`.
        let from = unsafe { target_at.cast_const().sub(offset) };
        // SAFETY: `WRITTEN_MAX` has eighteen bytes after the literals. All bytes before those are
        // initialised, and so are sixteen that start at least sixteen earlier.
        unsafe { copy::copy_16(from, target_at) };
        // SAFETY: as above; what the previous move wrote may be read.
        unsafe { copy::copy_2_at(from, target_at, 16) };
        done.read += 1 + literals + 2;
        done.written = target + MATCH_BYTES_MIN + half;
    }
    done
}

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "lengths and offsets fit the fields of a sequence"
)]
mod tests {
    use crate::codec::tests::Random;
    use crate::codec::{decode, decode_into, decode_until, twin};

    /// Appends a sequence of random literals and a match of `len` bytes at `offset`, both short.
    fn push(random: &mut Random, literals: usize, offset: usize, len: usize, to: &mut Vec<u8>) {
        to.push((literals << 4 | (len - 4)) as u8);
        to.extend((0..literals).map(|_| random.byte()));
        to.extend((offset as u16).to_le_bytes());
    }

    fn check(src: &[u8], raw_len: usize, random: &mut Random) {
        let expected = twin::decode(src, raw_len);
        let mut out = vec![7];
        let verdict = decode(src, raw_len, &mut out);
        assert_eq!(verdict.is_some(), expected.is_some());
        assert_eq!(out[1..], expected.clone().unwrap_or_default());
        let mut whole = vec![0; raw_len];
        assert_eq!(decode_into(src, &mut whole).is_some(), expected.is_some());
        let Some(expected) = expected else { return };
        assert_eq!(whole, expected);
        let wanted = random.below(raw_len + 1);
        assert!(decode_until(src, raw_len, wanted, &mut out).is_some());
        assert_eq!(out[1 + raw_len..], expected[..wanted]);
    }

    #[test]
    fn sequences_of_short_runs_equal_the_twin() {
        let mut random = Random::new(41);
        for _ in 0..if cfg!(miri) { 5 } else { 600 } {
            let (mut src, mut raw_len) = (Vec::new(), 0);
            let whole = 290 + random.below(400);
            while raw_len < whole {
                let literals = random.below(15).max(usize::from(raw_len == 0));
                let len = 4 + random.below(15);
                // Offsets shorter than one move, shorter than two moves, and far.
                let far = [15, 33, usize::MAX][random.below(3)];
                let offset = 1 + random.below(far.min(raw_len + literals));
                push(&mut random, literals, offset, len, &mut src);
                raw_len += literals + len;
            }
            check(&src, raw_len, &mut random);
            for wrong in [raw_len - 1, raw_len + 1, raw_len + 40] {
                check(&src, wrong, &mut random);
            }
            for _ in 0..if cfg!(miri) { 4 } else { 60 } {
                let at = random.below(src.len());
                let before = std::mem::replace(&mut src[at], random.byte());
                check(&src, raw_len, &mut random);
                src[at] = before;
                check(&src[..at], raw_len, &mut random);
            }
        }
    }
}
