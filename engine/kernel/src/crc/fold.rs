//! CRC-32C by folding, with 64-byte carry-less multiplications: 256 bytes per round for long runs,
//! 64 bytes for [`crate::memory_check`].
//!
//! A lane of 16 bytes is a polynomial; moving it past D more bits means multiplying it by x^D.
//! Because only the remainder modulo the CRC polynomial matters, each of its halves is multiplied
//! by a 32-bit remainder instead, so the lane stays 16 bytes wide. Sixteen lanes move at once, and
//! the next 256 bytes are added by exclusive or. At the end, 16 bytes remain, with the same
//! remainder as the whole run. (Gopal et al., "Fast CRC Computation for Generic Polynomials Using
//! PCLMULQDQ Instruction", Intel 2009.)

#![allow(
    unsafe_code,
    reason = "vector loads are unsafe; each reads one referenced array"
)]

use std::arch::x86_64::{
    __m512i, _mm_crc32_u64, _mm_cvtsi128_si64, _mm_extract_epi64, _mm_xor_si128,
    _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_xor_si256, _mm512_castsi512_si256,
    _mm512_clmulepi64_epi128, _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_set_epi64,
    _mm512_setzero_si512, _mm512_ternarylogic_epi64, _mm512_xor_si512,
};

use super::chains::CHECK_BYTES;
use super::polynomial::{power, unshift};

/// Number of bytes that one round folds.
pub(super) const ROUND_BYTES: usize = 256;

/// Number of bytes in a vector.
const VECTOR_BYTES: usize = 64;

type Vector = [u8; VECTOR_BYTES];

/// Multipliers for the first and last eight bytes of a lane that move it past a number of bytes.
#[derive(Clone, Copy)]
struct Shift {
    first: i64,
    last: i64,
}

impl Shift {
    /// Returns the multipliers that move a lane past `bytes`. The first half is 64 bits above the
    /// last. A product of reflected operands is one bit too low, so one is subtracted from the
    /// exponents; a remainder occupies the upper half of its word.
    const fn past(bytes: usize) -> Shift {
        let first = (power(8 * bytes + 63) as u64) << 32;
        let last = (unshift(power(8 * bytes)) as u64) << 32;
        Shift {
            first: first.cast_signed(),
            last: last.cast_signed(),
        }
    }
}

/// Moves all four lanes of a vector past the next 64 bytes, or past all four vectors.
const PAST_VECTOR: [Shift; 4] = [Shift::past(64); 4];
const PAST_ROUND: [Shift; 4] = [Shift::past(ROUND_BYTES); 4];

/// Moves each lane of a vector to its end.
const TO_END: [Shift; 4] = [
    Shift::past(48),
    Shift::past(32),
    Shift::past(16),
    Shift::past(0),
];

/// Adds `rounds` to the CRC register `state`, whose upper half is zero.
#[target_feature(enable = "avx512f,vpclmulqdq,sse4.2")]
pub(super) fn append_rounds(state: u64, rounds: &[[u8; ROUND_BYTES]]) -> u64 {
    let Some((first, rest)) = rounds.split_first() else {
        return state;
    };
    let mut folded = load_round(first);
    folded[0] = _mm512_xor_si512(folded[0], register(state));
    let shift = broadcast(PAST_ROUND);
    for round in rest {
        let next = load_round(round);
        for (lanes, next) in folded.iter_mut().zip(next) {
            *lanes = fold(*lanes, shift, next);
        }
    }
    let shift = broadcast(PAST_VECTOR);
    let [a, b, c, d] = folded;
    reduce(fold(fold(fold(a, shift, b), shift, c), shift, d))
}

/// Returns the pieces that [`check`] processes: the first, everything after it, and the last, which
/// ends where the bytes end. Returns `None` for lengths that [`crate::memory_check`] handles
/// differently.
#[inline]
pub(super) fn pieces_of(bytes: &[u8]) -> Option<(&Vector, &[u8], &Vector)> {
    // A single vector has nothing after the first piece.
    if bytes.len() <= VECTOR_BYTES || bytes.len() >= CHECK_BYTES.end {
        return None;
    }
    let (first, rest) = bytes.split_first_chunk()?;
    Some((first, rest, bytes.last_chunk()?))
}

/// Returns the check of [`crate::memory_check`]: a CRC-32C register that starts with the length and
/// processes the first piece, the whole pieces that start before the last one, and the last one.
/// The register is inverted neither before nor after.
#[target_feature(enable = "avx512f,vpclmulqdq,sse4.2")]
pub(super) fn check(first: &Vector, mut rest: &[u8], last: &Vector) -> u64 {
    debug_assert!(!rest.is_empty());
    let shift = broadcast(PAST_VECTOR);
    // Including the length makes leading zeros count.
    let len = (VECTOR_BYTES + rest.len()) as u64;
    let mut lanes = _mm512_xor_si512(load(first), register(len));
    while let Some((next, behind)) = rest.split_first_chunk()
        && !behind.is_empty()
    {
        lanes = fold(lanes, shift, load(next));
        rest = behind;
    }
    reduce(fold(lanes, shift, load(last)))
}

/// Returns a vector with the register in its first bytes, where it is added.
#[target_feature(enable = "avx512f")]
#[inline]
fn register(state: u64) -> __m512i {
    _mm512_set_epi64(0, 0, 0, 0, 0, 0, 0, state.cast_signed())
}

/// Reduces the 64 bytes of `lanes` to a register.
#[target_feature(enable = "avx512f,vpclmulqdq,sse4.2")]
#[inline]
fn reduce(lanes: __m512i) -> u64 {
    let moved = fold(lanes, broadcast(TO_END), _mm512_setzero_si512());
    let upper = _mm512_extracti64x4_epi64::<1>(moved);
    let two = _mm256_xor_si256(_mm512_castsi512_si256(moved), upper);
    let upper = _mm256_extracti128_si256::<1>(two);
    let lane = _mm_xor_si128(_mm256_castsi256_si128(two), upper);
    let register = _mm_crc32_u64(0, _mm_cvtsi128_si64(lane).cast_unsigned());
    _mm_crc32_u64(register, _mm_extract_epi64::<1>(lane).cast_unsigned())
}

/// Moves `lanes` by `shift` and adds `next`.
#[target_feature(enable = "avx512f,vpclmulqdq")]
#[inline]
fn fold(lanes: __m512i, shift: __m512i, next: __m512i) -> __m512i {
    /// XOR of three operands, as a truth table.
    const XOR3: i32 = 0x96;
    let first = _mm512_clmulepi64_epi128::<0x00>(lanes, shift);
    let last = _mm512_clmulepi64_epi128::<0x11>(lanes, shift);
    _mm512_ternarylogic_epi64::<XOR3>(first, last, next)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn broadcast([a, b, c, d]: [Shift; 4]) -> __m512i {
    _mm512_set_epi64(
        d.last, d.first, c.last, c.first, b.last, b.first, a.last, a.first,
    )
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_round(round: &[u8; ROUND_BYTES]) -> [__m512i; 4] {
    let (vectors, _) = round.as_chunks();
    [0, 1, 2, 3].map(|index| load(&vectors[index]))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(vector: &Vector) -> __m512i {
    // SAFETY: `vector` covers the 64 bytes that are read.
    unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::super::portable;
    use super::{check, pieces_of};
    use crate::cpu::{Level, level};

    #[test]
    fn checks_of_every_length_equal_the_twin() {
        let bytes: Vec<u8> = (0..=250).cycle().take(600).collect();
        // Without these instructions the function is unused, so there is nothing to test.
        if level() < Level::Avx512Clmul {
            return;
        }
        for len in 65..512 {
            let bytes = &bytes[len % 8..][..len];
            let (first, rest, last) = pieces_of(bytes).expect("a length that is folded");
            // SAFETY: the level just read includes the instructions.
            let found = unsafe { check(first, rest, last) };
            let expected = portable::folded_check(bytes);
            assert_eq!(found, u64::from(expected), "length {len}");
        }
        assert!(pieces_of(&bytes[..64]).is_none() && pieces_of(&bytes[..512]).is_none());
    }
}
