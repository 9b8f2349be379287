//! The short-value codec: LZ4's sequences without LZ4's frame, made for values of 20 to 64 Ki bytes.
//!
//! An encoded value is a row of sequences; nothing else is stored, the page keeps the raw length:
//!
//! ```text
//! token      1 byte    high half: literal count L, low half: match length M less 4
//! L more     0..       only if the high half is 15: bytes that add up, the last one below 255
//! literals   L bytes
//! offset     2 bytes   little-endian, 1..=65535: the match begins this far back in the output
//! M more     0..       only if the low half is 15: as above
//! ```
//!
//! The encoded value may end behind the literals of a sequence (low half of its token 0) or
//! behind a match. LZ4 demands that a block ends with five literals and that its last match
//! begins twelve bytes before the end; here neither holds, which is worth several bytes on a
//! 100-byte value. Each LZ4 block is a valid encoded value, but not the other way round.
//!
//! Position in the flow: the table builder encodes each value alone and keeps the encoded form if
//! it is shorter; readers decode one value straight into the caller's buffer. Callers check the
//! page's checksum first, yet every byte sequence is safe to decode.
//!
//! Invariants:
//! 1. What an encoder appends depends on the value alone, never on values encoded before.
//! 2. `decode(encode(value), value.len()) == value`, and the encoded form is always shorter.
//! 3. Decoding reads only the encoded bytes, writes only into reserved room, and gives exactly
//!    the raw length or `None`.

mod copy;
mod decode;
mod encode;
mod portable;

#[cfg(test)]
mod tests;

pub use decode::{decode, decode_into};
pub use encode::Encoder;

/// The safe twins of this module's functions, for tests and fuzzing.
pub mod twin {
    pub use super::portable::{decode, encode};
}

/// Longest value that is encoded: the farthest match then lies 65,535 bytes back.
pub const RAW_BYTES_MAX: usize = 1 << 16;

/// Shortest match: three bytes would cost as much as they save.
const MATCH_BYTES_MIN: usize = 4;

/// Shortest value that can shrink: one literal and a match of five bytes encode to four.
const RAW_BYTES_MIN: usize = 6;

/// The value of a token half that announces extension bytes.
const HALF_MAX: usize = 15;

/// After 2^`SKIP_SHIFT` positions without a match the search strides two bytes, after twice as many
/// three, and so on: incompressible values cost little.
const SKIP_SHIFT: u32 = 6;

/// Bits of a position's hash: the table of 16 KiB stays in the first-level cache.
const HASH_BITS: u32 = 12;

/// The same for short values, which then touch a quarter of the table only.
const HASH_BITS_SHORT: u32 = 10;

/// Longest value that counts as short: its positions load the smaller table to a quarter.
const SHORT_BYTES_MAX: usize = 256;

/// Spreads four bytes over `BITS` bits (Fibonacci hashing by 2^32 / golden ratio).
#[inline]
fn hash<const BITS: u32>(bytes: u32) -> usize {
    (bytes.wrapping_mul(2_654_435_761) >> (32 - BITS)) as usize
}

/// The high half of a token: literals.
#[inline]
fn literal_half(token: u8) -> usize {
    usize::from(token >> 4)
}

/// The low half of a token: match length less the shortest.
#[inline]
fn match_half(token: u8) -> usize {
    usize::from(token & 0x0f)
}

/// Most bytes that `encoded_len` encoded bytes can stand for: an extension byte gives 255.
#[inline]
fn raw_len_max(encoded_len: usize) -> usize {
    encoded_len.saturating_mul(255)
}
