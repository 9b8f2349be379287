//! CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), the checksum of every CairnDB file.
//!
//! The polynomial, the initial value (all ones) and the final inversion are part of the format
//! and never change. x86-64 with SSE4.2 runs three independent chains of the CRC instruction and
//! joins them with carry-less multiplication, and folds long runs where 64-byte vectors can do that;
//! other processors use the `crc32c` crate;
//! [`portable`] is the table-driven twin that defines the answer and that Miri runs.

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

/// A check of bytes that stay in memory, for those who read them later and cannot trust that they are what
/// they were. Not for files: there the checksum is [`crc32c`], and which number this is depends on the processor.
///
/// Where vectors of 64 bytes can be folded, of 65 to 511 bytes it is a register of CRC-32C that is begun with the
/// length, takes whole vectors and is not inverted. The last vector ends where the bytes do: it may begin within the
/// one before, so that there is no rest to be taken by words. No change of a single bit is missed. Of 32 to 64
/// bytes, and elsewhere of 32 to 511, four chains of CRC-32C take every fourth word each, and are not joined to one
/// checksum, only to one number. Of other lengths it is the checksum. Of 100 bytes the first takes 45
/// instructions, the second 78, a hash of 64 bits (XXH3) or the checksum 90 to 95. Whatever else changes is missed
/// once in 2^31 times at most.
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
