//! `Entries`: the entries of a range, taken from either end of a cursor's keys. What all iterators
//! share.

use std::cmp::Ordering;

use cairndb_base::{Order, Result};

use crate::api::bounds::Bounds;
use crate::api::range::KeyRange;
use crate::api::walk::{Borrowed, Entry, Walk};

/// The entries of a range, from either end.
#[derive(Debug)]
pub(crate) struct Entries<C> {
    front: C,
    /// Whether an entry has been requested from `front`.
    front_placed: bool,
    /// Created when an entry is first requested from the back.
    back: Option<C>,
    bounds: Bounds,
    done: bool,
}

impl<C: Walk> Entries<C> {
    pub(crate) fn over_range(cursor: C, order: &Order, range: &impl KeyRange) -> Entries<C> {
        Entries::new(cursor, Bounds::of_range(order, range))
    }

    pub(crate) fn over_prefix(cursor: C, order: &Order, prefix: &[u8]) -> Entries<C> {
        Entries::new(cursor, Bounds::of_prefix(order, prefix))
    }

    fn new(cursor: C, bounds: Bounds) -> Entries<C> {
        Entries {
            front: cursor,
            front_placed: false,
            back: None,
            bounds,
            done: false,
        }
    }

    /// Moves to the next entry from the front, and borrows it.
    #[inline]
    pub(crate) fn lend_front(&mut self) -> Result<Option<Borrowed<'_>>> {
        match self.step_front(|_| ()) {
            None => Ok(None),
            Some(Err(error)) => Err(error),
            Some(Ok(())) => Ok(Some(self.front.borrowed())),
        }
    }

    /// Moves to the next entry from the back, and borrows it.
    #[inline]
    pub(crate) fn lend_back(&mut self) -> Result<Option<Borrowed<'_>>> {
        match self.step_back(|_| ()) {
            None => Ok(None),
            Some(Err(error)) => Err(error),
            Some(Ok(())) => Ok(self.back.as_ref().map(C::borrowed)),
        }
    }

    /// Counts the remaining entries without copying them.
    pub(crate) fn try_count(mut self) -> Result<u64> {
        let mut entries = 0;
        while let Some(passed) = self.step_front(|_| ()) {
            passed?;
            entries += 1;
        }
        Ok(entries)
    }

    fn place_back(&mut self) -> Result<()> {
        let mut cursor = self.front.fork();
        let moved = self.bounds.place_last(&mut cursor);
        self.back = Some(cursor);
        moved
    }

    fn move_front(&mut self) -> Result<()> {
        if self.front_placed {
            return self.front.next();
        }
        self.front_placed = true;
        self.bounds.place_first(&mut self.front)
    }

    fn move_back(&mut self) -> Result<()> {
        match &mut self.back {
            Some(back) => back.prev(),
            None => self.place_back(),
        }
    }

    /// Returns what `make` reads from `cursor`, whose last move returned `moved`. Returns `None` if
    /// the cursor has met `other`, which comes from the other end and has yielded every entry it
    /// was on. `toward` is the direction of the other cursor.
    fn shown<T>(
        &self,
        moved: Result<()>,
        cursor: &C,
        other: Option<&C>,
        toward: Ordering,
        make: impl FnOnce(&C) -> T,
    ) -> Result<Option<T>> {
        let Some(at) = cursor.place() else {
            return moved.map(|()| None);
        };
        let met = other.is_some_and(|other| {
            let other = other.place();
            other.is_none_or(|other| self.bounds.order.compare(other, at) != toward)
        });
        if met || !self.bounds.contains(at) {
            return Ok(None);
        }
        moved?;
        Ok(Some(make(cursor)))
    }

    #[inline]
    fn step_front<T>(&mut self, make: impl FnOnce(&C) -> T) -> Option<Result<T>> {
        // Nearly every step: the next entry, with nothing taken from the other end.
        if self.front_placed && !self.done && self.back.is_none() {
            let moved = self.front.next();
            if moved.is_ok()
                && self
                    .front
                    .place()
                    .is_some_and(|at| self.bounds.contains_from_start(at))
            {
                return Some(Ok(make(&self.front)));
            }
            return self.end_step_front(moved, make);
        }
        if self.done {
            return None;
        }
        let moved = self.move_front();
        self.end_step_front(moved, make)
    }

    #[inline(never)]
    fn end_step_front<T>(
        &mut self,
        moved: Result<()>,
        make: impl FnOnce(&C) -> T,
    ) -> Option<Result<T>> {
        let back = self.back.as_ref();
        let result = self.shown(moved, &self.front, back, Ordering::Greater, make);
        self.done = self.front.place().is_none();
        self.yielded(result)
    }

    fn step_back<T>(&mut self, make: impl FnOnce(&C) -> T) -> Option<Result<T>> {
        if self.done {
            return None;
        }
        let moved = self.move_back();
        let back = self.back.as_ref()?;
        let front = self.front_placed.then_some(&self.front);
        let result = self.shown(moved, back, front, Ordering::Less, make);
        self.done = back.place().is_none();
        self.yielded(result)
    }

    fn yielded<T>(&mut self, result: Result<Option<T>>) -> Option<Result<T>> {
        if matches!(result, Ok(None)) {
            self.done = true;
        }
        result.transpose()
    }
}

impl<C: Walk> Iterator for Entries<C> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step_front(C::entry)
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        for _ in 0..n {
            // An error is yielded in place of an entry and counts as one.
            let _passed = self.step_front(|_| ())?;
        }
        self.next()
    }

    fn count(mut self) -> usize {
        let passed = std::iter::from_fn(|| self.step_front(|_| ()));
        passed.flatten().count()
    }
}

impl<C: Walk> DoubleEndedIterator for Entries<C> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step_back(C::entry)
    }

    fn nth_back(&mut self, n: usize) -> Option<Self::Item> {
        for _ in 0..n {
            let _passed = self.step_back(|_| ())?;
        }
        self.next_back()
    }
}
