//! RocksDB through its C interface.
//!
//! What the interface itself costs is part of the row: a call through a pointer for each step and
//! one small allocation for each value found (`rocksdb_get_pinned`, which does not copy the value).
//!
//! Settings: Snappy unless switched off, no filter unless asked for, and otherwise the library's
//! defaults. Its cache gets the share for reading. Its write buffer gets the share for writing, as
//! `write_buffer_size`, with `max_write_buffer_number` 2: as in LevelDB, the setting bounds the
//! buffer being filled, and one more of the same size may be waiting for the disk. Statistics cost
//! time in every operation, so they are kept only with `--statistics`; without them the library
//! cannot report how many bytes it has written. Comparisons of keys, which the library counts by
//! default, are not counted, as in its own program (`perf_level` 1, in each thread that calls it).
//!
//! A merge is the library's own, with an operator that keeps the greater value; the log is handed
//! to the operating system with every write, as is its default.

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
    /// Loads the library at `path`, or the one installed.
    ///
    /// # Errors
    /// When there is none, or it lacks a symbol, which is named.
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
            stores: true,
        }
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<RocksStore<'e>, Fault> {
        RocksStore::open(&self.api, dir, settings)
    }
}
