//! Probe of one line of a blocked Bloom filter: all bits of a key are tested at once.
//!
//! A line is 512 bits. The upper bits of a key's state multiplied by each of several factors select
//! its bits; the format defines the state and the factors. One vector holds the line and another
//! holds the bits, so no branch between probes can be mispredicted, and the test takes a quarter of
//! the instructions of six loads and tests.

#![allow(
    unsafe_code,
    reason = "vector loads, and calls for instructions detected at run time"
)]

/// Number of bytes in a line.
pub const LINE_BYTES: usize = 64;
/// Maximum number of bits that are tested.
pub const PROBES_MAX: usize = 16;

/// The safe twin of this module, for tests.
pub mod twin {
    use super::{LINE_BYTES, PROBES_MAX};

    /// Same as [`super::all_set`].
    pub fn all_set(
        line: &[u8; LINE_BYTES],
        state: u32,
        factors: &[u32; PROBES_MAX],
        probes: u32,
    ) -> bool {
        super::bits(state, factors, probes)
            .map(|(byte, mask)| !line[byte & (LINE_BYTES - 1)] & mask)
            .fold(0, |misses, miss| misses | miss)
            == 0
    }
}

/// Returns the bits of a state within its line, each as a byte and a mask. The upper nine bits of
/// the state's product with each of the first `probes` factors select a bit.
#[inline]
pub fn bits(
    state: u32,
    factors: &[u32; PROBES_MAX],
    probes: u32,
) -> impl Iterator<Item = (usize, u8)> {
    factors.iter().take(probes as usize).map(move |factor| {
        let bit = state.wrapping_mul(*factor) >> 23;
        ((bit >> 3) as usize, 1u8 << (bit & 7))
    })
}

/// Returns whether all of [`bits`] are set in `line`.
///
/// ```
/// use cairndb_kernel::filter::all_set;
/// let factors = [0x9e37_79b9; 16];
/// assert!(all_set(&[0xff; 64], 7, &factors, 6));
/// assert!(!all_set(&[0; 64], 7, &factors, 6));
/// ```
#[inline]
pub fn all_set(
    line: &[u8; LINE_BYTES],
    state: u32,
    factors: &[u32; PROBES_MAX],
    probes: u32,
) -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if crate::cpu::level() >= crate::cpu::Level::Avx512 {
        // SAFETY: the level just read means that this processor has AVX-512 F.
        return unsafe { all_set_avx512(line, state, factors, probes) };
    }
    twin::all_set(line, state, factors, probes)
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx512f")]
fn all_set_avx512(
    line: &[u8; LINE_BYTES],
    state: u32,
    factors: &[u32; PROBES_MAX],
    probes: u32,
) -> bool {
    use std::arch::x86_64::{
        _mm512_and_si512, _mm512_loadu_si512, _mm512_mullo_epi32, _mm512_permutexvar_epi32,
        _mm512_set1_epi32, _mm512_sllv_epi32, _mm512_srli_epi32, _mm512_testn_epi32_mask,
    };
    // SAFETY: the line has the 64 bytes that are read.
    let line = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
    // SAFETY: sixteen factors of four bytes cover the 64 bytes that are read.
    let factors = unsafe { _mm512_loadu_si512(factors.as_ptr().cast()) };
    let products = _mm512_mullo_epi32(factors, _mm512_set1_epi32(state.cast_signed()));
    let bit = _mm512_srli_epi32::<23>(products);
    // Bytes are little-endian: bit n of the line is bit n % 32 of its word n / 32.
    let word = _mm512_permutexvar_epi32(_mm512_srli_epi32::<5>(bit), line);
    let within = _mm512_and_si512(bit, _mm512_set1_epi32(31));
    let mask = _mm512_sllv_epi32(_mm512_set1_epi32(1), within);
    let misses = u32::from(_mm512_testn_epi32_mask(word, mask));
    // Lanes after the last probe do not count.
    misses & ((1 << probes.min(16)) - 1) == 0
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES, PROBES_MAX, all_set, bits, twin};

    #[test]
    fn the_kernel_equals_the_twin() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut draw = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 16 & 0xffff_ffff) as u32
        };
        let rounds = if cfg!(miri) { 50 } else { 20_000 };
        let mut set = 0;
        for round in 0..rounds {
            let factors: [u32; PROBES_MAX] = std::array::from_fn(|_| draw() | 1);
            let (state, probes) = (draw(), round % 17);
            let mut line: [u8; LINE_BYTES] = std::array::from_fn(|_| draw().to_le_bytes()[0]);
            if round % 3 > 0 {
                for (byte, mask) in bits(state, &factors, probes) {
                    line[byte] |= mask;
                }
            }
            if round % 3 == 2
                && let Some((byte, mask)) = bits(state, &factors, probes).last()
            {
                line[byte] &= !mask;
            }
            let expected = twin::all_set(&line, state, &factors, probes);
            assert_eq!(all_set(&line, state, &factors, probes), expected, "{round}");
            set += u32::from(expected);
        }
        assert!(
            set > rounds / 3 && set < rounds / 2,
            "both answers, {set} of {rounds}"
        );
    }
}
