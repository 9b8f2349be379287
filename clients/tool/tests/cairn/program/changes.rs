//! `changes`, `leases` and `drop-lease`.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use cairndb::{Db, KeyspaceOptions, WriteBatch};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{NONE, cairn, command};
use crate::{HOLDER, Ran, assert_has, home, write};

const LEASE: &str = "--lease=copy";

/// Returns the lines of `--json`, without places and times, which are checked.
fn parsed(text: &str) -> Vec<Value> {
    let lines = text.lines().map(|line| {
        let mut change: Value = serde_json::from_str(line).unwrap();
        let parts = change.as_object_mut().unwrap();
        let place = parts.remove("place").unwrap();
        assert!(place.as_str().unwrap().contains('-'), "{line}");
        // That of a keyspace is not always known.
        let time = parts.remove("time").unwrap();
        assert_eq!(
            time.is_string(),
            parts["kind"] == "batch" || !time.is_null(),
            "{line}"
        );
        assert_eq!(parts.remove("durability").unwrap(), "sync");
        change
    });
    lines.collect()
}

#[test]
fn changes_are_printed_once_for_a_lease() {
    let path = &*home();
    write(path, [("before", "1")]);
    assert_eq!(cairn("changes", path, &[LEASE]).done(), "");
    let db = Db::open(path).unwrap();
    let shops = KeyspaceOptions::new().merge_operator("cairndb.add");
    let shops = db.create_keyspace("shops", &shops).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"\xff", b"red");
    batch.delete(b"k\n");
    batch.delete_range(b"a".to_vec()..);
    batch.merge_in(&shops, b"n", &[1; 8]);
    db.write(&batch).unwrap();
    drop(shops);
    db.drop_keyspace("shops").unwrap();
    db.close().unwrap();
    let expected = [
        json!({ "kind": "keyspace_created", "keyspace": "shops" }),
        json!({ "kind": "batch", "entries": [
            { "operation": "put", "keyspace": null, "key": { "base64": "/w==" }, "value": "red" },
            { "operation": "delete", "keyspace": null, "key": "k\n" },
            { "operation": "delete_range", "keyspace": null, "from": "a", "to": null },
            { "operation": "merge", "keyspace": "shops", "key": "n",
              "operand": "\u{1}".repeat(8) },
        ] }),
        json!({ "kind": "keyspace_dropped", "keyspace": "shops" }),
    ];
    let leases = cairn("leases", path, NONE).done();
    let begin = leases.trim_end().strip_prefix("copy\t").unwrap();
    // Without a lease, what is kept is printed again.
    let again = cairn("changes", path, &["--after", begin]).done();
    let hex = cairn("changes", path, &["--after", begin, "--hex"]).done();
    let text = cairn("changes", path, &[LEASE, "--json"]).done();
    assert_eq!(parsed(&text), expected);
    assert_eq!(cairn("changes", path, &[LEASE, "--json"]).done(), "");
    let lines: Vec<&str> = again.lines().collect();
    assert!(lines[0].starts_with("keyspace created "), "{again}");
    assert_has(lines[0], &["-", "durability sync, keyspace shops"]);
    assert_has(lines[1], &["batch ", ": time 2", "Z, durability sync"]);
    assert_eq!(
        lines[2..6],
        [
            r#"  put key "\xff": value "red""#,
            r#"  delete key "k\n""#,
            r#"  delete range from "a""#,
            r#"  merge key "n": operand "\x01\x01\x01\x01\x01\x01\x01\x01", keyspace shops"#,
        ]
    );
    assert_has(lines[6], &["keyspace dropped "]);
    assert_has(&hex, &["  put key \"ff\": value \"726564\"\n"]);
}

#[test]
fn leases_are_listed_and_dropped() {
    let path = &*home();
    write(path, [("k", "1")]);
    assert_eq!(cairn("leases", path, NONE).done(), "");
    assert_eq!(super::json("leases", path), json!({ "leases": [] }));
    for name in ["--lease=one", "--lease=two\n"] {
        assert_eq!(
            cairn("changes", path, &[name, "--lease-bytes=16000000"]).done(),
            ""
        );
    }
    let text = cairn("leases", path, NONE).done();
    let names: Vec<_> = text.lines().map(|line| line.split('\t').next()).collect();
    assert_eq!(names, [Some("one"), Some("two\\n")], "{text}");
    let db = Db::open(path).unwrap();
    for _ in 0..30_000 {
        db.put(b"k", &[b'v'; 1000]).unwrap();
    }
    db.close().unwrap();
    let leases = super::json("leases", path);
    assert_eq!(leases["leases"][0]["name"], "one");
    assert_eq!(leases["leases"][0]["fell_off"], true, "{leases}");
    let fallen = cairn("leases", path, NONE).done();
    assert_eq!(fallen.matches("\tfell off\n").count(), 2, "{fallen}");
    cairn("changes", path, &["--lease=one"]).failed(5, &["drop-lease", "cairn dump"]);
    cairn("drop-lease", path, &["one"]).done();
    cairn("drop-lease", path, &["one"]).failed(5, &["no such lease", "one"]);
    assert_eq!(cairn("changes", path, &["--lease=one"]).done(), "");
}

#[test]
fn what_cannot_be_used_is_refused() {
    let path = &*home();
    write(path, [("k", "1")]);
    let usage = [
        (&["--after=7"][..], "INCARNATION-NUMBER"),
        (&["--durability=none"], "none"),
        (&["--lease-bytes=7"], "--lease"),
    ];
    for (arguments, part) in usage {
        cairn("changes", path, arguments).failed(2, &[part]);
    }
    cairn("changes", path, &["--lease="]).failed(5, &["lease"]);
    cairn("changes", path, &["--after=0000000000000001-7"]).failed(5, &["another database"]);
    if cfg!(target_os = "linux") {
        let db = Db::open(path).unwrap();
        cairn("drop-lease", path, &["one"]).failed(4, &[HOLDER]);
        assert_eq!(cairn("leases", path, NONE).done(), "");
        db.close().unwrap();
    }
}

/// Starts `changes --follow` and returns its output, from which nothing was read.
fn following(path: &std::path::Path) -> (Child, BufReader<ChildStdout>) {
    let mut program = command("changes", path, &[LEASE, "--follow"]);
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

#[test]
fn following_ends_with_a_signal_and_continues() {
    let path = &*home();
    write(path, [("before", "1")]);
    for (number, signal) in [Signal::INT, Signal::TERM].into_iter().enumerate() {
        cairn("changes", path, &[LEASE]).done();
        let key = format!("key{number}");
        cairn("put", path, &[&*key, "value"]).done();
        let (child, mut output) = following(path);
        let mut lines = String::new();
        output.read_line(&mut lines).unwrap();
        output.read_line(&mut lines).unwrap();
        assert_has(
            &lines,
            &["batch ", &format!("  put key \"{key}\": value \"value\"\n")],
        );
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ran = Ran::from(child.wait_with_output().unwrap());
        ran.failed(130, &["interrupted; run it again to continue"]);
        assert_eq!(cairn("changes", path, &[LEASE]).done(), "");
    }
}

#[test]
fn following_ends_with_its_reader() {
    let path = &*home();
    write(path, [("before", "1")]);
    cairn("changes", path, &[LEASE]).done();
    let (child, output) = following(path);
    drop(output);
    Ran::from(child.wait_with_output().unwrap()).done();
    cairn("changes", path, &[LEASE]).done();
}

#[test]
fn a_database_that_is_being_written_is_followed() {
    let path = &*home();
    let db = Db::open(path).unwrap();
    db.put(b"before", b"1").unwrap();
    let (child, mut output) = following(path);
    while db.leases().unwrap().is_empty() {
        std::thread::yield_now();
    }
    db.put(b"granite", b"grey").unwrap();
    let mut lines = String::new();
    output.read_line(&mut lines).unwrap();
    output.read_line(&mut lines).unwrap();
    assert_has(&lines, &["  put key \"granite\": value \"grey\"\n"]);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait_with_output().unwrap();
    assert_has(&cairn("leases", path, NONE).done(), &["copy\t"]);
    cairn("drop-lease", path, &["copy"]).done();
    assert!(db.leases().unwrap().is_empty());
}
