//! The first and the last entry: reading them, and taking them out.

use std::ops::Bound;

use cairndb_base::{Error, ErrorKind, Result};

use crate::api::cursor::Cursor;
use crate::api::db::Db;
use crate::api::snapshot::Snapshot;
use crate::api::value::Value;
use crate::api::walk::Entry;
use crate::log::commit::Commit;
use crate::read::conflicts::Span;
use crate::state::batch::WriteBatch;
use crate::transaction::commit::{Dependencies, commit};
use crate::transaction::cursor::TransactionCursor;
use crate::transaction::handle::Transaction;
use crate::transaction::read_set::ReadSet;
use crate::transaction::retry::ATTEMPTS_MAX;

/// One end of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    First,
    Last,
}

fn entry_at(mut cursor: Cursor, end: End) -> Result<Option<Entry>> {
    match end {
        End::First => cursor.seek_to_first()?,
        End::Last => cursor.seek_to_last()?,
    }
    let entry = || (Value::from(cursor.key()), cursor.owned_value());
    Ok(cursor.valid().then(entry))
}

impl Snapshot {
    /// Returns the first entry, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn first(&self) -> Result<Option<Entry>> {
        entry_at(self.cursor(), End::First)
    }

    /// Returns the last entry, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn last(&self) -> Result<Option<Entry>> {
        entry_at(self.cursor(), End::Last)
    }
}

impl Transaction {
    /// Returns the first entry that the transaction sees, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn first(&self) -> Result<Option<Entry>> {
        self.entry_at(End::First)
    }

    /// Returns the last entry that the transaction sees, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn last(&self) -> Result<Option<Entry>> {
        self.entry_at(End::Last)
    }

    /// Removes the first entry and returns it, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`] and [`Transaction::delete`].
    pub fn pop_first(&self) -> Result<Option<Entry>> {
        self.pop(End::First)
    }

    /// Removes the last entry and returns it, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`] and [`Transaction::delete`].
    pub fn pop_last(&self) -> Result<Option<Entry>> {
        self.pop(End::Last)
    }

    fn entry_at(&self, end: End) -> Result<Option<Entry>> {
        let mut cursor: TransactionCursor<'_> = self.cursor();
        match end {
            End::First => cursor.seek_to_first()?,
            End::Last => cursor.seek_to_last()?,
        }
        let entry = || (Value::from(cursor.key()), cursor.owned_value());
        Ok(cursor.valid().then(entry))
    }

    fn pop(&self, end: End) -> Result<Option<Entry>> {
        let entry = self.entry_at(end)?;
        if let Some((key, _)) = &entry {
            self.delete(key)?;
        }
        Ok(entry)
    }
}

impl Db {
    /// Returns the first entry, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn first(&self) -> Result<Option<Entry>> {
        entry_at(self.cursor(), End::First)
    }

    /// Returns the last entry, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn last(&self) -> Result<Option<Entry>> {
        entry_at(self.cursor(), End::Last)
    }

    /// Removes the first entry and returns it, or `None` if there is none. Threads that do this at
    /// the same time get different entries, each the first one when it was removed.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`] and [`Db::delete`]; `Conflict` if other writers were faster a
    /// thousand times in a row.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// db.put(b"job 1", b"sweep")?;
    /// db.put(b"job 2", b"polish")?;
    /// let (key, value) = db.pop_first()?.expect("two jobs are left");
    /// assert_eq!((&*key, &*value), (&b"job 1"[..], &b"sweep"[..]));
    /// assert_eq!(db.iter().try_count()?, 1);
    /// # Ok(()) }
    /// ```
    pub fn pop_first(&self) -> Result<Option<Entry>> {
        self.pop(End::First)
    }

    /// Removes the last entry and returns it, or `None` if there is none. See [`Db::pop_first`].
    ///
    /// # Errors
    /// Same as [`Db::pop_first`].
    pub fn pop_last(&self) -> Result<Option<Entry>> {
        self.pop(End::Last)
    }

    fn pop(&self, end: End) -> Result<Option<Entry>> {
        let core = self.core();
        let durability = core.shared.settings.durability;
        let mut batch = WriteBatch::new();
        // Without other writers no snapshot is needed: nothing is written in between.
        let cursor = self.cursor();
        let seq = cursor.seq();
        let Some(entry) = entry_at(cursor, end)? else {
            return Ok(None);
        };
        batch.delete(&entry.0);
        let undisturbed = |commit: &Commit| {
            if commit.last_seq == seq {
                return Ok(());
            }
            Err(Error::new(ErrorKind::Conflict, "something was written"))
        };
        let popped = core.write_batch_if(&batch, durability, &undisturbed);
        match popped {
            Ok(()) => return Ok(Some(entry)),
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            Err(error) => return core.shared.context.with_directory(Err(error)),
        }
        self.pop_beside_others(end)
    }

    #[cold]
    fn pop_beside_others(&self, end: End) -> Result<Option<Entry>> {
        let core = self.core();
        let durability = core.shared.settings.durability;
        for _ in 1..ATTEMPTS_MAX {
            let snapshot = self.snapshot();
            let Some(entry) = entry_at(snapshot.cursor(), end)? else {
                return Ok(None);
            };
            let (mut batch, mut reads) = (WriteBatch::new(), ReadSet::default());
            batch.delete(&entry.0);
            let key = Bound::Included(entry.0.to_vec());
            reads.add_span(match end {
                End::First => Span {
                    from: Bound::Unbounded,
                    to: key,
                },
                End::Last => Span {
                    from: key,
                    to: Bound::Unbounded,
                },
            });
            let dependencies = Dependencies {
                reads: &reads,
                written: None,
            };
            match commit(core, &batch, durability, snapshot.seq(), dependencies) {
                Ok(()) => return Ok(Some(entry)),
                Err(error) if error.kind() == ErrorKind::Conflict => self.await_published()?,
                Err(error) => return core.shared.context.with_directory(Err(error)),
            }
        }
        Err(Error::new(
            ErrorKind::Conflict,
            "other writers changed the end of the keys a thousand times; try again",
        ))
    }
}
