//! WiredTiger through its C interface, as a B-tree and as an LSM tree.
//!
//! There are two variants of settings. `fair` writes the log to the system at each commit, enables
//! checksums and uses raw bytes as keys and values. `seed` follows the WiredTiger project's own
//! comparison with LevelDB, with neither log nor checksums and with a bulk cursor for sequential
//! fills; it is shown as below `Os` and not ranked. Each thread has one session with one cursor,
//! which is reset after each read so that nothing stays pinned; values are read in place in the
//! cache.
//!
//! `options` contains the differences from the engine's own defaults and the reasons: the dirty
//! share of the cache, by tree and cache size; the log segments; the closing of an LSM tree's idle
//! handles. `unblock` syncs the log of an LSM tree that has stalled.

mod connection;
mod cursor;
mod handler;
mod item;
mod kind;
mod options;
mod session;
mod statistics;
mod store;
mod structs;
mod sys;
mod unblock;

use std::path::Path;

use bench_core::engine::{Capabilities, Durability, Engine, Survival, Variant};
use bench_core::fault::Fault;
use bench_core::host::library::Library;
use bench_core::workload::settings::Settings;

pub use cursor::TigerCursor;
pub use kind::TreeKind;
pub use session::TigerSession;
pub use store::TigerStore;
use sys::Api;

/// The loaded library. The engine is a reference to it, so that every store can borrow it.
#[derive(Debug)]
pub struct WiredTiger {
    api: Api,
    kind: TreeKind,
}

impl WiredTiger {
    /// Loads the library at `path`, or the installed one.
    ///
    /// # Errors
    /// If there is none, if it lacks a symbol (the error names it), or if its version is not the
    /// one whose structures are known here.
    pub fn load(path: Option<&Path>, kind: TreeKind) -> Result<Self, Fault> {
        Ok(Self {
            api: Api::load(path)?,
            kind,
        })
    }
}

impl<'e> Engine for &'e WiredTiger {
    type Store = TigerStore<'e>;

    fn name(&self) -> &'static str {
        match self.kind {
            TreeKind::Btree => "wiredtiger_btree",
            TreeKind::Lsm => "wiredtiger_lsm",
        }
    }

    fn title(&self) -> &'static str {
        match self.kind {
            TreeKind::Btree => "WiredTiger B-tree",
            TreeKind::Lsm => "WiredTiger LSM",
        }
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
            sync_later: false,
            ..Capabilities::ALL
        }
    }

    fn variants(&self) -> &'static [Variant] {
        &[Variant::Fair, Variant::Seed]
    }

    fn survival(&self, asked: Durability, variant: Variant) -> Survival {
        match (asked, variant) {
            // Without a log, writes survive only after a checkpoint.
            (Durability::Os, Variant::Seed) => Survival::BelowOs,
            _ => asked.into(),
        }
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<TigerStore<'e>, Fault> {
        TigerStore::open(&self.api, self.kind, dir, settings)
    }
}
