//! The asynchronous face: the traits of `cairndb-store` with futures, for programs on tokio.
//!
//! The contract is the same. In addition: dropping a future cancels its call. A cancelled read
//! leaves nothing; of a cancelled write the outcome is unknown, as after a lost connection. A
//! connection whose call was cancelled is closed, never used again in an undefined state.

use std::fmt;
use std::pin::Pin;

use crate::face::again::again;
use cairndb_store::{
    ATTEMPTS_MAX, Batch, CallOptions, Engine, Entry, Error, ErrorKind, Result, Scan, Value,
};

/// A call under way.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// Asynchronous reads: [`cairndb_store::Read`] has the contract.
pub trait AsyncRead: Send + Sync + fmt::Debug {
    /// Returns the value of `key`. Errors as [`cairndb_store::Read::get_with`].
    fn get_with<'a>(
        &'a self,
        key: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, Option<Value>>;

    /// Returns the values of `keys` at one moment. Errors as
    /// [`cairndb_store::Read::multi_get_with`].
    fn multi_get_with<'a>(
        &'a self,
        keys: &'a [&'a [u8]],
        options: &'a CallOptions,
    ) -> Pending<'a, Vec<Option<Value>>>;

    /// Begins a scan, which sends nothing yet. Errors as [`cairndb_store::Read::scan_with`].
    fn scan_with(&self, scan: &Scan, options: &CallOptions) -> Box<dyn AsyncScan>;

    /// Same as [`AsyncRead::get_with`] with default options.
    fn get<'a>(&'a self, key: &'a [u8]) -> Pending<'a, Option<Value>> {
        self.get_with(key, &DEFAULT)
    }

    /// Same as [`AsyncRead::multi_get_with`] with default options.
    fn multi_get<'a>(&'a self, keys: &'a [&'a [u8]]) -> Pending<'a, Vec<Option<Value>>> {
        self.multi_get_with(keys, &DEFAULT)
    }

    /// Same as [`AsyncRead::scan_with`] with default options.
    fn scan(&self, scan: &Scan) -> Box<dyn AsyncScan> {
        self.scan_with(scan, &DEFAULT)
    }
}

/// The default options, for as long as a call needs them.
static DEFAULT: CallOptions = CallOptions::new();

/// The pages of a scan.
pub trait AsyncScan: Send {
    /// Returns the next entries, in the direction of the scan. An empty page is the end.
    fn next_page(&mut self) -> Pending<'_, Vec<Entry>>;
}

/// An asynchronous snapshot: [`cairndb_store::Snapshot`] has the contract.
pub trait AsyncSnapshot: AsyncRead {}

/// An asynchronous transaction: [`cairndb_store::Transaction`] has the contract. Dropping it
/// discards it.
pub trait AsyncTransaction: AsyncRead {
    /// Sets `key` to `value` when the transaction commits.
    ///
    /// # Errors
    /// `LimitExceeded` if the key or the value is too long.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Removes `key` when the transaction commits.
    ///
    /// # Errors
    /// `LimitExceeded` if the key is too long.
    fn delete(&self, key: &[u8]) -> Result<()>;

    /// Commits. Errors as [`cairndb_store::OpenTransaction::commit_with`].
    fn commit_with<'a>(self: Box<Self>, options: &'a CallOptions) -> Pending<'a, ()>
    where
        Self: 'a;
}

/// An asynchronous store: [`cairndb_store::Store`] has the contract.
pub trait AsyncStore: AsyncRead {
    /// Describes the engine.
    fn engine(&self) -> &Engine;

    /// Sets `key` to `value`. Errors as [`cairndb_store::Store::write_with`].
    fn put_with<'a>(
        &'a self,
        key: &'a [u8],
        value: &'a [u8],
        options: &'a CallOptions,
    ) -> Pending<'a, ()>;

    /// Removes `key`. Errors as [`cairndb_store::Store::write_with`].
    fn delete_with<'a>(&'a self, key: &'a [u8], options: &'a CallOptions) -> Pending<'a, ()>;

    /// Removes all keys in the range of `scan`. Errors as
    /// [`cairndb_store::Store::delete_range_with`].
    fn delete_range_with<'a>(&'a self, scan: &'a Scan, options: &'a CallOptions)
    -> Pending<'a, ()>;

    /// Applies `batch` atomically. Errors as [`cairndb_store::Store::write_with`].
    fn write_with<'a>(&'a self, batch: &'a Batch, options: &'a CallOptions) -> Pending<'a, ()>;

    /// Sets `key` to `new` if its value is `expected`. Errors as
    /// [`cairndb_store::Store::compare_and_set_with`].
    fn compare_and_set_with<'a>(
        &'a self,
        key: &'a [u8],
        expected: Option<&'a [u8]>,
        new: Option<&'a [u8]>,
        options: &'a CallOptions,
    ) -> Pending<'a, bool>;

    /// Takes a snapshot. Errors as [`cairndb_store::Store::snapshot_with`].
    fn snapshot_with<'a>(&'a self, options: &'a CallOptions)
    -> Pending<'a, Box<dyn AsyncSnapshot>>;

    /// Begins a transaction. Errors as [`cairndb_store::Store::begin_with`].
    fn begin_with<'a>(&'a self, options: &'a CallOptions)
    -> Pending<'a, Box<dyn AsyncTransaction>>;

    /// Waits until acknowledged writes survive a power failure. Errors as
    /// [`cairndb_store::Store::sync`].
    fn sync(&self) -> Pending<'_, ()>;

    /// Closes the store. Errors as [`cairndb_store::Store::close`].
    fn close(&self) -> Pending<'_, ()>;

    /// Waits before a transaction that conflicted for the `attempt`-th time runs again.
    fn pause(&self, attempt: u32) -> Pending<'_, ()>;
}

/// Methods of every [`AsyncStore`] that take a closure.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> cairndb_store::Result<()> {
/// use cairndb_remote::{AsyncRead, AsyncStoreExt, AsyncTransaction};
/// let store = cairndb_remote::open_async("memory:").await?;
/// let visits = store
///     .transact(|transaction| {
///         Box::pin(async move {
///             let seen = transaction.get(b"visits").await?.map_or(0, |value| value[0]);
///             transaction.put(b"visits", &[seen + 1])?;
///             Ok(seen + 1)
///         })
///     })
///     .await?;
/// assert_eq!(visits, 1);
/// # Ok(()) }
/// ```
pub trait AsyncStoreExt: AsyncStore {
    /// Runs `body` in a transaction and commits it, again after a conflict. Errors as
    /// [`cairndb_store::StoreExt::transact`].
    fn transact<'s, T, B>(&'s self, mut body: B) -> Pending<'s, T>
    where
        T: Send + 's,
        B: for<'t> FnMut(&'t dyn AsyncTransaction) -> Pending<'t, T> + Send + 's,
    {
        Box::pin(async move {
            for attempt in 1..=ATTEMPTS_MAX {
                let transaction = self.begin_with(&DEFAULT).await?;
                let result = match body(&*transaction).await {
                    Ok(result) => transaction.commit_with(&DEFAULT).await.map(|()| result),
                    Err(error) => Err(error),
                };
                match result {
                    Err(error) if again(&error) => {
                        self.pause(attempt).await?;
                    }
                    result => return result,
                }
            }
            Err(Error::new(
                ErrorKind::Conflict,
                format!("the transaction conflicted {ATTEMPTS_MAX} times"),
            ))
        })
    }

    /// Same as [`AsyncStore::put_with`] with default options.
    fn put<'a>(&'a self, key: &'a [u8], value: &'a [u8]) -> Pending<'a, ()> {
        self.put_with(key, value, &DEFAULT)
    }

    /// Same as [`AsyncStore::delete_with`] with default options.
    fn delete<'a>(&'a self, key: &'a [u8]) -> Pending<'a, ()> {
        self.delete_with(key, &DEFAULT)
    }

    /// Same as [`AsyncStore::delete_range_with`] with default options.
    fn delete_range<'a>(&'a self, scan: &'a Scan) -> Pending<'a, ()> {
        self.delete_range_with(scan, &DEFAULT)
    }

    /// Same as [`AsyncStore::write_with`] with default options.
    fn write<'a>(&'a self, batch: &'a Batch) -> Pending<'a, ()> {
        self.write_with(batch, &DEFAULT)
    }

    /// Same as [`AsyncStore::snapshot_with`] with default options.
    fn snapshot(&self) -> Pending<'_, Box<dyn AsyncSnapshot>> {
        self.snapshot_with(&DEFAULT)
    }

    /// Same as [`AsyncStore::begin_with`] with default options.
    fn begin(&self) -> Pending<'_, Box<dyn AsyncTransaction>> {
        self.begin_with(&DEFAULT)
    }
}

impl<S: AsyncStore + ?Sized> AsyncStoreExt for S {}
