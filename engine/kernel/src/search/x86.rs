//! Head counting with 32-byte (AVX2) and 64-byte (AVX-512) vectors.
//!
//! Each vector of heads is compared with the key in every lane and the bits of the resulting mask
//! are counted, so the only loop-carried dependency is an addition. A remainder that does not fill
//! a vector is read with a mask (AVX-512) or together with heads already counted, whose bits are
//! then shifted out (AVX2). No read leaves the column.

#![allow(
    unsafe_code,
    reason = "vector loads, and calls for instructions detected at run time"
)]

use std::arch::x86_64::{
    _mm256_cmpeq_epi8, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32, _mm256_cmpgt_epi64,
    _mm256_loadu_si256, _mm256_min_epu8, _mm256_min_epu16, _mm256_min_epu32, _mm256_movemask_epi8,
    _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_xor_si256,
    _mm512_cmpeq_epu8_mask, _mm512_cmpeq_epu16_mask, _mm512_cmpeq_epu32_mask,
    _mm512_cmpeq_epu64_mask, _mm512_cmplt_epu8_mask, _mm512_cmplt_epu16_mask,
    _mm512_cmplt_epu32_mask, _mm512_cmplt_epu64_mask, _mm512_loadu_si512, _mm512_maskz_loadu_epi8,
    _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_epi64,
};

use super::portable;
use crate::cpu::{Level, level};

/// Returns the number of heads of `width` bytes in `column` that are smaller than `key`.
#[inline]
pub(super) fn count_below(column: &[u8], width: usize, key: u64) -> usize {
    match level() {
        // SAFETY: the level just read means that this processor has AVX-512 F and BW, and POPCNT.
        Level::Avx512 | Level::Avx512Clmul => unsafe { count_avx512(column, width, key) },
        // SAFETY: the level just read means that this processor has AVX2 and POPCNT.
        Level::Avx2 => unsafe { count_avx2(column, width, key) },
        Level::Sse42 | Level::Baseline => portable::count_below(column, width, key),
    }
}

/// Like [`crate::search::locate`], but for a whole column.
#[inline]
pub(super) fn locate(column: &[u8], width: usize, key: u64) -> (usize, bool) {
    if level() >= Level::Avx512 {
        // SAFETY: the level just read means that this processor has AVX-512 F and BW, and POPCNT.
        return unsafe { locate_avx512(column, width, key) };
    }
    let below = count_below(column, width, key);
    (below, portable::head_is(column, width, below, key))
}

/// Like [`count_64`], but also checks whether a head equals the key.
macro_rules! locate_64 {
    ($column:ident, $width:literal, $key:expr, $less:ident, $equal:ident) => {{
        let key = $key;
        let (vectors, tail) = $column.as_chunks::<64>();
        let (mut count, mut equal) = (0, 0);
        for vector in vectors {
            // SAFETY: `vector` covers the 64 bytes that are read.
            let heads = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
            count += $less(heads, key).count_ones();
            equal |= u64::from($equal(heads, key));
        }
        if !tail.is_empty() {
            let bytes = u64::MAX >> (64 - tail.len());
            // SAFETY: the mask selects the first `tail.len()` bytes; the others are not read.
            let heads = unsafe { _mm512_maskz_loadu_epi8(bytes, tail.as_ptr().cast()) };
            let lanes = u64::MAX >> (64 - tail.len() / $width);
            count += (u64::from($less(heads, key)) & lanes).count_ones();
            equal |= u64::from($equal(heads, key)) & lanes;
        }
        (count as usize, equal != 0)
    }};
}

#[target_feature(enable = "avx512f,avx512bw,popcnt")]
fn locate_avx512(column: &[u8], width: usize, key: u64) -> (usize, bool) {
    if !fits(key, width) {
        return (column.len() / width, false);
    }
    let Lanes {
        byte,
        half,
        word,
        long,
    } = Lanes::of(key);
    match width {
        1 => locate_64!(
            column,
            1,
            _mm512_set1_epi8(byte),
            _mm512_cmplt_epu8_mask,
            _mm512_cmpeq_epu8_mask
        ),
        2 => locate_64!(
            column,
            2,
            _mm512_set1_epi16(half),
            _mm512_cmplt_epu16_mask,
            _mm512_cmpeq_epu16_mask
        ),
        4 => locate_64!(
            column,
            4,
            _mm512_set1_epi32(word),
            _mm512_cmplt_epu32_mask,
            _mm512_cmpeq_epu32_mask
        ),
        _ => locate_64!(
            column,
            8,
            _mm512_set1_epi64(long),
            _mm512_cmplt_epu64_mask,
            _mm512_cmpeq_epu64_mask
        ),
    }
}

/// Counts the heads below a key that is broadcast to all lanes of a 64-byte vector.
macro_rules! count_64 {
    ($column:ident, $width:literal, $key:expr, $less:ident) => {{
        let key = $key;
        let (vectors, tail) = $column.as_chunks::<64>();
        let mut count = 0;
        for vector in vectors {
            // SAFETY: `vector` covers the 64 bytes that are read.
            let heads = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
            count += $less(heads, key).count_ones();
        }
        if !tail.is_empty() {
            let bytes = u64::MAX >> (64 - tail.len());
            // SAFETY: the mask selects the first `tail.len()` bytes; the others are not read.
            let heads = unsafe { _mm512_maskz_loadu_epi8(bytes, tail.as_ptr().cast()) };
            let lanes = u64::MAX >> (64 - tail.len() / $width);
            count += (u64::from($less(heads, key)) & lanes).count_ones();
        }
        count as usize
    }};
}

#[target_feature(enable = "avx512f,avx512bw,popcnt")]
fn count_avx512(column: &[u8], width: usize, key: u64) -> usize {
    if !fits(key, width) {
        return column.len() / width;
    }
    let Lanes {
        byte,
        half,
        word,
        long,
    } = Lanes::of(key);
    match width {
        1 => count_64!(column, 1, _mm512_set1_epi8(byte), _mm512_cmplt_epu8_mask),
        2 => count_64!(column, 2, _mm512_set1_epi16(half), _mm512_cmplt_epu16_mask),
        4 => count_64!(column, 4, _mm512_set1_epi32(word), _mm512_cmplt_epu32_mask),
        _ => count_64!(column, 8, _mm512_set1_epi64(long), _mm512_cmplt_epu64_mask),
    }
}

/// Counts the heads for which `$below` sets all bits of their lane in a 32-byte vector; `$column`
/// has at least 32 bytes.
macro_rules! count_32 {
    ($column:ident, $width:literal, $below:expr) => {{
        let below = $below;
        let (vectors, tail) = $column.as_chunks::<32>();
        let mut bits = 0;
        for vector in vectors {
            // SAFETY: `vector` covers the 32 bytes that are read.
            let heads = unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) };
            bits += _mm256_movemask_epi8(below(heads)).count_ones();
        }
        if let (false, Some(last)) = (tail.is_empty(), $column.last_chunk::<32>()) {
            // SAFETY: `last` covers the 32 bytes that are read.
            let heads = unsafe { _mm256_loadu_si256(last.as_ptr().cast()) };
            let mask = _mm256_movemask_epi8(below(heads)).cast_unsigned();
            bits += (mask >> (32 - tail.len())).count_ones();
        }
        bits as usize / $width
    }};
}

#[target_feature(enable = "avx2,popcnt")]
fn count_avx2(column: &[u8], width: usize, key: u64) -> usize {
    if column.len() < 32 {
        return portable::count_below(column, width, key);
    }
    if !fits(key, width) {
        return column.len() / width;
    }
    // There is no unsigned "less than", but "not greater than" is "equal to the minimum of both".
    let Some(greatest) = key.checked_sub(1) else {
        return 0;
    };
    let Lanes {
        byte,
        half,
        word,
        long,
    } = Lanes::of(greatest);
    match width {
        1 => {
            let key = _mm256_set1_epi8(byte);
            count_32!(column, 1, |heads| _mm256_cmpeq_epi8(
                _mm256_min_epu8(heads, key),
                heads
            ))
        }
        2 => {
            let key = _mm256_set1_epi16(half);
            count_32!(column, 2, |heads| _mm256_cmpeq_epi16(
                _mm256_min_epu16(heads, key),
                heads
            ))
        }
        4 => {
            let key = _mm256_set1_epi32(word);
            count_32!(column, 4, |heads| _mm256_cmpeq_epi32(
                _mm256_min_epu32(heads, key),
                heads
            ))
        }
        _ => {
            // There is no 64-bit minimum either. Flipping the top bits maps unsigned order to
            // signed order.
            let flip = _mm256_set1_epi64x(i64::MIN);
            let key = _mm256_set1_epi64x(long.wrapping_add(1) ^ i64::MIN);
            count_32!(column, 8, |heads| _mm256_cmpgt_epi64(
                key,
                _mm256_xor_si256(heads, flip)
            ))
        }
    }
}

/// Returns whether `key` can be represented in `width` bytes.
#[inline]
fn fits(key: u64, width: usize) -> bool {
    width == 8 || key >> (8 * width) == 0
}

/// The low bits of a key in the types that the broadcast instructions take.
struct Lanes {
    byte: i8,
    half: i16,
    word: i32,
    long: i64,
}

impl Lanes {
    #[inline]
    fn of(key: u64) -> Self {
        let [b0, b1, b2, b3, ..] = key.to_le_bytes();
        Lanes {
            byte: i8::from_le_bytes([b0]),
            half: i16::from_le_bytes([b0, b1]),
            word: i32::from_le_bytes([b0, b1, b2, b3]),
            long: key.cast_signed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, count_avx2, count_avx512, level, locate_avx512, portable};

    /// The dispatcher picks one kernel per machine; this test runs every kernel that the machine
    /// supports.
    #[test]
    fn every_kernel_equals_the_twin() {
        let mut bytes: Vec<u8> = (0..=255).cycle().take(1024).collect();
        for width in [1, 2, 4, 8] {
            bytes.rotate_left(3);
            for count in 0..=bytes.len() / width {
                let column = &bytes[..count * width];
                for key in keys(width, column) {
                    let expected = portable::count_below(column, width, key);
                    if level() >= Level::Avx2 {
                        // SAFETY: the level just read includes AVX2 and POPCNT.
                        let found = unsafe { count_avx2(column, width, key) };
                        assert_eq!(
                            found, expected,
                            "avx2 width {width} count {count} key {key}"
                        );
                    }
                    if level() >= Level::Avx512 {
                        // SAFETY: the level just read includes AVX-512 F and BW, and POPCNT.
                        let found = unsafe { count_avx512(column, width, key) };
                        assert_eq!(
                            found, expected,
                            "avx512 width {width} count {count} key {key}"
                        );
                        // SAFETY: as above.
                        let located = unsafe { locate_avx512(column, width, key) };
                        let is_key = |head: &[u8]| portable::head_is(head, width, 0, key);
                        let equal = column.chunks(width).any(is_key);
                        assert_eq!(
                            located,
                            (expected, equal),
                            "width {width} count {count} key {key}"
                        );
                    }
                }
            }
        }
    }

    /// Returns the keys to test: the ends of the range, one past what `width` can hold, and the
    /// neighbours of one head.
    fn keys(width: usize, column: &[u8]) -> impl Iterator<Item = u64> {
        let widest = u64::MAX >> (64 - 8 * width);
        let mut middle = [0; 8];
        let at = column.len() / width / 2 * width;
        let part = column.get(at..at + width).unwrap_or(&[]);
        middle[..part.len()].copy_from_slice(part);
        let middle = u64::from_le_bytes(middle);
        let near = [middle.saturating_sub(1), middle, middle.saturating_add(1)];
        [
            0,
            1,
            widest / 2,
            widest / 2 + 1,
            widest,
            widest.saturating_add(1),
            u64::MAX,
        ]
        .into_iter()
        .chain(near)
    }
}
