//! LMDB through its C interface.
//!
//! LMDB has no cache of its own: it reads and writes the page cache, so the memory setting has no
//! effect on it. It never compresses. `Os` rows open it with `NOSYNC | WRITEMAP` (a commit is in
//! the shared map and survives a crash of the process), `Sync` rows with its default flags. Each
//! operation or batch is one write transaction; sequential fills of an empty store use append mode.
//! Each session has one read transaction with one cursor, which is renewed for each read, group of
//! reads or scan. Read-ahead is off if the raw data may exceed half of the machine's memory, as its
//! documentation advises. Readers in other processes open it with `RDONLY`.

mod cursor;
mod edit;
mod session;
mod store;
mod sys;

use std::path::Path;

use bench_core::engine::Capabilities;
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

pub use cursor::LmdbCursor;
pub use session::LmdbSession;
pub use store::LmdbStore;
use sys::Api;

engine_capi::engine! {
    Lmdb, LmdbStore, "lmdb", "LMDB", Capabilities { merge: false, ..Capabilities::ALL };
    fn keyspaces(&self) -> bool {
        true
    }

    fn has_readers(&self) -> bool {
        true
    }

    fn open_reader(&self, dir: &Path, settings: &Settings) -> Result<LmdbStore<'e>, Fault> {
        LmdbStore::open_reader(&self.api, dir, settings)
    }
}

#[cfg(test)]
mod tests;
