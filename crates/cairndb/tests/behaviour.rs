//! What the public API promises, on a real directory and in memory.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::big_endian_bytes,
    clippy::large_stack_arrays,
    reason = "tests fail by panicking, and look at real directories"
)]

#[path = "behaviour/background.rs"]
mod background;
#[path = "behaviour/bad_input.rs"]
mod bad_input;
#[path = "behaviour/counting.rs"]
mod counting;
#[path = "behaviour/deferred.rs"]
mod deferred;
#[path = "behaviour/descriptors.rs"]
mod descriptors;
#[path = "behaviour/fold_limits.rs"]
mod fold_limits;
#[path = "behaviour/foreign_names.rs"]
mod foreign_names;
#[path = "behaviour/full_disk.rs"]
mod full_disk;
#[path = "behaviour/halves.rs"]
mod halves;
#[path = "behaviour/handles.rs"]
mod handles;
#[path = "behaviour/hot_keys.rs"]
mod hot_keys;
#[path = "behaviour/idle_space.rs"]
mod idle_space;
#[path = "behaviour/lent_values.rs"]
mod lent_values;
#[path = "behaviour/logged_values.rs"]
mod logged_values;
#[path = "behaviour/missing_files.rs"]
mod missing_files;
#[path = "behaviour/operators.rs"]
mod operators;
#[path = "behaviour/properties.rs"]
mod properties;
#[path = "behaviour/queues.rs"]
mod queues;
#[path = "behaviour/reads.rs"]
mod reads;
#[path = "behaviour/regressions.rs"]
mod regressions;
#[path = "behaviour/relocation.rs"]
mod relocation;
#[path = "behaviour/trouble.rs"]
mod trouble;
#[path = "behaviour/waiting.rs"]
mod waiting;
#[path = "behaviour/writes.rs"]
mod writes;

use std::sync::Arc;

use cairndb::env::{Background, MemEnv};
use cairndb::{Db, Options};

/// Options on a fresh in-memory environment whose background work is stepped.
fn stepped() -> Options {
    Options::new()
        .env(MemEnv::new(Background::Stepped))
        .create_if_missing(true)
        .memory_budget(256 << 10)
}

/// As [`stepped`], with background work on threads.
fn threaded() -> Options {
    stepped().env(MemEnv::new(Background::Threads))
}

/// An open database of its own in memory, and the options to open it again.
fn mem_db() -> (Db, Options) {
    let options = stepped();
    (
        options.open("/db").expect("a fresh database opens"),
        options,
    )
}

/// Held by each of the tests that need gigabytes, so that they run one after the other.
static LARGEST: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// A directory that goes with the test.
fn real_dir() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory can be made")
}

/// A number of `cairndb.stats`.
fn stat(db: &Db, name: &str) -> u64 {
    let stats = db.property("cairndb.stats").unwrap();
    let (_, rest) = stats.split_once(&format!("\"{name}\":")).expect("there");
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    digits.unwrap().parse().unwrap()
}

fn all(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    db.iter()
        .map(|entry| entry.map(|(key, value)| (key.into_vec(), value.into_vec())))
        .collect::<Result<_, _>>()
        .expect("the database can be read")
}

fn all_backward(db: &Db) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries: Vec<_> = db
        .iter()
        .rev()
        .map(|entry| entry.map(|(key, value)| (key.into_vec(), value.into_vec())))
        .collect::<Result<_, _>>()
        .expect("the database can be read");
    entries.reverse();
    entries
}

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
