//! `Entries`: the entries of a range, taken from either end of a cursor's keys. What all iterators
//! share.

use std::cmp::Ordering;
use std::ops::Bound;

use cairndb_base::{Order, Result};

use crate::api::range::KeyRange;
use crate::api::value::Value;

/// A cursor, as far as an iterator needs it.
pub(crate) trait Walk: Sized {
    /// Moves to the first entry at or after `key`.
    fn seek(&mut self, key: &[u8]) -> Result<()>;
    /// Moves to the last entry at or before `key`.
    fn seek_for_prev(&mut self, key: &[u8]) -> Result<()>;
    /// Moves to the first entry.
    fn seek_to_first(&mut self) -> Result<()>;
    /// Moves to the last entry.
    fn seek_to_last(&mut self) -> Result<()>;
    /// Moves to the next entry.
    fn next(&mut self) -> Result<()>;
    /// Moves to the previous entry.
    fn prev(&mut self) -> Result<()>;
    /// Returns the key of the position, which the cursor keeps when the merge operator fails.
    fn place(&self) -> Option<&[u8]>;
    /// Returns the key and the value, borrowed until the next move.
    fn borrowed(&self) -> Borrowed<'_>;
    /// Copies the entry. A large value in a mapped file is borrowed.
    fn entry(&self) -> Entry;
    /// Returns another cursor over the same state, not yet positioned.
    fn fork(&self) -> Self;
}

/// A key and its value, borrowed.
pub(crate) type Borrowed<'a> = (&'a [u8], &'a [u8]);

/// The item of an iterator, unless it is an error.
pub(crate) type Entry = (Value, Value);

/// The entries of a range, from either end.
#[derive(Debug)]
pub(crate) struct Entries<C> {
    front: C,
    /// Whether an entry has been requested from `front`.
    front_placed: bool,
    /// Created when an entry is first requested from the back.
    back: Option<C>,
    order: Order,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    /// The required prefix of keys, if the order is custom and the bounds do not ensure it.
    prefix: Option<Vec<u8>>,
    done: bool,
}

impl<C: Walk> Entries<C> {
    pub(crate) fn over_range(cursor: C, order: &Order, range: &impl KeyRange) -> Entries<C> {
        let (from, to) = range.key_bounds();
        Entries::new(
            cursor,
            order,
            from.map(<[u8]>::to_vec),
            to.map(<[u8]>::to_vec),
        )
    }

    pub(crate) fn over_prefix(cursor: C, order: &Order, prefix: &[u8]) -> Entries<C> {
        let from = Bound::Included(prefix.to_vec());
        if order.is_bytewise() {
            let to = successor(prefix).map_or(Bound::Unbounded, Bound::Excluded);
            return Entries::new(cursor, order, from, to);
        }
        Entries {
            prefix: Some(prefix.to_vec()),
            ..Entries::new(cursor, order, from, Bound::Unbounded)
        }
    }

    fn new(cursor: C, order: &Order, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Entries<C> {
        Entries {
            front: cursor,
            front_placed: false,
            back: None,
            order: order.clone(),
            from,
            to,
            prefix: None,
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

    fn place_front(&mut self) -> Result<()> {
        match &self.from {
            Bound::Unbounded => self.front.seek_to_first(),
            Bound::Included(key) => self.front.seek(key),
            Bound::Excluded(key) => {
                let moved = self.front.seek(key);
                if self.is_at(&self.front, key) {
                    return self.front.next();
                }
                moved
            }
        }
    }

    fn is_at(&self, cursor: &C, key: &[u8]) -> bool {
        let at = cursor.place();
        at.is_some_and(|at| self.order.compare(at, key).is_eq())
    }

    fn place_back(&mut self) -> Result<()> {
        let mut cursor = self.front.fork();
        let moved = self.place_last(&mut cursor);
        self.back = Some(cursor);
        moved
    }

    fn place_last(&self, cursor: &mut C) -> Result<()> {
        if let (Some(prefix), Bound::Included(from)) = (&self.prefix, &self.from) {
            // With a custom order, no upper bound of the keys with a prefix is known.
            let mut moved = cursor.seek(from);
            while cursor.place().is_some_and(|at| at.starts_with(prefix)) {
                moved = cursor.next();
            }
            if cursor.place().is_some() {
                return cursor.prev();
            }
            return moved.and_then(|()| cursor.seek_to_last());
        }
        match &self.to {
            Bound::Unbounded => cursor.seek_to_last(),
            Bound::Included(key) => cursor.seek_for_prev(key),
            Bound::Excluded(key) => {
                let moved = cursor.seek_for_prev(key);
                if self.is_at(cursor, key) {
                    return cursor.prev();
                }
                moved
            }
        }
    }

    fn inside(&self, key: &[u8]) -> bool {
        let from = match &self.from {
            Bound::Unbounded => true,
            Bound::Included(from) => self.order.compare(key, from).is_ge(),
            Bound::Excluded(from) => self.order.compare(key, from).is_gt(),
        };
        from && self.is_before_end(key)
    }

    fn move_front(&mut self) -> Result<()> {
        if self.front_placed {
            return self.front.next();
        }
        self.front_placed = true;
        self.place_front()
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
            other.is_none_or(|other| self.order.compare(other, at) != toward)
        });
        if met || !self.inside(at) {
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
            if moved.is_ok() && self.front.place().is_some_and(|at| self.is_before_end(at)) {
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

    /// Returns whether a key at or after the start of the range is in it.
    #[inline]
    fn is_before_end(&self, key: &[u8]) -> bool {
        let to = match &self.to {
            Bound::Unbounded => true,
            Bound::Included(to) => self.order.compare(key, to).is_le(),
            Bound::Excluded(to) => self.order.compare(key, to).is_lt(),
        };
        to && self
            .prefix
            .as_ref()
            .is_none_or(|prefix| key.starts_with(prefix))
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

/// Returns the smallest byte string greater than all that start with `prefix`, or `None` if there
/// is none.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let end = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = prefix[..=end].to_vec();
    next[end] += 1;
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::successor;

    #[test]
    fn prefixes_end_before_their_successor() {
        assert_eq!(successor(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(successor(b"a\xff"), Some(b"b".to_vec()));
        assert_eq!(successor(b"\xff\xff"), None);
        assert_eq!(successor(b""), None);
    }
}
