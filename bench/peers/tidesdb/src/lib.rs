//! `TidesDB` 10, a log-structured merge tree in C with B-tree tables, through its authors' crate.
//!
//! The crate compiles the library from bundled sources. The cost of its interface is part of the
//! row: each key and value that is read is copied twice, by the library and by the crate.
//!
//! Settings follow the authors' benchmark (`benchtool`, file `engine_tidesdb.c`): one column
//! family, LZ4, no log messages, read committed transactions, of which each session reuses one for
//! single writes, and a new one for each batch. Everything else is the library's default, also
//! where that program, which is written for version 9, has other values: two threads for flushes
//! and two for compactions, filters with 1 % false positives, B-tree nodes of 4 KiB, values of 1
//! KiB and more in a separate log. The read share of the memory is `block_cache_size`, the write
//! share is `memtable_write_buffer_size`. As in LevelDB, the latter limits the memtable being
//! filled; the library blocks writers only when sixteen more wait to be flushed. That number cannot
//! be lowered to RocksDB's one, because it also limits the tables of the first level.
//!
//! The default mode of the log, `None`, acknowledges a write when it is in a buffer of the process,
//! which another thread writes to the file. A killed process loses such writes. `Os` rows therefore
//! use the mode `Interval`: the call returns when that thread has written the record to the system.
//! Its periodic sync, which no other store has in these rows, is set to once a day. `Sync` rows use
//! the mode `Full`, which syncs the log before the call returns. In both modes tables and the
//! manifest are synced when they are written. The variant `seed` has the default mode, as the
//! authors' benchmark does.
//!
//! The library may report that a call was locked out by a flush or a compaction and must be
//! repeated, also for reads. The adapter does so.
//!
//! Gets read the newest committed state. A cursor reads the state of its creation.

mod calls;
mod cursor;
mod session;
mod store;

use std::path::Path;

use bench_core::engine::{Capabilities, Durability, Engine, Survival, Variant};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

pub use cursor::TidesCursor;
pub use session::TidesSession;
pub use store::TidesStore;

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct TidesDb;

impl Engine for TidesDb {
    type Store = TidesStore;

    fn name(&self) -> &'static str {
        "tidesdb"
    }

    fn title(&self) -> &'static str {
        "TidesDB"
    }

    /// The version of the library, not of the crate.
    fn version(&self) -> String {
        tidesdb::TIDESDB_LINKED_VERSION.to_owned()
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

    fn range_deletion(&self) -> bool {
        true
    }

    fn variants(&self) -> &'static [Variant] {
        &[Variant::Fair, Variant::Seed]
    }

    fn survival(&self, asked: Durability, variant: Variant) -> Survival {
        match (asked, variant) {
            (Durability::Os, Variant::Seed) => Survival::BelowOs,
            _ => asked.into(),
        }
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<TidesStore, Fault> {
        TidesStore::open(dir, settings)
    }
}
