//! What followers have beyond reads: looking for new writes, and waiting for one.

use std::time::Duration;

use cairndb_base::{Error, Result};

use super::Db;
use crate::follow::follower::Follower;

impl Db {
    fn follower(&self) -> Result<&Follower> {
        self.core().follower.as_deref().ok_or_else(|| {
            Error::invalid("this handle does not follow; open it with Options::follow")
        })
    }

    /// Returns the sequence number of the newest write that reads through this handle see. Each
    /// entry of a batch takes one number. A follower that has reached the number that its writer
    /// returned after a write at [`Durability::Os`](crate::Durability::Os) or
    /// [`Durability::Sync`](crate::Durability::Sync) sees that write: see [`Db::wait_for`].
    pub fn sequence_number(&self) -> u64 {
        self.core().base.versions.published()
    }

    /// Looks for new writes of the process that writes: reads that begin after this call see
    /// everything that was acknowledged before it. A follower does so at each read, unless
    /// [`Options::manual_refresh`](crate::Options::manual_refresh) is set.
    ///
    /// # Errors
    /// - `InvalidArgument` if the handle is no follower, or if the database has a new keyspace
    ///   whose comparator or merge operator is not registered.
    /// - `Corruption`, `FormatTooNew`, `Io`; `Closed`, also if the database was destroyed;
    ///   `Forked`.
    /// - `Locked` if the writer is stopped in the middle of an announcement.
    /// - `NotSupported` if a version that does not inform followers has opened the database.
    /// - `Revoked` on a file system where this process may not write, if the writer removes files
    ///   faster than they can be read.
    ///
    /// After an error, the last state stays.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = cairndb::Db::open(&dir)?;
    /// let follower = cairndb::Options::new().follow().manual_refresh(true).open(&dir)?;
    /// db.put(b"granite", b"grey")?;
    /// assert!(follower.get(b"granite")?.is_none());
    /// follower.refresh()?;
    /// assert!(follower.get(b"granite")?.is_some());
    /// # Ok(()) }
    /// ```
    pub fn refresh(&self) -> Result<()> {
        let core = self.core();
        core.base
            .context
            .with_directory(self.follower()?.refresh_now())
    }

    /// Waits until this follower sees everything up to a sequence number of its writer
    /// ([`Db::sequence_number`]), at most for `limit`. Returns whether it does. A write at
    /// [`Durability::None`](crate::Durability::None) is seen after its flush, perhaps after later
    /// writes. The wait looks for new writes at least every millisecond.
    ///
    /// May be [watched](crate::watch).
    ///
    /// # Errors
    /// Same as [`Db::refresh`]; `Interrupted`.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = cairndb::Db::open(&dir)?;
    /// let follower = cairndb::Options::new().follow().open(&dir)?;
    /// db.put(b"granite", b"grey")?;
    /// assert!(follower.wait_for(db.sequence_number(), Duration::from_secs(1))?);
    /// # Ok(()) }
    /// ```
    pub fn wait_for(&self, sequence_number: u64, limit: Duration) -> Result<bool> {
        let core = self.core();
        let waited = self.follower()?.wait_for(sequence_number, limit);
        core.base.context.with_directory(waited)
    }

    /// Returns whether a process has the database open for writing now. A follower shows the last
    /// state while there is none.
    ///
    /// # Errors
    /// `InvalidArgument` if the handle is no follower; `NotSupported` if the writer is of a version
    /// that does not inform followers; `Io`.
    pub fn has_writer(&self) -> Result<bool> {
        let core = self.core();
        core.base
            .context
            .with_directory(self.follower()?.has_writer())
    }
}
