//! LMDB through its C interface.
//!
//! It has no cache of its own: what it reads and writes is the page cache, so the memory setting
//! means nothing to it, and it never compresses. `Os` rows open it with `NOSYNC | WRITEMAP` (a
//! commit is in the shared map and survives the process), `Sync` rows with its default flags. One
//! write transaction for each operation or batch, append mode for sequential fills of an empty
//! store. One read transaction a session, with one cursor, renewed for each read, group of reads or
//! scan. Without read-ahead where the raw data may be more than half of the machine's memory, as
//! its documents advise.

mod cursor;
mod store;
mod sys;

use std::path::Path;

use bench_core::engine::{Capabilities, Engine};
use bench_core::fault::Fault;
use bench_core::host::library::Library;
use bench_core::workload::settings::Settings;

pub use cursor::LmdbCursor;
pub use store::{LmdbSession, LmdbStore};
use sys::Api;

/// The loaded library. The engine is a reference to it, so that every store can borrow it.
#[derive(Debug)]
pub struct Lmdb {
    api: Api,
}

impl Lmdb {
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

impl<'e> Engine for &'e Lmdb {
    type Store = LmdbStore<'e>;

    fn name(&self) -> &'static str {
        "lmdb"
    }

    fn title(&self) -> &'static str {
        "LMDB"
    }

    fn version(&self) -> String {
        self.api.version_text()
    }

    fn library(&self) -> Option<Library> {
        Some(self.api.library())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch: true,
            merge: false,
            snapshot: true,
            reverse: true,
            seek: true,
            compact: true,
            flush: true,
            sync: true,
            stores: true,
        }
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<LmdbStore<'e>, Fault> {
        LmdbStore::open(&self.api, dir, settings)
    }
}

#[cfg(test)]
mod tests;
