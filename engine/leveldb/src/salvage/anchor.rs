//! Checksums that can be compared across offsets.
//!
//! A CRC is linear: the checksum of the bytes from `s` to `e` follows from the checksums of all
//! bytes before `s` and of all bytes before `e`. It equals `c` if and only if
//!
//! ```text
//! crc(0..s) * x^(-8s)  =  (crc(0..e) ^ c) * x^(-8e)        modulo the polynomial
//! ```
//!
//! The left side depends only on where a block begins, and the right side only on where it ends and
//! on the checksum stored there. Both are computed once for each offset, instead of one checksum
//! for each pair of offsets.

use cairndb_kernel::crc32c_append;

/// The polynomial of CRC-32C. The highest bit is the coefficient of 1, the lowest that of x^31.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// The coefficient of 1, and the number one.
const ONE: u32 = 1 << 31;
/// x^-8.
const BYTE_BACK: u32 = byte_back(ONE);

/// An offset in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    /// Checksum of all bytes before the offset.
    crc: u32,
    /// x to the power of minus the number of bits before the offset.
    back: u32,
}

impl Anchor {
    /// The start of a file.
    pub(super) fn new() -> Anchor {
        Anchor { crc: 0, back: ONE }
    }

    /// Goes past `bytes`, which are those at this offset.
    pub(super) fn advance(&mut self, bytes: &[u8]) {
        self.crc = crc32c_append(self.crc, bytes);
        if bytes.len() == 1 {
            self.back = byte_back(self.back);
        } else {
            self.back = multiply(self.back, power(BYTE_BACK, bytes.len()));
        }
    }

    /// Returns the number that a block which begins here shares with its end.
    pub(super) fn start(self) -> u32 {
        multiply(self.crc, self.back)
    }

    /// Returns the number that a block which ends here with this checksum shares with its start.
    pub(super) fn end(self, checksum: u32) -> u32 {
        multiply(self.crc ^ checksum, self.back)
    }
}

/// Multiplies by x.
const fn times_x(polynomial: u32) -> u32 {
    (polynomial >> 1) ^ (POLYNOMIAL * (polynomial & 1))
}

/// Divides by x^8.
const fn byte_back(polynomial: u32) -> u32 {
    (polynomial << 8) ^ BACK[(polynomial >> 24) as usize]
}

/// What the eight highest coefficients add to a quotient by x^8.
const BACK: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0u32;
    while index < 256 {
        let mut quotient = index << 24;
        let mut bits = 0;
        while bits < u8::BITS {
            // The coefficient of 1 is 1 if the product by x was reduced.
            let reduced = quotient >> 31;
            quotient = ((quotient ^ (POLYNOMIAL * reduced)) << 1) | reduced;
            bits += 1;
        }
        table[index as usize] = quotient;
        index += 1;
    }
    table
};

fn multiply(a: u32, b: u32) -> u32 {
    let (mut product, mut a, mut b) = (0, a, b);
    while a != 0 {
        product ^= b & 0u32.wrapping_sub(a >> 31);
        a <<= 1;
        b = times_x(b);
    }
    product
}

fn power(base: u32, exponent: usize) -> u32 {
    let (mut result, mut square, mut exponent) = (ONE, base, exponent);
    while exponent != 0 {
        if exponent & 1 == 1 {
            result = multiply(result, square);
        }
        square = multiply(square, square);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use cairndb_kernel::crc32c;

    use super::*;
    use crate::golden::Noise;

    fn anchor_at(bytes: &[u8], at: usize) -> Anchor {
        let mut anchor = Anchor::new();
        anchor.advance(&bytes[..at]);
        anchor
    }

    #[test]
    fn a_start_equals_the_end_of_the_right_checksum_only() {
        let bytes = Noise::new(3).bytes(300);
        for start in (0..300).step_by(7) {
            for end in start..300 {
                let checksum = crc32c(&bytes[start..end]);
                let begun = anchor_at(&bytes, start).start();
                assert_eq!(begun, anchor_at(&bytes, end).end(checksum));
                assert_ne!(
                    begun,
                    anchor_at(&bytes, end).end(checksum ^ 1 << (end % 32))
                );
            }
        }
    }

    #[test]
    fn single_steps_lead_where_one_long_one_does() {
        let bytes = Noise::new(4).bytes(1000);
        let mut anchor = Anchor::new();
        for at in 0..bytes.len() {
            let long = anchor_at(&bytes, at);
            assert_eq!((anchor.crc, anchor.back), (long.crc, long.back), "{at}");
            anchor.advance(&bytes[at..=at]);
        }
    }
}
