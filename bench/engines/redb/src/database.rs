//! The library's database with its tables, and the transactions of a store.

use std::path::Path;

use bench_core::engine::Durability;
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use redb::{ReadOnlyTable, ReadableDatabase as _, TableDefinition, WriteTransaction};

use crate::error::fault;

/// A table of byte strings, open for reading.
pub(crate) type TableReader = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// The only table, if there are no keyspaces.
const TABLE: &str = "entries";

const fn table(name: &str) -> TableDefinition<'_, &'static [u8], &'static [u8]> {
    TableDefinition::new(name)
}

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) inner: redb::Database,
    durability: Durability,
    /// The names of the tables.
    names: Vec<String>,
}

impl Database {
    /// Opens the file at `path`, or creates it. Creates missing tables, because reads need them.
    pub(crate) fn open(path: &Path, settings: &Settings) -> Result<Self, Fault> {
        let cache_bytes = usize::try_from(settings.memory.total_bytes)
            .map_err(|_| Fault::new("more memory than can be addressed"))?;
        let inner = redb::Database::builder()
            .set_cache_size(cache_bytes)
            .create(path)
            .map_err(fault)?;
        let mut names: Vec<String> = settings.keyspace_names().collect();
        if names.is_empty() {
            names.push(TABLE.to_owned());
        }
        let reader = inner.begin_read().map_err(fault)?;
        let found = reader.list_tables().map_err(fault)?.count();
        if found < names.len() {
            let writer = inner.begin_write().map_err(fault)?;
            for name in &names {
                writer.open_table(table(name)).map_err(fault)?;
            }
            writer.commit().map_err(fault)?;
        }
        Ok(Self {
            inner,
            durability: settings.durability,
            names,
        })
    }

    /// Returns the definition of a table, which is opened in each transaction.
    #[inline]
    pub(crate) fn table(&self, index: usize) -> TableDefinition<'_, &'static [u8], &'static [u8]> {
        table(&self.names[index])
    }

    /// Returns a table as of now.
    #[inline]
    pub(crate) fn reader(&self, index: usize) -> Result<TableReader, Fault> {
        let transaction = self.inner.begin_read().map_err(fault)?;
        transaction.open_table(self.table(index)).map_err(fault)
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
