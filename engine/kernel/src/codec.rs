//! The short-value codec: LZ4's sequences without LZ4's frame, for values of 20 bytes to 64 KiB.
//!
//! An encoded value is a series of sequences and nothing else; the page stores the raw length:
//!
//! ```text
//! token      1 byte    high half: literal count L, low half: match length M minus 4
//! L more     0..       only if the high half is 15: bytes to be summed, the last one below 255
//! literals   L bytes
//! offset     2 bytes   little-endian, 1..=65535: distance back to the match in the output
//! M more     0..       only if the low half is 15: as above
//! ```
//!
//! The encoded value may end after the literals of a sequence (the low half of its token is 0) or
//! after a match. LZ4 requires that a block ends with five literals and that its last match starts
//! at least twelve bytes before the end. This format drops both rules, which saves several bytes on
//! a 100-byte value. Every LZ4 block is a valid encoded value, but not vice versa.
//!
//! Values encoded against a dictionary have a different form; see [`Dictionary`].
//!
//! Position in the flow: the table builder encodes each value separately and keeps the encoded form
//! if it is shorter. Readers decode one value directly into the caller's buffer. Callers verify the
//! checksum before or after decoding; if they verify it afterwards, they discard the output on a
//! mismatch. Every byte sequence is safe to decode.
//!
//! Files: `encode.rs` and `sink.rs` encode, `decode.rs` decodes, `fast.rs` lists the fast paths for
//! certain data, `dictionary.rs` implements the dictionary form, `portable.rs` holds the safe
//! twins.
//!
//! Invariants:
//! 1. The output of an encoder depends only on the value, never on values encoded before.
//! 2. `decode(encode(value), value.len()) == value`, and the encoded form is always shorter.
//! 3. Decoding reads only the encoded bytes, writes only into reserved room, and returns exactly
//!    the raw length or `None`.

mod copy;
mod decode;
mod dictionary;
mod encode;
mod fast;
mod portable;
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
