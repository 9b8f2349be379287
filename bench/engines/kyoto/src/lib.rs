//! Kyoto Cabinet's TreeDB through its C interface.
//!
//! TreeDB is a B+ tree whose pages are in a hash file of the same library. Dirty pages stay in the
//! process until they are evicted, so a write that has returned does not survive a crash of the
//! process: such rows are shown as below `Os` and not ranked. With `OAUTOSYNC`, every write reaches
//! the medium. There is no atomic batch on disk and no compaction call. Records are read in place
//! through visitors, the cheapest way of the interface.

mod cursor;
mod options;
mod store;
mod sys;
mod visit;

use std::path::Path;

use bench_core::engine::{Capabilities, Durability, Engine, Survival, Variant};
use bench_core::fault::Fault;
use bench_core::host::library::Library;
use bench_core::workload::settings::Settings;

pub use cursor::TreeCursor;
pub use store::{TreeSession, TreeStore};
use sys::Api;

/// The loaded library. The engine is a reference to it, so that every store can borrow it.
#[derive(Debug)]
pub struct TreeDb {
    api: Api,
}

impl TreeDb {
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

impl<'e> Engine for &'e TreeDb {
    type Store = TreeStore<'e>;

    fn name(&self) -> &'static str {
        "kyoto_treedb"
    }

    fn title(&self) -> &'static str {
        "Kyoto TreeDB"
    }

    fn version(&self) -> String {
        self.api.version_text().to_owned()
    }

    fn library(&self) -> Option<Library> {
        Some(self.api.library())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch: false,
            merge: false,
            snapshot: false,
            reverse: true,
            seek: true,
            compact: false,
            flush: true,
            sync: true,
            sync_later: false,
            stores: true,
        }
    }

    fn without_batch(&self) -> Option<&'static str> {
        Some("not atomic")
    }

    fn survival(&self, asked: Durability, _variant: Variant) -> Survival {
        match asked {
            Durability::Os => Survival::BelowOs,
            Durability::Sync => Survival::Sync,
        }
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<TreeStore<'e>, Fault> {
        TreeStore::open(&self.api, dir, settings)
    }
}
