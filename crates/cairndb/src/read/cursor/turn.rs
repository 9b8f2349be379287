//! Turning round: from one step in one direction to the next in the other.

use std::cmp::Ordering;

use cairndb_base::{Result, SEQ_MAX};

use super::{Heading, ViewCursor};

/// Entries that a cursor that turns goes past one by one, before it searches.
const TURN_STEPS: usize = 8;

impl ViewCursor {
    /// Has the merger turn round, and go past what a writer has put meanwhile between where it stands and `self.key`, the
    /// key that was shown: nothing that this cursor sees.
    pub(super) fn turn(&mut self) -> Result<()> {
        self.merger.turn()?;
        let behind = match self.heading {
            Heading::Forward => Ordering::Less,
            Heading::Backward => Ordering::Greater,
        };
        let order = &self.view.context().order;
        let mut steps = 0;
        while self.merger.valid() && order.compare(self.merger.key(), &self.key) == behind {
            // Much was put there, or passed at once on the way here.
            if steps == TURN_STEPS {
                return match self.heading {
                    Heading::Forward => self.merger.seek(&self.key, 0),
                    Heading::Backward => self.merger.seek_for_prev(&self.key, SEQ_MAX),
                };
            }
            self.merger.step()?;
            steps += 1;
        }
        Ok(())
    }
}
