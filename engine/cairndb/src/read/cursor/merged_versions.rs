//! The versions of all keys in a cursor's view, in key order, and how a cursor passes those that it
//! does not return: other versions of a key, and versions newer than the cursor.
//!
//! A few versions are skipped step by step. A key that is overwritten constantly has thousands of
//! them in the memtables alone, and stepping over them made scans several times slower; many
//! versions are therefore skipped by repositioning the source.
//!
//! An inconsistent comparator may lead back to entries already passed whenever a source is
//! repositioned. Therefore the number of repositionings per call is limited, and the remaining
//! versions are skipped step by step.

use std::cmp::Ordering;
use std::mem;

use cairndb_base::{Kind, Result, SEQ_MAX, SeqNo};

use crate::read::get::sources;
use crate::read::merging_iter::{Direction, MergingIter};
use crate::read::source::MergeSource;
use crate::read::view::View;

/// Number of versions stepped over in a memtable before its cursor is repositioned, which costs
/// about ten steps.
const VERSIONS_STEPPED: usize = 8;
/// The same number for a run of tables, where repositioning costs more and has to decode the next
/// page again.
const VERSIONS_STEPPED_IN_RUN: usize = 64;
/// Maximum number of repositionings per call to skip entries, with a custom comparator.
const SEARCHES_MAX: u32 = 256;
/// Number of entries that a cursor passes one by one after a reversal, before it searches.
const TURN_STEPS: usize = 8;

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
            self.whole = if matches!(merger.source(), Some(MergeSource::Run(_))) {
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

/// The merged versions of a view.
#[derive(Debug, Default)]
pub(super) struct MergedVersions {
    /// Without sources until they are gathered.
    pub(super) merger: MergingIter,
    gathered: bool,
    /// Number of repositionings to skip entries in the current call.
    searches: u32,
}

impl MergedVersions {
    /// Gives the merging iterator the sources of `view`, unless it has them. Called before it is
    /// positioned.
    pub(super) fn gather(&mut self, view: &View) {
        view.note_cursor();
        if view.version.runs.len() > 1 {
            view.note_several();
        }
        if self.gathered {
            return;
        }
        self.gathered = true;
        let cache = view.readers.thread_caches.mine();
        let spare = cache.take(view.number, |merger| {
            view.mutable.is_empty() || merger.begins_with(&view.mutable)
        });
        self.merger = spare.unwrap_or_else(|| {
            let context = view.context();
            MergingIter::new(sources(view, context), context.order.clone())
        });
    }

    /// Leaves the sources to the thread's next cursor over `view`.
    pub(super) fn release(&mut self, view: &View) {
        if mem::take(&mut self.gathered) {
            let merger = mem::take(&mut self.merger);
            view.readers.thread_caches.mine().keep(view.number, merger);
        }
    }

    /// Begins a call by the cursor's user.
    #[inline]
    pub(super) fn begin_call(&mut self) {
        self.searches = 0;
    }

    /// Returns whether a source may be repositioned, and counts it.
    pub(super) fn may_search(&mut self) -> bool {
        let may = self.searches < SEARCHES_MAX || self.merger.order().is_bytewise();
        self.searches = self.searches.saturating_add(1);
        may
    }

    /// Returns whether the merging iterator is on a version of `key`.
    #[inline]
    pub(super) fn is_at(&self, key: &[u8]) -> bool {
        self.merger.valid() && self.merger.order().compare(self.merger.key(), key).is_eq()
    }

    /// Returns whether the merging iterator has left the versions of `key`, as far as a comparator
    /// that may be inconsistent can show; for assertions.
    pub(super) fn has_left(&self, key: &[u8]) -> bool {
        !self.merger.order().is_bytewise() || !self.is_at(key)
    }

    /// Positions the merging iterator after all versions of `key` in `direction`.
    pub(super) fn seek_beyond(&mut self, key: &[u8], direction: Direction) -> Result<()> {
        match direction {
            Direction::Forward => self.merger.seek(key, 0),
            Direction::Backward => self.merger.seek_for_prev(key, SEQ_MAX),
        }
    }

    /// Reverses the merging iterator, and skips entries that a writer has inserted between its
    /// position and `key`, the previous key; the cursor sees none of them.
    #[inline(never)]
    pub(super) fn turn(&mut self, key: &[u8]) -> Result<()> {
        self.merger.turn()?;
        let skipped = match self.merger.direction() {
            Direction::Forward => Ordering::Less,
            Direction::Backward => Ordering::Greater,
        };
        let mut steps = 0;
        while self.merger.valid() && self.merger.order().compare(self.merger.key(), key) == skipped
        {
            // Many entries were inserted, or were skipped in one step before.
            if steps == TURN_STEPS {
                return self.seek_beyond(key, self.merger.direction());
            }
            self.merger.step()?;
            steps += 1;
        }
        Ok(())
    }

    /// Moves the merging iterator past every version of `key`. Returns the number of versions
    /// stepped over, up to the first repositioning.
    #[inline]
    pub(super) fn skip_key(&mut self, key: &[u8]) -> Result<usize> {
        let mut steps = 0;
        while self.is_at(key) {
            if steps == VERSIONS_STEPPED {
                self.skip_versions(key)?;
                break;
            }
            self.merger.step()?;
            steps += 1;
        }
        Ok(steps)
    }

    /// Like `skip_key`, but for many versions: each source is repositioned after its last version.
    #[cold]
    fn skip_versions(&mut self, key: &[u8]) -> Result<()> {
        let end = match self.merger.direction() {
            Direction::Forward => 0,
            Direction::Backward => SEQ_MAX,
        };
        let mut patience = Patience::default();
        while self.is_at(key) {
            if patience.ends(&self.merger) && self.may_search() {
                self.merger.pass(key, end)?;
            } else {
                self.merger.step()?;
            }
        }
        Ok(())
    }

    /// Moves the merging iterator forward past versions newer than `seq`. `key` is a buffer.
    #[cold]
    pub(super) fn skip_newer(&mut self, seq: SeqNo, key: &mut Vec<u8>) -> Result<()> {
        let mut patience = Patience::default();
        self.merger.key().clone_into(key);
        while self.merger.valid() && self.merger.seq() > seq {
            if !patience.ends(&self.merger) {
                self.merger.step()?;
                continue;
            }
            // Repositioning gains nothing among entries of different keys.
            if self.merger.key() == *key && self.may_search() {
                self.merger.pass(key, seq)?;
                patience = Patience::default();
            } else {
                self.merger.step()?;
            }
            self.merger.key().clone_into(key);
        }
        Ok(())
    }

    /// Skips versions of `key`. The merging iterator must be moving backward and be positioned at
    /// one of them. It moves to the newest version visible at `visible` in the same source, or past
    /// the versions that are not visible. If that version is an operand, the iterator returns to
    /// where it started, because the older versions are needed.
    #[cold]
    pub(super) fn skip_older(&mut self, visible: SeqNo, key: &[u8]) -> Result<()> {
        if !self.may_search() {
            return Ok(());
        }
        let seq = self.merger.seq();
        if seq > visible {
            return self.merger.pass(key, SEQ_MAX);
        }
        self.merger.go_within(key, visible)?;
        if self.is_at(key) && self.merger.kind() == Kind::Merge {
            self.merger.go_within(key, seq)?;
        }
        Ok(())
    }
}
