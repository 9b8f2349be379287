//! Tests of the guarantees of the public API, on a real directory and in memory.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::big_endian_bytes,
    clippy::large_stack_arrays,
    reason = "tests fail by panicking, and read real directories"
)]

mod background;
mod bad_input;
mod borrowed_values;
mod counting;
mod descriptors;
mod fold_limits;
mod foreign_names;
mod full_disk;
mod halves;
mod handles;
mod hot_keys;
mod idle_space;
mod json;
mod loaded_space;
mod logged_values;
mod long_batches;
mod long_keys;
mod made_directories;
mod missing_files;
mod operators;
mod properties;
mod queues;
mod range_cursors;
mod reads;
mod regressions;
mod relocation;
mod repairs;
mod trouble;
mod waiting;
mod watched;
mod writes;

use std::sync::Arc;

use cairndb::env::{Background, MemEnv};
use cairndb::{Db, Options};

/// Returns options with a new in-memory environment whose background work is stepped.
fn stepped() -> Options {
    Options::new()
        .env(MemEnv::new(Background::Stepped))
        .create_if_missing(true)
        .memory_budget(256 << 10)
}

/// Like [`stepped`], but with background work on threads.
fn threaded() -> Options {
    stepped().env(MemEnv::new(Background::Threads))
}

/// Returns a new database in memory, and the options to open it again.
fn mem_db() -> (Db, Options) {
    let options = stepped();
    (
        options
            .open("/db")
            .expect("a new database in memory must open"),
        options,
    )
}

/// Held by every test that needs gigabytes, so that they run one at a time.
static LARGEST: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Returns a directory that is removed at the end of the test.
fn real_dir() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory can be created")
}

/// Returns the field `name` of the property `cairndb.stats`.
#[track_caller]
fn stat(db: &Db, name: &str) -> u64 {
    field(db, "cairndb.stats", name)
}

/// Returns the number `name` of `property`. The name of a nested field is a path: `runs.count`.
#[track_caller]
fn field(db: &Db, property: &str, name: &str) -> u64 {
    let fields = json::numbers(&db.property(property).expect("the property must exist"));
    let found = fields.get(name).copied();
    found.unwrap_or_else(|| panic!("{property} has no field {name}: {fields:?}"))
}

/// Returns all entries, from a forward scan.
fn all(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    db.iter()
        .map(|entry| entry.map(|(key, value)| (key.into_vec(), value.into_vec())))
        .collect::<Result<_, _>>()
        .expect("a scan must succeed")
}

/// Returns all entries in key order, from a backward scan.
fn all_backward(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries: Vec<_> = db
        .iter()
        .rev()
        .map(|entry| entry.map(|(key, value)| (key.into_vec(), value.into_vec())))
        .collect::<Result<_, _>>()
        .expect("a scan must succeed");
    entries.reverse();
    entries
}

/// Reverse bytewise order.
#[derive(Debug)]
struct Reverse;

impl cairndb::Comparator for Reverse {
    fn name(&self) -> &'static str {
        "test.Reverse"
    }
    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        b.cmp(a)
    }
}

fn reverse() -> Arc<dyn cairndb::Comparator> {
    Arc::new(Reverse)
}
