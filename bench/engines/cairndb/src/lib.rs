//! CairnDB through its Rust interface, with default settings except memory, compression and
//! durability.

mod cursor;
mod error;
mod max_merge;
mod store;

use std::path::Path;

use bench_core::engine::{Capabilities, Engine};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;
use cairndb::Options;

pub use cursor::CairnCursor;
pub use store::{CairnSession, CairnStore};

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cairn;

impl Engine for Cairn {
    type Store = CairnStore;

    fn name(&self) -> &'static str {
        "cairndb"
    }

    fn title(&self) -> &'static str {
        "CairnDB"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ALL
    }

    fn keyspaces(&self) -> bool {
        true
    }

    fn range_deletion(&self) -> bool {
        true
    }

    fn has_readers(&self) -> bool {
        true
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<CairnStore, Fault> {
        CairnStore::open(dir, settings, |options| options.create_if_missing(true))
    }

    /// Opens a follower.
    fn open_reader(&self, dir: &Path, settings: &Settings) -> Result<CairnStore, Fault> {
        CairnStore::open(dir, settings, Options::follow)
    }
}
