//! Going past what is not shown: other versions of a key, and what is newer than the cursor.
//!
//! A few are stepped over. Of a key that is written all the time there are thousands in the memtables alone: past those a
//! source is placed anew. (A scan of ten keys that were overwritten all the time took 46 us instead of 9, to step over
//! thousands.)
//!
//! An order that contradicts itself may lead back to what was passed, whenever a source is placed anew: so that is done a
//! bounded number of times in one call of the cursor's user, and steps do the rest.

use cairndb_base::{Kind, Result, SEQ_MAX};

use super::{Heading, ViewCursor};
use crate::read::merging_iter::MergingIter;

/// Versions of a key in a memtable that are stepped over before the cursor in it is placed anew, which takes some ten steps.
const VERSIONS_STEPPED: usize = 8;
/// The same in a run of tables, whose cursor is placed by half a microsecond, and has the next page to prepare anew.
const VERSIONS_STEPPED_IN_RUN: usize = 64;
/// How often in one call it is tried to go past something at once, under an order of the user's own.
const SEARCHES_MAX: u32 = 256;

/// How long to go step by step past what is not shown in a source, before it is tried to go past the rest at once; each time
/// twice as long in the same one.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// In which of the merger's sources.
    source: Option<usize>,
    left: usize,
    whole: usize,
}

impl Patience {
    /// One more step is to be taken in the merger's current source; whether patience ends with that, and begins anew.
    #[inline]
    pub(super) fn ends(&mut self, merger: &MergingIter) -> bool {
        let source = merger.current_source();
        if source != self.source {
            self.source = source;
            self.whole = if merger.is_in_run() {
                VERSIONS_STEPPED_IN_RUN
            } else {
                VERSIONS_STEPPED
            };
            self.left = self.whole;
        }
        self.left = self.left.saturating_sub(1);
        let ends = self.left == 0;
        if ends {
            self.whole *= 2;
            self.left = self.whole;
        }
        ends
    }
}

impl ViewCursor {
    /// A call of the cursor's user begins.
    #[inline]
    pub(super) fn begin_call(&mut self) {
        let bytewise = self.view.context().order.is_bytewise();
        self.searches_left = if bytewise { u32::MAX } else { SEARCHES_MAX };
    }

    /// Whether a source may be placed anew, which is counted.
    fn may_search(&mut self) -> bool {
        let may = self.searches_left > 0;
        self.searches_left = self.searches_left.saturating_sub(1);
        may
    }

    /// Whether the merger stands on an entry whose key is `self.key`.
    #[inline]
    pub(super) fn is_at_key(&self) -> bool {
        let order = &self.view.context().order;
        self.merger.valid() && order.compare(self.merger.key(), &self.key).is_eq()
    }

    /// Moves the merger off every entry whose key is `self.key`.
    #[inline]
    pub(super) fn skip_key(&mut self) -> Result<()> {
        let mut steps = 0;
        while self.is_at_key() {
            if steps == VERSIONS_STEPPED {
                return self.skip_versions();
            }
            self.merger.step()?;
            steps += 1;
        }
        Ok(())
    }

    /// As `skip_key`, past many: each source is asked where they end.
    #[cold]
    fn skip_versions(&mut self) -> Result<()> {
        let end = match self.heading {
            Heading::Forward => 0,
            Heading::Backward => SEQ_MAX,
        };
        let mut patience = Patience::default();
        while self.is_at_key() {
            if patience.ends(&self.merger) && self.may_search() {
                self.merger.pass(&self.key, end)?;
            } else {
                self.merger.step()?;
            }
        }
        Ok(())
    }

    /// Has the merger go forward past entries that are newer than the cursor.
    #[cold]
    pub(super) fn skip_newer(&mut self) -> Result<()> {
        let mut patience = Patience::default();
        self.note_key();
        while self.merger.valid() && self.merger.seq() > self.seq {
            if !patience.ends(&self.merger) {
                self.merger.step()?;
                continue;
            }
            // Among entries of different keys nothing is gained.
            if self.merger.key() == self.other && self.may_search() {
                self.merger.pass(&self.other, self.seq)?;
                patience = Patience::default();
            } else {
                self.merger.step()?;
            }
            self.note_key();
        }
        Ok(())
    }

    /// Keeps the merger's key in `self.other`.
    fn note_key(&mut self) {
        self.other.clear();
        self.other.extend_from_slice(self.merger.key());
    }

    /// Has the merger, which goes backward and stands on a version of `self.key`, go to the newest that is visible and in
    /// the same source, or past those that are not; back to where it was, where that is an operand, for which older ones have
    /// to be seen.
    #[cold]
    pub(super) fn skip_older(&mut self) -> Result<()> {
        if !self.may_search() {
            return Ok(());
        }
        let seq = self.merger.seq();
        if seq > self.seq {
            return self.merger.pass(&self.key, SEQ_MAX);
        }
        self.merger.go_within(&self.key, self.seq)?;
        if self.is_at_key() && self.merger.kind() == Kind::Merge {
            self.merger.go_within(&self.key, seq)?;
        }
        Ok(())
    }
}
