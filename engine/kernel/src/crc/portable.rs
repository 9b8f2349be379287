//! CRC-32C by eight lookup tables ("slicing by 8"): the safe twin that defines the result.
//!
//! Used where the processor has no CRC instruction, and under Miri.

use super::chains::{CHECK_BYTES, check_by};
use super::polynomial::shift;

/// `TABLES[k][b]`: the register after byte `b` and `k` further zero bytes.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0;
    let mut seed = 0u32;
    while byte < 256 {
        let mut crc = seed;
        let mut bit = 0;
        while bit < 8 {
            crc = shift(crc);
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
        seed += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let crc = tables[table - 1][byte];
            tables[table][byte] = (crc >> 8) ^ tables[0][(crc & 0xff) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// Like [`crate::crc32c_append`], but uses only table lookups.
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    let (words, tail) = bytes.as_chunks::<8>();
    let mut crc = !crc;
    for word in words {
        let [a, b, c, d] = (crc ^ u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .to_le_bytes()
            .map(usize::from);
        crc = TABLES[7][a]
            ^ TABLES[6][b]
            ^ TABLES[5][c]
            ^ TABLES[4][d]
            ^ TABLES[3][usize::from(word[4])]
            ^ TABLES[2][usize::from(word[5])]
            ^ TABLES[1][usize::from(word[6])]
            ^ TABLES[0][usize::from(word[7])];
    }
    for &byte in tail {
        crc = (crc >> 8) ^ TABLES[0][usize::from(crc.to_le_bytes()[0] ^ byte)];
    }
    !crc
}

/// Computes the chains of [`crate::memory_check`], using only table lookups.
pub fn memory_check(bytes: &[u8]) -> u32 {
    if !CHECK_BYTES.contains(&bytes.len()) {
        return crc32c_append(0, bytes);
    }
    check_by(bytes, |chain, word| !crc32c_append(!chain, &word))
}

/// Computes [`crate::memory_check`] with 64-byte folding for 65 to 511 bytes, using only table
/// lookups.
pub fn folded_check(bytes: &[u8]) -> u32 {
    const VECTOR_BYTES: usize = 64;
    let (len, last) = (bytes.len(), bytes.len() - VECTOR_BYTES);
    let begun = !u32::try_from(len).unwrap_or(u32::MAX);
    let whole = (len - 1) / VECTOR_BYTES * VECTOR_BYTES;
    !crc32c_append(crc32c_append(begun, &bytes[..whole]), &bytes[last..])
}
