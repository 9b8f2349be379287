//! Reversal of a cursor's direction.

use std::cmp::Ordering;

use cairndb_base::{Result, SEQ_MAX};

use super::ViewCursor;
use crate::read::merging_iter::Direction;

/// Number of entries that a cursor passes one by one after a reversal, before it searches.
const TURN_STEPS: usize = 8;

impl ViewCursor {
    /// Reverses the merging iterator, and skips entries that a writer has inserted between its
    /// position and `self.key`, the previous key; the cursor sees none of them.
    pub(super) fn turn(&mut self) -> Result<()> {
        self.merger.turn()?;
        let skipped = match self.direction {
            Direction::Forward => Ordering::Less,
            Direction::Backward => Ordering::Greater,
        };
        let order = &self.view.context().order;
        let mut steps = 0;
        while self.merger.valid() && order.compare(self.merger.key(), &self.key) == skipped {
            // Many entries were inserted, or were skipped in one step before.
            if steps == TURN_STEPS {
                return match self.direction {
                    Direction::Forward => self.merger.seek(&self.key, 0),
                    Direction::Backward => self.merger.seek_for_prev(&self.key, SEQ_MAX),
                };
            }
            self.merger.step()?;
            steps += 1;
        }
        Ok(())
    }
}
