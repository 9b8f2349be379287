//! Decoder cursor over untrusted bytes: each read lies within them or returns an error.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use cairndb_base::coding::{get_bytes, get_varint};
use cairndb_base::{Error, Result};

/// The rest of a byte string that is being decoded.
///
/// Errors name what was expected and the byte of this string; the caller adds the file and the
/// string's own offset.
#[derive(Clone, Debug)]
pub(crate) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { bytes, at: 0 }
    }

    pub(crate) fn at(bytes: &'a [u8], at: usize) -> Input<'a> {
        Input { bytes, at }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn byte(&mut self, what: &'static str) -> Result<u8> {
        let byte = self.bytes.get(self.at).copied();
        let byte = byte.ok_or_else(|| self.error(what))?;
        self.at = self.at.saturating_add(1);
        Ok(byte)
    }

    pub(crate) fn varint(&mut self, what: &'static str) -> Result<u64> {
        get_varint(self.bytes, &mut self.at).ok_or_else(|| self.error(what))
    }

    /// A varint that LevelDB reads into 32 bits.
    pub(crate) fn varint32(&mut self, what: &'static str) -> Result<u32> {
        let before = self.at;
        let value = self.varint(what)?;
        u32::try_from(value).map_err(|_| {
            self.at = before;
            self.error(what)
        })
    }

    pub(crate) fn bytes(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let before = self.at;
        let found = get_bytes(self.bytes, &mut self.at);
        found.ok_or_else(|| {
            self.at = before;
            self.error(what)
        })
    }

    /// An error about the bytes at the cursor.
    #[cold]
    pub(crate) fn error(&self, expected: &'static str) -> Error {
        let (at, len) = (self.at, self.bytes.len());
        Error::corruption("encoded bytes are malformed")
            .expected(expected)
            .found(format_args!("something else at byte {at} of {len}"))
    }
}
