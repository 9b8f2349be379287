//! The bare loop: what the disk and the system calls cost in rows that they bound.
//!
//! A write is one `pwritev` at the end of one file, followed by one `fdatasync` if it must survive
//! loss of power; a read is one `pread`. An index in memory holds the place of each entry. Nothing
//! is checked, compressed, merged or bounded, so this is no contender and never ranked: its rows
//! show how near a store comes to what the machine can do. Rows of small unsynced values are left
//! out, because there the processor is the limit.
//!
//! A log that overwrites space written before changes no metadata in a sync, and one that grows
//! does. Stores of the first kind should be measured by a loop of the first kind, so the file
//! begins with [`PREWRITTEN`] bytes of zeros, synced, and grows after them.

mod file;
mod store;

use std::path::Path;

use bench_core::engine::{Capabilities, Durability, Engine};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

pub use file::PREWRITTEN;
pub use store::{DiskCursor, DiskSession, DiskStore};

/// Smaller values are not the disk's to bound, unless each write is synced.
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

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch: false,
            merge: false,
            snapshot: false,
            reverse: true,
            seek: true,
            compact: false,
            flush: false,
            sync: true,
            stores: true,
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
