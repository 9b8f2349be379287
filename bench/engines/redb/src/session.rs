//! One thread's session: its write transaction, if a batch is being built, and its read table, if a
//! cursor was made.

use std::fmt;
use std::ops::Bound;

use bench_core::engine::{End, Session};
use bench_core::fault::Fault;
use redb::{ReadableTable as _, Table, WriteTransaction};

use crate::cursor::RedbCursor;
use crate::database::{Database, TableReader};
use crate::error::fault;
use crate::pending::{Change, Pending};

/// One thread's session.
pub struct RedbSession<'s> {
    database: &'s Database,
    /// The position of the table of the next call.
    table: usize,
    /// Whether keys come in ascending order, after all that exist.
    appending: bool,
    /// The transaction of the batch being built, once `pending` was full.
    writer: Option<WriteTransaction>,
    /// The part of the batch that the transaction does not contain yet: a table borrows its
    /// transaction, so it cannot be kept between calls, and opening one for each entry would
    /// dominate.
    pending: Pending,
    /// The table of the last cursor. Dropped by the next call, which ends its read transaction.
    scanned: Option<TableReader>,
}

impl fmt::Debug for RedbSession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbSession")
            .field("appending", &self.appending)
            .finish_non_exhaustive()
    }
}

impl<'s> RedbSession<'s> {
    pub(crate) fn new(database: &'s Database, appending: bool) -> Self {
        Self {
            database,
            table: 0,
            appending,
            writer: None,
            pending: Pending::default(),
            scanned: None,
        }
    }

    /// Runs one change in a write transaction of its own.
    #[inline]
    fn alone<R>(
        &mut self,
        change: impl FnOnce(&mut Table<'_, &[u8], &[u8]>) -> Result<R, redb::StorageError>,
    ) -> Result<R, Fault> {
        self.scanned = None;
        let writer = self.database.writer()?;
        let mut table = writer
            .open_table(self.database.table(self.table))
            .map_err(fault)?;
        let result = change(&mut table).map_err(fault)?;
        drop(table);
        writer.commit().map_err(fault)?;
        Ok(result)
    }

    /// Moves the pending changes to the transaction.
    fn drain(&mut self) -> Result<(), Fault> {
        if self.writer.is_none() {
            self.scanned = None;
            self.writer = Some(self.database.writer()?);
        }
        let Some(writer) = &self.writer else {
            return Err(Fault::new("a batch without a transaction"));
        };
        let mut table = writer
            .open_table(self.database.table(self.table))
            .map_err(fault)?;
        if self.appending {
            append(&mut table, &self.pending)?;
        } else {
            apply(&mut table, &self.pending)?;
        }
        self.pending.clear();
        Ok(())
    }
}

/// Applies changes in any order.
fn apply(table: &mut Table<'_, &[u8], &[u8]>, pending: &Pending) -> Result<(), Fault> {
    for change in pending.iter() {
        match change {
            Change::Put(key, value) => drop(table.insert(key, value).map_err(fault)?),
            Change::Delete(key) => drop(table.remove(key).map_err(fault)?),
        }
    }
    Ok(())
}

/// Appends puts after the last key of the table.
fn append(table: &mut Table<'_, &[u8], &[u8]>, pending: &Pending) -> Result<(), Fault> {
    let end = Bound::<&[u8]>::Unbounded;
    let mut cursor = table.upper_bound_mut(end).map_err(fault)?;
    for change in pending.iter() {
        if let Change::Put(key, value) = change {
            cursor.insert_before(key, value).map_err(fault)?;
        }
    }
    cursor.close().map_err(fault)
}

impl Session for RedbSession<'_> {
    type Cursor<'c>
        = RedbCursor<'c>
    where
        Self: 'c;

    #[inline]
    fn enter(&mut self, keyspace: u32) -> Result<(), Fault> {
        self.table = keyspace as usize;
        Ok(())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.alone(|table| table.insert(key, value).map(drop))
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.alone(|table| table.remove(key).map(drop))
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        self.scanned = None;
        let table = self.database.reader(self.table)?;
        let value = redb::ReadableTable::get(&table, key).map_err(fault)?;
        Ok(value.map(|value| found(value.value())))
    }

    /// Reads all keys in one read transaction.
    fn multi_get(
        &mut self,
        keys: &[&[u8]],
        mut each: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Fault> {
        self.scanned = None;
        let table = self.database.reader(self.table)?;
        for (index, key) in keys.iter().enumerate() {
            let value = redb::ReadableTable::get(&table, *key).map_err(fault)?;
            each(index, value.as_ref().map(redb::AccessGuard::value));
        }
        Ok(())
    }

    #[inline]
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.pending.put(key, value);
        if self.pending.is_full() {
            self.drain()?;
        }
        Ok(())
    }

    #[inline]
    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        self.pending.delete(key);
        if self.pending.is_full() {
            self.drain()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Fault> {
        self.scanned = None;
        self.database.persist()
    }

    #[inline]
    fn pop<R>(
        &mut self,
        end: End,
        popped: impl FnOnce(&[u8], &[u8]) -> R,
    ) -> Result<Option<R>, Fault> {
        self.alone(|table| {
            let entry = match end {
                End::First => table.pop_first()?,
                End::Last => table.pop_last()?,
            };
            Ok(entry.map(|(key, value)| popped(key.value(), value.value())))
        })
    }

    fn extract(
        &mut self,
        (from, to): (&[u8], &[u8]),
        mut wanted: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Fault> {
        self.alone(|table| {
            for entry in table.extract_from_if(from..to, |key, value| wanted(key, value))? {
                entry?;
            }
            Ok(())
        })
    }

    fn iterate(&mut self, mut each: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Fault> {
        self.scanned = None;
        let table = self.database.reader(self.table)?;
        for entry in table.iter().map_err(fault)? {
            let (key, value) = entry.map_err(fault)?;
            if !each(key.value(), value.value()) {
                break;
            }
        }
        Ok(())
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        if !self.pending.is_empty() {
            self.drain()?;
        }
        self.writer
            .take()
            .map_or(Ok(()), |writer| writer.commit().map_err(fault))
    }

    #[inline]
    fn cursor(&mut self) -> Result<RedbCursor<'_>, Fault> {
        // The old read transaction ends first.
        self.scanned = None;
        let table = self.database.reader(self.table)?;
        Ok(RedbCursor::new(self.scanned.insert(table)))
    }
}
