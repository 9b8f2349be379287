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

use bench_core::engine::{Capabilities, Durability, Survival, Variant};

pub use cursor::TreeCursor;
pub use store::{TreeSession, TreeStore};
use sys::Api;

engine_capi::engine! {
    TreeDb, TreeStore, "kyoto_treedb", "Kyoto TreeDB", Capabilities {
        batch: false,
        merge: false,
        snapshot: false,
        compact: false,
        sync_later: false,
        ..Capabilities::ALL
    };

    fn without_batch(&self) -> Option<&'static str> {
        Some("not atomic")
    }

    fn survival(&self, asked: Durability, _variant: Variant) -> Survival {
        match asked {
            Durability::Os => Survival::BelowOs,
            Durability::Sync => Survival::Sync,
        }
    }
}
