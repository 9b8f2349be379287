//! Forks share files with the database that they are of, and nothing else.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cairndb::env::random::Random;
use cairndb::{Db, ErrorKind, KeyspaceOptions, Options, WriteBatch, diff, verify};

use crate::{all, entries, fails, fails_with, files, mem_db, noise, paths, real_dir};

/// Opens a database that is not created.
fn open(path: impl AsRef<Path>) -> Db {
    Options::new().open(path).unwrap()
}

/// Returns the number on the device and the length of each table and value file.
fn inodes(path: &Path) -> BTreeMap<String, (u64, u64)> {
    let found = ["tbl", "val"].into_iter().flat_map(|end| paths(path, end));
    let found = found.map(|path| {
        let stat = std::fs::metadata(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, (stat.ino(), stat.len()))
    });
    found.collect()
}

#[test]
fn a_fork_shares_what_neither_side_writes_to() {
    let dir = real_dir();
    let (path, copy) = (dir.path().join("db"), dir.path().join("fork"));
    let db = Db::open(&path).unwrap();
    db.put(b"small", b"1").unwrap();
    db.put(b"large", &noise(&mut Random::new(1), 20_000))
        .unwrap();
    let report = db.fork(&copy).unwrap();
    assert_eq!((report.shared, report.cloned, report.copied), (2, 0, 0));
    let shared = inodes(&path);
    assert_eq!(inodes(&copy), shared);
    // Each side writes a large value to a new file.
    let fork = open(&copy);
    for side in [&db, &fork] {
        side.put(b"own", &noise(&mut Random::new(2), 20_000))
            .unwrap();
        side.put(b"small", side.path().as_os_str().as_encoded_bytes())
            .unwrap();
        side.flush().unwrap();
    }
    for (name, found) in &shared {
        assert_eq!(inodes(&path).get(name), Some(found), "{name}");
        assert_eq!(inodes(&copy).get(name), Some(found), "{name}");
    }
    let small = |db: &Db| db.get(b"small").unwrap().unwrap().into_vec();
    assert_eq!(small(&db), path.as_os_str().as_encoded_bytes());
    assert_eq!(small(&fork), copy.as_os_str().as_encoded_bytes());
    // What one side drops stays for the other.
    let before = all(&fork);
    db.delete_range(..).unwrap();
    db.compact_range(..).unwrap();
    db.close().unwrap();
    cairndb::destroy(&path, &Options::new()).unwrap();
    assert_eq!(all(&fork), before);
    fork.close().unwrap();
    verify(&copy, &Options::new()).unwrap();
}

/// A repair of one side, and damage to a file that it has rewritten, leave the other whole.
#[test]
fn a_fork_outlives_the_repair_of_what_it_is_of() {
    let dir = real_dir();
    let (path, copy) = (dir.path().join("db"), dir.path().join("fork"));
    let db = Db::open(&path).unwrap();
    (0..500_u32).for_each(|n| db.put(&n.to_be_bytes(), b"value").unwrap());
    db.fork(&copy).unwrap();
    let shared = inodes(&copy);
    (0..500_u32).for_each(|n| db.put(&n.to_be_bytes(), b"other").unwrap());
    db.compact_range(..).unwrap();
    db.close().unwrap();
    let own = inodes(&path);
    assert!(
        own.values()
            .all(|file| !shared.values().any(|it| it == file))
    );
    let table = &paths(&path, "tbl")[0];
    let mut bytes = std::fs::read(table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(table, bytes).unwrap();
    let options = cairndb::RepairOptions::new(&Options::new());
    cairndb::repair(&path, dir.path().join("repaired"), &options).unwrap();
    verify(&copy, &Options::new()).unwrap();
    assert_eq!(all(&open(&copy)).len(), 500);
}

#[test]
fn a_repaired_fork_of_a_snapshot_ends_at_the_snapshot() {
    let dir = real_dir();
    let copy = dir.path().join("fork");
    let db = Db::open(dir.path().join("db")).unwrap();
    db.put(b"granite", b"grey").unwrap();
    db.put(b"slate", b"blue").unwrap();
    let snapshot = db.snapshot();
    db.put(b"basalt", b"black").unwrap();
    db.put(b"granite", b"red").unwrap();
    db.delete(b"slate").unwrap();
    db.flush().unwrap();
    snapshot.fork(&copy).unwrap();
    let expected = all(&open(&copy));
    assert_eq!(expected.len(), 2);
    let target = dir.path().join("repaired");
    let options = cairndb::RepairOptions::new(&Options::new());
    cairndb::repair(&copy, &target, &options).unwrap();
    assert_eq!(all(&open(&target)), expected);
}

#[test]
fn a_fork_of_a_snapshot_has_its_moment_whatever_was_compacted_since() {
    for seed in 0..30 {
        let (db, options) = mem_db();
        let mut random = Random::new(seed);
        let space = db
            .create_keyspace("space", &KeyspaceOptions::new())
            .unwrap();
        let mut write = |count: u64| {
            for _ in 0..count {
                let key = random.below(60).to_be_bytes();
                let value = random.next_u64().to_le_bytes();
                let mut batch = WriteBatch::new();
                match random.below(8) {
                    0 => batch.delete(&key),
                    1 => batch.delete_range(&key[..]..&(random.below(60)).to_be_bytes()[..]),
                    2 => batch.put_in(&space, &key, &value),
                    _ => batch.put(&key, &value),
                }
                db.write(&batch).unwrap();
                match random.below(40) {
                    0 => db.flush().unwrap(),
                    1 => db.compact_range(..).unwrap(),
                    _ => {}
                }
            }
        };
        write(300);
        let snapshot = db.snapshot();
        let moment = entries(snapshot.iter());
        let in_space = entries(snapshot.range_in(&space, ..).unwrap());
        write(300);
        snapshot.fork("/fork").unwrap();
        let fork = options.open("/fork").unwrap();
        let same = |fork: &Db| {
            assert_eq!(all(fork), moment, "seed {seed}");
            assert_eq!(crate::all_backward(fork), moment, "seed {seed}");
            for (key, value) in &moment {
                assert_eq!(fork.get(key).unwrap().as_deref(), Some(&value[..]));
            }
            let space = fork.keyspace("space").unwrap();
            assert_eq!(entries(space.iter()), in_space, "seed {seed}");
        };
        same(&fork);
        // A fork of a fork, and of a snapshot of it.
        fork.snapshot().fork("/again").unwrap();
        fork.put(b"own", b"write").unwrap();
        same(&options.open("/again").unwrap());
        assert_eq!(
            diff(&options.open("/again").unwrap(), &fork)
                .unwrap()
                .count(),
            1
        );
        fork.delete(b"own").unwrap();
        fork.compact_range(..).unwrap();
        same(&fork);
    }
}

#[test]
fn a_fork_goes_nowhere_where_something_is() {
    let dir = real_dir();
    let (path, there) = (dir.path().join("db"), dir.path().join("there"));
    let db = Db::open(&path).unwrap();
    db.put(b"k", b"v").unwrap();
    db.flush().unwrap();
    let before = files(&path);
    let into = |path: &Path| db.fork(path);
    fails_with(into(&path), ErrorKind::InvalidArgument, "into itself");
    fails_with(
        into(&path.join("../db")),
        ErrorKind::InvalidArgument,
        "not empty",
    );
    std::fs::create_dir(&there).unwrap();
    std::fs::write(there.join("notes"), "mine").unwrap();
    fails_with(into(&there), ErrorKind::InvalidArgument, "not empty");
    assert_eq!(files(&there).len(), 1);
    fails(into(&dir.path().join("no/such")), ErrorKind::Io);
    assert_eq!(files(&path), before);
    let reader = Options::new().read_only(true);
    drop(db);
    let db = reader.open(&path).unwrap();
    fails_with(
        db.fork(dir.path().join("two")),
        ErrorKind::ReadOnly,
        "for writing",
    );
    assert!(!dir.path().join("two").exists());
}

/// Writes `count` entries in a table, and returns a fork, whose only other entry is in a table too.
fn forked(path: &Path, copy: &Path, count: u32) -> (Db, Db) {
    let db = Db::open(path).unwrap();
    let noise = noise(&mut Random::new(1), 100);
    (0..count).for_each(|n| db.put(&n.to_be_bytes(), &noise).unwrap());
    db.fork(copy).unwrap();
    let fork = open(copy);
    fork.put(b"own", b"value").unwrap();
    fork.flush().unwrap();
    (db, fork)
}

#[test]
fn errors_of_a_comparison_name_the_database() {
    let dir = real_dir();
    let (path, copy) = (dir.path().join("db"), dir.path().join("fork"));
    let (db, fork) = forked(&path, &copy, 500);
    fork.close().unwrap();
    let own = paths(&copy, "tbl").pop().unwrap();
    let mut bytes = std::fs::read(&own).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&own, bytes).unwrap();
    let fork = open(&copy);
    for (one, other) in [(&db, &fork), (&fork, &db)] {
        let found = diff(one, other).and_then(Iterator::collect::<cairndb::Result<Vec<_>>>);
        let error = fails(found, ErrorKind::Corruption);
        assert_eq!(error.file_name(), own.file_name().unwrap().to_str());
        assert_eq!(error.directory_name(), copy.to_str());
    }
}

#[test]
fn a_comparison_can_be_stopped_where_nothing_differs() {
    let (db, options) = mem_db();
    db.put(b"k", b"v").unwrap();
    db.fork("/fork").unwrap();
    let fork = options.open("/fork").unwrap();
    // An entry of its own, with the same value.
    db.put(b"k", b"v").unwrap();
    db.put(b"z", b"v").unwrap();
    let mut compared = diff(&db, &fork).unwrap();
    let watcher = |_| std::ops::ControlFlow::Break(());
    let next = cairndb::watch(watcher, || compared.next()).unwrap();
    fails(next, ErrorKind::Interrupted);
    assert_eq!(compared.next().unwrap().unwrap().key, b"z");
    assert!(compared.next().is_none());
}

#[test]
fn a_comparison_ends_with_its_databases() {
    for closes_first in [true, false] {
        for shares in [true, false] {
            let (db, options) = mem_db();
            db.put(b"k", b"v").unwrap();
            db.fork("/fork").unwrap();
            let fork = options.open("/fork").unwrap();
            if !shares {
                fork.put(b"k", b"w").unwrap();
                fork.compact_range(..).unwrap();
            }
            let mut compared = diff(&db, &fork).unwrap();
            let closed = if closes_first { &db } else { &fork };
            closed.close().unwrap();
            fails(compared.next().unwrap(), ErrorKind::Closed);
            assert!(compared.next().is_none());
        }
    }
}

/// On another file system, files are copied.
#[test]
fn what_cannot_be_linked_is_copied() {
    let (dir, other) = (real_dir(), tempfile::tempdir_in("/dev/shm"));
    let Ok(other) = other else { return };
    let device = |path: &Path| std::fs::metadata(path).unwrap().dev();
    if device(dir.path()) == device(other.path()) {
        return;
    }
    let db = Db::open(dir.path().join("db")).unwrap();
    db.put(b"k", b"v").unwrap();
    let report = db.fork(other.path().join("fork")).unwrap();
    assert_eq!((report.shared, report.copied), (0, 1));
    assert!(report.copied_bytes > 0);
    let fork = open(other.path().join("fork"));
    assert_eq!(all(&fork), all(&db));
    // No file is shared, so everything is compared.
    fork.put(b"l", b"w").unwrap();
    assert_eq!(diff(&db, &fork).unwrap().count(), 1);
}

/// ext4 permits 65,000 links to a file. Where there is no such limit, nothing is tested.
#[test]
fn a_file_with_as_many_links_as_it_can_have_is_copied() {
    let dir = real_dir();
    let path = dir.path().join("db");
    let db = Db::open(&path).unwrap();
    db.put(b"small", b"1").unwrap();
    db.put(b"large", &noise(&mut Random::new(1), 20_000))
        .unwrap();
    db.flush().unwrap();
    let [table] = &paths(&path, "tbl")[..] else {
        panic!("one table")
    };
    let links = dir.path().join("links");
    std::fs::create_dir(&links).unwrap();
    let refused = (0..70_000).find_map(|number: u32| {
        let link = links.join(number.to_string());
        std::fs::hard_link(table, link).err()
    });
    let Some(refused) = refused else { return };
    assert_eq!(refused.kind(), std::io::ErrorKind::TooManyLinks);
    let count = std::fs::metadata(table).unwrap().nlink();
    for name in ["fork", "other"] {
        let report = db.fork(dir.path().join(name)).unwrap();
        let (copied, length) = (report.copied, table.metadata().unwrap().len());
        // The value file has few links.
        assert_eq!((report.shared, report.cloned + copied), (1, 1));
        assert_eq!(report.copied_bytes, length * copied);
        let fork = open(dir.path().join(name));
        assert_eq!(all(&fork), all(&db));
        fork.close().unwrap();
        verify(dir.path().join(name), &Options::new()).unwrap();
    }
    assert_eq!(std::fs::metadata(table).unwrap().nlink(), count);
    // With a link less there is room for one fork.
    std::fs::remove_file(links.join("0")).unwrap();
    let report = db.fork(dir.path().join("third")).unwrap();
    assert_eq!((report.shared, report.copied), (2, 0));
}
