//! SQLite through its C interface: a table of keys and values, prepared statements, zero-copy
//! access.
//!
//! Settings of the 2011 document: pages of 1024 bytes (set before anything is written, so that the
//! setting takes effect), a page cache of the whole memory setting (4096 pages for 4 MB), a
//! write-ahead log with a checkpoint every 4 MB, exclusive locking, `synchronous` OFF if writes
//! need only survive a crash of the process (the log is written to the operating system at every
//! commit) and FULL if they must survive a power loss. A batch is a transaction. If entries do not
//! fit in such a page, pages have SQLite's default of 4096 bytes: values of 100,000 bytes are then
//! written and read in less than half the time.
//!
//! One thing differs from 2011: if entries fit in a page, the table is `WITHOUT ROWID`, one tree of
//! keys and values, which SQLite did not have then. The old table has two trees, a table and an
//! index of its keys. One tree scans five times as fast and fills in order with a tenth less work;
//! its random fills cost a fifth more, because they write to the whole tree and not only to an
//! index. Values of 100,000 bytes use the old table, which writes them in two thirds of the time.
//! The variant `seed` uses the old table for everything.
//!
//! A merge is an upsert with `max()`, one statement. Nothing is ever compressed. A compaction is
//! `VACUUM` and a checkpoint.
//!
//! Exclusive locking allows one connection, which all threads use in turn if any of them writes: a
//! cursor sees concurrent writes of other threads, so there are no snapshots. Separate connections
//! were slower there, because each write invalidates the caches of all others. If no thread writes,
//! each has its own connection and a share of the page cache, which is faster; the connections
//! share a WAL index in process memory. The ledger has the figures.
//!
//! A database that other processes read is opened with normal locking and SQLite's default VFS,
//! and by those processes read-only.

mod access;
mod connection;
mod cursor;
mod session;
mod store;
mod sys;
mod table;

use std::path::Path;

use bench_core::engine::{Capabilities, Variant};
use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

pub use cursor::SqliteCursor;
pub use session::SqliteSession;
pub use store::SqliteStore;
use sys::Api;

engine_capi::engine! {
    Sqlite, SqliteStore, "sqlite3", "SQLite", Capabilities {
        snapshot: false,
        sync_later: false,
        ..Capabilities::ALL
    }, check_threads;

    fn has_readers(&self) -> bool {
        true
    }

    fn open_reader(&self, dir: &Path, settings: &Settings) -> Result<SqliteStore<'e>, Fault> {
        SqliteStore::open_reader(&self.api, dir, settings)
    }

    fn variants(&self) -> &'static [Variant] {
        &[Variant::Fair, Variant::Seed]
    }
}
