//! An open redb database.

use std::path::Path;

use bench_core::engine::{Durability, Quiet, Role, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use redb::{Database, ReadOnlyTable, ReadableDatabase as _, TableDefinition, WriteTransaction};

use crate::fault;
use crate::session::RedbSession;

/// The file in the directory.
const FILE: &str = "data.redb";

/// A table of byte strings, open for reading.
pub(crate) type Reader = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// The only table.
pub(crate) const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("entries");

/// An open redb database.
#[derive(Debug)]
pub struct RedbStore {
    database: Database,
    asked: Settings,
}

impl RedbStore {
    pub(crate) fn open(dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        let bytes = usize::try_from(settings.memory.total_bytes)
            .map_err(|_| Fault::new("more memory than can be addressed"))?;
        let path = dir.join(FILE);
        let is_new = !path.exists();
        let database = Database::builder()
            .set_cache_size(bytes)
            .create(path)
            .map_err(fault)?;
        if is_new {
            // Reads need the table.
            let writer = database.begin_write().map_err(fault)?;
            writer.open_table(TABLE).map_err(fault)?;
            writer.commit().map_err(fault)?;
        }
        Ok(Self {
            database,
            asked: *settings,
        })
    }

    /// Returns the table as of now.
    #[inline]
    pub(crate) fn reader(&self) -> Result<Reader, Fault> {
        let transaction = self.database.begin_read().map_err(fault)?;
        transaction.open_table(TABLE).map_err(fault)
    }

    /// Begins a write transaction of the durability that the store was opened for.
    #[inline]
    pub(crate) fn writer(&self) -> Result<WriteTransaction, Fault> {
        let mut writer = self.database.begin_write().map_err(fault)?;
        if self.asked.durability == Durability::Os {
            let durability = redb::Durability::None;
            writer.set_durability(durability).map_err(fault)?;
        }
        Ok(writer)
    }

    /// Makes all commits so far durable, by an immediate commit without changes.
    fn persist(&self) -> Result<(), Fault> {
        let writer = self.database.begin_write().map_err(fault)?;
        writer.commit().map_err(fault)
    }
}

impl Store for RedbStore {
    type Session<'s> = RedbSession<'s>;

    fn session(&self, role: Role) -> Result<RedbSession<'_>, Fault> {
        Ok(RedbSession::new(self, role.appending))
    }

    /// Compacts once, as redb's own benchmark does.
    fn compact(&mut self) -> Result<(), Fault> {
        self.database.compact().map(|_| ()).map_err(fault)
    }

    /// Writes the pages that unsynced rows leave in the cache.
    fn flush(&mut self) -> Result<(), Fault> {
        self.persist()
    }

    /// A write is finished when it returns: there is no background work.
    fn quiesce(&self) -> Result<Quiet, Fault> {
        Ok(Quiet::Known)
    }

    fn property(&self, name: &str) -> Option<String> {
        if !matches!(name, "leveldb.stats" | "statistics") {
            return None;
        }
        // Statistics belong to a write transaction.
        let writer = self.database.begin_write().ok()?;
        let stats = writer.stats().ok()?;
        writer.abort().ok()?;
        Some(format!(
            "page bytes {}, height {}, branch pages {}, leaf pages {}, pages {}, stored bytes {}, fragmented bytes {}",
            stats.page_size(),
            stats.tree_height(),
            stats.branch_pages(),
            stats.leaf_pages(),
            stats.allocated_pages(),
            stats.stored_bytes(),
            stats.fragmented_bytes(),
        ))
    }

    /// Returns the requested values: the library reports none.
    fn options(&self) -> Vec<(String, String)> {
        let durability = match self.asked.durability {
            Durability::Os => "none",
            Durability::Sync => "immediate",
        };
        let reported = [
            ("cache_size", self.asked.memory.total_bytes.to_string()),
            ("durability", durability.to_owned()),
            ("compression", "none".to_owned()),
            (
                "checksums",
                "of each page, verified by a repair only".to_owned(),
            ),
        ];
        let reported = reported.map(|(name, value)| (name.to_owned(), value));
        reported.into_iter().chain(self.asked.unused()).collect()
    }

    fn close(self) -> Result<(), Fault> {
        self.database.close().map_err(fault)
    }
}
