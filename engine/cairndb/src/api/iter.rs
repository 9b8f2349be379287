//! Iterators: owned entries of a range, in order, from either end.

use cairndb_base::Result;

use crate::api::cursor::Cursor;
use crate::api::entries::Entries;
use crate::api::range::KeyRange;
use crate::api::value::Value;
use crate::api::walk::{Borrowed, Entry, Walk};

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
pub struct Iter(Entries<Cursor>);

impl Walk for Cursor {
    fn seek(&mut self, key: &[u8]) -> Result<()> {
        Cursor::seek(self, key)
    }
    fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        Cursor::seek_for_prev(self, key)
    }
    fn seek_to_first(&mut self) -> Result<()> {
        Cursor::seek_to_first(self)
    }
    fn seek_to_last(&mut self) -> Result<()> {
        Cursor::seek_to_last(self)
    }
    #[inline]
    fn next(&mut self) -> Result<()> {
        Cursor::next(self)
    }
    #[inline]
    fn prev(&mut self) -> Result<()> {
        Cursor::prev(self)
    }
    #[inline]
    fn place(&self) -> Option<&[u8]> {
        Cursor::place(self)
    }
    #[inline]
    fn borrowed(&self) -> Borrowed<'_> {
        (self.key(), self.value())
    }
    #[inline]
    fn entry(&self) -> Entry {
        (Value::from(self.key()), self.owned_value())
    }
    fn fork(&self) -> Cursor {
        Cursor::fork(self)
    }
}

impl Iter {
    pub(crate) fn over_range(cursor: Cursor, range: &impl KeyRange) -> Iter {
        let order = cursor.order().clone();
        Iter(Entries::over_range(cursor, &order, range))
    }

    pub(crate) fn over_prefix(cursor: Cursor, prefix: &[u8]) -> Iter {
        let order = cursor.order().clone();
        Iter(Entries::over_prefix(cursor, &order, prefix))
    }

    /// Returns the remaining entries without copies, each borrowed until the next call.
    pub fn lending(self) -> LendingIter {
        LendingIter(self.0)
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
    pub fn try_count(self) -> Result<u64> {
        self.0.try_count()
    }
}

/// The entries of a range, borrowed one at a time: what [`Iter`] yields, without copies.
///
/// Made by [`Iter::lending`]. It is not an [`Iterator`], because an entry is borrowed until the
/// next call. Errors are those of `Iter`: after one of the merge operator, it continues past the
/// key.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// # for k in [b"a", b"b", b"c"] { db.put(k, k)?; }
/// let mut bytes = 0;
/// let mut entries = db.range(b"a"..b"c").lending();
/// while let Some((key, value)) = entries.next()? {
///     bytes += key.len() + value.len();
/// }
/// assert_eq!(bytes, 4);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "it reads nothing unless consumed"]
pub struct LendingIter(Entries<Cursor>);

impl LendingIter {
    /// Returns the next entry from the front, or `None` after the last.
    ///
    /// # Errors
    /// Same as [`Cursor::next`](crate::Cursor::next).
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "not an `Iterator`: the entry is borrowed until the next call"
    )]
    pub fn next(&mut self) -> Result<Option<Borrowed<'_>>> {
        self.0.lend_front()
    }

    /// Returns the next entry from the back, or `None` after the first.
    ///
    /// # Errors
    /// Same as [`Cursor::prev`](crate::Cursor::prev).
    #[inline]
    pub fn next_back(&mut self) -> Result<Option<Borrowed<'_>>> {
        self.0.lend_back()
    }
}

impl Iterator for Iter {
    type Item = Result<Entry>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }

    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        self.0.nth(n)
    }

    /// Counts the remaining entries. An error is not counted; unless it came from the merge
    /// operator, it also ends the iterator. After an error the count is therefore too small;
    /// [`Iter::try_count`] returns the error instead. The `count` of an adapter such as `rev` is
    /// the standard library's: it copies each entry and also counts errors.
    fn count(self) -> usize {
        self.0.count()
    }
}

impl DoubleEndedIterator for Iter {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back()
    }

    fn nth_back(&mut self, n: usize) -> Option<Self::Item> {
        self.0.nth_back(n)
    }
}
