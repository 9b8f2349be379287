//! Bf-Tree, a B-tree of Microsoft Research whose leaves are cached in parts.
//!
//! A circular buffer holds mini-pages: the records of a leaf that were read or written lately. It
//! gets the whole memory setting, rounded down to a power of two, which the store requires. The
//! inner nodes are in memory as well. Everything else is as in the authors' benchmark (`benchmark/`
//! of their repository, `bench_bftree.toml` and the wrapper of its end-to-end runs), which is the
//! default: leaves of 4 KiB, records of 4 to 1952 bytes, 30 % of the records that are read move to
//! the buffer, and a tenth of the buffer gives a second chance. These settings differ:
//!
//! - Keys may be longer than 16 bytes, because some rows have such keys.
//! - Leaves are of 32 KiB, the largest size, if values do not fit into 1952 bytes.
//! - The benchmark's files are unbuffered, most of them on `io_uring`. Here they are ordinary
//!   files, the default of a tree with a path and the only kind that the store opens again.
//! - Whole leaves do not enter the buffer, neither for writes (`write_load_full_page`) nor for
//!   scans (`scan_promotion_rate`). Version 0.5.7 saves such a leaf in a snapshot with the marks of
//!   a cached one. Once the snapshot is opened and written to, deleted keys come back.
//!
//! The benchmark has no log. The ranked variant uses the store's log, with which a write survives a
//! killed process: the call returns once a thread has written its log record to the file. That
//! thread does so after each `flush_interval`. The default of 1 ms would mean about 900 writes a
//! second per thread, so the interval is 1 µs, as in the store's own tests, and the kernel's timer
//! decides. A segment of the log has 4 KiB, the size that the store's own recovery reads; the
//! default is a buffer of 1 GiB, all of which is written at each flush. The log is never synced,
//! so there are no `Sync` rows. The variant `seed` leaves the log out, as the benchmark does.
//!
//! The file of a tree cannot be opened again. The store provides snapshots for this, and a reader
//! of its log. A snapshot is written when a store is closed. Opening copies it, because the store
//! writes into the file that it opens, and applies the log, if there is one. The call that does
//! both in one, `BfTree::recovery`, drops the tree that it recovers and does not read the records
//! that the log has.
//!
//! There are no batches and no steps backward. A scan sees writes that come after its begin, and
//! holds the lock of the leaf that it is at. Each seek makes a scan, as the benchmark does.

mod recovery;
mod session;
mod store;

use std::path::Path;

use bench_core::engine::{Capabilities, Durability, Engine, Survival, Variant};
use bench_core::fault::Fault;
use bench_core::host::lock_file;
use bench_core::workload::settings::Settings;

pub use session::{BfTreeCursor, BfTreeSession};
pub use store::BfTreeStore;

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct BfTree;

impl Engine for BfTree {
    type Store = BfTreeStore;

    fn name(&self) -> &'static str {
        "bftree"
    }

    fn title(&self) -> &'static str {
        "Bf-Tree"
    }

    fn version(&self) -> String {
        lock_file::version_of(include_str!("../../Cargo.lock"), "bf-tree").to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch: false,
            merge: false,
            snapshot: false,
            reverse: false,
            compact: false,
            flush: false,
            sync: false,
            sync_later: false,
            ..Capabilities::ALL
        }
    }

    fn declines(&self, value_bytes: usize, _durability: Durability) -> Option<&'static str> {
        (value_bytes > store::LARGEST_VALUE).then_some("its records have at most 16 KB")
    }

    fn variants(&self) -> &'static [Variant] {
        &[Variant::Fair, Variant::Seed]
    }

    fn survival(&self, _asked: Durability, variant: Variant) -> Survival {
        match variant {
            Variant::Fair => Survival::Os,
            Variant::Seed => Survival::BelowOs,
        }
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<BfTreeStore, Fault> {
        BfTreeStore::open(dir, settings)
    }
}
