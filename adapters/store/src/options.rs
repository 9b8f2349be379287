//! Settings of one call.

use std::time::Duration;

pub use cairndb::Durability;

/// Settings of one call: how long it may take, and what a write survives.
///
/// ```
/// use std::time::Duration;
/// use cairndb_store::{CallOptions, Durability, MemoryStore, Store};
/// # fn main() -> cairndb_store::Result<()> {
/// let options = CallOptions::new()
///     .timeout(Duration::from_secs(2))
///     .durability(Durability::Sync);
/// MemoryStore::new().put_with(b"slate", b"blue", &options)?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    timeout: Option<Duration>,
    durability: Option<Durability>,
}

impl CallOptions {
    /// Returns the defaults: the time limit of the store and the durability of the store.
    #[must_use]
    pub const fn new() -> CallOptions {
        CallOptions {
            timeout: None,
            durability: None,
        }
    }

    /// Limits the call, including its retries, to `timeout`. The default is the store's own limit
    /// (30 seconds for a networked engine, none for an embedded one). A call that takes longer
    /// fails with `DeadlineExceeded`, or with `OutcomeUnknown` if a write was already sent.
    ///
    /// For a scan, the limit holds for each page. An embedded store ignores it: its calls wait for
    /// the disk only.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> CallOptions {
        self.timeout = Some(timeout);
        self
    }

    /// Sets what a write survives. The default is the durability of the store. A networked engine
    /// acknowledges a write when it is as durable as the engine is configured, which is at least
    /// [`Durability::Sync`] with the defaults of TiKV, etcd and PostgreSQL, and ignores a lower
    /// level.
    #[must_use]
    pub const fn durability(mut self, durability: Durability) -> CallOptions {
        self.durability = Some(durability);
        self
    }

    /// Returns the time limit of the call, or `None` for the store's.
    pub const fn get_timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Returns the durability of the call, or `None` for the store's.
    pub const fn get_durability(&self) -> Option<Durability> {
        self.durability
    }
}
