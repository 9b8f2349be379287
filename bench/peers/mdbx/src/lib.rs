//! libmdbx, a B+ tree in a memory map that descends from LMDB, through its C interface.
//!
//! It is configured as in ioarena, a benchmark that its author co-wrote (`src/drivers/ia_mdbx.c`):
//! `Os` rows open it as its mode "nosync" does, with `UTTERLY_NOSYNC | WRITEMAP`, and `Sync` rows
//! as its mode "sync" does, with `SYNC_DURABLE | LIFORECLAIM`. In the first a commit is in the
//! shared map: it survives a crash of the process, while a power loss may damage the store, exactly
//! as for LMDB with `NOSYNC | WRITEMAP`. The library distinguishes the two crashes by the system's
//! boot identifier. `SAFE_NOSYNC` would survive the same crash and would also keep the last synced
//! state, which `Os` rows do not ask for: it cannot reuse pages that were freed since then, so the
//! file would grow with every write.
//!
//! Two settings differ from ioarena. `NOSTICKYTHREADS`, which libmdbx's documentation recommends
//! for runtimes such as Rust's, ties a read transaction to its session instead of its thread;
//! otherwise no thread could read while it has a write transaction. The size of the file is the
//! library's default (it grows by 16 MiB), with an upper bound only: ioarena makes it 4 GiB at
//! once, which the library allocates on the disk, and which would be counted as the size of the
//! store.
//!
//! The library is built as the crate builds it for its users: with optimization, without
//! assertions, and with the checks of each page that it visits, which ioarena turns off when it
//! builds.
//!
//! libmdbx has no cache of its own: it reads and writes the page cache, so the memory setting has
//! no effect on it. It never compresses. Each operation or batch is one write transaction;
//! sequential fills use append mode. Each session has one read transaction with one cursor, which
//! is renewed for each read, group of reads or scan. Read-ahead is off if the raw data may exceed
//! half of the machine's memory; otherwise the library decides. Readers in other processes open it
//! with `RDONLY`. Compaction is a compacting copy, as for LMDB.

mod cursor;
mod env;
mod session;
mod store;
mod txn;

use std::path::Path;

use bench_core::engine::{Capabilities, Engine};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

pub use cursor::MdbxCursor;
pub use session::MdbxSession;
pub use store::MdbxStore;

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mdbx;

impl Engine for Mdbx {
    type Store = MdbxStore;

    fn name(&self) -> &'static str {
        "mdbx"
    }

    fn title(&self) -> &'static str {
        "libmdbx"
    }

    fn version(&self) -> String {
        env::version()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            merge: false,
            ..Capabilities::ALL
        }
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

    fn open(&self, dir: &Path, settings: &Settings) -> Result<MdbxStore, Fault> {
        MdbxStore::open(dir, settings)
    }

    fn open_reader(&self, dir: &Path, settings: &Settings) -> Result<MdbxStore, Fault> {
        MdbxStore::open_reader(dir, settings)
    }
}
