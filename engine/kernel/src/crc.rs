//! CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), the checksum of every CairnDB file.
//!
//! The polynomial, the initial value (all ones) and the final inversion are part of the format and
//! never change. On x86-64 with SSE4.2, three independent chains of the CRC instruction run in
//! parallel and are joined by carry-less multiplication; long runs are folded with 64-byte vectors
//! if the processor supports them. Other processors use the `crc32c` crate. [`portable`] is the
//! table-driven twin that defines the result and runs under Miri.

mod chains;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod fold;
mod polynomial;
pub mod portable;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86;

#[cfg(test)]
mod tests;

/// Returns the CRC-32C of `bytes`.
///
/// ```
/// assert_eq!(cairndb_kernel::crc32c(b"123456789"), 0xE306_9283);
/// ```
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_append(0, bytes)
}

/// Returns the CRC-32C of everything that `crc` already covers, followed by `bytes`.
///
/// `crc32c_append(crc32c(a), b)` equals the checksum of `a` followed by `b`; the checksum of an
/// empty slice is 0.
#[inline]
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(miri)]
    return portable::crc32c_append(crc, bytes);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return x86::crc32c_append(crc, bytes);
    #[cfg(all(not(target_arch = "x86_64"), not(miri)))]
    return ::crc32c::crc32c_append(crc, bytes);
}

/// Returns a check value for bytes in memory, so that readers can detect whether the bytes have
/// changed. Files use [`crc32c`] instead, because this value depends on the processor.
///
/// With 64-byte folding, the value for 65 to 511 bytes is a CRC-32C register that starts with the
/// length, processes whole vectors and is not inverted. The last vector ends where the bytes end
/// and may overlap the one before, so no remainder has to be processed word by word. Every
/// single-bit change is detected. For 32 to 64 bytes, or for 32 to 511 without folding, the value
/// combines four chains of CRC-32C, each over every fourth word, and is not a checksum. For all
/// other lengths it is the checksum. For 100 bytes, folding takes about half as many instructions
/// as a 64-bit hash (XXH3) or the checksum; chains take slightly fewer than those. Any other change
/// is missed at most once in 2^31.
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
