//! Decoder cursor over untrusted bytes: each read lies within them or returns an error.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{get_bytes, get_u32, get_u64, get_varint};
use cairndb_base::{Error, Result};

/// The rest of a byte string that is being decoded.
///
/// Errors name what was expected and the offset in this string; the caller adds the file and the
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

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(crate) fn varint(&mut self, what: &'static str) -> Result<u64> {
        get_varint(self.bytes, &mut self.at).ok_or_else(|| self.error(what))
    }

    pub(crate) fn bytes(&mut self, what: &'static str) -> Result<&'a [u8]> {
        get_bytes(self.bytes, &mut self.at).ok_or_else(|| self.error(what))
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32> {
        let value = get_u32(self.bytes, self.at).ok_or_else(|| self.error(what))?;
        self.at = self.at.saturating_add(4);
        Ok(value)
    }

    pub(crate) fn u64(&mut self, what: &'static str) -> Result<u64> {
        let value = get_u64(self.bytes, self.at).ok_or_else(|| self.error(what))?;
        self.at = self.at.saturating_add(8);
        Ok(value)
    }

    /// Returns an error about the bytes at the cursor.
    #[cold]
    pub(crate) fn error(&self, expected: &'static str) -> Error {
        Error::corruption("encoded bytes are malformed")
            .expected(expected)
            .found(format_args!(
                "something else at byte {} of {}",
                self.at,
                self.bytes.len()
            ))
    }
}
