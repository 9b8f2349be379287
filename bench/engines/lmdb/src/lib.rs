//! LMDB through its C interface.
//!
//! LMDB has no cache of its own: it reads and writes the page cache, so the memory setting has no
//! effect on it. It never compresses. `Os` rows open it with `NOSYNC | WRITEMAP` (a commit is in
//! the shared map and survives a crash of the process), `Sync` rows with its default flags. Each
//! operation or batch is one write transaction; sequential fills of an empty store use append mode.
//! Each session has one read transaction with one cursor, which is renewed for each read, group of
//! reads or scan. Read-ahead is off if the raw data may exceed half of the machine's memory, as its
//! documentation advises.

mod cursor;
mod edit;
mod session;
mod store;
mod sys;

use std::path::Path;

use bench_core::engine::{Capabilities, Engine};
use bench_core::fault::Fault;
use bench_core::host::library::Library;
use bench_core::workload::settings::Settings;

pub use cursor::LmdbCursor;
pub use session::LmdbSession;
pub use store::LmdbStore;
use sys::Api;

/// The loaded library. The engine is a reference to it, so that every store can borrow it.
#[derive(Debug)]
pub struct Lmdb {
    api: Api,
}

impl Lmdb {
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
            sync_later: true,
            stores: true,
        }
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<LmdbStore<'e>, Fault> {
        LmdbStore::open(&self.api, dir, settings)
    }
}

#[cfg(test)]
mod tests;
