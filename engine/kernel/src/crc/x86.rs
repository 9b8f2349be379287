//! CRC-32C with the SSE4.2 instruction in three chains, and the in-memory check in four.
//!
//! The instruction has a latency of three cycles but a throughput of one per cycle, so a single
//! chain uses only a third of it. A run of 3 x w words is therefore read as three streams of w
//! words. Carry-less multiplication by x^(bits) modulo the polynomial moves the states of the first
//! two past the bytes that follow them; a table holds the multiplier for each w. (Gopal et al.,
//! "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction", Intel 2011. The table
//! replaces their fixed block sizes, so any length of 96 bytes or more is faster, for records and
//! pages alike.)

#![allow(
    unsafe_code,
    reason = "calls functions compiled for instructions detected at run time"
)]

use std::arch::x86_64::{
    _mm_clmulepi64_si128, _mm_crc32_u8, _mm_crc32_u64, _mm_cvtsi32_si128, _mm_cvtsi128_si64,
    _mm_xor_si128,
};

use super::chains::{CHECK_BYTES, Round, begun, joined, rounds_of};
use super::fold::{self, pieces_of};
use super::polynomial::{power, shift};
use super::portable;
use crate::cpu::{Level, is_known, level};

/// Maximum stream length in words: three such streams cover a 4 KiB page except for two words.
const STREAM_WORDS_MAX: usize = 170;

/// Minimum stream length worth joining: below it, a single chain costs no more than the two
/// multiplications.
const STREAM_WORDS_MIN: usize = 4;

/// Minimum run length worth folding: below it, three chains are as fast as folding with its setup,
/// its reduction and the remainder after whole rounds.
const FOLD_BYTES_MIN: usize = 512;
const _: () = assert!(CHECK_BYTES.end == FOLD_BYTES_MIN);

/// `SHIFTS[w]` moves a register past `w` words: x^(64 w - 33) modulo the polynomial. The 33
/// compensates for the CRC instruction that reduces the product (x^32) and for the bit by which a
/// product of reflected operands is too low (x^1).
static SHIFTS: [i32; 2 * STREAM_WORDS_MAX + 1] = shifts();

const fn shifts() -> [i32; 2 * STREAM_WORDS_MAX + 1] {
    let mut shifts = [0i32; 2 * STREAM_WORDS_MAX + 1];
    let mut words = 1;
    let mut register = power(64 - 33);
    while words < shifts.len() {
        shifts[words] = register.cast_signed();
        let mut bits = 0;
        while bits < 64 {
            register = shift(register);
            bits += 1;
        }
        words += 1;
    }
    shifts
}

/// Same as [`crate::crc32c_append`].
#[inline]
pub(super) fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    let level = level();
    if level >= Level::Avx512Clmul && bytes.len() >= FOLD_BYTES_MIN {
        let (rounds, rest) = bytes.as_chunks();
        // SAFETY: the level just read means that this processor has AVX-512 F, VPCLMULQDQ and
        // SSE4.2.
        let state = unsafe { fold::append_rounds(u64::from(!crc), rounds) };
        // SAFETY: the level includes SSE4.2 and PCLMULQDQ.
        return unsafe { append_sse42(!low_half(state), rest) };
    }
    if level >= Level::Sse42 {
        // SAFETY: the level just read means that this processor has SSE4.2 and PCLMULQDQ.
        return unsafe { append_sse42(crc, bytes) };
    }
    portable::crc32c_append(crc, bytes)
}

/// Same as [`crate::memory_check`].
#[inline]
pub(super) fn memory_check(bytes: &[u8]) -> u32 {
    if is_known(Level::Avx512Clmul)
        && let Some((first, rest, last)) = pieces_of(bytes)
    {
        // SAFETY: the level is known to include AVX-512 F, VPCLMULQDQ and SSE4.2.
        return low_half(unsafe { fold::check(first, rest, last) });
    }
    check_asking(bytes)
}

/// Like [`memory_check`], but for any length, and queries the level first, because the first check
/// must equal all later ones. A separate function, because it saves more registers than folding
/// does.
#[inline(never)]
fn check_asking(bytes: &[u8]) -> u32 {
    if !CHECK_BYTES.contains(&bytes.len()) {
        return crc32c_append(0, bytes);
    }
    let level = level();
    if level >= Level::Avx512Clmul
        && let Some((first, rest, last)) = pieces_of(bytes)
    {
        // SAFETY: the level just read includes AVX-512 F, VPCLMULQDQ and SSE4.2.
        return low_half(unsafe { fold::check(first, rest, last) });
    }
    if level >= Level::Sse42 {
        // SAFETY: the level just read means that this processor has SSE4.2.
        return unsafe { check_sse42(bytes) };
    }
    portable::memory_check(bytes)
}

#[target_feature(enable = "sse4.2,pclmulqdq")]
fn append_sse42(crc: u32, bytes: &[u8]) -> u32 {
    let (mut words, tail) = bytes.as_chunks::<8>();
    let mut state = u64::from(!crc);
    while words.len() >= 3 * STREAM_WORDS_MIN {
        let stream = (words.len() / 3).min(STREAM_WORDS_MAX);
        let (run, rest) = words.split_at(3 * stream);
        state = append_three(state, run, stream);
        words = rest;
    }
    for word in words {
        state = _mm_crc32_u64(state, u64::from_le_bytes(*word));
    }
    let mut state = low_half(state);
    for &byte in tail {
        state = _mm_crc32_u8(state, byte);
    }
    !state
}

/// Runs three chains over the thirds of `run`, each `stream` words long, and joins them.
#[target_feature(enable = "sse4.2,pclmulqdq")]
#[inline]
fn append_three(state: u64, run: &[[u8; 8]], stream: usize) -> u64 {
    let (first, rest) = run.split_at(stream);
    let (second, third) = rest.split_at(stream);
    let (mut a, mut b, mut c) = (state, 0, 0);
    for ((word_a, word_b), word_c) in first.iter().zip(second).zip(third) {
        a = _mm_crc32_u64(a, u64::from_le_bytes(*word_a));
        b = _mm_crc32_u64(b, u64::from_le_bytes(*word_b));
        c = _mm_crc32_u64(c, u64::from_le_bytes(*word_c));
    }
    let moved = |state: u64, words: usize| {
        let state = _mm_cvtsi32_si128(low_half(state).cast_signed());
        _mm_clmulepi64_si128::<0>(state, _mm_cvtsi32_si128(SHIFTS[words]))
    };
    let joined = _mm_xor_si128(moved(a, 2 * stream), moved(b, stream));
    _mm_crc32_u64(0, _mm_cvtsi128_si64(joined).cast_unsigned()) ^ c
}

#[target_feature(enable = "sse4.2")]
fn check_sse42(bytes: &[u8]) -> u32 {
    let (rounds, last) = rounds_of(bytes);
    let mut chains = begun(bytes).map(u64::from);
    for round in rounds {
        chains = take_round(chains, round);
    }
    let [first, second] = joined(take_round(chains, last).map(low_half));
    low_half(_mm_crc32_u64(_mm_crc32_u64(0, first), second))
}

#[target_feature(enable = "sse4.2")]
#[inline]
fn take_round([a, b, c, d]: [u64; 4], [for_a, for_b, for_c, for_d]: &Round) -> [u64; 4] {
    [
        _mm_crc32_u64(a, u64::from_le_bytes(*for_a)),
        _mm_crc32_u64(b, u64::from_le_bytes(*for_b)),
        _mm_crc32_u64(c, u64::from_le_bytes(*for_c)),
        _mm_crc32_u64(d, u64::from_le_bytes(*for_d)),
    ]
}

/// Returns the register: the instruction clears the upper half of its 64-bit result.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the upper half is always zero"
)]
#[inline]
fn low_half(state: u64) -> u32 {
    debug_assert!(u32::try_from(state).is_ok());
    state as u32
}

#[cfg(test)]
mod tests {
    use super::{
        CHECK_BYTES, Level, append_sse42, check_asking, check_sse42, level, memory_check, portable,
    };

    /// Runs the three chains on long runs, which the dispatcher folds where possible.
    #[test]
    fn three_chains_of_every_length_equal_the_twin() {
        let bytes: Vec<u8> = (0..=250).cycle().take(3 * 170 * 8 + 300).collect();
        for len in 0..bytes.len() {
            let part = &bytes[bytes.len() - len..];
            let expected = portable::crc32c_append(77, part);
            if level() >= Level::Sse42 {
                // SAFETY: the level just read includes SSE4.2 and PCLMULQDQ.
                let found = unsafe { append_sse42(77, part) };
                assert_eq!(found, expected, "length {len}");
            }
        }
    }

    #[test]
    fn four_chains_of_every_length_equal_the_twin() {
        let bytes: Vec<u8> = (0..=250).cycle().take(CHECK_BYTES.end).collect();
        for len in CHECK_BYTES {
            if level() >= Level::Sse42 {
                // SAFETY: the level just read includes SSE4.2.
                let found = unsafe { check_sse42(&bytes[..len]) };
                assert_eq!(found, portable::memory_check(&bytes[..len]), "length {len}");
            }
        }
    }

    /// The check is the same before and after the level is known, because it is computed once and
    /// compared later.
    #[test]
    fn checks_are_the_same_at_every_call() {
        let bytes: Vec<u8> = (0..=250).cycle().take(608).collect();
        for len in 0..600 {
            let bytes = &bytes[len % 8..][..len];
            let first = check_asking(bytes);
            assert_eq!(first, memory_check(bytes), "length {len}");
            let folds = level() >= Level::Avx512Clmul && (65..512).contains(&len);
            let twin = if folds {
                portable::folded_check(bytes)
            } else {
                portable::memory_check(bytes)
            };
            assert_eq!(first, twin, "length {len}");
        }
    }
}
