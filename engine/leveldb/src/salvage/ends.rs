//! The offsets of a table where a block may end, found by the start of the block.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use std::ops::RangeInclusive;

use cairndb_base::coding::get_u32;

use super::anchor::Anchor;
use crate::checksum::unmask;

/// Codecs that a block may name: none, Snappy, Zstandard or zlib, Zstandard, deflate.
const CODECS: RangeInclusive<u8> = 0..=4;
/// Fewest bytes of a block: the number of its restart points.
const BLOCK_BYTES_MIN: usize = 4;
/// Longest block that is found. LevelDB's blocks are 4 KiB, and as long as an entry that is longer.
pub(super) const BLOCK_BYTES_MAX: usize = 4 << 20;
/// Number of starts whose ends are known together. Larger than this and the longest block, no byte
/// is visited more than twice.
const STARTS: usize = BLOCK_BYTES_MAX;

/// An end: a codec and a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BlockEnd {
    /// What it shares with the start of its block ([`Anchor::end`]).
    anchored: u32,
    /// Number of bytes after the first start that the contents of the block take.
    after: u32,
}

/// The ends of all blocks that begin in a part of a table.
///
/// Memory: 8 bytes for each end; noise has one in every 51 bytes, and zeros one in every byte of at
/// most 8 MiB.
#[derive(Debug, Default)]
pub(super) struct BlockEnds {
    /// In order.
    ends: Vec<BlockEnd>,
    first_start: usize,
    /// The first start whose ends are not known.
    starts_end: usize,
}

impl BlockEnds {
    /// Returns whether the ends of the block that begins at `start` are known.
    pub(super) fn covers(&self, start: usize) -> bool {
        (self.first_start..self.starts_end).contains(&start)
    }

    /// Finds the ends of the blocks that begin at `start` or soon after. Returns the number of
    /// bytes visited.
    pub(super) fn find(&mut self, bytes: &[u8], start: usize, anchor: Anchor) -> usize {
        self.first_start = start;
        self.starts_end = start.saturating_add(STARTS);
        self.ends.clear();
        let mut anchor = anchor;
        let rest = bytes.get(start..).unwrap_or_default();
        let reach = STARTS.saturating_add(BLOCK_BYTES_MAX);
        for (after, byte) in rest.iter().enumerate().take(reach) {
            anchor.advance(std::slice::from_ref(byte));
            // The checksum covers the codec, too.
            if !CODECS.contains(byte) {
                continue;
            }
            let Some(stored) = get_u32(rest, after.saturating_add(1)) else {
                break;
            };
            self.ends.push(BlockEnd {
                anchored: anchor.end(unmask(stored)),
                after: u32::try_from(after).unwrap_or(u32::MAX),
            });
        }
        self.ends.sort_unstable();
        rest.len().min(reach)
    }

    /// Returns the lengths of the blocks that may begin at `start`, an offset that is covered,
    /// shortest first. `anchored` is [`Anchor::start`] there.
    pub(super) fn lengths(&self, start: usize, anchored: u32) -> impl Iterator<Item = usize> {
        debug_assert!(self.covers(start), "the ends were found");
        let before = start.saturating_sub(self.first_start);
        let least = u32::try_from(before.saturating_add(BLOCK_BYTES_MIN)).unwrap_or(u32::MAX);
        let least = BlockEnd {
            anchored,
            after: least,
        };
        let from = self.ends.partition_point(|end| *end < least);
        let ends = self.ends.get(from..).unwrap_or_default().iter();
        let same = ends.take_while(move |end| end.anchored == anchored);
        let lengths = same.filter_map(move |end| {
            let after = usize::try_from(end.after).ok()?;
            after.checked_sub(before)
        });
        lengths.take_while(|len| *len <= BLOCK_BYTES_MAX)
    }
}
