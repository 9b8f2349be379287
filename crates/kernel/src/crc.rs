//! CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), the checksum of every CairnDB file.
//!
//! The polynomial, the initial value (all ones) and the final inversion are part of the format and
//! never change. x86-64 with SSE4.2 runs three independent chains of the CRC instruction and joins
//! them with carry-less multiplication, and folds long runs with 64-byte vectors if it can. Other
//! processors use the `crc32c` crate. [`portable`] is the table-driven twin that defines the result
//! and that Miri runs.

mod chains;
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

/// A check value for bytes that stay in memory, for readers that cannot trust that they are
/// unchanged. Not for files: files use [`crc32c`], and this number depends on the processor.
///
/// Lengths of 65 to 511 bytes, with 64-byte folding: a CRC-32C register that starts with the
/// length, takes whole vectors and is not inverted. The last vector ends where the bytes end and
/// may overlap the one before, so no remainder is left to be taken word by word. Every change of a
/// single bit is noticed. Lengths of 32 to 64 bytes, and without folding of 32 to 511: four chains
/// of CRC-32C, each over every fourth word, joined to one number that is no checksum. Other
/// lengths: the checksum. For 100 bytes folding takes about half of the instructions of a 64-bit
/// hash (XXH3) or of the checksum, and chains take a little less than those. Any other change is
/// missed at most once in 2^31.
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
    return x86::memory_check(bytes);
    #[cfg(miri)]
    return portable::memory_check(bytes);
    #[cfg(all(not(target_arch = "x86_64"), not(miri)))]
    return if chains::CHECK_BYTES.contains(&bytes.len()) {
        chains::check_by(bytes, |chain, word| !::crc32c::crc32c_append(!chain, &word))
    } else {
        crc32c(bytes)
    };
}
