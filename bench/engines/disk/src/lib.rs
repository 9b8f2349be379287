//! The bare loop: the cost of the disk and the system calls in rows that they bound.
//!
//! A write is one `pwritev` at the end of one file, followed by one `fdatasync` if it must survive
//! a power loss; a read is one `pread`. An in-memory index contains the location of each entry.
//! Nothing is checked, compressed, merged or bounded, so this engine is not a contender and is
//! never ranked: its rows show how close a store comes to what the machine can do. Rows with small
//! unsynced values are skipped, because there the CPU is the limit.
//!
//! A sync of a log that overwrites existing space changes no metadata; a sync of a growing log
//! does. Stores of the first kind should be compared with a loop of the first kind, so the file
//! starts with [`PREWRITTEN`] synced zero bytes and grows after them.

mod file;
mod store;

use std::path::Path;

use bench_core::engine::{Capabilities, Durability, Engine};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

pub use file::PREWRITTEN;
pub use store::{DiskCursor, DiskSession, DiskStore};

/// Minimum value size in bytes for which the disk is the limit, unless each write is synced.
const VALUE_BYTES_MIN: usize = 8 << 10;

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Engine for Disk {
    type Store = DiskStore;

    fn name(&self) -> &'static str {
        "disk"
    }

    fn title(&self) -> &'static str {
        "Disk"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch: false,
            merge: false,
            snapshot: false,
            compact: false,
            flush: false,
            ..Capabilities::ALL
        }
    }

    fn contends(&self) -> bool {
        false
    }

    fn declines(&self, value_bytes: usize, durability: Durability) -> Option<&'static str> {
        let bound = value_bytes >= VALUE_BYTES_MIN || durability == Durability::Sync;
        (!bound).then_some("small values, not synced: the disk does not bound it")
    }

    fn open(&self, dir: &Path, settings: &Settings) -> Result<DiskStore, Fault> {
        DiskStore::open(dir, settings)
    }
}
