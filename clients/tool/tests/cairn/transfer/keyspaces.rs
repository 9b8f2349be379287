//! Keyspaces: the commands on them, and that `dump` and `load` move all of them.

use std::path::Path;

use cairndb::Db;

use super::{cairn, words};
use crate::{home, limited};

/// Makes the database `from` with entries in the default keyspace, in `fruit` and in `sums`.
fn prepare(at: &Path) {
    cairn(at, "put --create @from a default").done();
    cairn(at, "create-keyspace @from fruit").done();
    cairn(
        at,
        "create-keyspace @from sums --merge-operator cairndb.add",
    )
    .done();
    cairn(at, "put @from --keyspace=fruit apple red").done();
    cairn(at, "put @from --keyspace=fruit pear green").done();
    cairn(at, "put @from --keyspace=sums a 12345678").done();
}

#[test]
fn commands_work_in_one_keyspace() {
    let at = &*home();
    prepare(at);
    assert_eq!(cairn(at, "keyspaces @from").done(), "fruit\nsums\n");
    let json = cairn(at, "keyspaces --json @from").done();
    assert_eq!(json, "{\"keyspaces\":[\"fruit\",\"sums\"]}\n");
    assert_eq!(cairn(at, "scan @from").done(), "a\tdefault\n");
    assert_eq!(
        cairn(at, "get @from --keyspace=fruit apple").done(),
        "red\n"
    );
    cairn(at, "get @from --keyspace=fruit a").failed(1, &["a"]);
    cairn(at, "delete @from --keyspace=fruit apple a").done();
    assert_eq!(cairn(at, "count @from --keyspace=fruit").done(), "1\n");
    cairn(at, "delete @from --keyspace=sums --from a --to b").done();
    assert_eq!(cairn(at, "count @from --keyspace=sums").done(), "0\n");
    cairn(at, "put @from --keyspace=sums a 12345678").done();
    cairn(at, "compact @from --keyspace=fruit").done();
    assert_eq!(cairn(at, "get @from a").done(), "default\n");
    for line in ["verify @from", "stats @from"] {
        let text = cairn(at, line).done();
        assert!(text.contains("fruit, sums"), "{text}");
    }
    cairn(at, "copy file:from file:to").failed(5, &["keyspaces", "dump"]);
    cairn(at, "scan --store file:from --keyspace=fruit").failed(2, &["no keyspaces"]);
    let exported = cairn(at, "export @from @to.csv").done();
    assert!(
        exported.contains("not exported: the keyspaces fruit, sums"),
        "{exported}"
    );
    cairn(at, "drop-keyspace @from fruit").failed(2, &["--yes"]);
    cairn(at, "drop-keyspace @from fruit --yes").done();
    cairn(at, "scan @from --keyspace=fruit").failed(5, &["no such keyspace", "fruit"]);
    cairn(at, "create-keyspace @from sums").failed(5, &["exists"]);
    cairn(at, "drop-keyspace @from fruit --yes").failed(5, &["no such keyspace"]);
    let long = "x".repeat(256);
    let bad = cairn(at, &format!("create-keyspace @from {long}"));
    bad.failed(5, &["1 to 255 bytes"]);
    cairn(at, "scan @from --keyspace=").failed(5, &["1 to 255 bytes"]);
}

#[test]
fn a_dump_moves_all_keyspaces() {
    let at = &*home();
    prepare(at);
    cairn(at, "create-keyspace @from empty").done();
    let dumped = cairn(at, "dump @from @all.dump --save-every 1").hash();
    assert_eq!(
        cairn(at, "load @to @all.dump --save-every 1").hash(),
        dumped
    );
    for name in [
        "--keyspace=fruit",
        "--keyspace=sums",
        "--keyspace=empty",
        "",
    ] {
        let scan = |name: &str, of: &str| cairn(at, &format!("scan {of} {name}")).done();
        assert_eq!(scan(name, "@to"), scan(name, "@from"), "{name}");
    }
    let manifest = cairn(at, "manifest @to").done();
    assert!(manifest.contains("cairndb.add"), "{manifest}");
    cairn(at, "load @to @all.dump").failed(5, &["--add"]);
    assert_eq!(cairn(at, "load @to @all.dump --add").hash(), dumped);
    assert_eq!(cairn(at, "count @to --keyspace=fruit").done(), "2\n");
    cairn(at, "load @to @all.dump --add --keyspace=fruit").failed(2, &["leave --keyspace out"]);
    // One keyspace is a dump without names, which goes into any.
    let one = cairn(at, "dump @from @one.dump --keyspace=fruit").hash();
    cairn(at, "create-keyspace @to other").done();
    assert_eq!(cairn(at, "load @to @one.dump --keyspace=other").hash(), one);
    let scan = |line: &str| cairn(at, &format!("scan {line}")).done();
    assert_eq!(scan("@to --keyspace=other"), scan("@from --keyspace=fruit"));
}

#[test]
fn interrupted_dumps_and_loads_continue_within_a_keyspace() {
    let at = &*home();
    prepare(at);
    let db = Db::open(at.join("from")).unwrap();
    for name in ["fruit", "sums"] {
        let keyspace = db.keyspace(name).unwrap();
        for number in 0..30_u8 {
            let value = vec![number; 100_000];
            keyspace.put(&[b'm', number], &value).unwrap();
        }
    }
    db.close().unwrap();
    let whole = cairn(at, "dump @from @whole.dump").hash();
    // 4.5 MB end within `sums`.
    let line = words(at, "dump @from @all.dump --save-every 1");
    limited(9_000, at, &line).ended(5, &[]);
    assert!(at.join("all.dump.partial").exists());
    assert_eq!(cairn(at, "dump @from @all.dump").hash(), whole);
    let bytes = std::fs::read(at.join("all.dump")).unwrap();
    assert!(bytes.len() > 6_000_000);
    let load = |len: usize| {
        std::fs::write(at.join("all.dump"), &bytes[..len]).unwrap();
        cairn(at, "load @to @all.dump --save-every 1")
    };
    for len in [2_000_000, 5_000_000] {
        load(len).failed(3, &["cut off"]);
        assert!(at.join("to.cairn-import").exists());
    }
    assert_eq!(load(bytes.len()).hash(), whole);
    assert_eq!(cairn(at, "dump @to @again.dump").hash(), whole);
}
