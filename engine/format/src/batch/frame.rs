//! Frame of a one-entry payload: the bytes around key and value, on the stack.
//!
//! The hot path of a single put: the caller writes header, [`Frame::before_key`], key,
//! [`Frame::before_value`] and value into the log, and nothing is allocated or copied twice.

use cairndb_base::Kind;
use cairndb_base::limits::{KEY_BYTES_MAX, KEYSPACE_BYTES, VALUE_BYTES_MAX};

use crate::batch::IN_KEYSPACE;

/// Byte string of up to sixteen bytes, stored inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    bytes: [u8; 16],
    len: u8,
}

impl Short {
    const EMPTY: Short = Short {
        bytes: [0; 16],
        len: 0,
    };

    /// Encodes one varint.
    #[inline]
    pub(crate) fn varint(value: u64) -> Short {
        let (word, len) = varint_word(value);
        let bytes = word.to_le_bytes();
        Short { bytes, len }
    }

    /// Returns the bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// Returns the bytes of a varint as one little-endian word, and their number.
#[inline]
fn varint_word(value: u64) -> (u128, u8) {
    if value < 0x80 {
        return (u128::from(value), 1);
    }
    let (mut word, mut rest, mut len) = (0, value, 0u8);
    while rest >= 0x80 {
        word |= u128::from((rest & 0x7f) | 0x80) << (8 * len);
        rest >>= 7;
        len += 1;
    }
    (word | u128::from(rest) << (8 * len), len + 1)
}

impl AsRef<[u8]> for Short {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

/// Bytes before the key and before the value of a one-entry payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    before_key: Short,
    before_value: Short,
}

/// Returns the frame of a one-entry payload with the given key and value lengths. The caller must
/// have checked the limits.
///
/// `value_len` is ignored for [`Kind::Delete`], which has no value. In a keyspace, the key begins
/// with its number, which `key_len` includes. The payload is
/// `before_key ++ key ++ before_value ++ value`.
///
/// ```
/// use cairndb_base::Kind;
/// use cairndb_format::batch::{frame, BatchWriter};
/// let frame = frame(Kind::Put, false, 3, 5);
/// let payload = [frame.before_key(), b"key", frame.before_value(), b"value"].concat();
/// let mut batch = BatchWriter::new();
/// batch.put(b"key", b"value");
/// assert_eq!(payload, batch.to_payload());
/// ```
#[inline]
pub fn frame(kind: Kind, in_keyspace: bool, key_len: usize, value_len: usize) -> Frame {
    debug_assert!(key_len <= KEY_BYTES_MAX + KEYSPACE_BYTES && value_len <= VALUE_BYTES_MAX);
    let (key_word, key_word_len) = varint_word(key_len as u64);
    let number = kind as u8 | if in_keyspace { IN_KEYSPACE } else { 0 };
    let word = 1 | u128::from(number) << 8 | key_word << 16;
    let before_key = Short {
        bytes: word.to_le_bytes(),
        len: 2 + key_word_len,
    };
    let before_value = match kind {
        Kind::Delete => Short::EMPTY,
        _ => Short::varint(value_len as u64),
    };
    Frame {
        before_key,
        before_value,
    }
}

impl Frame {
    /// Returns the count, kind and key length.
    #[inline]
    pub fn before_key(&self) -> &[u8] {
        self.before_key.as_slice()
    }

    /// Returns the encoded length of the value; empty for a deletion.
    #[inline]
    pub fn before_value(&self) -> &[u8] {
        self.before_value.as_slice()
    }

    /// Returns the length of the payload, key and value included.
    #[inline]
    pub fn payload_len(&self, key_len: usize, value_len: usize) -> u64 {
        let frame = u64::from(self.before_key.len) + u64::from(self.before_value.len);
        frame
            + key_len as u64
            + if self.before_value.len == 0 {
                0
            } else {
                value_len as u64
            }
    }
}
