//! Every command under bad input: its exit code, and a message that names the directory.

use std::path::Path;

use cairndb::Db;
use cairndb::env::{Env, RealEnv};

use crate::{cairn, files, write_cairn, write_leveldb};

/// Every command, with arguments that are right.
const COMMANDS: [(&str, &[&str]); 11] = [
    ("get", &["key"]),
    ("put", &["key", "value"]),
    ("delete", &["key"]),
    ("scan", &[]),
    ("count", &[]),
    ("stats", &[]),
    ("verify", &[]),
    ("compact", &[]),
    ("checkpoint", &["/nowhere/copy"]),
    ("destroy", &["--yes"]),
    ("upgrade", &[]),
];

fn one_entry() -> [(&'static str, Vec<u8>); 1] {
    [("key", b"value".to_vec())]
}

#[test]
fn a_missing_directory_is_named() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("missing");
    for (command, arguments) in COMMANDS {
        let name = path.to_str().unwrap();
        cairn(command, &path, arguments).failed(5, &[name, "holds no database", "check the path"]);
        assert!(!path.exists(), "{command} has created the directory");
    }
}

#[test]
fn a_directory_without_a_database_stays_as_it_is() {
    let parent = tempfile::tempdir().unwrap();
    std::fs::write(parent.path().join("notes.txt"), "not a database").unwrap();
    let before = files(parent.path());
    for (command, arguments) in COMMANDS {
        cairn(command, parent.path(), arguments).failed(5, &[parent.path().to_str().unwrap()]);
        assert_eq!(files(parent.path()), before, "{command}");
    }
}

#[test]
fn a_leveldb_directory_is_recognised_and_left_alone() {
    let parent = tempfile::tempdir().unwrap();
    write_leveldb(parent.path(), one_entry());
    let before = files(parent.path());
    for (command, arguments) in COMMANDS {
        if !["get", "scan", "count", "stats", "verify", "upgrade"].contains(&command) {
            cairn(command, parent.path(), arguments).failed(5, &["LevelDB", "cairn upgrade"]);
        }
    }
    assert_eq!(files(parent.path()), before);
}

#[test]
fn a_locked_database_is_an_error_of_its_own() {
    let parent = tempfile::tempdir().unwrap();
    let (ours, theirs) = (parent.path().join("cairn"), parent.path().join("leveldb"));
    let db = Db::open(&ours).unwrap();
    for (command, arguments) in COMMANDS {
        if command != "upgrade" {
            cairn(command, &ours, arguments).failed(4, &[ours.to_str().unwrap(), "close"]);
        }
    }
    db.close().unwrap();
    write_leveldb(&theirs, one_entry());
    let dir = RealEnv::new().open_dir(&theirs, false).unwrap();
    let lock = dir.lock("LOCK").unwrap();
    for (command, arguments) in [
        ("get", &["key"][..]),
        ("scan", &[]),
        ("count", &[]),
        ("upgrade", &[]),
    ] {
        cairn(command, &theirs, arguments).failed(4, &[theirs.to_str().unwrap(), "close"]);
    }
    drop(lock);
    assert_eq!(cairn("get", &theirs, &["key"]).done(), "value\n");
}

/// Inverts the bytes in the middle of the only file whose name ends with `ending`.
fn damage(path: &Path, ending: &str) -> String {
    let tables = files(path);
    let mut tables = tables
        .into_iter()
        .filter(|(name, _)| name.ends_with(ending));
    let (name, mut bytes) = tables.next().expect("a table");
    assert!(tables.next().is_none(), "one table");
    let middle = bytes.len() / 2;
    for byte in &mut bytes[middle..middle + 16] {
        *byte = !*byte;
    }
    std::fs::write(path.join(&name), bytes).unwrap();
    name
}

#[test]
fn a_damaged_table_is_named_and_never_printed_from() {
    let parent = tempfile::tempdir().unwrap();
    let (ours, theirs) = (parent.path().join("cairn"), parent.path().join("leveldb"));
    let entry = |n: u32| {
        (
            format!("{n:06}"),
            format!("value {}", n.wrapping_mul(2_654_435_761)).into_bytes(),
        )
    };
    write_cairn(&ours, (0..20_000).map(entry));
    write_leveldb(&theirs, (0..20_000).map(entry));
    for (path, ending) in [(&ours, ".tbl"), (&theirs, ".ldb")] {
        let intact = cairn("scan", path, &[] as &[&str]).done();
        let table = damage(path, ending);
        let scanned = cairn("scan", path, &[] as &[&str]);
        assert_eq!(scanned.code, 3, "{path:?}");
        assert!(scanned.stderr.contains(&table), "{}", scanned.stderr);
        assert!(scanned.stderr.contains("offset"), "{}", scanned.stderr);
        // What precedes the damage is printed, and it is right.
        assert!(!scanned.stdout.is_empty() && scanned.stdout.len() < intact.len());
        assert!(intact.as_bytes().starts_with(&scanned.stdout));
        let advice = if ending == ".tbl" {
            "cairn verify"
        } else {
            "RepairDB"
        };
        cairn("count", path, &[] as &[&str]).failed(3, &[&table, advice]);
    }
    cairn("verify", &ours, &[] as &[&str]).failed(3, &["corruption", "restore"]);
    cairn("upgrade", &theirs, &[] as &[&str]).failed(3, &["corruption"]);
}

#[test]
fn a_wrong_command_line_is_2() {
    let parent = tempfile::tempdir().unwrap();
    write_cairn(parent.path(), one_entry());
    let before = files(parent.path());
    let wrong: [(&str, &[&str], &str); 11] = [
        ("look", &[], "look"),
        ("get", &[], "<KEY>"),
        ("get", &["a\\q"], "backslash"),
        ("get", &["--hex", "abc"], "hexadecimal"),
        ("get", &["--base64", "*"], "Base64"),
        ("get", &["--hex", "--base64", "00"], "--base64"),
        ("get", &["--raw", "--json", "key"], "--json"),
        ("scan", &["--limit", "-1"], "-1"),
        ("scan", &["--prefix", "a", "--from", "b"], "--prefix"),
        ("delete", &[], "<KEYS>"),
        ("destroy", &[], "--yes"),
    ];
    for (command, arguments, part) in wrong {
        cairn(command, parent.path(), arguments).failed(2, &[part]);
    }
    assert_eq!(files(parent.path()), before);
}

#[test]
fn a_database_of_another_order_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path();
    let order = std::sync::Arc::new(cairndb::leveldb::IndexedDbOrder);
    let options = cairndb::Options::new()
        .create_if_missing(true)
        .comparator(order);
    options.open(path).unwrap().close().unwrap();
    let before = files(path);
    for (command, arguments) in COMMANDS {
        if !["destroy", "upgrade"].contains(&command) {
            let name = path.to_str().unwrap();
            cairn(command, path, arguments).failed(5, &[name, "comparator"]);
        }
    }
    assert_eq!(files(path), before);
}
