//! Finds the blocks of a table without its index.
//!
//! A block does not state its length, but it ends with a codec and a checksum of everything before.
//! A block therefore ends where the checksum of the bytes since its start is stored, and the next
//! one begins right there. After a damaged block every offset is tried as the start of another one.
//!
//! The work is linear in the length of the table: [`BlockEnds`] gives the ends for a start without
//! reading the bytes between them. Among millions of starts some checksums match by chance. What
//! matches after damage, or is long, must therefore also decode as a block; the bytes decoded in
//! vain are limited.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use cairndb_base::coding::get_u32;

use super::anchor::Anchor;
use super::ends::BlockEnds;
use crate::table::block::Block;
use crate::table::codec;
use crate::table::footer::{Handle, TRAILER_BYTES};

/// A block of up to this length that begins where another ends is taken without decoding it: the
/// chance that an earlier checksum matches is one in a million.
const SURE_BYTES: usize = 64 << 10;
/// Work after which no block is sought any more, as a multiple of the file's length, and at least.
const WORK_FACTOR: u64 = 32;
const WORK_MIN: u64 = 1 << 24;

/// A search for blocks, from the start of a table.
#[derive(Debug)]
pub(super) struct BlockSearch {
    at: usize,
    /// The anchor of `at`.
    anchor: Anchor,
    ends: BlockEnds,
    /// Number of bytes visited, starts tried, and bytes decoded in vain.
    work: u64,
    work_max: u64,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundBlock {
    /// A block.
    Block(Handle),
    /// Bytes that belong to no block.
    Damage { offset: u64, end: u64 },
}

impl BlockSearch {
    pub(super) fn new(file_bytes: u64) -> BlockSearch {
        BlockSearch {
            at: 0,
            anchor: Anchor::new(),
            ends: BlockEnds::default(),
            work: 0,
            work_max: file_bytes.saturating_mul(WORK_FACTOR).max(WORK_MIN),
        }
    }

    /// Returns the next block or damage in `bytes`, all of the table; `None` at its end.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Option<FoundBlock> {
        let start = self.at;
        if start.saturating_add(TRAILER_BYTES) >= bytes.len() {
            return None;
        }
        if let Some(len) = self.next_len(bytes) {
            self.skip(bytes, len.saturating_add(TRAILER_BYTES));
            let (offset, len) = (start as u64, len as u64);
            return Some(FoundBlock::Block(Handle { offset, len }));
        }
        while self.at < bytes.len() {
            self.skip(bytes, 1);
            if self.work >= self.work_max {
                self.at = bytes.len();
            } else if self.whole_len(bytes).is_some() {
                break;
            }
        }
        Some(FoundBlock::Damage {
            offset: start as u64,
            end: self.at as u64,
        })
    }

    fn skip(&mut self, bytes: &[u8], len: usize) {
        let end = self.at.saturating_add(len).min(bytes.len());
        let passed = bytes.get(self.at..end).unwrap_or_default();
        self.anchor.advance(passed);
        self.at = end;
    }

    /// Returns the length of the block that begins here, where the file or another one's successor
    /// does.
    fn next_len(&mut self, bytes: &[u8]) -> Option<usize> {
        let first = self.lengths(bytes).next()?;
        if first <= SURE_BYTES {
            return Some(first);
        }
        // A filter does not decode as a block: then the first checksum decides.
        Some(self.whole_len(bytes).unwrap_or(first))
    }

    /// Returns the lengths of the blocks that may begin here, shortest first.
    fn lengths(&mut self, bytes: &[u8]) -> impl Iterator<Item = usize> {
        if !self.ends.covers(self.at) {
            let visited = self.ends.find(bytes, self.at, self.anchor);
            self.work = self.work.saturating_add(visited as u64);
        }
        self.work = self.work.saturating_add(1);
        self.ends.lengths(self.at, self.anchor.start())
    }

    /// Returns the first of the lengths of which the bytes decode as a block.
    fn whole_len(&mut self, bytes: &[u8]) -> Option<usize> {
        let rest = bytes.get(self.at..)?;
        let (work, work_max) = (self.work, self.work_max);
        let mut in_vain = 0u64;
        let whole = self.lengths(bytes).find(|len| {
            let Some((stored, trailer)) = rest.split_at_checked(*len) else {
                return false;
            };
            let codec = trailer.first().copied().unwrap_or(u8::MAX);
            if work.saturating_add(in_vain) >= work_max || !may_decode(codec, stored) {
                return false;
            }
            // No more than 32 times the stored bytes are decoded.
            let decoded = codec::decode(codec, stored.to_vec(), 0);
            let is_block = decoded.and_then(Block::new).is_ok();
            if !is_block {
                in_vain = in_vain.saturating_add(*len as u64);
            }
            is_block
        });
        self.work = self.work.saturating_add(in_vain);
        whole
    }
}

/// Returns whether the bytes begin or end as those of a block do, which few other bytes do.
fn may_decode(codec: u8, stored: &[u8]) -> bool {
    match codec {
        0 => {
            let restarts = stored
                .len()
                .checked_sub(4)
                .and_then(|at| get_u32(stored, at));
            let restarts = restarts.and_then(|count| usize::try_from(count).ok());
            restarts.is_some_and(|count| count <= stored.len() / 4)
        }
        _ => codec::may_begin(codec, stored),
    }
}

#[cfg(test)]
mod tests;
