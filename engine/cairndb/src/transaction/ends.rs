//! The first and the last entry.

use cairndb_base::Result;

use crate::api::cursor::Cursor;
use crate::api::db::Db;
use crate::api::snapshot::Snapshot;
use crate::api::value::Value;
use crate::api::walk::Entry;
use crate::transaction::cursor::TransactionCursor;
use crate::transaction::handle::Transaction;
use crate::transaction::options::Isolation;
use crate::transaction::popped::{KeyEnd, Popped};

/// Returns the entry at `end`, to which the cursor moves.
pub(super) fn entry_at(cursor: &mut Cursor, end: KeyEnd) -> Result<Option<Entry>> {
    match end {
        KeyEnd::First => cursor.seek_to_first()?,
        KeyEnd::Last => cursor.seek_to_last()?,
    }
    Ok(current_entry(cursor))
}

/// Returns the entry that the cursor is on.
pub(super) fn current_entry(cursor: &Cursor) -> Option<Entry> {
    let entry = || (Value::from(cursor.key()), cursor.owned_value());
    cursor.valid().then(entry)
}

impl Snapshot {
    /// Returns the first entry, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn first(&self) -> Result<Option<Entry>> {
        entry_at(&mut self.cursor(), KeyEnd::First)
    }

    /// Returns the last entry, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn last(&self) -> Result<Option<Entry>> {
        entry_at(&mut self.cursor(), KeyEnd::Last)
    }
}

impl Transaction {
    /// Returns the first entry that the transaction sees, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn first(&self) -> Result<Option<Entry>> {
        self.entry_at(KeyEnd::First)
    }

    /// Returns the last entry that the transaction sees, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn last(&self) -> Result<Option<Entry>> {
        self.entry_at(KeyEnd::Last)
    }

    /// Removes the first entry and returns it, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`] and [`Transaction::delete`].
    pub fn pop_first(&self) -> Result<Option<Entry>> {
        self.pop(KeyEnd::First)
    }

    /// Removes the last entry and returns it, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`] and [`Transaction::delete`].
    pub fn pop_last(&self) -> Result<Option<Entry>> {
        self.pop(KeyEnd::Last)
    }

    fn entry_at(&self, end: KeyEnd) -> Result<Option<Entry>> {
        let mut cursor: TransactionCursor<'_> = self.cursor();
        match end {
            KeyEnd::First => cursor.seek_to_first()?,
            KeyEnd::Last => cursor.seek_to_last()?,
        }
        let entry = || (Value::from(cursor.key()), cursor.owned_value());
        Ok(cursor.valid().then(entry))
    }

    fn pop(&self, end: KeyEnd) -> Result<Option<Entry>> {
        let popped = self.popped.borrow_mut().take(end);
        let mut cursor = self.cursor();
        match (end, &popped) {
            (KeyEnd::First, None) => cursor.seek_to_first()?,
            (KeyEnd::Last, None) => cursor.seek_to_last()?,
            // Everything up to that key was popped, and is not searched again.
            (KeyEnd::First, Some(popped)) => cursor.seek(&popped.key)?,
            (KeyEnd::Last, Some(popped)) => cursor.seek_for_prev(&popped.key)?,
        }
        let entry = || (Value::from(cursor.key()), cursor.owned_value());
        let entry = cursor.valid().then(entry);
        // Records what was read.
        drop(cursor);
        let mut reads = self.reads.borrow_mut();
        let span = match popped.and_then(|popped| popped.span) {
            Some(span) => {
                reads.join_last(span, end == KeyEnd::First);
                Some(span)
            }
            None if self.isolation == Isolation::Serializable => reads.last_span(),
            None => None,
        };
        drop(reads);
        if let Some((key, _)) = &entry {
            self.delete(key)?;
            let key = key.to_vec();
            self.popped.borrow_mut().keep(end, Popped { key, span });
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
        entry_at(&mut self.cursor(), KeyEnd::First)
    }

    /// Returns the last entry, or `None` if there is none.
    ///
    /// # Errors
    /// Same as [`Cursor::seek`].
    pub fn last(&self) -> Result<Option<Entry>> {
        entry_at(&mut self.cursor(), KeyEnd::Last)
    }
}
