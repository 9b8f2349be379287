//! How a cursor finds the nearest visible entry in its direction, from the versions at which the
//! merging iterator is, and enters the state of that entry.

use cairndb_base::{Kind, Result};

use super::arrival::Arrival;
use super::{CursorHistory, CursorState, MergerAt, ViewCursor};
use crate::read::hints::tombstone_spans::KeyBound;
use crate::read::merging_iter::Direction;
use crate::read::value_ref::decode_pointer;

impl ViewCursor {
    /// Finds the nearest visible entry. The merging iterator must be moving in `direction`, and no
    /// entry be current.
    #[inline]
    pub(super) fn show(&mut self, direction: Direction) -> Result<()> {
        debug_assert_eq!(self.state, CursorState::Nowhere, "the last entry was left");
        debug_assert_eq!(self.versions.merger.direction(), direction);
        match direction {
            Direction::Forward => self.show_forward(),
            Direction::Backward => self.show_backward(),
        }
    }

    /// Like `show`; the merging iterator must be at the newest version not yet considered.
    #[inline(never)]
    fn show_forward(&mut self) -> Result<()> {
        while self.versions.merger.valid() {
            if self.history == CursorHistory::Moved && self.passed.are_many() {
                return self.leap();
            }
            if self.versions.merger.seq() > self.seq {
                self.versions.skip_newer(self.seq, &mut self.entry.other)?;
                continue;
            }
            let (ranges, merger) = (&mut self.ranges, &mut self.versions.merger);
            if ranges.pass(merger)? {
                self.passed.add(1);
                continue;
            }
            match self.versions.merger.kind() {
                Kind::Put => return self.show_put(),
                Kind::Delete | Kind::RangeDelete | Kind::TimeMark => {
                    self.versions.merger.key().clone_into(&mut self.entry.key);
                    self.versions.merger.step()?;
                    let below = self.versions.skip_key(&self.entry.key)?;
                    self.passed.add(1 + below);
                }
                Kind::Pointer => {
                    let merger = &mut self.versions.merger;
                    merger.load_value()?;
                    let pointer = decode_pointer(merger.key(), merger.value())?;
                    let value = &mut self.entry.value;
                    value.follow(&self.view, merger.key(), pointer)?;
                    self.state = CursorState::Pointed;
                    return Ok(());
                }
                Kind::Merge => {
                    let versions = &mut self.versions;
                    let order = &self.view.context().order;
                    let key = versions.merger.key();
                    let range = self.ranges.around(order, key, Direction::Forward);
                    let since = range.map_or(0, |range| range.seq);
                    self.entry.gather_forward(versions, &self.view, since)?;
                    return self.show_folded();
                }
            }
        }
        Ok(())
    }

    /// Like `show`; the merging iterator must be at the oldest version of a key not yet considered.
    #[inline(never)]
    fn show_backward(&mut self) -> Result<()> {
        while self.versions.merger.valid() {
            if self.history == CursorHistory::Moved && self.passed.are_many() {
                return self.leap();
            }
            let (ranges, merger) = (&mut self.ranges, &mut self.versions.merger);
            if merger.seq() <= self.seq && ranges.pass(merger)? {
                self.passed.add(1);
                continue;
            }
            let merger = &mut self.versions.merger;
            if merger.alone() && merger.seq() <= self.seq {
                match merger.kind() {
                    Kind::Put => return self.show_put(),
                    Kind::Delete | Kind::RangeDelete | Kind::TimeMark => {
                        self.passed.add(1);
                        merger.step()?;
                        continue;
                    }
                    Kind::Pointer | Kind::Merge => {}
                }
            }
            let versions = &mut self.versions;
            let (newest, steps) = self.entry.gather_backward(versions, &self.view, self.seq)?;
            match newest {
                None => continue,
                Some(Kind::Delete | Kind::RangeDelete | Kind::TimeMark) => {
                    self.passed.add(steps);
                    continue;
                }
                Some(Kind::Put) => {}
                Some(Kind::Pointer) => {
                    let entry = &mut self.entry;
                    entry.value.follow_own(&self.view, &entry.key)?;
                }
                Some(Kind::Merge) => return self.show_folded(),
            }
            debug_assert!(self.versions.has_left(&self.entry.key));
            self.state = CursorState::Copied(MergerAt::Beyond);
            return Ok(());
        }
        Ok(())
    }

    /// Makes the put at the merging iterator current; in a scan, together with the following
    /// entries if they fit a window.
    #[inline]
    fn show_put(&mut self) -> Result<()> {
        let merger = &mut self.versions.merger;
        debug_assert!(merger.kind() == Kind::Put && merger.seq() <= self.seq);
        merger.load_value()?;
        let moved = self.history == CursorHistory::Moved;
        let (clear, end) = self.ranges.clear_until();
        self.state = if moved && clear && merger.lend(&mut self.window, end) {
            CursorState::Window(merger.direction())
        } else {
            CursorState::Merged
        };
        Ok(())
    }

    /// Folds the operands gathered for the key of `entry`; the merging iterator has moved on.
    fn show_folded(&mut self) -> Result<()> {
        debug_assert!(self.versions.has_left(&self.entry.key));
        self.state = CursorState::Failed;
        self.entry.fold(&self.view)?;
        self.state = CursorState::Copied(MergerAt::Beyond);
        Ok(())
    }

    /// Continues a step that has passed many dead entries, from the entry of the merging iterator,
    /// which has not been considered yet: past the tombstone span there, or recording one.
    #[cold]
    fn leap(&mut self) -> Result<()> {
        debug_assert_eq!(self.history, CursorHistory::Moved);
        // A step that has moved would leap again. An error leaves it so: the next step is a move.
        self.history = CursorHistory::Placed;
        let direction = self.versions.merger.direction();
        let from = self.versions.merger.key();
        if KeyBound::At(from).is_long() {
            self.passed.begin_call();
            self.show(direction)?;
        } else {
            let from = from.to_vec();
            let mut arrival = Arrival::new(&self.view, self.seq, direction, KeyBound::At(&from));
            arrival.span.take_if(|_| !self.versions.may_search());
            if let Some(span) = &arrival.span {
                arrival.pass(span, &self.view, self.seq, &mut self.versions.merger)?;
            }
            self.passed.begin_call();
            self.show(direction)?;
            if self.passed.are_worth_a_leap() || arrival.extends_span() {
                arrival.record(&self.view, self.seq, self.place());
            }
        }
        self.history = CursorHistory::Moved;
        Ok(())
    }
}
