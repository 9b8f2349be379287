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
//! Against a dictionary values are encoded in another form; see [`Dictionary`].
//!
//! Position in the flow: the table builder encodes each value alone and keeps the encoded form if
//! it is shorter; readers decode one value straight into the caller's buffer. Callers check the
//! checksum first, or behind it and throw away what was decoded; every byte sequence is safe to decode.
//!
//! Invariants:
//! 1. What an encoder appends depends on the value alone, never on values encoded before.
//! 2. `decode(encode(value), value.len()) == value`, and the encoded form is always shorter.
//! 3. Decoding reads only the encoded bytes, writes only into reserved room, and gives exactly
//!    the raw length or `None`.

mod copy;
mod decode;
mod dictionary;
mod encode;
mod lanes;
mod portable;
mod row;
mod runs;
mod shape;
mod short;
mod sink;
mod token;

#[cfg(test)]
mod tests;

pub use decode::{DECODE_SLACK, decode, decode_each, decode_into, decode_until};
pub use dictionary::{DICTIONARY_BYTES_MAX, Dictionary, Matcher, Padded, decode_with};
pub use encode::Encoder;
pub use token::{RAW_BYTES_MAX, raw_len_max};

/// The safe twins of this module's functions, for tests and fuzzing.
pub mod twin {
    pub use super::dictionary::portable::{decode_with, encode_with};
    pub use super::portable::{decode, encode};
}
