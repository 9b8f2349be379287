//! CRC-32C bound to the position of its bytes, and constant-time checksums of any range for the
//! search after damage.
//!
//! A record's checksum starts from a seed (file and salt) and its own offset, so the same bytes
//! elsewhere do not pass. In the search for intact records after a damaged one, every offset is a
//! candidate with an arbitrary length. [`RangeChecksum`] makes each candidate cost the same, which
//! keeps that search linear on hostile bytes.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::Range;

pub(crate) use cairndb_kernel::{crc32c, crc32c_append};

/// Returns the checksum state from which every record of one file starts.
pub(crate) fn seed(number: u64, salt: u64) -> u32 {
    crc32c_append(crc32c(&number.to_le_bytes()), &salt.to_le_bytes())
}

/// CRC-32C of any range of one byte string, in time independent of the range's length.
///
/// Let `R(s, B)` be the raw register after `B` from state `s`, and `P(x)` the register after the
/// first `x` bytes from 0. Then `R(s, B[a..b]) = shift(s ^ P(a), b - a) ^ P(b)`, because the
/// register is linear in state and data. `P` is kept every [`STEP_BYTES`]; `shift` is a product of
/// polynomials.
#[derive(Debug)]
pub(crate) struct RangeChecksum<'a> {
    bytes: &'a [u8],
    /// `P(0), P(STEP), P(2 * STEP) ...`; computed when the first long range is requested.
    steps: Vec<u32>,
}

/// Distance between kept registers in bytes: they take 1/16 of the input's size in memory.
const STEP_BYTES: usize = 64;

/// Length up to which reading the range itself is cheaper than four products.
const DIRECT_BYTES_MAX: usize = 512;

impl<'a> RangeChecksum<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> RangeChecksum<'a> {
        let steps = Vec::new();
        RangeChecksum { bytes, steps }
    }

    /// Returns `crc32c_append(before, &bytes[range])`, or `None` if the range is not within the
    /// bytes.
    pub(crate) fn append(&mut self, before: u32, range: Range<usize>) -> Option<u32> {
        let part = self.bytes.get(range.clone())?;
        if part.len() <= DIRECT_BYTES_MAX {
            return Some(crc32c_append(before, part));
        }
        if self.steps.is_empty() {
            self.fill();
        }
        let (start, end) = (self.prefix(range.start)?, self.prefix(range.end)?);
        Some(!(shift(!before ^ start, part.len() as u64) ^ end))
    }

    fn fill(&mut self) {
        let mut register = 0;
        self.steps.push(register);
        for chunk in self.bytes.chunks_exact(STEP_BYTES) {
            register = !crc32c_append(!register, chunk);
            self.steps.push(register);
        }
    }

    /// Returns `P(at)`.
    fn prefix(&self, at: usize) -> Option<u32> {
        let step = at / STEP_BYTES;
        let register = *self.steps.get(step)?;
        let rest = self.bytes.get(step.checked_mul(STEP_BYTES)?..at)?;
        Some(!crc32c_append(!register, rest))
    }
}

/// The Castagnoli polynomial, bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// The polynomial 1, bits reversed.
const ONE: u32 = 1 << 31;
/// x^8: one zero byte.
const BYTE: u32 = 1 << 23;

/// `POWERS[k][d]` shifts by `d * 256^k` bytes.
static POWERS: [[u32; 256]; 4] = powers();

/// Returns the register that `state` becomes after `count` zero bytes.
fn shift(state: u32, count: u64) -> u32 {
    debug_assert!(u32::try_from(count).is_ok());
    let mut state = state;
    for (table, digit) in POWERS.iter().zip(count.to_le_bytes()) {
        if digit != 0 {
            state = multiply(state, table.get(usize::from(digit)).copied().unwrap_or(ONE));
        }
    }
    state
}

/// Returns the product modulo the polynomial (zlib's `multmodp`).
const fn multiply(a: u32, b: u32) -> u32 {
    let (mut product, mut a, mut b) = (0, a, b);
    while a != 0 {
        product ^= b & 0u32.wrapping_sub(a >> 31);
        a <<= 1;
        b = (b >> 1) ^ (POLYNOMIAL & 0u32.wrapping_sub(b & 1));
    }
    product
}

#[expect(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "evaluated at compile time on constants"
)]
const fn powers() -> [[u32; 256]; 4] {
    let mut tables = [[ONE; 256]; 4];
    let mut unit = BYTE;
    let mut level = 0;
    while level < 4 {
        let mut digit = 1;
        while digit < 256 {
            tables[level][digit] = multiply(tables[level][digit - 1], unit);
            digit += 1;
        }
        unit = multiply(tables[level][255], unit);
        level += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_castagnolis() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn ranges_agree_with_reading_them() {
        let mut noise = crate::testing::Noise::new(7);
        let bytes = noise.bytes(300_000);
        let mut ranges = RangeChecksum::new(&bytes);
        for _ in 0..2000 {
            let (a, b) = (noise.below(300_001), noise.below(300_001));
            let (start, end) = (a.min(b), a.max(b));
            let before = noise.next_u32();
            assert_eq!(
                ranges.append(before, start..end),
                bytes
                    .get(start..end)
                    .map(|part| crc32c_append(before, part))
            );
        }
        assert_eq!(ranges.append(0, 0..300_001), None);
        assert_eq!(ranges.append(0, 299_999..usize::MAX), None);
    }

    #[test]
    fn a_seed_depends_on_both_numbers() {
        assert_ne!(seed(1, 2), seed(2, 1));
        assert_ne!(seed(1, 0), seed(0, 0));
    }
}
