//! Fast path of the decoder: matches that repeat a period of at most eight bytes.
//!
//! It benefits padding and counters: runs of zeros, or of one number. A copy from the output would
//! load what the copy before has just stored, at another address and of another width, for which
//! the processor waits each time. Here the period is loaded once, from the literals in the source,
//! and every store is of a word made of it.

#![allow(
    unsafe_code,
    reason = "stores inside bounds that are checked once for each match"
)]

/// Bytes of a word.
const WORD_BYTES: usize = 8;

/// Spare room that [`repeat`] may write to after the match.
const SPARE_BYTES: usize = WORD_BYTES - 1;

/// The largest multiple of each period that fits in a word.
const STEPS: [usize; WORD_BYTES + 1] = [0, 8, 8, 6, 8, 5, 6, 7, 8];

/// Returns whether [`repeat`] can write a match of `len` bytes that starts `offset` bytes back,
/// with `literals` bytes just before it that end `src`, into `room`.
#[inline]
pub(in crate::codec) fn fits(
    src: &[u8],
    literals: usize,
    offset: usize,
    len: usize,
    room: usize,
) -> bool {
    offset <= WORD_BYTES.min(literals) && src.len() >= WORD_BYTES && room - len >= SPARE_BYTES
}

/// Repeats the last `period` bytes of `src` until `len` bytes are written at `to`.
///
/// # Safety
///
/// [`fits`] returned true for the match: `1 <= period <= 8`, `src` has eight bytes or more, and
/// `len + 7` bytes are writable at `to` and do not overlap `src`.
#[inline]
pub(in crate::codec) unsafe fn repeat(src: &[u8], to: *mut u8, period: usize, len: usize) {
    debug_assert!((1..=WORD_BYTES).contains(&period) && src.len() >= WORD_BYTES);
    let last = src.last_chunk().map_or(0, |last| u64::from_le_bytes(*last));
    let mut word = last >> (8 * (WORD_BYTES - period));
    let mut filled = period;
    while filled < WORD_BYTES {
        word |= word << (8 * filled);
        filled *= 2;
    }
    let step = STEPS[period];
    let mut at = 0;
    while at < len {
        // SAFETY: `at < len`, and `len + 7` bytes are writable.
        let to = unsafe { to.add(at) };
        // SAFETY: as above, eight bytes from `at` on end at `len + 7` or earlier; a byte array
        // needs no alignment.
        unsafe { to.cast::<[u8; WORD_BYTES]>().write(word.to_le_bytes()) };
        at += step;
    }
}

#[cfg(test)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "lengths and offsets fit the fields of a sequence"
)]
mod tests {
    use crate::codec::tests::Random;
    use crate::codec::{decode, decode_each, decode_into, twin};

    /// Returns a value of one sequence of random literals, of which the match repeats a period.
    fn value(random: &mut Random, literals: usize, period: usize, len: usize) -> Vec<u8> {
        let mut src = vec![(literals.min(15) << 4 | (len - 4).min(15)) as u8];
        src.extend(literals.checked_sub(15).map(|more| more as u8));
        src.extend((0..literals).map(|_| random.byte()));
        src.extend((period as u16).to_le_bytes());
        src.extend((len - 4).checked_sub(15).map(|more| more as u8));
        src
    }

    #[test]
    fn repeated_periods_equal_the_twin() {
        let mut random = Random::new(43);
        for period in 1..=12 {
            for literals in period..period + 12 {
                for len in (4..70).step_by(if cfg!(miri) { 13 } else { 1 }) {
                    let stored = value(&mut random, literals, period, len);
                    let raw_len = literals + len;
                    let expected = twin::decode(&stored, raw_len).unwrap();
                    let mut out = vec![7];
                    assert!(decode(&stored, raw_len, &mut out).is_some());
                    assert_eq!(out[1..], expected, "{period} {literals} {len}");
                    // Without room after it.
                    let mut exact = vec![0; raw_len];
                    assert!(decode_into(&stored, &mut exact).is_some());
                    assert_eq!(exact, expected, "{period} {literals} {len}");
                    let row = [&stored[..], &stored[..]].concat();
                    out.clear();
                    assert!(decode_each(&row, stored.len(), raw_len, &mut out).is_some());
                    assert_eq!(out, [&expected[..], &expected[..]].concat());
                }
            }
        }
    }
}
