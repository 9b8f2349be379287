//! The number of file descriptors that a database with many files holds, and the error of an open
//! that runs out of descriptors. The tests start this binary again under a low limit.

use std::path::Path;
use std::process::Command;

use cairndb::{ErrorKind, Options};

use crate::{paths, real_dir};

const PATH: &str = "CAIRN_DESCRIPTORS_PATH";
const MAPPED: &str = "CAIRN_DESCRIPTORS_MAPPED";
/// The lowest default limit of common shells.
const LIMIT: usize = 256;
/// Number of entries. With the smallest budget a table is 128 KiB, so this many entries make more
/// tables than the limit.
const ENTRIES: u32 = 10_000;
/// Value length, below the minimum of a large value.
const VALUE_BYTES: usize = 4_000;
/// Number of value files: each large value is written by its own handle, which starts and finishes
/// a value file.
const LARGE: u32 = 3;

fn options() -> Options {
    let options = Options::new().create_if_missing(true);
    let options = options.compression(cairndb::Compression::None);
    options.memory_budget(256 << 10)
}

fn value(number: u32, len: usize) -> Vec<u8> {
    number.to_be_bytes().into_iter().cycle().take(len).collect()
}

fn large_key(number: u32) -> Vec<u8> {
    [b"large".as_slice(), &number.to_be_bytes()].concat()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The body of the second process.
#[test]
#[ignore = "started by another test of this file"]
fn play() {
    let (Some(path), Ok(mapped)) = (std::env::var_os(PATH), std::env::var(MAPPED)) else {
        return;
    };
    let options = options().mapped(mapped == "true");
    let db = options.open(Path::new(&path)).unwrap();
    for round in 0..2 {
        for number in (0..ENTRIES).step_by(7) {
            let found = db.get(&number.to_be_bytes()).unwrap().unwrap();
            assert!(found == value(number, VALUE_BYTES), "{round}, {number}");
        }
        for number in 0..LARGE {
            let found = db.get(&large_key(number)).unwrap();
            assert!(found.is_some_and(|found| found == value(number, 20_000)));
        }
    }
    assert_eq!(db.iter().count(), (ENTRIES + LARGE) as usize);
    let held = descriptors();
    assert!(held < LIMIT / 2, "{held} descriptors");
    db.close().unwrap();
    cairndb::verify(Path::new(&path), &options).unwrap();
}

/// The body of a second process. It opens a database with few free descriptors, one more each time,
/// until the open succeeds.
#[test]
#[ignore = "started by another test of this file"]
fn open_with_few() {
    let Some(path) = std::env::var_os(PATH) else {
        return;
    };
    let path = Path::new(&path);
    let (new, old) = (path.join("new"), path.join("old"));
    let mut held: Vec<std::fs::File> = Vec::new();
    for (path, read_only) in [(&new, false), (&old, false), (&old, true)] {
        let shown = path.display();
        let named = [format!("in {shown}"), format!("(file {shown})")];
        let options = options().read_only(read_only).create_if_missing(!read_only);
        let mut left = 0;
        let db = loop {
            held.extend(std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()));
            held.truncate(held.len() - left);
            match options.open(path) {
                Ok(db) => break db,
                Err(error) => {
                    let text = error.to_string();
                    let is_named = named.iter().any(|named| text.contains(named));
                    assert!(
                        is_named && error.kind() == ErrorKind::Io,
                        "{left} left: {text}"
                    );
                }
            }
            left += 1;
        };
        assert!(left > 2, "opened with {left} descriptors");
        drop(db);
        held.clear();
    }
}

/// Regression: with three descriptors left the error was "list the directory: Too many open files",
/// without the directory's name.
#[test]
#[cfg(target_os = "linux")]
fn an_opening_with_few_descriptors_names_the_directory() {
    let dir = real_dir();
    let old = options().open(dir.path().join("old")).unwrap();
    old.put(b"k", &value(1, 20_000)).unwrap();
    old.flush().unwrap();
    old.put(b"l", b"v").unwrap();
    old.close().unwrap();
    start("descriptors::open_with_few", dir.path(), "true");
}

/// Regression: every table that had been read kept its descriptor open, even if it was mapped.
#[test]
#[cfg(target_os = "linux")]
fn more_tables_than_descriptors_can_be_read() {
    let dir = real_dir();
    let path = dir.path().join("db");
    let db = options().open(&path).unwrap();
    for number in 0..ENTRIES {
        let value = value(number, VALUE_BYTES);
        db.put(&number.to_be_bytes(), &value).unwrap();
    }
    db.close().unwrap();
    for number in 0..LARGE {
        let db = options().open(&path).unwrap();
        db.put(&large_key(number), &value(number, 20_000)).unwrap();
        db.close().unwrap();
    }
    let tables = paths(&path, "tbl").len();
    assert!(tables > LIMIT, "{tables} tables");
    for mapped in ["true", "false"] {
        start("descriptors::play", &path, mapped);
    }
}

/// Runs the test `part` in a second process, which must succeed.
fn start(part: &str, path: &Path, mapped: &str) {
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -n {LIMIT} && exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", part, "--ignored", "--nocapture"])
        .env(PATH, path)
        .env(MAPPED, mapped)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "mapped {mapped}: {stderr}");
}
