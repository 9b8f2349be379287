//! Removing the entries of a range that a condition does not keep.

use cairndb_base::{ErrorKind, Result};

use crate::api::db::Db;
use crate::api::range::KeyRange;
use crate::state::batch::WriteBatch;
use crate::state::sections::StoredKey;
use crate::transaction::commit::{Dependencies, commit};
use crate::transaction::handle::Transaction;
use crate::transaction::read_set::ReadSet;

/// Number of deletions that are committed together.
const DELETIONS_PER_BATCH: usize = 1000;
/// Number of bytes of their keys that are committed together.
const KEY_BYTES_PER_BATCH: usize = 1 << 20;

/// Deletions that have not been committed.
#[derive(Default)]
struct Deletions {
    batch: WriteBatch,
    reads: ReadSet,
}

impl Deletions {
    fn add(&mut self, key: &[u8]) {
        self.batch.delete(key);
        self.reads.add_key(StoredKey::plain(key));
    }

    fn are_enough(&self) -> bool {
        self.batch.len() >= DELETIONS_PER_BATCH || self.batch.byte_len() >= KEY_BYTES_PER_BATCH
    }
}

impl Transaction {
    /// Removes the entries in `range` for which `keep`, called with key and value in order, returns
    /// `false`. Returns the number of entries removed.
    ///
    /// # Errors
    /// The errors of a cursor and of [`Transaction::delete`].
    pub fn retain(
        &self,
        range: impl KeyRange,
        mut keep: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64> {
        let mut removed = 0;
        let mut entries = self.range(range).lending();
        while let Some((key, value)) = entries.next()? {
            if !keep(key, value) {
                self.delete(key)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

impl Db {
    /// Removes the entries in `range` for which `keep`, called with key and value in order, returns
    /// `false`. Returns the number of entries removed.
    ///
    /// Entries are removed in batches of at most a thousand, so that others can write in between; a
    /// crash or an error may leave a part of them. [`Transaction::retain`] removes all or none.
    /// `keep` sees the entries as of the beginning. If one is written by others after that, it is
    /// removed only if `keep`, called again, does not keep the new value either.
    ///
    /// # Errors
    /// The errors of [`Cursor::seek`](crate::Cursor::seek) and [`Db::write`].
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// db.put(b"session/1", b"expired")?;
    /// db.put(b"session/2", b"open")?;
    /// db.put(b"user/1", b"expired")?;
    /// let removed = db.retain("session/".."session0", |_, value| value != b"expired")?;
    /// assert_eq!(removed, 1);
    /// assert_eq!(db.iter().try_count()?, 2);
    /// # Ok(()) }
    /// ```
    pub fn retain(
        &self,
        range: impl KeyRange,
        mut keep: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64> {
        let snapshot = self.snapshot();
        let mut entries = snapshot.range(range).lending();
        let (mut removed, mut deletions) = (0, Deletions::default());
        while let Some((key, value)) = entries.next()? {
            if keep(key, value) {
                continue;
            }
            deletions.add(key);
            if deletions.are_enough() {
                removed += self.remove(snapshot.seq(), &deletions, &mut keep)?;
                deletions = Deletions::default();
            }
        }
        Ok(removed + self.remove(snapshot.seq(), &deletions, &mut keep)?)
    }

    /// Commits `deletions`, or if some of their keys were written after `since`, each for itself.
    fn remove(
        &self,
        since: cairndb_base::SeqNo,
        deletions: &Deletions,
        keep: &mut impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64> {
        if deletions.batch.is_empty() {
            return Ok(0);
        }
        let core = self.core();
        let durability = core.base.settings.durability;
        let dependencies = Dependencies {
            reads: &deletions.reads,
            written: None,
        };
        match commit(core, &deletions.batch, durability, since, dependencies) {
            Ok(()) => return Ok(deletions.batch.len() as u64),
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            Err(error) => return core.base.context.with_directory(Err(error)),
        }
        let mut removed = 0;
        for key in deletions.reads.keys().map(StoredKey::users) {
            removed += self.transact(|transaction| {
                let value = transaction.get(key)?;
                let Some(value) = value.filter(|value| !keep(key, value)) else {
                    return Ok(0);
                };
                drop(value);
                transaction.delete(key)?;
                Ok(1)
            })?;
        }
        Ok(removed)
    }
}
