//! Transactions that are run until they commit.

use cairndb_base::{ErrorKind, Result};

use crate::api::db::Db;
use crate::api::value::Value;
use crate::state::batch::WriteBatch;
use crate::state::sections::StoredKey;
use crate::transaction::commit::{Dependencies, commit};
use crate::transaction::handle::Transaction;
use crate::transaction::read_set::ReadSet;

/// Number of attempts of a transaction. Each failed one means that another writer was successful,
/// so a thousand in a row mean that the transaction is too long for the writes beside it.
pub(crate) const ATTEMPTS_MAX: u32 = 1000;

impl Db {
    /// Runs `body` in a transaction and commits it. If the commit conflicts, runs `body` again in a
    /// new one, at most a thousand times. So `body` should do nothing that must not be done twice.
    /// If it returns an error, the transaction is discarded and the error returned.
    ///
    /// # Errors
    /// The error of `body`; those of [`Transaction::commit`], but `Conflict` only after the last
    /// attempt.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// # db.put(b"from", &[9])?;
    /// let number = |value: Option<cairndb::Value>| value.map_or(0, |value| value[0]);
    /// let moved = db.transact(|transaction| {
    ///     let from = number(transaction.get(b"from")?);
    ///     let to = number(transaction.get(b"to")?);
    ///     let moved = from.min(5);
    ///     transaction.put(b"from", &[from - moved])?;
    ///     transaction.put(b"to", &[to + moved])?;
    ///     Ok(moved)
    /// })?;
    /// assert_eq!(moved, 5);
    /// # Ok(()) }
    /// ```
    pub fn transact<T>(&self, mut body: impl FnMut(&Transaction) -> Result<T>) -> Result<T> {
        for _ in 1..ATTEMPTS_MAX {
            let transaction = self.transaction();
            let result = body(&transaction)?;
            match transaction.commit() {
                Ok(()) => return Ok(result),
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                Err(error) => return Err(error),
            }
        }
        let transaction = self.transaction();
        let result = body(&transaction)?;
        transaction.commit()?;
        Ok(result)
    }

    /// Waits until everything written so far can be seen. A write that waits for its sync conflicts
    /// with a transaction that cannot see it yet, and would do so again.
    pub(crate) fn await_published(&self) -> Result<()> {
        let core = self.core();
        core.base.context.with_directory(core.wait_published())
    }

    /// Sets `key` to `new`, or removes it if that is `None`, if its value is `expected`, where
    /// `None` stands for no value. Returns whether it was. Compared and written at one moment: no
    /// other write comes in between.
    ///
    /// # Errors
    /// Same as [`Db::get`] and [`Db::put`]; `Conflict` if the key was written a thousand times
    /// meanwhile, each time to `expected`.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// assert!(db.compare_and_set(b"leader", None, Some(b"node 1"))?);
    /// assert!(!db.compare_and_set(b"leader", None, Some(b"node 2"))?);
    /// assert!(db.compare_and_set(b"leader", Some(b"node 1"), None)?);
    /// # Ok(()) }
    /// ```
    pub fn compare_and_set(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool> {
        let (mut batch, mut reads) = (WriteBatch::new(), ReadSet::default());
        match new {
            Some(value) => batch.put(key, value),
            None => batch.delete(key),
        }
        reads.add_key(StoredKey::plain(key));
        let core = self.core();
        let durability = core.base.settings.durability;
        let mut attempts = ATTEMPTS_MAX;
        loop {
            let snapshot = self.snapshot();
            let found: Option<Value> = snapshot.get(key)?;
            if found.as_deref() != expected {
                return Ok(false);
            }
            let dependencies = Dependencies {
                reads: &reads,
                written: None,
            };
            attempts -= 1;
            match commit(core, &batch, durability, snapshot.seq(), dependencies) {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Conflict && attempts > 0 => {
                    self.await_published()?;
                }
                Err(error) => return core.base.context.with_directory(Err(error)),
            }
        }
    }
}
