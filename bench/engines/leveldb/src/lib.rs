//! LevelDB through its C interface.
//!
//! The cost of the interface itself is part of the row: a call through a pointer for each step, an
//! allocation for each value that `get` returns, and a copy of each error path. The settings are
//! those of LevelDB's own program: Snappy unless switched off, blocks of 4 KiB, no filter unless
//! requested.

mod options;
mod store;
mod sys;

use std::path::Path;

use bench_core::engine::{Capabilities, Engine};
use bench_core::fault::Fault;
use bench_core::host::library::Library;
use bench_core::workload::settings::Settings;

pub use store::{LevelSession, LevelStore};
use sys::Api;

/// The loaded library. The engine is a reference to it, so that every store can borrow it.
#[derive(Debug)]
pub struct LevelDb {
    api: Api,
    name: &'static str,
    title: &'static str,
}

impl LevelDb {
    /// Loads the library at `path`, or the installed one.
    ///
    /// # Errors
    /// If there is none, or if it lacks a symbol; the error names the symbol.
    pub fn load(path: Option<&Path>) -> Result<Self, Fault> {
        Ok(Self {
            api: Api::load(path)?,
            name: "leveldb",
            title: "LevelDB",
        })
    }

    /// Loads CairnDB's C library, which has the same functions, from `path` or as installed. The
    /// row shows what a program for LevelDB gets by changing the library.
    ///
    /// # Errors
    /// If there is none, or if it lacks a symbol; the error names the symbol.
    pub fn load_cairndb(path: Option<&Path>) -> Result<Self, Fault> {
        Ok(Self {
            api: Api::load(Some(path.unwrap_or(Path::new("libcairndb.so.0"))))?,
            name: "leveldb-on-cairndb",
            title: "CairnDB for LevelDB",
        })
    }
}

impl<'e> Engine for &'e LevelDb {
    type Store = LevelStore<'e>;

    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn version(&self) -> String {
        self.api.version_text()
    }

    fn library(&self) -> Option<Library> {
        Some(self.api.library())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            merge: false,
            flush: false,
            ..Capabilities::ALL
        }
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<LevelStore<'e>, Fault> {
        LevelStore::open(&self.api, dir, settings)
    }
}
