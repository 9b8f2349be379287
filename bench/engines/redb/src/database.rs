//! The library's database with its one table, and the transactions of a store.

use std::path::Path;

use bench_core::engine::Durability;
use bench_core::fault::Fault;
use redb::{ReadOnlyTable, ReadableDatabase as _, TableDefinition, WriteTransaction};

use crate::error::fault;

/// A table of byte strings, open for reading.
pub(crate) type TableReader = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// The only table.
pub(crate) const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) inner: redb::Database,
    durability: Durability,
}

impl Database {
    /// Opens the file at `path`, or creates it with an empty table.
    pub(crate) fn open(
        path: &Path,
        cache_bytes: usize,
        durability: Durability,
    ) -> Result<Self, Fault> {
        let is_new = !path.exists();
        let inner = redb::Database::builder()
            .set_cache_size(cache_bytes)
            .create(path)
            .map_err(fault)?;
        if is_new {
            // Reads need the table.
            let writer = inner.begin_write().map_err(fault)?;
            writer.open_table(TABLE).map_err(fault)?;
            writer.commit().map_err(fault)?;
        }
        Ok(Self { inner, durability })
    }

    /// Returns the table as of now.
    #[inline]
    pub(crate) fn reader(&self) -> Result<TableReader, Fault> {
        let transaction = self.inner.begin_read().map_err(fault)?;
        transaction.open_table(TABLE).map_err(fault)
    }

    /// Begins a write transaction of the durability that the database was opened for.
    #[inline]
    pub(crate) fn writer(&self) -> Result<WriteTransaction, Fault> {
        let mut writer = self.inner.begin_write().map_err(fault)?;
        if self.durability == Durability::Os {
            let durability = redb::Durability::None;
            writer.set_durability(durability).map_err(fault)?;
        }
        Ok(writer)
    }

    /// Makes all commits so far durable, by an immediate commit without changes.
    pub(crate) fn persist(&self) -> Result<(), Fault> {
        let writer = self.inner.begin_write().map_err(fault)?;
        writer.commit().map_err(fault)
    }
}
