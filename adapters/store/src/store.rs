//! The store: reads, writes, snapshots and transactions over any engine.

use crate::batch::Batch;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Engine;
use crate::options::CallOptions;
use crate::read::{Read, Snapshot};
use crate::scan::Scan;
use crate::transaction::{OpenTransaction, Transaction};

/// Number of attempts of a transaction. Each failed one means that another writer was successful,
/// so a thousand in a row mean that the transaction is too long for the writes beside it.
pub const ATTEMPTS_MAX: u32 = 1000;

/// An ordered key-value store: an embedded database or a distributed engine.
///
/// The trait is object-safe: programs hold a `Box<dyn Store>` and choose the engine by a URL.
/// Handles may be used from any number of threads.
///
/// # Contract
///
/// Reads are described at [`Read`], transactions at [`Transaction`]. For writes:
///
/// * **Atomic.** A put, delete, deleted range, batch, compare-and-set or commit takes effect at one
///   moment, completely or not at all, also if the client or a server dies.
/// * **Durable.** When the call has returned, the write survives the death of the process, and
///   more according to [`CallOptions::durability`] or the engine's configuration.
/// * **Visible.** When the call has returned, every read that begins later sees it.
/// * **Definite.** After an error nothing was written, except after `OutcomeUnknown`: then the
///   write was applied completely, or will be soon, or never. It is never applied twice, because a
///   write is sent again only if the engine has refused it.
/// * **Limits** are checked before anything is sent: see [`Limits`](crate::Limits). A batch is
///   never split.
///
/// What may differ between engines, and where it is stated: limits and isolation
/// ([`Store::engine`]), the cost of a call ([`Read`]), the lifetime of a snapshot ([`Snapshot`]),
/// needless conflicts ([`Transaction`]), and that an embedded store returns no `Unavailable`,
/// `DeadlineExceeded`, `OutcomeUnknown` or `SnapshotExpired`.
///
/// ```
/// use cairndb_store::{Read, Scan, Store, StoreExt};
/// /// Counts a visitor, in any store.
/// fn visit(store: &dyn Store, name: &str) -> cairndb_store::Result<u64> {
///     store.transact(|transaction| {
///         let seen = transaction.get(name.as_bytes())?;
///         let seen = seen.map_or(0, |count| u64::from_le_bytes((*count).try_into().unwrap()));
///         transaction.put(name.as_bytes(), &(seen + 1).to_le_bytes())?;
///         Ok(seen + 1)
///     })
/// }
/// # fn main() -> cairndb_store::Result<()> {
/// let store = cairndb_store::MemoryStore::new();
/// assert_eq!(visit(&store, "Ada")?, 1);
/// assert_eq!(visit(&store, "Ada")?, 2);
/// # Ok(()) }
/// ```
pub trait Store: Read + Send + Sync {
    /// Describes the engine: its name, limits and isolation. Costs nothing.
    fn engine(&self) -> &Engine;

    /// Sets `key` to `value`.
    ///
    /// # Errors
    /// Same as [`Store::write_with`].
    fn put_with(&self, key: &[u8], value: &[u8], options: &CallOptions) -> Result<()>;

    /// Removes `key`. Removing an absent key is not an error.
    ///
    /// # Errors
    /// Same as [`Store::write_with`].
    fn delete_with(&self, key: &[u8], options: &CallOptions) -> Result<()>;

    /// Removes all keys in the range of `scan`, whose direction and limit are ignored. A range
    /// whose end is not after its start has no key.
    ///
    /// Cost: constant in an embedded database; elsewhere one round trip, and the engine removes key
    /// by key. It is no part of transactions and batches.
    ///
    /// # Errors
    /// Same as [`Store::write_with`]; `NotSupported` (TiKV, which deletes no range atomically).
    fn delete_range_with(&self, scan: &Scan, options: &CallOptions) -> Result<()>;

    /// Applies `batch` atomically. Of several writes of one key, the last one counts. An empty
    /// batch changes nothing, but is refused by a closed store like any other.
    ///
    /// Cost: on a networked engine, one round trip, and the replication of the engine.
    ///
    /// # Errors
    /// - `LimitExceeded`: the batch, or a key or value, is too large; the limit is named.
    /// - `Unavailable`, `DeadlineExceeded`: nothing was sent, or it was refused.
    /// - `OutcomeUnknown`: it was sent, and the answer was lost.
    /// - `Full`, `ReadOnly`, `Denied`, `Closed`, `Engine`.
    fn write_with(&self, batch: &Batch, options: &CallOptions) -> Result<()>;

    /// Sets `key` to `new`, or removes it if that is `None`, if its value is `expected`, where
    /// `None` stands for no value. Returns whether it was. Compared and written at one moment.
    ///
    /// After `OutcomeUnknown`, a read of the key shows whether it was written, if `new` occurs only
    /// once, for example because it contains an identifier of the caller.
    ///
    /// # Errors
    /// Same as [`Store::write_with`].
    fn compare_and_set_with(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<bool>;

    /// Takes a snapshot of everything written so far.
    ///
    /// # Errors
    /// `Unavailable`, `DeadlineExceeded`, `Closed`, `NotSupported` (TiKV in raw mode).
    fn snapshot_with(&self, options: &CallOptions) -> Result<Box<dyn Snapshot>>;

    /// Begins a transaction. `options` also holds for its reads that have none of their own.
    ///
    /// # Errors
    /// Same as [`Store::snapshot_with`].
    fn begin_with(&self, options: &CallOptions) -> Result<Box<dyn OpenTransaction>>;

    /// Waits until every write that was acknowledged survives a power failure. Returns at once on a
    /// networked engine, which does not acknowledge earlier.
    ///
    /// # Errors
    /// Same as [`Store::write_with`].
    fn sync(&self) -> Result<()>;

    /// Closes the store: closes connections, or the database's files. Every later call, also of its
    /// snapshots, fails with `Closed`. Closing twice is not an error. Dropping the last handle
    /// closes it too, but discards the error.
    ///
    /// # Errors
    /// `Engine`, `Full`: an embedded database could not write what it kept in memory.
    fn close(&self) -> Result<()>;

    /// Runs `body` in a transaction and commits it, again after a conflict. This is the object-safe
    /// form of [`StoreExt::transact_with`], which is easier to call.
    ///
    /// # Errors
    /// Same as [`StoreExt::transact_with`].
    fn run_with(
        &self,
        body: &mut dyn FnMut(&dyn Transaction) -> Result<()>,
        options: &CallOptions,
    ) -> Result<()> {
        let mut attempts = ATTEMPTS_MAX;
        loop {
            let transaction = self.begin_with(options)?;
            let result = body(&*transaction).and_then(|()| transaction.commit_with(options));
            attempts -= 1;
            match result {
                Err(error) if error.kind() == ErrorKind::Conflict && attempts > 0 => {}
                result => return result,
            }
        }
    }

    /// Same as [`Store::put_with`] with default options.
    ///
    /// # Errors
    /// Same as [`Store::write_with`].
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put_with(key, value, &CallOptions::new())
    }

    /// Same as [`Store::delete_with`] with default options.
    ///
    /// # Errors
    /// Same as [`Store::write_with`].
    fn delete(&self, key: &[u8]) -> Result<()> {
        self.delete_with(key, &CallOptions::new())
    }

    /// Same as [`Store::delete_range_with`] with default options.
    ///
    /// # Errors
    /// Same as [`Store::delete_range_with`].
    fn delete_range(&self, scan: &Scan) -> Result<()> {
        self.delete_range_with(scan, &CallOptions::new())
    }

    /// Same as [`Store::write_with`] with default options.
    ///
    /// # Errors
    /// Same as [`Store::write_with`].
    fn write(&self, batch: &Batch) -> Result<()> {
        self.write_with(batch, &CallOptions::new())
    }

    /// Same as [`Store::compare_and_set_with`] with default options.
    ///
    /// # Errors
    /// Same as [`Store::write_with`].
    fn compare_and_set(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool> {
        self.compare_and_set_with(key, expected, new, &CallOptions::new())
    }

    /// Same as [`Store::snapshot_with`] with default options.
    ///
    /// # Errors
    /// Same as [`Store::snapshot_with`].
    fn snapshot(&self) -> Result<Box<dyn Snapshot>> {
        self.snapshot_with(&CallOptions::new())
    }

    /// Same as [`Store::begin_with`] with default options.
    ///
    /// # Errors
    /// Same as [`Store::snapshot_with`].
    fn begin(&self) -> Result<Box<dyn OpenTransaction>> {
        self.begin_with(&CallOptions::new())
    }
}

/// Methods of every [`Store`] that take a closure, which a trait object cannot have.
pub trait StoreExt: Store {
    /// Runs `body` in a transaction and commits it. If that conflicts, runs `body` again in a new
    /// one, at most a thousand times. So `body` should do nothing that must not be done twice. If
    /// it returns an error other than `Conflict`, the transaction is discarded and the error
    /// returned.
    ///
    /// A commit whose outcome is unknown is *not* run again, because it could be applied twice.
    ///
    /// Each call within has the time limit of the store, all attempts together have none: use
    /// [`StoreExt::transact_with`] for that.
    ///
    /// # Errors
    /// The error of `body`; those of [`OpenTransaction::commit_with`], but `Conflict` only after
    /// the last attempt.
    fn transact<T>(&self, body: impl FnMut(&dyn Transaction) -> Result<T>) -> Result<T> {
        self.transact_with(body, &CallOptions::new())
    }

    /// Like [`StoreExt::transact`], but with `options`. The time limit covers all attempts.
    ///
    /// # Errors
    /// Same as [`StoreExt::transact`].
    fn transact_with<T>(
        &self,
        mut body: impl FnMut(&dyn Transaction) -> Result<T>,
        options: &CallOptions,
    ) -> Result<T> {
        let mut returned = None;
        let mut keep = |transaction: &dyn Transaction| {
            returned = Some(body(transaction)?);
            Ok(())
        };
        self.run_with(&mut keep, options)?;
        returned.ok_or_else(|| {
            Error::new(
                ErrorKind::Engine,
                "the store committed without running the transaction",
            )
        })
    }
}

impl<S: Store + ?Sized> StoreExt for S {}
