//! An open redb database.

use std::path::Path;

use bench_core::engine::{Durability, Role, Store};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

use crate::database::Database;
use crate::error::fault;
use crate::session::RedbSession;

/// The file in the directory.
const FILE: &str = "data.redb";

/// An open redb database.
#[derive(Debug)]
pub struct RedbStore {
    database: Database,
    asked: Settings,
}

impl RedbStore {
    pub(crate) fn open(dir: &Path, settings: &Settings) -> Result<Self, Fault> {
        let database = Database::open(&dir.join(FILE), settings)?;
        Ok(Self {
            database,
            asked: *settings,
        })
    }
}

impl Store for RedbStore {
    type Session<'s> = RedbSession<'s>;

    fn session(&self, role: Role) -> Result<RedbSession<'_>, Fault> {
        Ok(RedbSession::new(&self.database, role.appending))
    }

    /// Compacts once, as redb's own benchmark does.
    fn compact(&mut self) -> Result<(), Fault> {
        self.database.inner.compact().map(|_| ()).map_err(fault)
    }

    fn drop_keyspace(&mut self, index: u32) -> Result<(), Fault> {
        let writer = self.database.writer()?;
        let table = self.database.table(index as usize);
        writer.delete_table(table).map_err(fault)?;
        writer.commit().map_err(fault)
    }

    /// Writes the pages that unsynced rows leave in the cache.
    fn flush(&mut self) -> Result<(), Fault> {
        self.database.persist()
    }

    fn property(&self, name: &str) -> Option<String> {
        if !matches!(name, "leveldb.stats" | "statistics") {
            return None;
        }
        // Statistics belong to a write transaction.
        let writer = self.database.inner.begin_write().ok()?;
        let stats = writer.stats().ok()?;
        writer.abort().ok()?;
        Some(format!(
            "page bytes {}, height {}, branch pages {}, leaf pages {}, pages {}, stored bytes {}, \
             fragmented bytes {}",
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
        self.database.inner.close().map_err(fault)
    }
}
