//! Search in the [tie heads](crate::table::index::tie_build) of a table: from a key to the unit
//! that likely holds it.
//!
//! The search assumes that the key has the bytes that all units of a tie share, as a search in a
//! Patricia trie does; the page that it leads to shows whether it does. A get or seek whose key
//! lies between two entries of that page is done; [`TieSearch::narrow`] is for callers that need
//! certainty.
//!
//! Invariant: with intact tie heads, the units before the range that [`TieSearch::narrow`] returns
//! are less than the key, and those after it are greater. With damaged ones it returns some range
//! within the tie.

use std::ops::Range;

use cairndb_base::Result;
use cairndb_kernel::search;

use crate::table::index::address::share;
use crate::table::index::fence::{self, BLOCK_HEADS, HEADS_PER_PAGE};
use crate::table::index::tie_build::{LEVELS_MAX, UNKNOWN, alike, end_of, tie_head};
use crate::table::page::bits::low32;
use crate::table::read::reader::PageReader;

/// Position of a key in a tie.
#[derive(Clone, Debug)]
pub(crate) struct TiePosition {
    /// The units whose heads all equal the key's: their first keys must be compared with the key.
    /// If there are none, an empty range after the units that are less than the key.
    pub(crate) same: Range<u32>,
    /// Likely position of the key in the last unit before `same.end`, in 4096ths.
    pub(crate) share: u32,
}

/// One level of a descent.
#[derive(Clone, Debug, Default)]
struct TieLevel {
    tie: Range<u32>,
    /// Length of the prefix that all keys of the tie share, if the search has skipped bytes of it;
    /// else 0.
    common: usize,
}

/// A search in the tie heads of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TieSearch<'r, 't> {
    reader: &'r PageReader<'t>,
}

impl<'r, 't> TieSearch<'r, 't> {
    pub(crate) fn new(reader: &'r PageReader<'t>) -> TieSearch<'r, 't> {
        TieSearch { reader }
    }

    /// Returns the tie head of a unit.
    fn tie_of(self, level: u32, unit: u32) -> Result<u64> {
        let per_page = low32(HEADS_PER_PAGE);
        let bytes = self.reader.ties_page(level, unit / per_page)?;
        Ok(fence::head_at(&bytes, (unit % per_page) as usize))
    }

    /// Returns the end of the units of `tie` whose tie head is not greater than `head`, counted
    /// from the table's first unit.
    fn ties_up_to(self, level: u32, tie: &Range<u32>, head: u64) -> Result<u32> {
        debug_assert!(!tie.is_empty());
        let per_block = low32(BLOCK_HEADS);
        let (mut low, mut high) = (tie.start / per_block, (tie.end - 1) / per_block);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.tie_of(level, middle * per_block)? <= head {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        let first = tie.start.max(low * per_block);
        let end = tie.end.min((low + 1) * per_block);
        let per_page = low32(HEADS_PER_PAGE);
        let bytes = self.reader.ties_page(level, first / per_page)?;
        let count = (end - first) as usize;
        let heads = fence::block_of(&bytes, (first % per_page) as usize, count);
        let found = search::upper_bound(heads, 8, heads.len() / 8, head);
        Ok(first + low32(found))
    }

    /// Returns the position of the key in `tie`, whose units all have the key's head, and calls
    /// `visit` for each level.
    fn descend(
        self,
        tie: Range<u32>,
        key: &[u8],
        mut visit: impl FnMut(TieLevel),
    ) -> Result<TiePosition> {
        let (mut tie, mut at, mut share_of_last) = (tie, self.reader.table().meta.head_end(), 0);
        for level in 0..self.reader.table().meta.tie_levels {
            if tie.len() < 2 {
                break;
            }
            // All units of a tie store the number of common bytes; the last one is close to where
            // the fence was searched.
            let last = self.tie_of(level, tie.end - 1)?;
            if last == UNKNOWN {
                break;
            }
            let alike = alike(last);
            visit(TieLevel {
                tie: tie.clone(),
                common: if alike > 0 { at + alike } else { 0 },
            });
            let sought = tie_head(key, at, alike);
            at = end_of(at, alike);
            let end = self.ties_up_to(level, &tie, sought)?;
            if end == tie.start {
                tie = end..end;
                break;
            }
            let low = self.tie_of(level, end - 1)?;
            let next = if end < tie.end {
                self.tie_of(level, end)?
            } else {
                0
            };
            share_of_last = share(low, sought, next);
            tie = match sought.checked_sub(1) {
                _ if low < sought => end..end,
                Some(before) => self.ties_up_to(level, &tie, before)?..end,
                None => tie.start..end,
            };
        }
        Ok(TiePosition {
            same: tie,
            share: share_of_last,
        })
    }

    /// Returns the position of the key in `tie`, whose units all have the key's head.
    pub(crate) fn position(self, tie: Range<u32>, key: &[u8]) -> Result<TiePosition> {
        self.descend(tie, key, drop)
    }

    /// Returns the units of `tie` whose first keys must be compared with `key`. If there are none,
    /// returns an empty range after the units that are less than the key.
    pub(crate) fn narrow(self, tie: Range<u32>, key: &[u8]) -> Result<Range<u32>> {
        let mut levels: [TieLevel; LEVELS_MAX as usize] = Default::default();
        let mut count = 0;
        let place = self.descend(tie, key, |level| {
            levels[count] = level;
            count += 1;
        })?;
        let levels = &levels[..count];
        // The unit that the key leads to is in the ties of all levels, so it shows whether the key
        // has the common bytes.
        if let Some(deepest) = levels.iter().rev().find(|level| level.common > 0) {
            let start = levels.last().map_or(0, |level| level.tie.start);
            let unit = self.reader.unit(place.same.end.max(start + 1) - 1)?;
            let shared = unit.view().shared_with(0, key);
            if shared < deepest.common {
                let order = unit.view().compare_key(0, key, &self.reader.table().order);
                let missed = levels.iter().find(|level| shared < level.common);
                let tie = missed.unwrap_or(deepest).tie.clone();
                let edge = if order.is_lt() { tie.end } else { tie.start };
                return Ok(edge..edge);
            }
        }
        Ok(place.same)
    }
}
