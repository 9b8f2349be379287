//! Codec 1: a value in blocks of 64 KiB, each encoded alone or left raw.
//!
//! The encoder takes at most one block at a time, and a block that does not shrink costs only its
//! own bytes. A value is stored like this if that saves at least an eighth: less would not be worth
//! decoding in each get.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::get_u32;
use cairndb_kernel::codec::{self, Encoder, RAW_BYTES_MAX, decode_into};

/// Number of bytes of the value per block, except for the last.
const BLOCK_BYTES: usize = RAW_BYTES_MAX;
/// Number of bytes before each block.
const HEADER_BYTES: usize = 4;
/// Flag in the header of a raw block.
const AS_IT_IS: u32 = 1 << 31;
/// Encoding must save at least one byte in this many.
const SAVED_SHARE: usize = 8;
/// If this many bytes have not shrunk, the rest is not tried.
const TRIED_BYTES: usize = 4 * BLOCK_BYTES;

/// Encodes large values. One encoder serves many values and keeps its buffers.
///
/// ```
/// use cairndb_format::value_file::ValueEncoder;
///
/// let mut encoder = ValueEncoder::default();
/// let encoded = encoder.encode(&[b'x'; 20_000]).expect("repeats shrink");
/// assert!(encoded.len() < 100);
/// ```
#[derive(Debug, Default)]
pub struct ValueEncoder {
    encoder: Encoder,
    out: Vec<u8>,
}

impl ValueEncoder {
    /// Returns the value as stored in codec 1, or `None` if that would save less than an eighth.
    pub fn encode(&mut self, value: &[u8]) -> Option<&[u8]> {
        self.out.clear();
        let mut tried = 0usize;
        for block in value.chunks(BLOCK_BYTES) {
            self.push(block);
            tried = tried.saturating_add(block.len());
            if tried >= TRIED_BYTES && !saves(self.out.len(), tried) {
                return None;
            }
        }
        saves(self.out.len(), value.len()).then_some(self.out.as_slice())
    }

    fn push(&mut self, block: &[u8]) {
        let header = self.out.len();
        self.out.extend_from_slice(&[0; HEADER_BYTES]);
        let body = self.out.len();
        let as_it_is = if self.encoder.encode(block, &mut self.out) {
            0
        } else {
            self.out.extend_from_slice(block);
            AS_IT_IS
        };
        let len = self.out.len().saturating_sub(body);
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        assert!(len < AS_IT_IS, "a block is no longer than its value");
        let place = self.out.get_mut(header..body).unwrap_or_default();
        place.copy_from_slice(&(len | as_it_is).to_le_bytes());
    }

    /// Releases memory that a large value took.
    pub fn shrink_to(&mut self, bytes: usize) {
        self.out.clear();
        self.out.shrink_to(bytes);
    }
}

/// Returns whether `stored` bytes instead of `raw` are worth decoding in each get.
pub fn saves(stored: usize, raw: usize) -> bool {
    stored <= raw.saturating_sub(raw / SAVED_SHARE) && stored < raw
}

/// Returns the minimum number of stored bytes of a value of `raw_len`: a header and one byte for
/// each block.
pub(crate) fn stored_min(raw_len: u64) -> u64 {
    let blocks = raw_len.div_ceil(BLOCK_BYTES as u64);
    blocks
        .saturating_mul(HEADER_BYTES as u64)
        .saturating_add(blocks)
}

/// Decodes `stored` and appends its `raw_len` bytes to `out`; returns `None` if it is malformed or
/// decodes to another length. Reserves no more than the stored bytes can fill.
pub(crate) fn append(stored: &[u8], raw_len: usize, out: &mut Vec<u8>) -> Option<()> {
    let (mut rest, mut left) = (stored, raw_len);
    while left > 0 {
        let block_len = left.min(BLOCK_BYTES);
        let header = get_u32(rest, 0)?;
        let len = usize::try_from(header & !AS_IT_IS).ok()?;
        let (body, behind) = rest.get(HEADER_BYTES..)?.split_at_checked(len)?;
        if header & AS_IT_IS == 0 {
            codec::decode(body, block_len, out)?;
        } else if len == block_len {
            out.extend_from_slice(body);
        } else {
            return None;
        }
        rest = behind;
        left = left.saturating_sub(block_len);
    }
    rest.is_empty().then_some(())
}

/// Decodes `stored` into the whole of `out`; returns `None` if it is malformed or decodes to
/// another length.
pub(crate) fn decode(stored: &[u8], out: &mut [u8]) -> Option<()> {
    let mut rest = stored;
    for block in out.chunks_mut(BLOCK_BYTES) {
        let header = get_u32(rest, 0)?;
        let len = usize::try_from(header & !AS_IT_IS).ok()?;
        let (body, behind) = rest.get(HEADER_BYTES..)?.split_at_checked(len)?;
        if header & AS_IT_IS == 0 {
            decode_into(body, block)?;
        } else if len == block.len() {
            block.copy_from_slice(body);
        } else {
            return None;
        }
        rest = behind;
    }
    rest.is_empty().then_some(())
}
