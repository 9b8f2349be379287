//! CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), the checksum of every CairnDB file.
//!
//! The polynomial, the initial value (all ones) and the final inversion are part of the format
//! and never change. x86-64 with SSE4.2 runs three independent chains of the CRC instruction and
//! joins them with carry-less multiplication, and folds long runs where 64-byte vectors can do that;
//! other processors use the `crc32c` crate;
//! [`portable`] is the table-driven twin that defines the answer and that Miri runs.

use std::ops::Range;

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod fold;
mod polynomial;
pub mod portable;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86;

#[cfg(test)]
mod tests;

/// CRC-32C of `bytes`.
///
/// ```
/// assert_eq!(cairndb_kernel::crc32c(b"123456789"), 0xE306_9283);
/// ```
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_append(0, bytes)
}

/// CRC-32C of everything `crc` already covers followed by `bytes`.
///
/// `crc32c_append(crc32c(a), b)` equals the checksum of `a` and `b` joined; the checksum of
/// nothing is 0.
#[inline]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(miri)]
    return portable::crc32c_append(crc, bytes);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return x86::crc32c_append(crc, bytes);
    #[cfg(all(not(target_arch = "x86_64"), not(miri)))]
    return ::crc32c::crc32c_append(crc, bytes);
}

/// Lengths of which [`check`] takes chains: one round and more, and less than what folding is faster for.
const CHECK_BYTES: Range<usize> = ROUND_BYTES..512;

/// What the chains of [`check`] take at once.
const ROUND_BYTES: usize = 32;

/// A check of bytes that stay in memory, for those who read them later and cannot trust that they are what
/// they were. Not for files: there the checksum is [`crc32c`].
///
/// Four chains of CRC-32C take every fourth word each and are not joined to one checksum, only to one
/// number: of 100 bytes that takes 60 instructions, a hash of 64 bits (XXH3) or the checksum 90 to 95. A
/// change is missed once in 2^32 times. Of fewer than 32 bytes and of 512 and more it is the checksum.
///
/// ```
/// use cairndb_kernel::check;
/// let mut bytes = [7; 100];
/// let before = check(&bytes);
/// bytes[99] ^= 1;
/// assert_ne!(check(&bytes), before);
/// ```
#[inline]
pub fn check(bytes: &[u8]) -> u32 {
    if !CHECK_BYTES.contains(&bytes.len()) {
        return crc32c(bytes);
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return x86::check(bytes);
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    return portable::check(bytes);
}

/// One word for each chain of [`check`].
type Round = [[u8; 8]; 4];

/// The rounds that the chains of [`check`] take, and the last one: it ends where the bytes do, so that some of
/// them may be taken twice.
#[inline]
fn rounds_of(bytes: &[u8]) -> (&[Round], &Round) {
    debug_assert!(CHECK_BYTES.contains(&bytes.len()));
    let last: Option<&[u8; ROUND_BYTES]> = bytes.last_chunk();
    let last = last.and_then(|last| last.as_chunks().0.first_chunk());
    let full = (bytes.len() - 1) / ROUND_BYTES;
    let rounds: &[Round] = bytes.as_chunks().0.as_chunks().0;
    (&rounds[..full], last.expect("at least one round"))
}

/// Joins the chains of [`check`]: two numbers for one more chain to take. The factor, 2^64 / golden ratio,
/// keeps what two chains saw of one change from cancelling.
#[inline]
fn joined([a, b, c, d]: [u32; 4]) -> [u64; 2] {
    let pair = |low: u32, high: u32| {
        (u64::from(low) | u64::from(high) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    [pair(a, b), pair(c, d)]
}
