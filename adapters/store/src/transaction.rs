//! Transactions: reads and writes that take effect together, if what was read is still true.

use crate::error::Result;
use crate::options::CallOptions;
use crate::read::Read;

/// The reads and writes of a transaction, as the body of
/// [`StoreExt::transact`](crate::StoreExt::transact) sees them.
///
/// # Contract
///
/// * Reads see the state when the transaction began (or, on PostgreSQL and etcd, when it first
///   read), and its own writes.
/// * Writes are kept in memory until the commit, and sent as one batch, within the limits of a
///   batch. They are seen by others all at once or never.
/// * The commit fails with `Conflict`, and nothing is written, if
///   [`Engine::isolation`](crate::Engine) would be violated. With `Serializable` that protects
///   every key read, and every range scanned, present keys or not; with `Snapshot`, the keys
///   written.
/// * Of two transactions that read and then write the same key, one commits at most.
/// * A transaction may fail with `Conflict` without need, because an engine may track pages instead
///   of keys. Run it again.
/// * A transaction that writes nothing commits without `Conflict`, except on PostgreSQL, where it
///   is rare. A snapshot never conflicts.
///
/// **Threads.** A transaction may be sent to another thread, but is used by one at a time.
pub trait Transaction: Read + Send {
    /// Sets `key` to `value` when the transaction commits.
    ///
    /// # Errors
    /// `LimitExceeded` if the key or the value is too long. The limits of the whole batch are
    /// checked by the commit.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Removes `key` when the transaction commits.
    ///
    /// # Errors
    /// Same as [`Transaction::put`].
    fn delete(&self, key: &[u8]) -> Result<()>;
}

/// A transaction that the caller commits. Dropping it discards it.
///
/// ```
/// use cairndb_store::{ErrorKind, MemoryStore, Read, Store, Transaction};
/// # fn main() -> cairndb_store::Result<()> {
/// let store = MemoryStore::new();
/// let transaction = store.begin()?;
/// assert!(transaction.get(b"stock")?.is_none());
/// transaction.put(b"stock", b"7")?;
/// store.put(b"stock", b"1")?; // another writer is faster
/// let error = transaction.commit().expect_err("the key was read and has changed");
/// assert_eq!(error.kind(), ErrorKind::Conflict);
/// # Ok(()) }
/// ```
pub trait OpenTransaction: Transaction {
    /// Commits the transaction.
    ///
    /// # Errors
    /// `Conflict`; `LimitExceeded` if the writes exceed the limits of a batch, or the reads those
    /// of a transaction; `OutcomeUnknown` if the answer was lost: the transaction is then applied
    /// completely or not at all. Otherwise the same as
    /// [`Store::write_with`](crate::Store::write_with).
    fn commit_with(self: Box<Self>, options: &CallOptions) -> Result<()>;

    /// Same as [`OpenTransaction::commit_with`] with default options.
    ///
    /// # Errors
    /// Same as [`OpenTransaction::commit_with`].
    fn commit(self: Box<Self>) -> Result<()> {
        self.commit_with(&CallOptions::new())
    }

    /// Discards the transaction. Same as dropping it.
    fn rollback(self: Box<Self>);
}
