//! Writes that are refused where others would wait.

use cairndb_base::limits::KEY_BYTES_MAX;
use cairndb_base::{Error, Kind, Result};

use crate::api::db::Db;
use crate::state::batch::WriteBatch;

impl Db {
    /// Sets `key` to `value` if that needs no waiting, and returns whether it has. For a thread
    /// that must not be held up, such as an event loop: it gives a refused write to another thread,
    /// which calls [`Db::put`].
    ///
    /// A write is refused if it would wait for another writer, a sync, a flush, or a new log
    /// segment; if the value has 8 KiB or more and so belongs in a value file; if the database's
    /// durability is not [`Durability::Os`](crate::Durability::Os); and if it is the first write of
    /// the handle or after an idle time, which wakes the background threads. After a refusal
    /// nothing is written.
    ///
    /// # Errors
    /// Same as [`Db::put`].
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// if !db.try_put(b"marble", b"white")? {
    ///     let db = db.clone();
    ///     std::thread::spawn(move || db.put(b"marble", b"white"));
    /// }
    /// # Ok(()) }
    /// ```
    #[inline]
    pub fn try_put(&self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.try_one(Kind::Put, key, value)
    }

    /// Removes `key` if that needs no waiting, and returns whether it has. See [`Db::try_put`].
    ///
    /// # Errors
    /// Same as [`Db::put`].
    #[inline]
    pub fn try_delete(&self, key: &[u8]) -> Result<bool> {
        self.try_one(Kind::Delete, key, b"")
    }

    /// Applies `batch` atomically if that needs no waiting, and returns whether it has. See
    /// [`Db::try_put`]. The time it takes grows with the batch.
    ///
    /// # Errors
    /// Same as [`Db::write`].
    pub fn try_write(&self, batch: &WriteBatch) -> Result<bool> {
        let core = self.core();
        let durability = core.base.settings.durability;
        let written = core.try_write_batch(batch, durability);
        core.base.context.with_directory(written)
    }

    #[inline]
    fn try_one(&self, kind: Kind, key: &[u8], value: &[u8]) -> Result<bool> {
        if key.len() > KEY_BYTES_MAX {
            return Err(Error::invalid("the key is longer than 64 MiB").found(key.len()));
        }
        let core = self.core();
        let durability = core.base.settings.durability;
        let written = core.try_write_one(kind, key, value, durability);
        core.base.context.with_directory(written)
    }
}
