//! CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), the checksum of every CairnDB file.
//!
//! The polynomial, the initial value (all ones) and the final inversion are part of the format
//! and never change. x86-64 with SSE4.2 runs three independent chains of the CRC instruction and
//! joins them with carry-less multiplication, and folds long runs where 64-byte vectors can do that;
//! other processors use the `crc32c` crate;
//! [`portable`] is the table-driven twin that defines the answer and that Miri runs.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod fold;
mod pieces;
mod polynomial;
pub mod portable;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86;

#[cfg(test)]
mod tests;

use pieces::{VECTOR_BYTES, pieces_of};

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

/// A check of bytes that stay in memory, for those who read them later and cannot trust that they are what
/// they were. Not for files: there the checksum is [`crc32c`].
///
/// Of 65 to 511 bytes it is the checksum of their length and of whole vectors of 64 bytes, of which the last ends where
/// the bytes do: it may begin within the one before, so that there is no rest to be taken by words. Of 100 bytes
/// that is 45 instructions where vectors can be folded, the checksum 90, a hash of 64 bits (XXH3) 95. No change of
/// a single bit is missed, and others once in 2^32 times. Of fewer and of more bytes it is the checksum.
///
/// ```
/// use cairndb_kernel::memory_check;
/// let mut bytes = [7; 100];
/// let before = memory_check(&bytes);
/// bytes[99] ^= 1;
/// assert_ne!(memory_check(&bytes), before);
/// ```
#[inline]
pub fn memory_check(bytes: &[u8]) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(check) = x86::memory_check(bytes) {
        return check;
    }
    check_by_checksums(bytes)
}

/// As [`memory_check`], with nothing but [`crc32c_append`].
#[inline(never)]
fn check_by_checksums(bytes: &[u8]) -> u32 {
    let Some((len, first, rest, last)) = pieces_of(bytes) else {
        return crc32c(bytes);
    };
    let full = (rest.len() - 1) / VECTOR_BYTES * VECTOR_BYTES;
    let begun = crc32c_append(crc32c_append(len, first), &rest[..full]);
    crc32c_append(begun, last)
}
