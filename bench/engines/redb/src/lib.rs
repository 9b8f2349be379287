//! redb, a B-tree with copy-on-write pages, written in Rust and compiled into the program.
//!
//! Its cache, which also holds the pages of uncommitted and unsynced writes, gets the whole memory
//! setting. It never compresses. Each operation or batch is one write transaction. `Sync` rows
//! commit with `Durability::Immediate`, `Os` rows with `Durability::None`, as redb's own benchmark
//! does. The latter keeps commits in the process until the next immediate one, so such rows are
//! shown as below `Os` and not ranked. A backend that leaves out the sync would keep them at `Os`,
//! but no user has one.
//!
//! Each point read, group of reads or scan has a read transaction of its own, as with LMDB. Scans
//! use `Cursor`, which takes two thirds of the time of `Range` per entry. Sorted batches after all
//! existing keys use `CursorMut::insert_before`, as redb's own benchmark does.

mod cursor;
mod database;
mod error;
mod pending;
mod session;
mod store;

use std::path::Path;

use bench_core::engine::{Capabilities, Durability, Engine, Survival, Variant};
use bench_core::fault::Fault;
use bench_core::host::lock_file;
use bench_core::workload::settings::Settings;

pub use cursor::RedbCursor;
pub use session::RedbSession;
pub use store::RedbStore;

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Redb;

impl Engine for Redb {
    type Store = RedbStore;

    fn name(&self) -> &'static str {
        "redb"
    }

    fn title(&self) -> &'static str {
        "redb"
    }

    fn version(&self) -> String {
        let lock = include_str!("../../../../Cargo.lock");
        lock_file::version_of(lock, "redb").to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            merge: false,
            ..Capabilities::ALL
        }
    }

    fn keyspaces(&self) -> bool {
        true
    }

    fn survival(&self, asked: Durability, _variant: Variant) -> Survival {
        match asked {
            Durability::Os => Survival::BelowOs,
            Durability::Sync => Survival::Sync,
        }
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<RedbStore, Fault> {
        RedbStore::open(dir, settings)
    }
}

#[cfg(test)]
mod tests;
