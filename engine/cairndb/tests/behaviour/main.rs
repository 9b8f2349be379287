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
mod changes;
mod changes_after_crash;
mod counting;
mod descriptors;
mod fold_limits;
mod foreign_names;
mod forks;
mod full_disk;
mod halves;
mod handles;
mod hot_keys;
mod idle_space;
mod json;
mod keyspaces;
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
mod range_deletions;
mod reads;
mod regressions;
mod relocation;
mod repaired_keyspaces;
mod repaired_ranges;
mod repairs;
mod trouble;
mod waiting;
mod watched;
mod writes;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cairndb::env::random::Random;
use cairndb::env::{Background, MemEnv};
use cairndb::{Append, Cursor, Db, Error, ErrorKind, Options, Result, Value};

/// Returns a new in-memory environment, and options for it.
fn in_memory(background: Background) -> (Arc<MemEnv>, Options) {
    let env = MemEnv::new(background);
    let options = Options::new().env(env.clone()).create_if_missing(true);
    (env, options.memory_budget(256 << 10))
}

/// Returns options with a new in-memory environment whose background work is stepped.
fn stepped() -> Options {
    in_memory(Background::Stepped).1
}

/// Like [`stepped`], with operands that are appended.
fn appending() -> Options {
    stepped().merge_operator(Arc::new(Append))
}

/// Like [`stepped`], but with background work on threads.
fn threaded() -> Options {
    in_memory(Background::Threads).1
}

/// Returns a new database in memory, and the options to open it again.
fn mem_db() -> (Db, Options) {
    let options = stepped();
    let db = options.open("/db");
    (db.expect("a new database in memory must open"), options)
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

/// Keys with their values.
type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Returns all that an iterator yields.
#[track_caller]
fn entries(iter: impl Iterator<Item = Result<(Value, Value)>>) -> Entries {
    iter.map(|entry| entry.map(|(key, value)| (key.into_vec(), value.into_vec())))
        .collect::<Result<_>>()
        .expect("a scan must succeed")
}

/// Returns the keys that an iterator yields.
#[track_caller]
fn keys(iter: impl Iterator<Item = Result<(Value, Value)>>) -> Vec<Vec<u8>> {
    entries(iter).into_iter().map(|(key, _)| key).collect()
}

/// Returns all entries, from a forward scan.
fn all(db: &Db) -> Entries {
    entries(db.iter())
}

/// Returns all entries in key order, from a backward scan.
fn all_backward(db: &Db) -> Entries {
    let mut entries = entries(db.iter().rev());
    entries.reverse();
    entries
}

/// Returns the entry at which a cursor is.
fn shown(cursor: &Cursor) -> Option<(Vec<u8>, Vec<u8>)> {
    let entry = cursor.valid().then(|| (cursor.key(), cursor.value()));
    entry.map(|(key, value)| (key.to_vec(), value.to_vec()))
}

/// Returns the error of a call, which must be of this kind.
#[track_caller]
fn fails<T: Debug>(result: Result<T>, kind: ErrorKind) -> Error {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    error
}

/// Returns the error of a call, which must be of this kind and say `part`.
#[track_caller]
fn fails_with<T: Debug>(result: Result<T>, kind: ErrorKind, part: &str) -> Error {
    let error = fails(result, kind);
    assert!(error.to_string().contains(part), "{error}");
    error
}

/// Returns incompressible bytes.
fn noise(random: &mut Random, len: usize) -> Vec<u8> {
    let words = std::iter::repeat_with(|| random.next_u64().to_le_bytes());
    words.flatten().take(len).collect()
}

/// Returns the paths of the files in a directory whose names end with `.end`, sorted.
fn paths(dir: &Path, end: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == end));
    paths.sort();
    paths
}

/// Returns the contents of a directory. Skips files that are removed in the meantime, as can happen
/// in an open database.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(path).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("the directory can be listed").path());
    let read = |path: PathBuf| match std::fs::read(&path) {
        Ok(bytes) => Some((path.file_name()?.to_str()?.to_owned(), bytes)),
        Err(error) => {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
            None
        }
    };
    paths.filter_map(read).collect()
}

/// Writes files to a directory.
fn write_files(path: &Path, files: impl IntoIterator<Item = (String, Vec<u8>)>) {
    for (name, bytes) in files {
        std::fs::write(path.join(name), bytes).unwrap();
    }
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
