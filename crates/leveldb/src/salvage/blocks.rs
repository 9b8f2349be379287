//! Finds the blocks of a table without its index.
//!
//! A block does not state its length, but it ends with a codec and a checksum of everything before.
//! The checksum is extended byte by byte from the start of a block; where it equals the four bytes
//! that follow, the block ends. The next one begins right there. After a damaged block every offset
//! is tried as the start of another one.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use cairndb_base::coding::get_u32;
use cairndb_kernel::crc32c_append;

use crate::checksum::mask;
use crate::table::footer::{Handle, TRAILER_BYTES};

/// Codecs that a block may name: none, Snappy, Zstandard or zlib, Zstandard, deflate.
const CODECS: std::ops::RangeInclusive<u8> = 0..=4;
/// Longest block that is found. LevelDB's blocks are 4 KiB, and as long as an entry that is longer.
const BLOCK_BYTES_MAX: usize = 4 << 20;
/// Bytes that are read in vain, after damage, as a multiple of the file's length, and at least.
const VAIN_FACTOR: u64 = 64;
const VAIN_BYTES_MIN: u64 = 1 << 28;

/// A search for blocks, from the start of a table.
#[derive(Debug)]
pub(super) struct BlockSearch {
    at: usize,
    /// Length of the longest block so far.
    longest: usize,
    /// Bytes that may still be read in vain.
    vain: u64,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A block.
    Block(Handle),
    /// Bytes that belong to no block.
    Damage { offset: u64, end: u64 },
}

impl BlockSearch {
    pub(super) fn new(file_bytes: u64) -> BlockSearch {
        BlockSearch {
            at: 0,
            longest: 0,
            vain: file_bytes.saturating_mul(VAIN_FACTOR).max(VAIN_BYTES_MIN),
        }
    }

    /// Returns the next block or damage in `bytes`, all of the table; `None` at its end.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Option<Found> {
        let start = self.at;
        if start.saturating_add(TRAILER_BYTES) >= bytes.len() {
            return None;
        }
        if let Some(handle) = self.block_at(bytes, start, BLOCK_BYTES_MAX) {
            return Some(self.take(handle));
        }
        // Another block is hardly longer than those before.
        let len_max = self.longest.saturating_mul(2).max(8 << 10);
        let next = (start.saturating_add(1)..bytes.len()).find_map(|at| {
            let room = self.vain > 0;
            room.then(|| self.block_at(bytes, at, len_max)).flatten()
        });
        let end = next.and_then(|next| usize::try_from(next.offset).ok());
        self.at = end.unwrap_or(bytes.len());
        Some(Found::Damage {
            offset: start as u64,
            end: self.at as u64,
        })
    }

    fn take(&mut self, handle: Handle) -> Found {
        let len = usize::try_from(handle.len).unwrap_or(usize::MAX);
        self.longest = self.longest.max(len);
        self.at = self.at.saturating_add(len).saturating_add(TRAILER_BYTES);
        Found::Block(handle)
    }

    /// Returns the block that begins at `start`, if one of at most `len_max` bytes does.
    fn block_at(&mut self, bytes: &[u8], start: usize, len_max: usize) -> Option<Handle> {
        let mut crc = 0;
        let rest = bytes.get(start..)?;
        let last = rest.len().checked_sub(TRAILER_BYTES)?.min(len_max);
        for len in 0..=last {
            let codec = *rest.get(len)?;
            // The checksum covers the codec, too.
            let all = crc32c_append(crc, &[codec]);
            if len >= 4 && CODECS.contains(&codec) {
                let stored = get_u32(rest, len.saturating_add(1))?;
                if stored == mask(all) {
                    return Some(Handle {
                        offset: start as u64,
                        len: len as u64,
                    });
                }
            }
            crc = all;
        }
        self.vain = self.vain.saturating_sub(last as u64);
        None
    }
}
