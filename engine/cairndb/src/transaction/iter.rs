//! The iterator of a transaction, and the calls that return it or a cursor.

use std::fmt;
use std::ops::Bound;

use cairndb_base::Result;

use crate::api::bounds::successor;
use crate::api::cursor::Cursor;
use crate::api::entries::Entries;
use crate::api::keyspace::Keyspace;
use crate::api::range::KeyRange;
use crate::api::value::Value;
use crate::api::walk::{Borrowed, Entry, Walk};
use crate::read::conflicts::Span;
use crate::transaction::cursor::TransactionCursor;
use crate::transaction::handle::Transaction;

/// An iterator over the entries of a range that a transaction sees, as `(key, value)`, in order,
/// from either end. It behaves as [`Iter`](crate::Iter) does, errors included; for what it sees and
/// records, see [`TransactionCursor`].
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// # for k in [b"a", b"b", b"c"] { db.put(k, k)?; }
/// let transaction = db.transaction();
/// for entry in transaction.range(b"a"..b"c") {
///     let (key, _value) = entry?;
///     transaction.delete(&key)?;
/// }
/// assert_eq!(transaction.iter().try_count()?, 1);
/// transaction.commit()?;
/// # Ok(()) }
/// ```
#[must_use = "iterators are lazy: they read nothing unless consumed"]
pub struct TransactionIter<'t>(Entries<TransactionCursor<'t>>);

impl fmt::Debug for TransactionIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionIter").finish_non_exhaustive()
    }
}

impl Walk for TransactionCursor<'_> {
    fn seek(&mut self, key: &[u8]) -> Result<()> {
        TransactionCursor::seek(self, key)
    }
    fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        TransactionCursor::seek_for_prev(self, key)
    }
    fn seek_to_first(&mut self) -> Result<()> {
        TransactionCursor::seek_to_first(self)
    }
    fn seek_to_last(&mut self) -> Result<()> {
        TransactionCursor::seek_to_last(self)
    }
    fn next(&mut self) -> Result<()> {
        TransactionCursor::next(self)
    }
    fn prev(&mut self) -> Result<()> {
        TransactionCursor::prev(self)
    }
    fn place(&self) -> Option<&[u8]> {
        TransactionCursor::place(self)
    }
    fn borrowed(&self) -> Borrowed<'_> {
        (self.key(), self.value())
    }
    #[inline]
    fn entry(&self) -> Entry {
        (Value::from(self.key()), self.owned_value())
    }
    fn fork(&self) -> Self {
        TransactionCursor::fork(self)
    }
}

impl<'t> TransactionIter<'t> {
    /// Returns the remaining entries without copies, each borrowed until the next call.
    pub fn lending(self) -> TransactionLendingIter<'t> {
        TransactionLendingIter(self.0)
    }

    /// Counts the remaining entries without copying them. For errors see
    /// [`Iter::try_count`](crate::Iter::try_count).
    ///
    /// # Errors
    /// The first error that an entry yields.
    pub fn try_count(self) -> Result<u64> {
        self.0.try_count()
    }
}

/// The entries of a range that a transaction sees, borrowed one at a time: what [`TransactionIter`]
/// yields, without copies. See [`LendingIter`](crate::LendingIter).
#[must_use = "it reads nothing unless consumed"]
pub struct TransactionLendingIter<'t>(Entries<TransactionCursor<'t>>);

impl fmt::Debug for TransactionLendingIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransactionLendingIter")
            .finish_non_exhaustive()
    }
}

impl TransactionLendingIter<'_> {
    /// Returns the next entry from the front, or `None` after the last.
    ///
    /// # Errors
    /// Same as [`Cursor::next`](crate::Cursor::next).
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
    pub fn next_back(&mut self) -> Result<Option<Borrowed<'_>>> {
        self.0.lend_back()
    }
}

impl Iterator for TransactionIter<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl DoubleEndedIterator for TransactionIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back()
    }
}

impl Transaction {
    /// Returns an unpositioned cursor over what the transaction sees.
    pub fn cursor(&self) -> TransactionCursor<'_> {
        TransactionCursor::new(self, self.start().cursor(), Span::all())
    }

    /// Iterates over all entries in order, from either end.
    pub fn iter(&self) -> TransactionIter<'_> {
        self.range(..)
    }

    /// Iterates over the entries whose keys are in `range`, in order, from either end.
    pub fn range(&self, range: impl KeyRange) -> TransactionIter<'_> {
        self.range_of(self.start().cursor(), &range)
    }

    /// Iterates over the entries whose keys start with `prefix`. For databases with a custom
    /// comparator see [`Db::prefix`](crate::Db::prefix).
    pub fn prefix(&self, prefix: &[u8]) -> TransactionIter<'_> {
        self.prefix_of(self.start().cursor(), prefix)
    }

    /// Returns an unpositioned cursor over what the transaction sees in `keyspace`.
    ///
    /// # Errors
    /// Same as [`Snapshot::cursor_in`](crate::Snapshot::cursor_in).
    pub fn cursor_in(&self, keyspace: &Keyspace) -> Result<TransactionCursor<'_>> {
        let base = self.start().cursor_in(keyspace)?;
        Ok(TransactionCursor::new(self, base, Span::all()))
    }

    /// Iterates over the entries of `keyspace` whose keys are in `range`, in order, from either
    /// end.
    ///
    /// # Errors
    /// Same as [`Transaction::cursor_in`].
    pub fn range_in(
        &self,
        keyspace: &Keyspace,
        range: impl KeyRange,
    ) -> Result<TransactionIter<'_>> {
        Ok(self.range_of(self.start().cursor_in(keyspace)?, &range))
    }

    /// Iterates over the entries of `keyspace` whose keys start with `prefix`.
    ///
    /// # Errors
    /// Same as [`Transaction::cursor_in`].
    pub fn prefix_in(&self, keyspace: &Keyspace, prefix: &[u8]) -> Result<TransactionIter<'_>> {
        Ok(self.prefix_of(self.start().cursor_in(keyspace)?, prefix))
    }

    fn range_of(&self, base: Cursor, range: &impl KeyRange) -> TransactionIter<'_> {
        let (from, to) = range.key_bounds();
        let limits = Span {
            from: from.map(<[u8]>::to_vec),
            to: to.map(<[u8]>::to_vec),
            ..Span::all()
        };
        let order = base.order().clone();
        let cursor = TransactionCursor::new(self, base, limits);
        TransactionIter(Entries::over_range(cursor, &order, range))
    }

    fn prefix_of(&self, base: Cursor, prefix: &[u8]) -> TransactionIter<'_> {
        let order = base.order().clone();
        let to = if order.is_bytewise() {
            successor(prefix).map_or(Bound::Unbounded, Bound::Excluded)
        } else {
            Bound::Unbounded
        };
        let limits = Span {
            from: Bound::Included(prefix.to_vec()),
            to,
            ..Span::all()
        };
        let cursor = TransactionCursor::new(self, base, limits);
        TransactionIter(Entries::over_prefix(cursor, &order, prefix))
    }
}

impl<'t> IntoIterator for &'t Transaction {
    type Item = Result<Entry>;
    type IntoIter = TransactionIter<'t>;

    fn into_iter(self) -> TransactionIter<'t> {
        self.iter()
    }
}
