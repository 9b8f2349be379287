//! The open transaction that the Python objects of it share.
//!
//! A transaction of the store is used by one thread at a time, so it is in a lock, which is taken
//! without the interpreter's: a read may wait for the disk, or for a merge operator in Python. An
//! operator that uses the transaction whose read has called it would wait for itself; it gets an
//! error.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use cairndb::{Error, ErrorKind, Result, Transaction};

use crate::handle::this_thread;

/// A transaction until it is committed or rolled back.
#[derive(Debug)]
pub(crate) struct OpenTransaction {
    transaction: Mutex<Option<Transaction>>,
    /// The thread that holds the lock, else 0. Relaxed is enough: a thread finds its own number
    /// only if it has stored it.
    user: AtomicUsize,
    /// Number of changes of its writes, so that iterators notice them.
    changes: AtomicU64,
}

/// The transaction while a thread uses it.
struct Use<'a> {
    transaction: MutexGuard<'a, Option<Transaction>>,
    user: &'a AtomicUsize,
}

impl Drop for Use<'_> {
    fn drop(&mut self) {
        self.user.store(0, Ordering::Relaxed);
    }
}

impl OpenTransaction {
    pub(crate) fn new(transaction: Transaction) -> OpenTransaction {
        OpenTransaction {
            transaction: Mutex::new(Some(transaction)),
            user: AtomicUsize::new(0),
            changes: AtomicU64::new(0),
        }
    }

    /// Removes the transaction, to be committed.
    ///
    /// # Errors
    /// Those of [`OpenTransaction::lock`]; `Closed` if it has ended.
    pub(crate) fn take(&self) -> Result<Transaction> {
        self.lock()?.transaction.take().ok_or_else(ended)
    }

    /// Returns whether this thread holds the lock: a call of the transaction has called Python
    /// code, which calls the transaction again.
    fn is_used_here(&self) -> bool {
        let user = self.user.load(Ordering::Relaxed);
        user != 0 && user == this_thread()
    }

    /// # Errors
    /// `InvalidArgument` if this thread holds the lock; `Poisoned` if a call of the transaction has
    /// panicked.
    fn lock(&self) -> Result<Use<'_>> {
        if self.is_used_here() {
            return Err(Error::invalid(
                "the transaction is in use by a call that has called this code; a merge operator \
                 or a comparator cannot use it",
            ));
        }
        let transaction = self.transaction.lock().map_err(|_| {
            let text = "an earlier call of this transaction panicked; run the transaction again";
            Error::new(ErrorKind::Poisoned, text)
        })?;
        self.user.store(this_thread(), Ordering::Relaxed);
        Ok(Use {
            transaction,
            user: &self.user,
        })
    }

    /// Passes the transaction to `call`. To be called detached from the interpreter.
    ///
    /// # Errors
    /// Those of [`OpenTransaction::lock`] and of `call`; `Closed` if the transaction has ended.
    pub(crate) fn with<T>(&self, call: impl FnOnce(&Transaction) -> Result<T>) -> Result<T> {
        let used = self.lock()?;
        call(used.transaction.as_ref().ok_or_else(ended)?)
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
        self.lock().is_ok_and(|used| used.transaction.is_none())
    }

    /// Discards the transaction, if it has not ended.
    ///
    /// # Errors
    /// `InvalidArgument`, as [`OpenTransaction::lock`].
    pub(crate) fn discard(&self) -> Result<()> {
        match self.lock() {
            Ok(mut used) => drop(used.transaction.take()),
            Err(error) if error.kind() == ErrorKind::InvalidArgument => return Err(error),
            // What a panic has left is never committed.
            Err(_) => {}
        }
        Ok(())
    }
}

#[cold]
fn ended() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the transaction has ended; begin another one",
    )
}
