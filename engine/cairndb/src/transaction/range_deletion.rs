//! Deletion of ranges in a transaction.

use cairndb_base::{Error, Result};

use crate::api::access::{Space, in_space};
use crate::api::keyspace::Keyspace;
use crate::api::range::KeyRange;
use crate::api::range_deletion::Ends;
use crate::state::sections::StoredKey;
use crate::transaction::handle::Transaction;

impl Transaction {
    /// Removes all keys in `range`, also those that the transaction has put; see
    /// [`Db::delete_range`](crate::Db::delete_range).
    ///
    /// The deletion by itself depends on nothing that was read, so with
    /// [`Isolation::Serializable`](crate::Isolation::Serializable) it never conflicts. With
    /// [`Isolation::Snapshot`](crate::Isolation::Snapshot) it conflicts with any write in the
    /// range.
    ///
    /// # Errors
    /// Same as [`Transaction::put`]; `InvalidArgument` for a bound that the order does not have.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// db.put(b"cart/1", b"pen")?;
    /// let transaction = db.transaction();
    /// transaction.delete_prefix(b"cart/")?;
    /// transaction.put(b"cart/2", b"ink")?;
    /// assert!(!transaction.contains(b"cart/1")? && db.contains(b"cart/1")?);
    /// transaction.commit()?;
    /// assert_eq!(db.prefix(b"cart/").try_count()?, 1);
    /// # Ok(()) }
    /// ```
    pub fn delete_range(&self, range: impl KeyRange) -> Result<()> {
        self.delete_ends(None, &Ends::of(&range))
    }

    /// Removes all keys that start with `prefix`; see [`Transaction::delete_range`].
    ///
    /// # Errors
    /// Same as [`Transaction::delete_range`].
    pub fn delete_prefix(&self, prefix: &[u8]) -> Result<()> {
        self.delete_ends(None, &Ends::of_prefix(prefix))
    }

    /// Like [`Transaction::delete_range`], in `keyspace`.
    ///
    /// # Errors
    /// Same as [`Transaction::delete_range`], and those of [`Transaction::put_in`].
    pub fn delete_range_in(&self, keyspace: &Keyspace, range: impl KeyRange) -> Result<()> {
        self.snapshot.check(keyspace)?;
        self.delete_ends(keyspace.space(), &Ends::of(&range))
    }

    /// Like [`Transaction::delete_prefix`], in `keyspace`.
    ///
    /// # Errors
    /// Same as [`Transaction::delete_range_in`].
    pub fn delete_prefix_in(&self, keyspace: &Keyspace, prefix: &[u8]) -> Result<()> {
        self.snapshot.check(keyspace)?;
        self.delete_ends(keyspace.space(), &Ends::of_prefix(prefix))
    }

    fn delete_ends(&self, space: Space<'_>, ends: &Ends) -> Result<()> {
        let order = space.map_or(self.order(), |keyspace| &keyspace.order);
        if ends.bytewise && !order.is_bytewise() {
            return Err(Error::invalid(
                "only bytewise order has this range; delete from a key to before another",
            ));
        }
        if !ends.to.is_empty() && order.compare(&ends.from, &ends.to).is_ge() {
            return Ok(());
        }
        let range = (&ends.from[..], &ends.to[..]);
        self.own.borrow_mut().add_range(space, range)
    }

    /// Returns the first key, and the first key after it, of the range that the transaction has
    /// deleted and `key` is in.
    pub(super) fn own_range(
        &self,
        space: Space<'_>,
        key: &[u8],
    ) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
        if !self.has_written() {
            return None;
        }
        let own = self.own.borrow();
        let found = in_space(space, key, |key| {
            Ok(own.range_of(key).map(|range| {
                let bytes = &*range.start;
                let start = StoredKey { bytes, ..key };
                let end = start.end_of_range(range.end.as_deref().unwrap_or_default());
                (start.users().to_vec(), end.map(<[u8]>::to_vec))
            }))
        });
        found.expect("a search does not fail")
    }
}
