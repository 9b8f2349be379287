//! Iterators: owned entries of a range, in order, from either end.

use std::cmp::Ordering;
use std::ops::Bound;

use cairndb_base::{Order, Result};

use crate::api::cursor::Cursor;
use crate::api::range::KeyRange;
use crate::api::value::Value;

/// An iterator over the entries of a range, as `(key, value)`, in order. `rev` and `next_back` take
/// entries from the other end.
///
/// An `Iter` is owned: it borrows nothing and can be stored. It reads the database as of its
/// creation. It does not keep the database open: once the database has been closed, or the last
/// [`Db`](crate::Db) has been dropped, it yields `Closed`.
///
/// **Cost.** Each entry is copied, which may take one allocation for the key and one for the value.
/// A scan over short entries is several times as fast with a [`Cursor`](crate::Cursor), which
/// borrows both. [`Iter::try_count`], `count`, `nth`, `nth_back` and `skip` do not copy the entries
/// they pass.
///
/// **Errors.** An error of the merge operator is yielded in place of the entry that it names, and
/// the iterator continues. Any other error ends the iterator. `count`, `nth`, `nth_back` and `skip`
/// ignore errors, so the result of `count` may be too small; [`Iter::try_count`] returns the first
/// error.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// # for k in [b"a", b"b", b"c"] { db.put(k, k)?; }
/// let mut keys = Vec::new();
/// for entry in db.range(b"a"..b"c") {
///     let (key, _value) = entry?;
///     keys.push(key.into_vec());
/// }
/// assert_eq!(keys, [b"a", b"b"]);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "iterators are lazy: they read nothing unless consumed"]
pub struct Iter {
    front: Cursor,
    /// Whether an entry has been requested from `front`.
    front_placed: bool,
    /// Created when an entry is first requested from the back.
    back: Option<Cursor>,
    order: Order,
    from: Bound<Vec<u8>>,
    to: Bound<Vec<u8>>,
    /// The required prefix of keys, if the order is custom and the bounds do not ensure it.
    prefix: Option<Vec<u8>>,
    done: bool,
}

/// The item of an iterator, unless it is an error.
type Entry = (Value, Value);

impl Iter {
    pub(crate) fn over_range(cursor: Cursor, order: &Order, range: &impl KeyRange) -> Iter {
        let (from, to) = range.key_bounds();
        Iter::new(
            cursor,
            order,
            from.map(<[u8]>::to_vec),
            to.map(<[u8]>::to_vec),
        )
    }

    pub(crate) fn over_prefix(cursor: Cursor, order: &Order, prefix: &[u8]) -> Iter {
        let from = Bound::Included(prefix.to_vec());
        if order.is_bytewise() {
            let to = successor(prefix).map_or(Bound::Unbounded, Bound::Excluded);
            return Iter::new(cursor, order, from, to);
        }
        Iter {
            prefix: Some(prefix.to_vec()),
            ..Iter::new(cursor, order, from, Bound::Unbounded)
        }
    }

    fn new(cursor: Cursor, order: &Order, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Iter {
        Iter {
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

    /// Counts the remaining entries without copying them. As in any scan, merge operands are
    /// folded, and a large value is read if its value file is not mapped.
    ///
    /// # Errors
    /// The first error that an entry yields:
    /// - `Corruption`, with file and offset, and `Io`.
    /// - `Closed`.
    /// - For a key with merge operands: the error of the merge operator, or `InvalidArgument` if
    ///   the database was opened without one.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// # for k in [b"a", b"b", b"c"] { db.put(k, k)?; }
    /// assert_eq!(db.iter().try_count()?, 3);
    /// assert_eq!(db.range(b"a"..b"c").try_count()?, 2);
    /// # Ok(()) }
    /// ```
    pub fn try_count(mut self) -> Result<u64> {
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

    fn is_at(&self, cursor: &Cursor, key: &[u8]) -> bool {
        let at = cursor.place();
        at.is_some_and(|at| self.order.compare(at, key).is_eq())
    }

    fn place_back(&mut self) -> Result<()> {
        let mut cursor = self.front.fork();
        let moved = self.place_last(&mut cursor);
        self.back = Some(cursor);
        moved
    }

    fn place_last(&self, cursor: &mut Cursor) -> Result<()> {
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
        let to = match &self.to {
            Bound::Unbounded => true,
            Bound::Included(to) => self.order.compare(key, to).is_le(),
            Bound::Excluded(to) => self.order.compare(key, to).is_lt(),
        };
        let prefix = self
            .prefix
            .as_ref()
            .is_none_or(|prefix| key.starts_with(prefix));
        from && to && prefix
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
        cursor: &Cursor,
        other: Option<&Cursor>,
        toward: Ordering,
        make: impl FnOnce(&Cursor) -> T,
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

    fn step_front<T>(&mut self, make: impl FnOnce(&Cursor) -> T) -> Option<Result<T>> {
        if self.done {
            return None;
        }
        let moved = self.move_front();
        let back = self.back.as_ref();
        let result = self.shown(moved, &self.front, back, Ordering::Greater, make);
        self.done = self.front.place().is_none();
        self.yielded(result)
    }

    fn step_back<T>(&mut self, make: impl FnOnce(&Cursor) -> T) -> Option<Result<T>> {
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

impl Iterator for Iter {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step_front(entry)
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        for _ in 0..n {
            // An error is yielded in place of an entry and counts as one.
            let _passed = self.step_front(|_| ())?;
        }
        self.next()
    }

    /// Counts the remaining entries. An error is not counted; unless it came from the merge
    /// operator, it also ends the iterator. After an error the count is therefore too small;
    /// [`Iter::try_count`] returns the error instead. The `count` of an adapter such as `rev` is
    /// the standard library's: it copies each entry and also counts errors.
    fn count(mut self) -> usize {
        let passed = std::iter::from_fn(|| self.step_front(|_| ()));
        passed.flatten().count()
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step_back(entry)
    }

    fn nth_back(&mut self, n: usize) -> Option<Self::Item> {
        for _ in 0..n {
            let _passed = self.step_back(|_| ())?;
        }
        self.next_back()
    }
}

/// Copies the cursor's entry. A large value in a mapped file is borrowed.
fn entry(cursor: &Cursor) -> Entry {
    (Value::from(cursor.key()), cursor.owned_value())
}

/// Returns the smallest byte string greater than all that start with `prefix`, or `None` if there
/// is none.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
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
