//! Backward steps of a cursor. In this direction the versions of a key come oldest first, so the
//! newest visible version and the operands above it are known only after all versions have been
//! seen.

use std::mem;

use cairndb_base::{Kind, Result, SEQ_MAX};

use super::skip::Patience;
use super::{Location, MergerPosition, ViewCursor};
use crate::read::merging_iter::Direction;

impl ViewCursor {
    pub(super) fn prev_slow(&mut self) -> Result<()> {
        let Some(merged) = self.leave() else {
            return Ok(());
        };
        let turns = mem::replace(&mut self.direction, Direction::Backward) == Direction::Forward;
        match merged {
            MergerPosition::Elsewhere => {
                self.gather_sources();
                // Before every version of the previous key.
                self.merger.seek_for_prev(&self.key, SEQ_MAX)?;
            }
            _ if turns => self.turn()?,
            MergerPosition::There => self.merger.step()?,
            MergerPosition::Beyond => {}
        }
        self.skip_key()?;
        self.show_backward()
    }

    /// Finds the previous visible entry. The merging iterator must be moving backward and be
    /// positioned at the oldest version of a key not yet considered.
    #[inline]
    pub(super) fn show_backward(&mut self) -> Result<()> {
        while self.merger.valid() {
            if self.moved && self.passed.are_many() {
                return self.leap();
            }
            if self.merger.alone() && self.merger.seq() <= self.seq {
                match self.merger.kind() {
                    Kind::Put => return self.show_put(),
                    Kind::Delete => {
                        self.passed.add(1);
                        self.merger.step()?;
                        continue;
                    }
                    Kind::Pointer | Kind::Merge => {}
                }
            }
            if self.gather_backward()? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads one key from its oldest to its newest visible version, and returns whether it has a
    /// value.
    fn gather_backward(&mut self) -> Result<bool> {
        self.key.clear();
        self.key.extend_from_slice(self.merger.key());
        self.fold.clear();
        let (mut newest, mut patience) = (None, Patience::default());
        // The first version is taken even if the comparator finds its key unequal to itself.
        loop {
            if patience.ends(&self.merger) {
                self.skip_older()?;
                if self.is_at_key() {
                    continue;
                }
                break;
            }
            if self.merger.seq() <= self.seq {
                self.merger.load_value()?;
                let kind = self.merger.kind();
                if kind == Kind::Merge {
                    if !self.fold.has_operands() {
                        self.base_below_operands(newest)?;
                    }
                    // The limit is checked only at the newest operand, because there may be a value
                    // above the others.
                    let limits = &self.view.context().fold_limits;
                    self.fold.push_operand(limits, self.merger.value());
                } else {
                    self.fold.clear();
                    let value = self.value.own();
                    value.clear();
                    value.extend_from_slice(self.merger.value());
                }
                newest = Some(kind);
                if !self.view.context().order.can_hash() {
                    // Equal keys may differ in bytes; the newest is returned, as in the other
                    // direction.
                    self.key.clear();
                    self.key.extend_from_slice(self.merger.key());
                }
            }
            self.merger.step()?;
            if !self.is_at_key() {
                break;
            }
        }
        let Some(kind) = newest else { return Ok(false) };
        match kind {
            Kind::Delete => {
                self.passed.add(patience.steps());
                return Ok(false);
            }
            Kind::Put => {}
            Kind::Pointer => {
                let (order, values) = (&self.view.context().order, &self.view.version.values);
                self.value.follow_own(order, values, &self.key)?;
            }
            Kind::Merge => self.fold_gathered()?,
        }
        self.location = Location::Copied;
        Ok(true)
    }

    /// Makes the last gathered version the base of the operands that follow.
    fn base_below_operands(&mut self, below: Option<Kind>) -> Result<()> {
        let Some(below) = below else { return Ok(()) };
        let (order, values) = (&self.view.context().order, &self.view.version.values);
        self.fold
            .set_base(order, values, &self.key, below, self.value.bytes())?;
        Ok(())
    }
}
