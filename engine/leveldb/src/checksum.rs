//! The checksums of logs and tables: CRC-32C, masked.
//!
//! LevelDB stores a checksum rotated and with a constant added, so that a checksum over bytes that
//! contain checksums stays as good as any.

use cairndb_kernel::{crc32c, crc32c_append};

/// What is added after the rotation.
const MASK: u32 = 0xa282_ead8;

/// The stored form of a checksum.
pub(crate) const fn mask(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(MASK)
}

/// The checksum of which `stored` is the stored form.
pub(crate) const fn unmask(stored: u32) -> u32 {
    stored.wrapping_sub(MASK).rotate_left(15)
}

/// The stored checksum of two pieces, one after the other.
pub(crate) fn masked(first: &[u8], rest: &[u8]) -> u32 {
    mask(crc32c_append(crc32c(first), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_reversible_and_changes_every_checksum() {
        for checksum in [0, 1, 0xe306_9283, u32::MAX, 0xa282_ead8] {
            assert_eq!(unmask(mask(checksum)), checksum);
            assert_ne!(mask(checksum), checksum);
            assert_ne!(mask(mask(checksum)), checksum);
        }
        assert_eq!(masked(b"1234", b"56789"), mask(0xe306_9283));
    }
}
