//! Foreign files in the directory whose names match the format: they are left alone and listed.

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use cairndb::{Db, ErrorKind, Options, destroy, verify};

use crate::{fails, keys, real_dir};

/// The kinds of objects that a name may refer to.
const SHAPES: [Shape; 6] = [
    Shape::Link,
    Shape::Dangling,
    Shape::Pipe,
    Shape::Folder,
    Shape::Text,
    Shape::Empty,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// A symbolic link to a file outside the directory.
    Link,
    /// A dangling symbolic link.
    Dangling,
    Pipe,
    Folder,
    /// A foreign file.
    Text,
    /// An empty file, which a crash may leave as well.
    Empty,
}

const TEXT: &[u8] = b"2026-11-27 09:00:00 started\n";

impl Shape {
    fn make(self, at: &Path, outside: &Path) {
        match self {
            Shape::Link => symlink(outside, at).unwrap(),
            Shape::Dangling => symlink("nowhere", at).unwrap(),
            Shape::Pipe => assert!(Command::new("mkfifo").arg(at).status().unwrap().success()),
            Shape::Folder => fs::create_dir(at).unwrap(),
            Shape::Text => fs::write(at, TEXT).unwrap(),
            Shape::Empty => fs::write(at, b"").unwrap(),
        }
    }

    #[track_caller]
    fn check(self, at: &Path) {
        let kind = fs::symlink_metadata(at).map(|it| it.file_type());
        let kind = kind.unwrap_or_else(|error| panic!("{}: {error}", at.display()));
        match self {
            Shape::Link | Shape::Dangling => assert!(kind.is_symlink()),
            Shape::Pipe => assert!(kind.is_fifo()),
            Shape::Folder => assert!(kind.is_dir()),
            Shape::Text => assert_eq!(fs::read(at).unwrap(), TEXT),
            Shape::Empty => assert_eq!(fs::read(at).unwrap(), b""),
        }
    }
}

/// Returns the name of each kind that the engine creates, with this number.
fn names_of(number: u64) -> Vec<String> {
    let suffixes = ["log", "tbl", "val", "tmp"];
    let mut names = suffixes
        .map(|suffix| format!("{number:06}.{suffix}"))
        .to_vec();
    names.push(format!("MANIFEST-{number:06}"));
    names
}

/// Returns names with numbers that the engine has not reached and one that it never reaches,
/// sorted.
fn names() -> Vec<String> {
    let numbers = [998, 20_261_127, u64::MAX >> 2, u64::MAX >> 1];
    let mut names: Vec<_> = numbers.into_iter().flat_map(names_of).collect();
    names.sort();
    names
}

/// Creates a database with a table, a value file and a log, either closed or as left by a killed
/// process.
fn database(path: &Path, closed: bool) {
    let work = path.with_extension("work");
    let db = Db::open(if closed { path } else { &work }).unwrap();
    db.put(b"large", &[7; 20_000]).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    db.put(b"b", b"2").unwrap();
    if !closed {
        fs::create_dir(path).unwrap();
        for entry in fs::read_dir(&work).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
        }
    }
    db.close().unwrap();
}

fn skipped(db: &Db) -> Vec<String> {
    let skipped = db.open_report().skipped.iter();
    let mut names: Vec<String> = skipped.map(|it| it.file.clone()).collect();
    names.sort();
    names
}

/// Runs a database through operations that create and remove every kind of file.
fn live(db: &Db) {
    db.put(b"c", b"3").unwrap();
    db.put(b"more", &[9; 30_000]).unwrap();
    db.flush().unwrap();
    db.delete(b"large").unwrap();
    db.compact_range(..).unwrap();
    db.put(b"d", b"4").unwrap();
    db.sync().unwrap();
}

#[track_caller]
fn check_contents(db: &Db) {
    assert_eq!(keys(db.iter()), [&b"a"[..], b"b", b"c", b"d", b"more"]);
}

/// Regressions: the first write after each opening failed if the name of a log was a link, a pipe
/// or a folder, and any file with a name of this format that no manifest named was removed.
#[test]
fn foreign_files_are_never_touched_and_are_listed() {
    for shape in SHAPES {
        for closed in [true, false] {
            let dir = real_dir();
            let (path, outside) = (dir.path().join("db"), dir.path().join("20261126.log"));
            fs::write(&outside, TEXT).unwrap();
            database(&path, closed);
            let expected = names();
            for name in &expected {
                shape.make(&path.join(name), &outside);
            }
            let read_only = Options::new().read_only(true).open(&path).unwrap();
            assert_eq!(skipped(&read_only), expected, "{shape:?}, closed: {closed}");
            read_only.close().unwrap();
            verify(&path, &Options::new()).unwrap();
            for round in 0..2 {
                let db = Db::open(&path).unwrap();
                if round == 0 {
                    db.put(b"a", b"1").expect("the first write must succeed");
                }
                assert_eq!(skipped(&db), expected, "{shape:?}, closed: {closed}");
                let mut skipped = db.open_report().skipped.iter();
                assert!(skipped.all(|it| !it.reason.is_empty()));
                live(&db);
                check_contents(&db);
                db.close().unwrap();
            }
            for name in &expected {
                shape.check(&path.join(name));
            }
            assert_eq!(fs::read(&outside).unwrap(), TEXT);
        }
    }
}

/// Names that become taken while the database is open are also skipped.
#[test]
fn a_number_whose_name_is_taken_is_not_used() {
    for shape in SHAPES {
        let dir = real_dir();
        let (path, outside) = (dir.path().join("db"), dir.path().join("outside"));
        fs::write(&outside, TEXT).unwrap();
        let db = Db::open(&path).unwrap();
        db.put(b"a", b"1").unwrap();
        db.put(b"b", b"2").unwrap();
        let taken = (3..40).flat_map(names_of).map(|name| path.join(name));
        let free = |path: &PathBuf| fs::symlink_metadata(path).is_err();
        let taken: Vec<PathBuf> = taken.filter(free).collect();
        for at in &taken {
            shape.make(at, &outside);
        }
        live(&db);
        check_contents(&db);
        db.close().unwrap();
        let db = Db::open(&path).unwrap();
        check_contents(&db);
        drop(db);
        for at in &taken {
            shape.check(at);
        }
    }
}

/// Regressions: `destroy` stopped halfway at a folder whose name matched the format, and removed
/// foreign files.
#[test]
fn destroy_removes_our_files_and_nothing_else() {
    for shape in SHAPES {
        let dir = real_dir();
        let (path, outside) = (dir.path().join("db"), dir.path().join("outside"));
        fs::write(&outside, TEXT).unwrap();
        database(&path, false);
        for name in names() {
            shape.make(&path.join(name), &outside);
        }
        destroy(&path, &Options::new()).unwrap();
        let left = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap());
        let left = left.map(|entry| entry.file_name().into_string().unwrap());
        let mut left: Vec<String> = left.collect();
        left.sort();
        let expected = names();
        assert_eq!(left, expected, "{shape:?}");
        for name in &expected {
            shape.check(&path.join(name));
        }
        assert_eq!(fs::read(&outside).unwrap(), TEXT);
        // Empty files do not prevent a new database. Foreign files do, and the error names one.
        match Db::open(&path) {
            Ok(db) => {
                assert_eq!((shape, skipped(&db)), (Shape::Empty, expected));
                db.put(b"a", b"1").unwrap();
            }
            Err(error) => {
                let named = error.file_name().unwrap_or_default();
                let is_named = expected.iter().any(|name| name == named);
                assert_eq!(
                    (error.kind(), is_named),
                    (ErrorKind::InvalidArgument, true),
                    "{error}"
                );
            }
        }
    }
}

/// If `CURRENT` is not a regular file, `destroy` and open fail before they change anything.
#[test]
fn a_current_that_is_not_a_regular_file_is_refused() {
    for shape in [Shape::Link, Shape::Dangling, Shape::Pipe, Shape::Folder] {
        let dir = real_dir();
        let (path, outside) = (dir.path().join("db"), dir.path().join("outside"));
        database(&path, true);
        fs::rename(path.join("CURRENT"), &outside).unwrap();
        shape.make(&path.join("CURRENT"), &outside);
        let count = || fs::read_dir(&path).unwrap().count();
        let before = count();
        for refused in [
            destroy(&path, &Options::new()),
            Db::open(&path).map(drop),
            verify(&path, &Options::new()).map(drop),
        ] {
            let error = fails(refused, ErrorKind::Io);
            assert_eq!(
                (error.file_name(), count()),
                (Some("CURRENT"), before),
                "{error}"
            );
        }
        shape.check(&path.join("CURRENT"));
    }
}

/// Regression: every file was removed, and then the call failed, because the path was a link to the
/// directory.
#[test]
fn all_calls_work_through_a_symbolic_link() {
    let dir = real_dir();
    let (path, link) = (dir.path().join("db"), dir.path().join("link"));
    database(&path, true);
    symlink("db", &link).unwrap();
    let report = verify(&link, &Options::new()).unwrap();
    assert_eq!(report.values, 1);
    let db = Options::new().read_only(true).open(&link).unwrap();
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
    db.close().unwrap();
    let (copy, to_copy) = (dir.path().join("copy"), dir.path().join("to-copy"));
    fs::create_dir(&copy).unwrap();
    symlink("copy", &to_copy).unwrap();
    let db = Db::open(&link).unwrap();
    db.checkpoint(&to_copy).unwrap();
    let dangling = dir.path().join("dangling");
    symlink("nowhere", &dangling).unwrap();
    assert!(db.checkpoint(&dangling).is_err());
    assert!(!dir.path().join("nowhere").exists());
    db.close().unwrap();
    verify(&to_copy, &Options::new()).unwrap();
    let is_empty = |path: &Path| fs::read_dir(path).unwrap().next().is_none();
    destroy(to_copy.join("."), &Options::new()).unwrap();
    assert!(is_empty(&copy));
    destroy(&link, &Options::new()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(is_empty(&path));
    let db = Db::open(&link).unwrap();
    db.put(b"new", b"life").unwrap();
    db.close().unwrap();
    destroy(&path, &Options::new()).unwrap();
    assert!(!path.exists());
}

/// Regression: a user's own files made a directory without a database look like a database without
/// `CURRENT`.
#[test]
fn foreign_files_are_not_a_database_without_current() {
    for (shape, name) in [
        (Shape::Text, "20261127.log"),
        (Shape::Pipe, "000007.log"),
        (Shape::Folder, "000007.tbl"),
        (Shape::Link, "000007.val"),
    ] {
        let dir = real_dir();
        let outside = dir.path().join("outside");
        fs::write(&outside, TEXT).unwrap();
        let path = dir.path().join("db");
        fs::create_dir(&path).unwrap();
        shape.make(&path.join(name), &outside);
        let error = fails(Db::open(&path), ErrorKind::InvalidArgument);
        assert_eq!(error.file_name(), Some(name), "{error}");
        fails(destroy(&path, &Options::new()), ErrorKind::InvalidArgument);
        shape.check(&path.join(name));
    }
}
