//! Commands on a database that this process has open for writing.

#![cfg(target_os = "linux")]

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use cairndb::{Db, KeyspaceOptions, Options, WriteBatch};
use rustix::fs::{FlockOperation, fcntl_lock};
use serde_json::Value;

use super::{NONE, cairn, json};
use crate::{HOLDER, Home, Ran, command, home, names, open_reverse, read, write};

/// Opens a new database with a table, an entry in the log, and a keyspace with one more.
fn open_fruit(path: &Path) -> Db {
    let db = Db::open(path).unwrap();
    db.put(b"apple", b"red").unwrap();
    db.flush().unwrap();
    db.put(b"plum", b"blue").unwrap();
    let options = KeyspaceOptions::new();
    let shops = db.create_keyspace("shops", &options).unwrap();
    shops.put(b"7", b"open").unwrap();
    db
}

/// Asserts that the run was a success with one note, which says what later writes are not. Returns
/// the output.
#[track_caller]
fn noted(ran: Ran, done: &str) -> String {
    let text = ran.stderr.clone();
    assert_eq!(text.lines().count(), 1, "{ran:?}");
    ran.ended(0, &[HOLDER, &format!("; later writes are not {done}\n")])
}

#[test]
fn reading_commands_see_every_write_of_an_open_database() {
    let path = &*home();
    let db = open_fruit(path);
    assert_eq!(cairn("get", path, &["plum"]).done(), "blue\n");
    db.put(b"plum", b"black").unwrap();
    assert_eq!(cairn("get", path, &["plum"]).done(), "black\n");
    cairn("get", path, &["cherry"]).failed(1, &["cherry"]);
    let scanned = cairn("scan", path, &["--reverse"]).done();
    assert_eq!(scanned, "plum\tblack\napple\tred\n");
    assert_eq!(cairn("count", path, NONE).done(), "2\n");
    assert_eq!(cairn("keyspaces", path, NONE).done(), "shops\n");
    let shop = cairn("get", path, &["--keyspace=shops", "7"]).done();
    assert_eq!(shop, "open\n");
    cairn("scan", path, &["--keyspace=kinds"]).failed(5, &["kinds"]);
    let text = cairn("stats", path, NONE).done();
    assert!(text.contains("shops"), "{text}");
    let stats = json("stats", path);
    assert_eq!(stats["stats"]["runs"], 1, "{stats}");
    assert_eq!(stats["space"]["held_bytes"], 0, "{stats}");
    assert!(
        stats["file_bytes"]["total"].as_u64() > Some(16_384),
        "{stats}"
    );
    db.delete(b"plum").unwrap();
    db.drop_keyspace("shops").unwrap();
    assert_eq!(cairn("scan", path, NONE).done(), "apple\tred\n");
    assert_eq!(cairn("keyspaces", path, NONE).done(), "");
    db.close().unwrap();
}

#[test]
fn verify_checks_the_present_state_of_an_open_database() {
    let path = &*home();
    let db = open_fruit(path);
    let text = noted(cairn("verify", path, NONE), "verified");
    let expected = "intact: 3 entries; 1 stored version in 1 table, 2 in the log; ";
    assert!(text.starts_with(expected), "{text}");
    let text = noted(cairn("verify", path, &["--json"]), "verified");
    let verified: Value = serde_json::from_str(&text).unwrap();
    assert_eq!([&verified["entries"], &verified["log_versions"]], [3, 2]);
    assert_eq!(verified["keyspaces"], serde_json::json!(["shops"]));
    let table = path.join(crate::file_of(path, ".tbl"));
    super::overwrite(&table, 20, b"damage");
    cairn("verify", path, NONE).failed(3, &[".tbl", "offset"]);
    drop(db);
}

#[test]
fn an_open_database_is_exported_and_copied() {
    let at = &*home();
    let path = &at.join("fruit");
    let db = open_fruit(path);
    let to = |name: &str| at.join(name);
    noted(cairn("dump", path, &[to("dump")]), "exported");
    cairn("load", &to("loaded"), &[to("dump")]).done();
    assert_eq!(
        cairn("get", &to("loaded"), &["--keyspace=shops", "7"]).done(),
        "open\n"
    );
    let csv = noted(cairn("export", path, &["--format=csv"]), "exported");
    assert_eq!(csv, "key,value\napple,red\nplum,blue\n");
    let format = "--format=leveldb".as_ref();
    let exported = cairn("export", path, &[format, to("leveldb").as_os_str()]);
    noted(exported, "exported");
    assert_eq!(cairn("count", &to("leveldb"), NONE).done(), "2\n");
    let run = |words: &[&str]| Ran::from(command(at, words).output().unwrap());
    run(&["copy", "file:fruit", "file:copied"]).failed(5, &["keyspaces"]);
    db.drop_keyspace("shops").unwrap();
    noted(run(&["copy", "file:fruit", "file:copied"]), "copied");
    assert_eq!(run(&["get", "--store=file:fruit", "plum"]).done(), "blue\n");
    assert_eq!(
        run(&["scan", "--store=file:fruit", "--limit=1"]).done(),
        "apple\tred\n"
    );
    for name in ["loaded", "copied"] {
        assert_eq!(read(&to(name)).len(), 2, "{name}");
    }
    db.put(b"still", b"open").unwrap();
    db.close().unwrap();
}

#[test]
fn what_is_exported_while_a_thread_writes_is_of_one_moment() {
    let at = &*home();
    let path = at.join("db");
    let options = Options::new().create_if_missing(true);
    let db = options.memory_budget(256 << 10).open(&path).unwrap();
    let space = KeyspaceOptions::new();
    let space = db.create_keyspace("space", &space).unwrap();
    let mut batch = WriteBatch::new();
    for number in 0..3000 {
        batch.put(format!("m{number:04}").as_bytes(), &[b'v'; 100]);
    }
    db.write(&batch).unwrap();
    // The same number in the first key, in the last one and in the keyspace.
    let write = |number: u64| {
        let value = format!("{number:01000}").into_bytes();
        let mut batch = WriteBatch::new();
        batch.put(b"a", &value);
        batch.put(b"z", &value);
        batch.put_in(&space, b"k", &value);
        db.write(&batch).unwrap();
    };
    write(0);
    let check = |round: u32| {
        let to = |name: &str| at.join(format!("{name}{round}"));
        noted(cairn("dump", &path, &[to("dump")]), "exported");
        cairn("load", &to("loaded"), &[to("dump")]).done();
        let get = |arguments: &[&str]| cairn("get", &to("loaded"), arguments).done();
        let first = get(&["a"]);
        assert_eq!(get(&["z"]), first);
        assert_eq!(get(&["--keyspace=space", "k"]), first);
        let scanned = cairn("scan", &path, &["--values-only"]).done();
        assert_eq!(scanned.lines().next(), scanned.lines().last());
        assert_eq!(scanned.lines().count(), 3002);
        let text = noted(cairn("verify", &path, NONE), "verified");
        assert!(text.starts_with("intact: 3003 entries; "), "{text}");
        first
    };
    let seen = std::thread::scope(|scope| {
        let reader = scope.spawn(|| (0..6).map(check).collect::<Vec<_>>());
        let mut numbers = 1..;
        while !reader.is_finished() {
            numbers.by_ref().take(1).for_each(write);
        }
        reader.join().unwrap()
    });
    assert!(seen.is_sorted(), "{seen:?}");
    drop(space);
    db.close().unwrap();
}

#[test]
fn an_open_database_keeps_its_known_orders() {
    let path = &*home();
    let db = open_reverse(path, "rev:leveldb.BytewiseComparator");
    for key in ["a", "b", "c"] {
        db.put(key.as_bytes(), b"").unwrap();
    }
    let from = cairn("scan", path, &["--keys-only", "--from=b"]).done();
    assert_eq!(from, "b\na\n");
    noted(cairn("verify", path, NONE), "verified");
    db.close().unwrap();
}

/// A database that a program has open which lets nobody read, as earlier versions did.
fn silent() -> (Home, File) {
    let path = home();
    write(&path, [("apple", "red")]);
    let lock = File::options().write(true).open(path.join("LOCK")).unwrap();
    fcntl_lock(lock.as_fd(), FlockOperation::NonBlockingLockExclusive).unwrap();
    (path, lock)
}

#[test]
fn a_database_that_cannot_be_read_meanwhile_is_locked_and_says_why() {
    let (path, lock) = silent();
    let path = &*path;
    let before = names(path);
    let arguments: [(&str, &[&str]); 4] = [
        ("get", &["apple"]),
        ("verify", NONE),
        ("dump", NONE),
        ("keyspaces", NONE),
    ];
    for (command, arguments) in arguments {
        let parts = [
            path.to_str().unwrap(),
            HOLDER,
            "older version",
            "checkpoint",
        ];
        cairn(command, path, arguments).failed(4, &parts);
    }
    assert_eq!(names(path), before);
    drop(lock);
    assert_eq!(cairn("get", path, &["apple"]).done(), "red\n");
}
