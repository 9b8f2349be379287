//! Frame around an edit: checksum, length, synced position.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{get_u32, get_u64};

use crate::checksum::crc32c_append;

/// Size of a frame head in bytes: checksum u32, length u32, synced u64.
pub(crate) const FRAME_BYTES: usize = 16;

/// Maximum length of an edit in bytes.
pub(crate) const EDIT_BYTES_MAX: u32 = 0x7fff_ffff;

/// The head of a frame, whose checksum has not been compared yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) crc: u32,
    pub(crate) len: u32,
    /// Number of bytes of the manifest known to be durable when the frame was written.
    pub(crate) synced: u64,
}

impl Frame {
    /// Decodes a frame head; returns `None` if no writer produces it at `offset` in a file of
    /// `size` bytes.
    pub(crate) fn decode(bytes: &[u8], offset: u64, size: u64) -> Option<Frame> {
        let frame = Frame {
            crc: get_u32(bytes, 0)?,
            len: get_u32(bytes, 4)?,
            synced: get_u64(bytes, 8)?,
        };
        let end = frame.end(offset)?;
        let fits = frame.len > 0 && frame.len <= EDIT_BYTES_MAX && end <= size;
        (fits && frame.synced <= offset).then_some(frame)
    }

    /// Returns the end of the record at `offset`.
    pub(crate) fn end(&self, offset: u64) -> Option<u64> {
        offset
            .checked_add(FRAME_BYTES as u64)?
            .checked_add(u64::from(self.len))
    }

    /// Returns the checksum state after the head of the record at `offset`.
    pub(crate) fn checksum_before(&self, seed: u32, offset: u64) -> u32 {
        let place = crc32c_append(seed, &offset.to_le_bytes());
        let len = crc32c_append(place, &self.len.to_le_bytes());
        crc32c_append(len, &self.synced.to_le_bytes())
    }

    /// Returns the head's bytes.
    pub(crate) fn encode(&self) -> [u8; FRAME_BYTES] {
        let mut out = [0; FRAME_BYTES];
        let bytes = self
            .crc
            .to_le_bytes()
            .into_iter()
            .chain(self.len.to_le_bytes())
            .chain(self.synced.to_le_bytes());
        for (slot, byte) in out.iter_mut().zip(bytes) {
            *slot = byte;
        }
        out
    }
}
