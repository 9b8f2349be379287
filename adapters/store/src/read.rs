//! What can be read, and how: the part that stores, snapshots and transactions share.

use std::fmt;

use cairndb::Value;

use crate::entries::Entries;
use crate::error::Result;
use crate::options::CallOptions;
use crate::scan::Scan;

/// Reads of a [`Store`](crate::Store), [`Snapshot`](crate::Snapshot) or
/// [`Transaction`](crate::Transaction).
///
/// # Contract
///
/// * **Keys and values** are byte strings, both possibly empty; keys are in bytewise order. An
///   empty value is a value: `Some(b"")` is not `None`.
/// * **Freshness.** A read of a store sees every write whose call had returned before the read
///   began, from any client of the engine. A read of a snapshot or transaction sees the state when
///   that was taken; a transaction also sees its own writes.
/// * **One moment.** `get`, `multi_get` and a whole scan each see one state of the store: of a
///   batch or transaction of another client they see all or nothing.
/// * **Retries.** A read is repeated until the deadline if the connection is lost or the leader
///   changes. That is safe, because a read changes nothing.
///
/// What may differ between engines: the cost (see each method), and how long old states remain
/// readable, which ends with `SnapshotExpired`.
pub trait Read: fmt::Debug {
    /// Returns the value of `key`, or `None` if there is none.
    ///
    /// Cost: one lookup; on a networked engine, one round trip.
    ///
    /// # Errors
    /// `LimitExceeded` for a key that no entry can have, `Unavailable`, `DeadlineExceeded`,
    /// `SnapshotExpired`, `Closed`, `Corruption`, `Denied`, `Engine`. In a transaction also
    /// `Conflict`.
    fn get_with(&self, key: &[u8], options: &CallOptions) -> Result<Option<Value>>;

    /// Returns the values of `keys`, in the order of `keys`, all as of the same moment. A key may
    /// occur several times.
    ///
    /// Cost: on PostgreSQL and TiKV, one round trip; on etcd, one for each 128 keys.
    ///
    /// # Errors
    /// Same as [`Read::get_with`].
    fn multi_get_with(&self, keys: &[&[u8]], options: &CallOptions) -> Result<Vec<Option<Value>>>;

    /// Returns the entries that `scan` selects, in its direction.
    ///
    /// All entries are of one moment, which is between this call and its first entry. Writes made
    /// meanwhile are not seen, with one exception: an own write of a transaction, made while its
    /// scan is in use, may or may not be seen.
    ///
    /// Cost: on a networked engine, one round trip for the first page, one for each further
    /// megabyte. On etcd, a page of a *descending* scan makes the server read the rest of the
    /// range, so descending scans are for short ranges there.
    ///
    /// # Errors
    /// Same as [`Read::get_with`], from this call or in place of an entry, which ends the scan.
    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Result<Entries<'_>>;

    /// Same as [`Read::get_with`] with default options.
    ///
    /// # Errors
    /// Same as [`Read::get_with`].
    fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        self.get_with(key, &CallOptions::new())
    }

    /// Same as [`Read::multi_get_with`] with default options.
    ///
    /// # Errors
    /// Same as [`Read::get_with`].
    fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Value>>> {
        self.multi_get_with(keys, &CallOptions::new())
    }

    /// Same as [`Read::scan_with`] with default options.
    ///
    /// # Errors
    /// Same as [`Read::get_with`].
    fn scan(&self, scan: &Scan) -> Result<Entries<'_>> {
        self.scan_with(scan, &CallOptions::new())
    }

    /// Returns whether `key` has a value.
    ///
    /// # Errors
    /// Same as [`Read::get_with`].
    fn contains(&self, key: &[u8]) -> Result<bool> {
        Ok(self.get(key)?.is_some())
    }
}

/// A state of a store that does not change: what had been written when it was taken.
///
/// What may differ: an embedded store keeps the versions that a snapshot sees for as long as it
/// lives. PostgreSQL does too, and each snapshot occupies one connection of the pool. etcd keeps
/// them until the history is compacted, TiKV for its garbage collection time (10 minutes by
/// default); later reads fail with `SnapshotExpired`, never with another state.
///
/// ```
/// use cairndb_store::{MemoryStore, Read, Store};
/// # fn main() -> cairndb_store::Result<()> {
/// let store = MemoryStore::new();
/// store.put(b"slate", b"blue")?;
/// let before = store.snapshot()?;
/// store.delete(b"slate")?;
/// assert!(before.contains(b"slate")?);
/// assert!(!store.contains(b"slate")?);
/// # Ok(()) }
/// ```
pub trait Snapshot: Read + Send + Sync {}
