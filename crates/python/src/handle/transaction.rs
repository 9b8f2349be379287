//! The open transaction that the Python objects of it share.
//!
//! A transaction of the store is used by one thread at a time, so it is in a lock, which is taken
//! without the interpreter's: a read may wait for the disk, or for a merge operator in Python.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use cairndb::{Error, ErrorKind, Result, Transaction};

/// A transaction until it is committed or rolled back.
#[derive(Debug)]
pub(crate) struct OpenTransaction {
    transaction: Mutex<Option<Transaction>>,
    /// Number of changes of its writes, so that iterators notice them.
    changes: AtomicU64,
}

impl OpenTransaction {
    pub(crate) fn new(transaction: Transaction) -> OpenTransaction {
        OpenTransaction {
            transaction: Mutex::new(Some(transaction)),
            changes: AtomicU64::new(0),
        }
    }

    /// Removes the transaction, to be committed.
    ///
    /// # Errors
    /// Those of [`OpenTransaction::lock`]; `Closed` if it has ended.
    pub(crate) fn take(&self) -> Result<Transaction> {
        self.lock()?.take().ok_or_else(ended)
    }

    /// # Errors
    /// `Closed` if the transaction has ended; `Poisoned` if a call of it has panicked.
    fn lock(&self) -> Result<MutexGuard<'_, Option<Transaction>>> {
        self.transaction.lock().map_err(|_| {
            let text = "an earlier call of this transaction panicked; run the transaction again";
            Error::new(ErrorKind::Poisoned, text)
        })
    }

    /// Passes the transaction to `call`. To be called detached from the interpreter.
    ///
    /// # Errors
    /// Those of [`OpenTransaction::lock`] and of `call`.
    pub(crate) fn with<T>(&self, call: impl FnOnce(&Transaction) -> Result<T>) -> Result<T> {
        let transaction = self.lock()?;
        call(transaction.as_ref().ok_or_else(ended)?)
    }

    /// Like [`OpenTransaction::with`], for a call that changes the writes.
    pub(crate) fn change<T>(&self, call: impl FnOnce(&Transaction) -> Result<T>) -> Result<T> {
        self.with(|transaction| {
            // Relaxed: the lock orders it for those who read it with the writes.
            self.changes.fetch_add(1, Ordering::Relaxed);
            call(transaction)
        })
    }

    /// Returns the number of changes so far.
    #[inline]
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.transaction.lock().is_ok_and(|it| it.is_none())
    }

    /// Discards the transaction, if it has not ended.
    pub(crate) fn discard(&self) {
        drop(self.lock().ok().and_then(|mut it| it.take()));
    }
}

#[cold]
fn ended() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the transaction has ended; begin another one",
    )
}
