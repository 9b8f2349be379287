//! Fast path of the encoder: comparing and copying many bytes at once. It benefits values with long
//! matches or many literals.
//!
//! [`Words`] works everywhere; `Wide` uses 64-byte masked vectors. Both produce the same bytes.

#![allow(
    unsafe_code,
    reason = "loads and copies within bounds that each function documents"
)]

use crate::codec::copy;

/// Number of bytes after the room of an encoded value that copies may overwrite.
pub(in crate::codec) const SLACK_BYTES: usize = 64;

/// Ways of comparing and copying bytes.
pub(in crate::codec) trait Lanes {
    /// Returns the position where the run at `end` stops being equal to the run `offset` bytes
    /// before it; at most the length of `src`.
    ///
    /// # Safety
    ///
    /// The processor has the instructions of these lanes, and `1 <= offset <= end <= src.len()`.
    unsafe fn run_end(src: &[u8], end: usize, offset: usize) -> usize;

    /// Copies `literals` to `to`.
    ///
    /// # Safety
    ///
    /// The processor has the instructions of these lanes. `literals.len()` plus [`SLACK_BYTES`]
    /// bytes are writable at `to` and do not overlap `literals`.
    unsafe fn copy(literals: &[u8], to: *mut u8);
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(in crate::codec) use wide::Wide;

/// Compares 8 bytes and copies 16 bytes at a time.
pub(in crate::codec) struct Words;

impl Lanes for Words {
    #[inline]
    unsafe fn run_end(src: &[u8], mut end: usize, offset: usize) -> usize {
        debug_assert!((1..=end).contains(&offset) && end <= src.len());
        while end + 8 <= src.len() {
            // SAFETY: `end + 8 <= src.len()` is the loop's condition.
            let here = unsafe { copy::load_u64(src, end) };
            // SAFETY: the caller promises `1 <= offset <= end`, so this load starts before the
            // other.
            let earlier = unsafe { copy::load_u64(src, end - offset) };
            let differing = here ^ earlier;
            if differing != 0 {
                return end + differing.trailing_zeros() as usize / 8;
            }
            end += 8;
        }
        if end < src.len() {
            return tail_end(src, end, offset);
        }
        end
    }

    #[inline]
    unsafe fn copy(literals: &[u8], to: *mut u8) {
        // SAFETY: the caller promises room for the literals that does not overlap them.
        unsafe { copy::copy_exact(literals.as_ptr(), to, literals.len()) };
    }
}

/// Like [`Lanes::run_end`], but for fewer than eight bytes before the end of `src`. Uses one load
/// that reaches back before `end`, if possible: the processor would mispredict the exit of a loop
/// over bytes.
#[inline]
fn tail_end(src: &[u8], mut end: usize, offset: usize) -> usize {
    debug_assert!(end < src.len() && end + 8 > src.len());
    if let Some(last) = src.len().checked_sub(8)
        && last >= offset
    {
        // SAFETY: `last + 8 == src.len()`.
        let here = unsafe { copy::load_u64(src, last) };
        // SAFETY: `last >= offset` was checked, and `last - offset + 8 <= src.len()`.
        let earlier = unsafe { copy::load_u64(src, last - offset) };
        // The bytes before `end` are shifted out; one to seven are left.
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

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod wide {
    use std::arch::x86_64::{
        __m512i, _bzhi_u64, _mm512_cmpneq_epu8_mask, _mm512_maskz_loadu_epi8, _mm512_storeu_si512,
    };

    use super::{Lanes, SLACK_BYTES};

    /// Number of bytes in a vector. A copy overwrites at most this many bytes past its end.
    const LANES: usize = 64;
    const _: () = assert!(LANES <= SLACK_BYTES);

    /// Processes 64 bytes at a time with AVX-512 F and BW, BMI1 and BMI2.
    pub(in crate::codec) struct Wide;

    impl Lanes for Wide {
        #[inline]
        unsafe fn run_end(src: &[u8], end: usize, offset: usize) -> usize {
            // SAFETY: the caller promises the instructions and the bounds.
            unsafe { run_end(src, end, offset) }
        }

        #[inline]
        unsafe fn copy(literals: &[u8], to: *mut u8) {
            // SAFETY: the caller promises the instructions and the room.
            unsafe { copy(literals, to) }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
    #[inline]
    fn run_end(src: &[u8], mut end: usize, offset: usize) -> usize {
        debug_assert!((1..=end).contains(&offset) && end <= src.len());
        while end < src.len() {
            let mask = first(src.len() - end);
            // SAFETY: the mask has no bit at or after `src.len() - end`.
            let here = unsafe { load(mask, &src[end..]) };
            // SAFETY: at least as many bytes follow `end - offset`.
            let earlier = unsafe { load(mask, &src[end - offset..]) };
            let differing = _mm512_cmpneq_epu8_mask(here, earlier);
            if differing != 0 {
                return end + differing.trailing_zeros() as usize;
            }
            end = (end + LANES).min(src.len());
        }
        end
    }

    /// Returns a mask of the first `len` lanes, or of all.
    #[target_feature(enable = "bmi2")]
    #[inline]
    fn first(len: usize) -> u64 {
        #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
        let len = len.min(LANES) as u32;
        _bzhi_u64(u64::MAX, len)
    }

    /// Returns the bytes that a mask selects, zeros elsewhere.
    ///
    /// # Safety
    ///
    /// The mask has no bit at or after `bytes.len()`: unselected bytes are not read.
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    unsafe fn load(mask: u64, bytes: &[u8]) -> __m512i {
        debug_assert!(LANES - mask.leading_zeros() as usize <= bytes.len());
        // SAFETY: the caller promises that each bit selects a byte of the slice.
        unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().cast()) }
    }

    /// # Safety
    ///
    /// Same as for [`Lanes::copy`].
    #[target_feature(enable = "avx512f,avx512bw,bmi2")]
    #[inline]
    unsafe fn copy(literals: &[u8], to: *mut u8) {
        let mut at = 0;
        while at < literals.len() {
            let rest = &literals[at..];
            let mask = first(rest.len());
            // SAFETY: the mask has no bit at or after the rest's length.
            let lanes = unsafe { load(mask, rest) };
            // SAFETY: `at` is below the length, so this lies within the memory that the caller
            // allows to be written.
            let to = unsafe { to.add(at) };
            // SAFETY: the store ends less than `SLACK_BYTES` after the literals' end, where the
            // caller allows writes.
            unsafe { _mm512_storeu_si512(to.cast(), lanes) };
            at += LANES;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lanes, SLACK_BYTES, Words};

    /// Tests every position of the first difference, or none, at every length and distance.
    fn runs_end_where_they_differ<L: Lanes>() {
        let distances = if cfg!(miri) { 1..4 } else { 1..80 };
        for offset in distances {
            for run in 0..if cfg!(miri) { 20 } else { 140 } {
                let mut src: Vec<u8> = (0..=250).cycle().take(offset).collect();
                for at in 0..run {
                    src.push(src[at]);
                }
                for differs in 0..run {
                    src[offset + differs] ^= 0x80;
                    // SAFETY: `src` has at least `offset` bytes; the caller has checked for the
                    // instructions.
                    let end = unsafe { L::run_end(&src, offset, offset) };
                    assert_eq!(end, offset + differs, "{offset} {run}");
                    src[offset + differs] ^= 0x80;
                }
                // SAFETY: as above.
                let end = unsafe { L::run_end(&src, offset, offset) };
                assert_eq!(end, src.len(), "{offset} {run}");
            }
        }
    }

    /// Checks that everything is copied and nothing after the slack is touched.
    fn copies_end_within_the_slack<L: Lanes>() {
        for len in 0..if cfg!(miri) { 40 } else { 300 } {
            let literals: Vec<u8> = (1..=250).cycle().take(len).collect();
            let mut to = vec![0; len + SLACK_BYTES + 64];
            // SAFETY: there is room for the literals and the slack; the caller has checked for the
            // instructions.
            unsafe { L::copy(&literals, to.as_mut_ptr()) };
            assert_eq!(to[..len], literals);
            assert!(to[len + SLACK_BYTES..].iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn words() {
        runs_end_where_they_differ::<Words>();
        copies_end_within_the_slack::<Words>();
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[test]
    fn wide() {
        use crate::cpu::{Level, level};
        // Without these instructions the function is unused, so there is nothing to test.
        if level() < Level::Avx512 {
            return;
        }
        runs_end_where_they_differ::<super::Wide>();
        copies_end_within_the_slack::<super::Wide>();
    }
}
