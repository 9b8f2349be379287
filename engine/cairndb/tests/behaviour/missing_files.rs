//! A missing file of the database is corruption. Every failing call names the file, and no call
//! reports a missing database or key instead.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use cairndb::{Db, Error, ErrorKind, Options, Result};
use cairndb_env::{Background, Dir, Env};
use cairndb_format::name::{FileKind, LOCK};

use crate::{fails, files, in_memory, paths, real_dir, write_files};

fn options() -> Options {
    Options::new()
        .create_if_missing(true)
        .memory_budget(256 << 10)
        .mapped(false)
}

/// Creates and closes a database with one table and one value file.
fn closed(path: &Path) {
    let db = options().open(path).unwrap();
    for n in 0..400u32 {
        db.put(&n.to_be_bytes(), &[3; 50]).unwrap();
    }
    for n in 400..410u32 {
        db.put(&n.to_be_bytes(), &[3; 10_000]).unwrap();
    }
    db.compact_range(..).unwrap();
    db.close().unwrap();
}

/// Returns the only file in `path` with the extension `end`.
fn only(path: &Path, end: &str) -> PathBuf {
    let mut found = paths(path, end);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// A key whose value is in the table, and one whose value is in the value file.
const KEYS: [[u8; 4]; 2] = [[0, 0, 0, 7], [0, 0, 1, 0x95]];

/// Visits every entry of an iterator.
fn each<T>(mut entries: impl Iterator<Item = Result<T>>) -> Result<()> {
    entries.try_for_each(|entry| entry.map(drop))
}

fn walk(db: &Db, forward: bool) -> Result<()> {
    let mut cursor = db.cursor();
    if forward {
        cursor.seek_to_first()?;
    } else {
        cursor.seek_to_last()?;
    }
    while cursor.valid() {
        if forward {
            cursor.next()?;
        } else {
            cursor.prev()?;
        }
    }
    Ok(())
}

type Call = (&'static str, fn(&Db) -> Result<()>);

/// Makes a call for each of the two keys.
fn both(mut call: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    KEYS.iter().try_for_each(|key| call(key))
}

const READS: [Call; 16] = [
    ("get", |db| both(|key| db.get(key).map(drop))),
    ("get_into", |db| {
        both(|key| db.get_into(key, &mut Vec::new()).map(drop))
    }),
    ("multi_get", |db| db.multi_get(&KEYS).map(drop)),
    ("contains", |db| db.contains(&KEYS[0]).map(drop)),
    ("snapshot", |db| {
        both(|key| db.snapshot().get(key).map(drop))
    }),
    ("snapshot's iterator", |db| each(db.snapshot().iter())),
    ("iterator", |db| each(db.iter())),
    ("iterator, backward", |db| each(db.iter().rev())),
    ("try_count", |db| db.iter().try_count().map(drop)),
    ("range", |db| each(db.range(KEYS[0]..))),
    ("prefix", |db| each(db.prefix(&KEYS[0][..3]))),
    ("cursor", |db| walk(db, true)),
    ("cursor, backward", |db| walk(db, false)),
    ("seek", |db| both(|key| db.cursor().seek(key))),
    ("seek_for_prev", |db| {
        both(|key| db.cursor().seek_for_prev(key))
    }),
    ("approximate_size", |db| {
        db.approximate_size(KEYS[0]..KEYS[1]).map(drop)
    }),
];

const WRITES: [Call; 5] = [
    ("compact_range", |db| db.compact_range(..)),
    ("compact_range after a write", |db| {
        db.put(&KEYS[0], b"new")?;
        db.compact_range(..)
    }),
    ("checkpoint", |db| db.checkpoint(db.path().join("copy"))),
    ("wait_idle", |db| {
        // Enough runs to be compacted together with the oldest run.
        for round in 0..12u32 {
            for n in 0..400u32 {
                db.put(&n.to_be_bytes(), &round.to_le_bytes().repeat(100))?;
            }
            db.flush()?;
        }
        db.wait_idle()
    }),
    ("close", Db::close),
];

/// Makes each of `calls` on a fresh handle of a database whose file with extension `end` has been
/// removed. Checks that the error of a failed call names that file, and returns the calls that
/// failed.
fn failing(end: &str, read_only: bool, calls: &[Call]) -> BTreeSet<&'static str> {
    let mut failing = BTreeSet::new();
    for (call, run) in calls {
        let dir = real_dir();
        closed(dir.path());
        let db = options().read_only(read_only).open(dir.path()).unwrap();
        let path = only(dir.path(), end);
        std::fs::remove_file(&path).unwrap();
        let Err(error) = run(&db) else { continue };
        is_damage(call, &error, &path);
        failing.insert(*call);
    }
    failing
}

fn is_damage(call: &str, error: &Error, path: &Path) {
    assert_eq!(error.kind(), ErrorKind::Corruption, "{call}: {error}");
    let name = path.file_name().and_then(|name| name.to_str());
    assert_eq!(error.file_name(), name, "{call}: {error}");
    assert_eq!(error.file_offset(), Some(0), "{call}: {error}");
    assert!(error.message().contains("missing"), "{call}: {error}");
}

fn names(calls: &[Call]) -> BTreeSet<&'static str> {
    calls.iter().map(|(call, _)| *call).collect()
}

/// Regression: each of these calls returned `NotFound`, as if the database did not exist.
#[test]
fn a_missing_table_is_damage_in_every_call() {
    for read_only in [false, true] {
        assert_eq!(failing("tbl", read_only, &READS), names(&READS));
    }
    let mut writes = names(&WRITES);
    for needs_no_table in ["close", "compact_range"] {
        writes.remove(needs_no_table);
    }
    assert_eq!(failing("tbl", false, &WRITES), writes);
}

/// Regression: `count` returned 1 for an unreadable database, because it counted the error.
#[test]
fn an_error_is_not_counted_as_an_entry() {
    for shortened in [false, true] {
        let dir = real_dir();
        closed(dir.path());
        let db = options().open(dir.path()).unwrap();
        let table = only(dir.path(), "tbl");
        if shortened {
            let bytes = std::fs::read(&table).unwrap();
            std::fs::write(&table, &bytes[..bytes.len() - 100]).unwrap();
        } else {
            std::fs::remove_file(&table).unwrap();
        }
        assert_eq!(db.iter().count(), 0);
        assert_eq!(db.snapshot().range(KEYS[0]..).count(), 0);
        fails(db.iter().try_count(), ErrorKind::Corruption);
        fails(db.prefix(&KEYS[0][..2]).try_count(), ErrorKind::Corruption);
    }
}

#[test]
fn a_missing_value_file_is_damage_in_every_call() {
    let mut reads = names(&READS);
    for needs_no_value in ["contains", "approximate_size", "prefix"] {
        reads.remove(needs_no_value);
    }
    for read_only in [false, true] {
        assert_eq!(failing("val", read_only, &READS), reads);
    }
    let writes = failing("val", false, &WRITES);
    assert!(writes.contains("checkpoint"), "{writes:?}");
}

/// A file that was read and then closed is reopened by name.
#[test]
fn a_file_removed_after_it_was_read_is_damage() {
    for end in ["tbl", "val"] {
        let dir = real_dir();
        closed(dir.path());
        let db = options().open(dir.path()).unwrap();
        each(db.iter()).unwrap();
        std::fs::remove_file(only(dir.path(), end)).unwrap();
        // An open file can still be read. Reading a file that was closed in the meantime is a
        // corruption error.
        for (call, run) in READS {
            if let Err(error) = run(&db) {
                assert_eq!(error.kind(), ErrorKind::Corruption, "{call}: {error}");
            }
        }
    }
}

#[test]
fn opening_and_verify_name_the_missing_file() {
    for end in ["tbl", "val"] {
        let dir = real_dir();
        closed(dir.path());
        let path = only(dir.path(), end);
        std::fs::remove_file(&path).unwrap();
        for opened in openings(dir.path()) {
            let error = fails(opened, ErrorKind::Corruption);
            let name = path.file_name().and_then(|name| name.to_str());
            assert_eq!(error.file_name(), name, "{error}");
        }
    }
}

/// Opens a database in every way.
fn openings(path: &Path) -> [Result<()>; 3] {
    [
        options().open(path).map(drop),
        options().read_only(true).open(path).map(drop),
        cairndb::verify(path, &options()).map(drop),
    ]
}

#[test]
fn a_missing_manifest_is_damage() {
    for clean in [true, false] {
        let dir = real_dir();
        let path = dir.path();
        closed(path);
        // Simulates a process that ends without closing.
        let left = (!clean).then(|| {
            let db = options().open(path).unwrap();
            db.put(b"k", b"v").unwrap();
            db.wait_idle().unwrap();
            db
        });
        let copy = real_dir();
        write_files(copy.path(), files(path));
        drop(left);
        let path = copy.path();
        let current = std::fs::read_to_string(path.join("CURRENT")).unwrap();
        let manifest = path.join(current.trim_end());
        std::fs::remove_file(&manifest).unwrap();
        for opened in openings(path) {
            is_damage("opening", &opened.unwrap_err(), &manifest);
        }
    }
}

/// Copies the files of one directory to another.
fn copy(from: &dyn Dir, to: &dyn Dir) {
    for name in from.list().unwrap() {
        if name == LOCK {
            continue;
        }
        let file = from.open_read(&name).unwrap();
        let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        to.create(&name).unwrap().append(&bytes).unwrap();
    }
}

/// A later segment proves that the missing one had been synced.
#[test]
fn a_missing_log_segment_is_damage() {
    let (env, options) = in_memory(Background::Stepped);
    let db = options.open("/db").unwrap();
    for n in 0..1000u32 {
        db.put(&n.to_be_bytes(), &[5; 200]).unwrap();
        if n % 100 == 50 {
            db.sync().unwrap();
        }
    }
    let dir = |path: &str| env.open_dir(path.as_ref(), true).unwrap();
    let mut logs = dir("/db").list().unwrap();
    logs.retain(|name| matches!(FileKind::parse(name), Some(FileKind::Log(_))));
    let mut damaged = 0;
    for log in &logs {
        let path = format!("/without-{log}");
        copy(&*dir("/db"), &*dir(&path));
        dir(&path).unlink(log).unwrap();
        for read_only in [true, false] {
            if let Err(error) = options.clone().read_only(read_only).open(&path) {
                is_damage("opening", &error, Path::new(log));
                damaged += 1;
            }
        }
    }
    assert!(damaged > 0, "recovery needed none of the removed segments");
}

/// The directory is removed under an open handle. The system call fails, and `NotFound` would be
/// wrong, because the database existed.
#[test]
fn a_removed_directory_is_an_io_error() {
    let dir = real_dir();
    let path = dir.path().join("db");
    let db = options().open(&path).unwrap();
    db.put(b"k", b"v").unwrap();
    std::fs::remove_dir_all(&path).unwrap();
    fails(db.flush(), ErrorKind::Io);
    let error = db.checkpoint(dir.path().join("no/parent")).unwrap_err();
    assert_ne!(error.kind(), ErrorKind::NotFound, "{error}");
}
