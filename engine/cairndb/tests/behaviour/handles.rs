//! Handles that are closed twice, read-only or inherited across a fork, and directories of other
//! stores.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use cairndb::{
    Db, Durability, ErrorKind, Job, MergeOperator, Options, Result, WriteOptions, destroy,
};

use crate::{all, fails, fails_with, files, mem_db, real_dir, stepped, write_files};

/// Creates the files of a small LevelDB database.
fn leveldb(path: &Path) {
    std::fs::create_dir(path).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(path.join(name), bytes).unwrap();
    write("LOCK", b"");
    write("CURRENT", b"MANIFEST-000004\n");
    let mut manifest = b"\x56\xf9\x67\xe0\x1c\x00\x01\x01\x1aleveldb.BytewiseComparator".to_vec();
    manifest.resize(90, 1);
    write("MANIFEST-000004", &manifest);
    write("000005.log", b"\x01\x02\x03\x04\x20\x00\x01entry");
    write("000003.ldb", b"blocks");
}

/// Regression: files were removed based only on their names, and LevelDB uses the same names.
#[test]
fn another_stores_directory_is_neither_opened_nor_destroyed() {
    let dir = real_dir();
    let path = dir.path().join("leveldb");
    leveldb(&path);
    for lock in [true, false] {
        let before = files(&path);
        fails(destroy(&path, &Options::new()), ErrorKind::InvalidArgument);
        let options = Options::new().create_if_missing(true);
        fails_with(options.open(&path), ErrorKind::InvalidArgument, "LevelDB");
        if lock {
            assert_eq!(files(&path), before);
            std::fs::remove_file(path.join("LOCK")).unwrap();
        }
    }
    let logs = dir.path().join("logs");
    std::fs::create_dir(&logs).unwrap();
    std::fs::write(logs.join("240101.log"), "2024-01-01 started\n").unwrap();
    fails(destroy(&logs, &Options::new()), ErrorKind::InvalidArgument);
    assert_eq!(files(&logs).len(), 1);
}

#[test]
fn verify_ignores_error_if_exists() {
    let dir = real_dir();
    let options = Options::new().create_if_missing(true).error_if_exists(true);
    options.open(dir.path()).unwrap().close().unwrap();
    cairndb::verify(dir.path(), &options).unwrap();
}

/// Regression: the second close returned success although the first had lost writes.
#[test]
fn closing_again_returns_the_error_of_the_first_close() {
    let dir = real_dir();
    let path = dir.path().join("db");
    let db = Db::open(&path).unwrap();
    let unlogged = WriteOptions::new().durability(Durability::None);
    db.put_with(b"k", b"v", &unlogged).unwrap();
    // No file can be created in a directory that has been removed.
    std::fs::remove_dir_all(&path).unwrap();
    let first = db.close().unwrap_err();
    let second = db.clone().close().unwrap_err();
    assert_eq!(first.to_string(), second.to_string());
    fails(db.get(b"k"), ErrorKind::Closed);
}

/// Regression: `approximate_size` returned 0, because only a lookup in a table checked for
/// `Closed`.
#[test]
fn a_closed_handle_without_tables_returns_no_size() {
    let (db, _) = mem_db();
    assert_eq!(db.approximate_size(..).unwrap(), 0);
    db.close().unwrap();
    fails(db.approximate_size(..), ErrorKind::Closed);
}

#[test]
fn jobs_of_a_read_only_handle_change_nothing() {
    let dir = real_dir();
    let db = Db::open(dir.path()).unwrap();
    for n in 0..500_u32 {
        db.put(&n.to_be_bytes(), b"in the log").unwrap();
    }
    let copy = real_dir();
    write_files(copy.path(), files(dir.path()));
    let before = files(copy.path());
    let reader = Options::new().read_only(true).open(copy.path()).unwrap();
    let compact = [Job::Flush, Job::Compact, Job::IdleCompact];
    for job in compact
        .into_iter()
        .chain([Job::Persist, Job::Reap, Job::DropValues])
    {
        assert!(!reader.step_background(job).unwrap(), "{job:?}");
    }
    reader.wait_idle().unwrap();
    assert_eq!(all(&reader).len(), 500);
    reader.close().unwrap();
    assert_eq!(files(copy.path()), before);
}

/// Joins operands, and panics if one of them is `bad`.
#[derive(Debug)]
struct Panicking;

impl MergeOperator for Panicking {
    fn name(&self) -> &'static str {
        "test.Panicking"
    }
    fn merge(&self, _key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        assert!(!operands.contains(&&b"bad"[..]), "a bad operand");
        let parts: Vec<&[u8]> = base.into_iter().chain(operands.iter().copied()).collect();
        Ok(parts.concat())
    }
    fn combine(&self, _key: &[u8], operands: &[&[u8]]) -> Option<Vec<u8>> {
        assert!(!operands.contains(&&b"bad"[..]), "a bad operand");
        Some(operands.concat())
    }
}

/// Regression: every flush failed at the operand, until writing, closing and opening all failed.
#[test]
fn an_operator_that_panics_at_one_operand_costs_that_key_alone() {
    let options = stepped().merge_operator(Arc::new(Panicking));
    let db = options.open("/db").unwrap();
    let fill = |db: &Db| {
        for n in 0..3_000_u32 {
            db.put(&n.to_be_bytes(), &[7; 100]).unwrap();
        }
    };
    db.put(b"k", b"base").unwrap();
    db.merge(b"k", b"bad").unwrap();
    db.merge(b"without base", b"good").unwrap();
    db.merge(b"without base", b"bad").unwrap();
    fill(&db);
    db.flush().unwrap();
    fill(&db);
    db.compact_range(..).unwrap();
    db.merge(b"k", b"more").unwrap();
    drop(db);
    let db = options.open("/db").unwrap();
    assert!(db.contains(b"k").unwrap());
    db.delete(b"k").unwrap();
    db.delete(b"without base").unwrap();
    db.compact_range(..).unwrap();
    assert_eq!(all(&db).len(), 3_000);
    db.close().unwrap();
}

/// Regression: a forked child overwrote its parent's records in the log that both had mapped.
#[test]
#[expect(
    unsafe_code,
    reason = "only code between fork and exec runs in a child"
)]
fn a_forked_child_writes_nothing() {
    use std::os::unix::process::CommandExt;
    let dir = real_dir();
    let db = Db::open(dir.path()).unwrap();
    db.put(b"parent", &[1; 100]).unwrap();
    let child = db.clone();
    let check = move || {
        let refused = |result: Result<()>| result.is_err_and(|e| e.kind() == ErrorKind::Forked);
        let all = refused(child.put(b"child", &[2; 100]))
            && refused(child.put(b"child", &[2; 100_000]))
            && refused(child.sync())
            && refused(child.flush())
            && refused(child.wait_idle())
            && refused(child.checkpoint("/nowhere"))
            && refused(child.compact_range(..))
            && refused(child.step_background(Job::Flush).map(drop))
            && refused(child.close());
        all.then_some(())
            .ok_or(std::io::Error::from_raw_os_error(1))
    };
    let mut command = Command::new("true");
    // SAFETY: the closure takes no lock that another thread of this process could hold at the fork.
    // The test checks exactly that: every call must fail before it takes its first lock.
    unsafe { command.pre_exec(check) };
    assert!(command.status().unwrap().success());
    db.put(b"parent too", &[3; 100]).unwrap();
    assert_eq!(all(&db).len(), 2);
    drop(command);
    db.close().unwrap();
}

/// Regression: a forked child that dropped a follower's snapshot freed the files that its parent's
/// copy still needs.
#[test]
#[expect(
    unsafe_code,
    reason = "only code between fork and exec runs in a child"
)]
fn a_forked_child_leaves_its_parents_followers_alone() {
    use std::os::unix::process::CommandExt;
    use std::sync::Mutex;
    let dir = real_dir();
    let db = Db::open(dir.path()).unwrap();
    let replace = |value: &[u8]| {
        db.put(b"key", value).unwrap();
        db.compact_range(..).unwrap();
        db.wait_idle().unwrap();
    };
    replace(b"old");
    let follower = Options::new().follow().open(dir.path()).unwrap();
    let held = Arc::new(Mutex::new(Some(follower.snapshot())));
    replace(b"new");
    // From here on, only the snapshot holds the first state, of which it has opened nothing.
    assert_eq!(follower.get(b"key").unwrap().as_deref(), Some(&b"new"[..]));
    let child = Arc::clone(&held);
    let mut command = Command::new("true");
    let drop_all = move || {
        drop(child.lock().unwrap().take());
        Ok(())
    };
    // SAFETY: no other thread of this process holds a lock of the follower, which has none.
    unsafe { command.pre_exec(drop_all) };
    assert!(command.status().unwrap().success());
    replace(b"newer");
    let snapshot = held.lock().unwrap();
    let found = snapshot.as_ref().unwrap().get(b"key").unwrap();
    assert_eq!(found.as_deref(), Some(&b"old"[..]));
}
