//! RocksDB through its C interface.
//!
//! The cost of the interface itself is part of the row: a call through a pointer for each step and
//! one small allocation for each value found (`rocksdb_get_pinned`, which does not copy the value).
//!
//! Settings: Snappy unless turned off, no filter unless requested, and otherwise the library's
//! defaults. Its cache gets the read share of the memory. Its write buffer gets the write share, as
//! `write_buffer_size`, with `max_write_buffer_number` 2: as in LevelDB, the setting limits the
//! buffer being filled, and another buffer of the same size may be waiting for the disk. Statistics
//! cost time in every operation, so they are kept only with `--statistics`; without them the
//! library cannot report how many bytes it has written. Key comparisons, which the library counts
//! by default, are not counted, as in its own program (`perf_level` 1 in each calling thread).
//!
//! Merges use the library's own merge with an operator that keeps the greater value. The log is
//! written to the operating system with every write, which is the default.

mod counters;
mod database;
mod effective;
mod max_merge;
mod options;
mod session;
mod store;
mod sys;
mod version;

use std::path::Path;

use bench_core::engine::{Capabilities, Engine};
use bench_core::fault::Fault;
use bench_core::host::library::Library;
use bench_core::workload::settings::Settings;

pub use session::RocksSession;
pub use store::RocksStore;
use sys::Api;

/// The loaded library. The engine is a reference to it, so that every store can borrow it.
#[derive(Debug)]
pub struct RocksDb {
    api: Api,
}

impl RocksDb {
    /// Loads the library at `path`, or the installed one.
    ///
    /// # Errors
    /// If there is none, or if it lacks a symbol; the error names the symbol.
    pub fn load(path: Option<&Path>) -> Result<Self, Fault> {
        Ok(Self {
            api: Api::load(path)?,
        })
    }
}

impl<'e> Engine for &'e RocksDb {
    type Store = RocksStore<'e>;

    fn name(&self) -> &'static str {
        "rocksdb"
    }

    fn title(&self) -> &'static str {
        "RocksDB"
    }

    fn version(&self) -> String {
        version::version_text(&self.api)
    }

    fn library(&self) -> Option<Library> {
        Some(self.api.library())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch: true,
            merge: true,
            snapshot: true,
            reverse: true,
            seek: true,
            compact: true,
            flush: true,
            sync: true,
            sync_later: true,
            stores: true,
        }
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<RocksStore<'e>, Fault> {
        RocksStore::open(&self.api, dir, settings)
    }
}
