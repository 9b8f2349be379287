//! Values that memtables leave in the log: they stay as long as a reader needs them, and are
//! checked.

use std::os::unix::fs::FileExt;
use std::path::Path;

use cairndb::{Db, ErrorKind, Options};

use crate::{fails_with, paths, real_dir, threaded};

const BUDGET: usize = 256 << 10;

fn on_disk() -> Options {
    Options::new().create_if_missing(true).memory_budget(BUDGET)
}

/// Returns a value whose length and contents depend on its round and key.
fn value(round: u32, n: u32) -> Vec<u8> {
    [round.to_be_bytes(), n.to_be_bytes()].concat().repeat(20)
}

fn fill(db: &Db, round: u32, keys: u32) {
    for n in 0..keys {
        db.put(&n.to_be_bytes(), &value(round, n)).unwrap();
    }
}

/// Writes many times the length of the log while cursors read memtables whose values are in it.
/// Segments are constantly reused, but the ones being read must not be.
fn cursors_keep_the_segments_they_read(options: &Options, path: &Path) {
    let db = options.open(path).unwrap();
    let mut cursors = Vec::new();
    for round in 0..40 {
        fill(&db, round, 500);
        let mut cursor = db.cursor();
        cursor.seek_to_first().unwrap();
        cursors.push((round, cursor));
        fill(&db, 1000 + round, 2_000);
    }
    db.flush().unwrap();
    for (round, mut cursor) in cursors {
        for n in 0..500u32 {
            assert_eq!(cursor.key(), n.to_be_bytes());
            assert_eq!(cursor.value(), value(round, n), "round {round} key {n}");
            cursor.next().unwrap();
        }
    }
    db.close().unwrap();
}

#[test]
fn cursors_keep_the_log_that_they_read_values_from() {
    let dir = real_dir();
    cursors_keep_the_segments_they_read(&on_disk(), dir.path());
    cursors_keep_the_segments_they_read(&threaded(), Path::new("/db"));
}

/// Closes the database, opens it again, writes more than the log holds, and moves a cursor of the
/// first handle. The cursor must be invalid or still return its entry.
fn reopen_beside_a_cursor(dir: &Path, before: impl FnOnce(), after: impl FnOnce()) {
    let db = on_disk().open(dir).unwrap();
    fill(&db, 1, 500);
    let mut cursor = db.cursor();
    cursor.seek_to_first().unwrap();
    before();
    db.close().unwrap();
    after();
    let again = on_disk().open(dir).unwrap();
    for round in 2..20 {
        fill(&again, round, 500);
    }
    for n in 0..500 {
        if !cursor.valid() {
            break;
        }
        assert_eq!(cursor.value(), value(1, n));
        let _ = cursor.next();
    }
    again.close().unwrap();
}

/// A clean close leaves log files for the next handle to reuse, except files that a cursor reads.
#[test]
fn a_log_file_that_a_cursor_reads_is_not_left_to_the_next_handle() {
    let dir = real_dir();
    reopen_beside_a_cursor(dir.path(), || {}, || {});
}

/// Regression: close failed to remove the file, and the next handle reused it.
#[test]
fn a_log_file_that_could_not_be_removed_is_not_used_under_a_cursor() {
    let (dir, kept) = (real_dir(), real_dir());
    let name_in = |dir: &Path, path: &Path| dir.join(path.file_name().unwrap());
    let keep = || {
        for path in paths(dir.path(), "log") {
            std::fs::hard_link(&path, name_in(kept.path(), &path)).unwrap();
        }
    };
    let put_back = || {
        for path in paths(kept.path(), "log") {
            let removed = name_in(dir.path(), &path);
            if !removed.exists() {
                std::fs::rename(&path, removed).unwrap();
            }
        }
    };
    reopen_beside_a_cursor(dir.path(), keep, put_back);
}

/// Simulates a failing disk that refuses a page of the log: the system drops the page, and later
/// reads return what the file held before. Neither a get nor a flush may treat these bytes as the
/// value.
#[test]
fn a_value_that_is_no_longer_in_the_log_is_an_error() {
    let dir = real_dir();
    let db = on_disk().open(dir.path()).unwrap();
    db.put(b"whole", &[b'w'; 100]).unwrap();
    db.put(b"lost", &[b'L'; 100]).unwrap();
    db.put(b"short", b"LLLL").unwrap();
    let mut damaged = String::new();
    for path in paths(dir.path(), "log") {
        let bytes = std::fs::read(&path).unwrap();
        if let Some(at) = bytes.windows(100).position(|window| window == [b'L'; 100]) {
            let file = std::fs::OpenOptions::new().write(true).open(&path);
            file.unwrap().write_all_at(b"xx", at as u64 + 50).unwrap();
            damaged = path.file_name().unwrap().to_str().unwrap().to_owned();
        }
    }
    assert!(!damaged.is_empty(), "the value is in the log");
    assert_eq!(db.get(b"whole").unwrap().unwrap(), [b'w'; 100]);
    assert_eq!(db.get(b"short").unwrap().unwrap(), b"LLLL");
    let error = match db.get(b"lost") {
        // If the log cannot be mapped, values are copied into the memtable.
        Ok(found) => return assert_eq!(found.unwrap(), [b'L'; 100]),
        Err(error) => error,
    };
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.to_string().contains(&damaged), "{error}");
    assert!(db.iter().any(|entry| entry.is_err()));
    fails_with(db.flush(), ErrorKind::Corruption, &damaged);
    assert!(db.get(b"lost").is_err());
    drop(db);
    // The checksum of the record detects the same damage in the log.
    match on_disk().open(dir.path()) {
        Ok(db) => assert_ne!(db.get(b"lost").unwrap().as_deref(), Some(&[b'x'; 100][..])),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Corruption),
    }
}
