//! RocksDB through its C interface.
//!
//! The cost of the interface itself is part of the row: a call through a pointer for each step and
//! one small allocation for each value found (`rocksdb_get_pinned`, which does not copy the value).
//!
//! Settings: Snappy unless turned off, no filter unless requested, and otherwise the library's
//! defaults. Its cache gets the read share of the memory. Its write buffer gets the write share, as
//! `write_buffer_size`, with `max_write_buffer_number` 2: as in LevelDB, the setting limits the
//! buffer being filled, and another buffer of the same size may be waiting for the disk. Statistics
//! cost time in every operation, so they are kept only with `--statistics`; without them the
//! library cannot report how many bytes it has written. Key comparisons, which the library counts
//! by default, are not counted, as in its own program (`perf_level` 1 in each calling thread).
//!
//! Merges use the library's own merge with an operator that keeps the greater value. The log is
//! written to the operating system with every write, which is the default.
//!
//! A reader in another process is a secondary instance. It catches up with the primary before each
//! get, without which it would not see what was written since the last time. It opens tables with
//! one thread, because by default it starts fifteen more each time it catches up.

mod counters;
mod database;
mod effective;
mod max_merge;
mod options;
mod session;
mod store;
mod sys;
mod version;

use std::path::Path;

use bench_core::engine::Capabilities;
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

pub use session::RocksSession;
pub use store::RocksStore;
use sys::Api;

engine_capi::engine! {
    RocksDb, RocksStore, "rocksdb", "RocksDB", Capabilities::ALL;
    fn keyspaces(&self) -> bool {
        true
    }

    fn range_deletion(&self) -> bool {
        true
    }

    fn has_readers(&self) -> bool {
        true
    }

    fn open_reader(&self, dir: &Path, settings: &Settings) -> Result<RocksStore<'e>, Fault> {
        RocksStore::open_reader(&self.api, dir, settings)
    }
}
