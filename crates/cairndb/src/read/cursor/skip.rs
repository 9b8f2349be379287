//! Skips entries that a cursor does not return: other versions of a key, and versions newer than
//! the cursor.
//!
//! A few entries are skipped step by step. A key that is overwritten constantly has thousands of
//! versions in the memtables alone, and stepping over them made scans several times slower; many
//! entries are therefore skipped by repositioning the source.
//!
//! An inconsistent comparator may lead back to entries already passed whenever a source is
//! repositioned. Therefore the number of repositionings per call is limited, and the remaining
//! entries are skipped step by step.

use cairndb_base::{Kind, Result, SEQ_MAX};

use super::ViewCursor;
use crate::read::merging_iter::{Direction, MergingIter};

/// Number of versions stepped over in a memtable before its cursor is repositioned, which costs
/// about ten steps.
const VERSIONS_STEPPED: usize = 8;
/// The same number for a run of tables, where repositioning costs more and has to decode the next
/// page again.
const VERSIONS_STEPPED_IN_RUN: usize = 64;
/// Maximum number of repositionings per call to skip entries, with a custom comparator.
const SEARCHES_MAX: u32 = 256;

/// Number of entries to skip step by step in a source before it is repositioned. Doubles each time
/// in the same source.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// Source of the merging iterator to which the counts apply.
    source: Option<usize>,
    left: usize,
    whole: usize,
    steps: usize,
}

impl Patience {
    /// Counts a step in the current source of the merging iterator. Returns whether that was the
    /// last step, after which the number doubles and the count restarts.
    #[inline]
    pub(super) fn ends(&mut self, merger: &MergingIter) -> bool {
        self.steps += 1;
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

    /// Returns the number of steps counted.
    pub(super) fn steps(&self) -> usize {
        self.steps
    }
}

impl ViewCursor {
    /// Starts a call by the cursor's user.
    #[inline]
    pub(super) fn begin_call(&mut self) {
        let bytewise = self.view.context().order.is_bytewise();
        self.searches_left = if bytewise { u32::MAX } else { SEARCHES_MAX };
        self.passed.begin_call();
    }

    /// Returns whether a source may be repositioned, and counts it.
    pub(super) fn may_search(&mut self) -> bool {
        let may = self.searches_left > 0;
        self.searches_left = self.searches_left.saturating_sub(1);
        may
    }

    /// Returns whether the merging iterator is on an entry with the key `self.key`.
    #[inline]
    pub(super) fn is_at_key(&self) -> bool {
        let order = &self.view.context().order;
        self.merger.valid() && order.compare(self.merger.key(), &self.key).is_eq()
    }

    /// Moves the merging iterator past every entry with the key `self.key`. Returns the number of
    /// entries stepped over, up to the first repositioning.
    #[inline]
    pub(super) fn skip_key(&mut self) -> Result<usize> {
        let mut steps = 0;
        while self.is_at_key() {
            if steps == VERSIONS_STEPPED {
                self.skip_versions()?;
                break;
            }
            self.merger.step()?;
            steps += 1;
        }
        Ok(steps)
    }

    /// Like `skip_key`, but for many versions: each source is repositioned after its last version.
    #[cold]
    fn skip_versions(&mut self) -> Result<()> {
        let end = match self.direction {
            Direction::Forward => 0,
            Direction::Backward => SEQ_MAX,
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

    /// Moves the merging iterator forward past entries that are newer than the cursor.
    #[cold]
    pub(super) fn skip_newer(&mut self) -> Result<()> {
        let mut patience = Patience::default();
        self.note_key();
        while self.merger.valid() && self.merger.seq() > self.seq {
            if !patience.ends(&self.merger) {
                self.merger.step()?;
                continue;
            }
            // Repositioning gains nothing among entries of different keys.
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

    /// Copies the key of the merging iterator to `self.other`.
    fn note_key(&mut self) {
        self.other.clear();
        self.other.extend_from_slice(self.merger.key());
    }

    /// Skips versions of `self.key`. The merging iterator must be moving backward and be positioned
    /// at one of them. It moves to the newest visible version in the same source, or past the
    /// versions that are not visible. If that version is an operand, the iterator returns to where
    /// it started, because the older versions are needed.
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
