//! What a store can hold and promises: values that a program reads before it writes.

use std::ops::Bound;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::scan::Scan;

/// Protection of the transactions of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Isolation {
    /// The transactions that commit have the same results as if they had run one after another.
    Serializable,
    /// Every transaction reads one state, and of two that write the same key only one commits. Two
    /// transactions may each read what the other one writes, and both commit (write skew).
    Snapshot,
    /// The store has no transactions and no snapshots: each key is written on its own.
    SingleKey,
}

/// Largest sizes that a store accepts. Checked before anything is sent; a call beyond one fails
/// with [`LimitExceeded`](crate::ErrorKind::LimitExceeded), which names the field, and changes
/// nothing.
///
/// ```
/// use cairndb_store::{MemoryStore, Store};
/// let limits = MemoryStore::new().engine().limits;
/// assert_eq!(limits.key_bytes, 64 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a key, without the prefix that the URL sets.
    pub key_bytes: usize,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Writes in a batch or transaction, after removal of writes that a later one of the same key
    /// replaces.
    pub batch_ops: usize,
    /// Bytes of all keys and values of a batch or transaction.
    pub batch_bytes: usize,
    /// Conditions that the commit of a transaction checks: keys read, keys met by scans, and
    /// scanned ranges.
    pub transaction_reads: usize,
    /// How long a transaction may take before the engine may refuse it. `None`: no limit.
    pub transaction_time: Option<Duration>,
}

impl Limits {
    /// Returns the limits of an embedded database.
    #[must_use]
    pub const fn embedded() -> Limits {
        Limits {
            key_bytes: 64 << 20,
            value_bytes: 1 << 30,
            batch_ops: u32::MAX as usize,
            batch_bytes: 2 << 30,
            transaction_reads: usize::MAX,
            transaction_time: None,
        }
    }

    /// Sets the largest key and value.
    #[must_use]
    pub const fn entry(mut self, key_bytes: usize, value_bytes: usize) -> Limits {
        self.key_bytes = key_bytes;
        self.value_bytes = value_bytes;
        self
    }

    /// Sets the largest batch.
    #[must_use]
    pub const fn batch(mut self, ops: usize, bytes: usize) -> Limits {
        self.batch_ops = ops;
        self.batch_bytes = bytes;
        self
    }

    /// Sets the limits of a transaction.
    #[must_use]
    pub const fn transaction(mut self, reads: usize, time: Option<Duration>) -> Limits {
        self.transaction_reads = reads;
        self.transaction_time = time;
        self
    }

    /// Checks the length of a key.
    ///
    /// # Errors
    /// `LimitExceeded` if it is too long; it names the key.
    #[inline]
    pub fn check_key(&self, key: &[u8]) -> Result<()> {
        if key.len() <= self.key_bytes {
            return Ok(());
        }
        Err(exceeded("key_bytes", self.key_bytes, key.len()).key(key))
    }

    /// Checks the lengths of the ends of a range.
    ///
    /// # Errors
    /// `LimitExceeded` if one is too long; it names the end.
    pub fn check_range(&self, scan: &Scan) -> Result<()> {
        let (lower, upper) = scan.bounds();
        for end in [lower, upper] {
            if let Bound::Included(key) | Bound::Excluded(key) = end {
                self.check_key(key)?;
            }
        }
        Ok(())
    }

    /// Checks the lengths of a key and its value.
    ///
    /// # Errors
    /// `LimitExceeded` if one is too long; it names the key.
    #[inline]
    pub fn check_entry(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.check_key(key)?;
        if value.len() > self.value_bytes {
            return Err(exceeded("value_bytes", self.value_bytes, value.len()).key(key));
        }
        let bytes = key.len() + value.len();
        if bytes > self.batch_bytes {
            return Err(exceeded("batch_bytes", self.batch_bytes, bytes).key(key));
        }
        Ok(())
    }

    /// Checks the number of writes in a batch and their bytes.
    ///
    /// # Errors
    /// `LimitExceeded`.
    pub fn check_size(&self, ops: usize, bytes: usize) -> Result<()> {
        if ops > self.batch_ops {
            return Err(exceeded("batch_ops", self.batch_ops, ops));
        }
        if bytes > self.batch_bytes {
            return Err(exceeded("batch_bytes", self.batch_bytes, bytes));
        }
        Ok(())
    }
}

#[cold]
fn exceeded(name: &'static str, max: usize, found: usize) -> Error {
    Error::limit_exceeded(name, max as u64, found as u64)
}

/// Description of an opened store.
///
/// ```
/// use cairndb_store::{Isolation, MemoryStore, Store};
/// let store = MemoryStore::new();
/// let engine = store.engine();
/// assert_eq!(engine.name, "memory");
/// assert_eq!(engine.isolation, Isolation::Serializable);
/// assert!(!engine.networked);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Engine {
    /// Name of the engine: the scheme of its URL.
    pub name: &'static str,
    /// Largest sizes.
    pub limits: Limits,
    /// Protection of transactions.
    pub isolation: Isolation,
    /// Whether a call leaves the process.
    pub networked: bool,
    /// Whether the engine keeps several copies by consensus. PostgreSQL itself does not; the
    /// distributed engines that speak its protocol do.
    pub replicated: bool,
}

impl Engine {
    /// Describes an embedded engine: everything in this process, serialisable transactions.
    #[must_use]
    pub const fn embedded(name: &'static str) -> Engine {
        Engine {
            name,
            limits: Limits::embedded(),
            isolation: Isolation::Serializable,
            networked: false,
            replicated: false,
        }
    }

    /// Describes an engine that is reached over a network.
    #[must_use]
    pub const fn networked(name: &'static str, limits: Limits, isolation: Isolation) -> Engine {
        Engine {
            name,
            limits,
            isolation,
            networked: true,
            replicated: false,
        }
    }

    /// Sets whether the engine keeps several copies by consensus.
    #[must_use]
    pub const fn replicated(mut self, replicated: bool) -> Engine {
        self.replicated = replicated;
        self
    }
}
