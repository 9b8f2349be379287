//! Deleted ranges, as a cursor meets them.
//!
//! A cursor has the map of its sequence number. It asks for the range of a key only where it
//! has left the last stretch without ranges, so a scan between two ranges pays for one comparison
//! an entry, and in a window for none.

use std::sync::Arc;

use cairndb_base::{Order, Result};

use crate::read::merging_iter::{Direction, MergingIter};
use crate::read::source::hidden;
use crate::state::ranges::{Deleted, RangeMap};

/// A stretch of keys without deleted ranges.
#[derive(Clone, Debug)]
struct Clear {
    direction: Direction,
    /// End in this direction: forward the first key of the next range, backward the first key after
    /// the range before. `None` if there is no such range.
    end: Option<Arc<[u8]>>,
}

/// The deleted ranges that a cursor sees.
#[derive(Clone, Debug, Default)]
pub(super) struct DeletedRanges {
    map: RangeMap,
    /// The stretch that the cursor is in, if it is known.
    clear: Option<Clear>,
}

impl DeletedRanges {
    pub(super) fn new(map: RangeMap) -> DeletedRanges {
        DeletedRanges { map, clear: None }
    }

    pub(super) fn map(&self) -> &RangeMap {
        &self.map
    }

    /// Forgets the stretch. Called before the cursor moves elsewhere than to a neighbour.
    #[inline]
    pub(super) fn leave(&mut self) {
        self.clear = None;
    }

    /// Returns the range that `key` is in. The cursor has come to it in `direction`.
    pub(super) fn around(
        &mut self,
        order: &Order,
        key: &[u8],
        direction: Direction,
    ) -> Option<Deleted> {
        let is_in = |clear: &&Clear| {
            let end = clear.end.as_ref();
            clear.direction == direction
                && end.is_none_or(|end| {
                    let before = order.compare(key, end).is_lt();
                    before == (direction == Direction::Forward)
                })
        };
        if self.clear.as_ref().is_some_and(|clear| is_in(&clear)) {
            return None;
        }
        let around = self.map.around(order, key);
        if let Some(range) = around.before.filter(|range| range.reaches(order, key)) {
            self.clear = None;
            return Some(range.clone());
        }
        let end = match direction {
            Direction::Forward => around.after.map(|range| Arc::clone(&range.start)),
            Direction::Backward => around.before.and_then(|range| range.end.clone()),
        };
        self.clear = Some(Clear { direction, end });
        None
    }

    /// Passes the version of `merger`, which the cursor could see, if its range was deleted since.
    /// Its source then continues after the range, as far as nothing there is newer. Returns whether
    /// the version was passed.
    #[inline]
    pub(super) fn pass(&mut self, merger: &mut MergingIter) -> Result<bool> {
        if self.map.is_empty() {
            return Ok(false);
        }
        self.pass_hidden(merger)
    }

    #[inline(never)]
    fn pass_hidden(&mut self, merger: &mut MergingIter) -> Result<bool> {
        let found = self.around(merger.order(), merger.key(), merger.direction());
        let (Some(range), Some(source)) = (found, merger.source()) else {
            return Ok(false);
        };
        if !hidden::deleted_before(source, range.seq) {
            return Ok(false);
        }
        let forward = merger.direction() == Direction::Forward;
        match hidden::end_of_hidden(source, &range, forward) {
            Some(end) => merger.replace(|source| hidden::pass_hidden(source, &end, forward))?,
            None => merger.step()?,
        }
        Ok(true)
    }

    /// Returns whether the cursor is in a stretch without ranges, and where that ends.
    #[inline]
    pub(super) fn clear_until(&self) -> (bool, Option<&[u8]>) {
        match &self.clear {
            Some(clear) => (true, clear.end.as_deref()),
            None => (self.map.is_empty(), None),
        }
    }
}
