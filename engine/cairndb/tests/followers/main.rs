//! Tests of followers: handles that read a database which another process writes.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::big_endian_bytes,
    reason = "tests fail by panicking, and read real directories"
)]

mod answers;
mod bad_input;
mod calls;
mod changes;
mod holding;
mod processes;
mod simulated;
mod story;

use std::collections::BTreeMap;
use std::path::Path;

use cairndb::{Append, Db, Options, Snapshot};

/// The entries of a database or of a keyspace.
type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

fn options() -> Options {
    let append = std::sync::Arc::new(Append);
    let options = Options::new()
        .create_if_missing(true)
        .memory_budget(1 << 20);
    options.merge_operator(append)
}

fn follow(path: &Path) -> Db {
    options().follow().open(path).unwrap()
}

fn entries(db: &Db) -> Entries {
    db.iter().map(|entry| entry.unwrap()).map(owned).collect()
}

fn entries_at(snapshot: &Snapshot) -> Entries {
    let entries = snapshot.iter().map(|entry| entry.unwrap());
    entries.map(owned).collect()
}

fn owned((key, value): (impl Into<Vec<u8>>, impl AsRef<[u8]>)) -> (Vec<u8>, Vec<u8>) {
    (key.into(), value.as_ref().to_vec())
}
