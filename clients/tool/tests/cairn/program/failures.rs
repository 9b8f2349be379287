//! Every command under bad input: its exit code, and a message that names the directory.

use std::path::Path;

use cairndb::Db;
use cairndb::env::{Env, RealEnv};
use cairndb_leveldb::{FileName, LogWriter, ManifestSalvage, VersionEdit};

use super::{NONE, cairn, numbers};
use crate::{HOLDER, file_of, files, home, open_reverse, place, write_leveldb, write_table};

/// Commands that look into the files of either store, also while the database is open.
const INSPECTING: [&str; 3] = ["tables", "log", "manifest"];

/// Commands that read the entries of either store.
const READING: [&str; 7] = ["get", "scan", "count", "stats", "verify", "dump", "export"];

/// Every command, with arguments that are right.
const COMMANDS: [(&str, &[&str]); 20] = [
    ("get", &["key"]),
    ("put", &["key", "value"]),
    ("delete", &["key"]),
    ("scan", &[]),
    ("count", &[]),
    ("stats", &[]),
    ("tables", &[]),
    ("log", &[]),
    ("manifest", &[]),
    ("verify", &[]),
    ("dump", &[]),
    ("export", &["--format=csv"]),
    ("compact", &[]),
    ("repair", &["/nowhere/repaired"]),
    ("fork", &["/nowhere/fork"]),
    ("changes", &["--lease=copy"]),
    ("leases", &[]),
    ("drop-lease", &["copy"]),
    ("destroy", &["--yes"]),
    ("upgrade", &[]),
];

const ONE: [(&str, &str); 1] = [("key", "value")];

#[test]
fn a_missing_directory_is_named() {
    let path = place("missing");
    for (command, arguments) in COMMANDS {
        let name = path.to_str().unwrap();
        cairn(command, &path, arguments).failed(5, &[name, "holds no database", "check the path"]);
        assert!(!path.exists(), "{command} has created the directory");
    }
}

#[test]
fn a_directory_without_a_database_stays_as_it_is() {
    let parent = &*home();
    std::fs::write(parent.join("notes.txt"), "not a database").unwrap();
    let before = files(parent);
    for (command, arguments) in COMMANDS {
        cairn(command, parent, arguments).failed(5, &[parent.to_str().unwrap()]);
        assert_eq!(files(parent), before, "{command}");
    }
}

#[test]
fn a_leveldb_directory_is_recognised_and_left_alone() {
    let parent = &*home();
    write_leveldb(parent, ONE);
    let before = files(parent);
    for (command, arguments) in COMMANDS {
        let converts = ["upgrade", "repair"].contains(&command);
        let reads = READING.contains(&command) || INSPECTING.contains(&command);
        if !converts && !reads {
            cairn(command, parent, arguments).failed(5, &["LevelDB", "cairn upgrade"]);
        }
    }
    assert_eq!(files(parent), before);
}

/// Regression: `put --create` was advised for a directory without `CURRENT`.
#[test]
fn a_leveldb_directory_without_current_or_manifest_is_named_by_every_command() {
    let parent = &*home();
    write_leveldb(parent, ONE);
    let mut names = files(parent).into_keys();
    let manifest = names.find(|name| name.starts_with("MANIFEST")).unwrap();
    // Without `CURRENT`, the manifest is not missed.
    for missing in [&*manifest, "CURRENT"] {
        std::fs::remove_file(parent.join(missing)).unwrap();
        let before = files(parent);
        let others: [(&str, &[&str]); 3] = [
            ("put", &["key", "value", "--create"]),
            ("upgrade", &["--dry-run"]),
            ("upgrade", &["--without-log"]),
        ];
        for (command, arguments) in COMMANDS.into_iter().chain(others) {
            if command != "repair" && !INSPECTING.contains(&command) {
                let parts = [missing, "missing", "LevelDB", "cairn repair"];
                cairn(command, parent, arguments).failed(3, &parts);
            }
        }
        assert_eq!(files(parent), before);
    }
    let repaired = place("repaired");
    cairn("repair", parent, &[&*repaired]);
    assert_eq!(cairn("get", &repaired, &["key"]).done(), "value\n");
}

/// Names a log in the manifest of a LevelDB database that has none.
fn name_log(path: &Path, log: u64) {
    let dir = RealEnv::new().open_dir(path, false).unwrap();
    let number = cairndb_leveldb::read_current(&*dir).unwrap();
    let manifest = ManifestSalvage::read(&*dir, number).unwrap();
    let edit = VersionEdit {
        comparator: manifest.comparator,
        log: Some(log),
        previous_log: Some(0),
        next_file: Some(log + 1),
        last_seq: Some(manifest.last_seq),
        added: manifest.tables.into_values().collect(),
        ..VersionEdit::default()
    };
    let mut payload = Vec::new();
    edit.encode(&mut payload);
    let name = FileName::Manifest(number).to_string();
    dir.unlink(&name).unwrap();
    let mut manifest = LogWriter::new(dir.create(&name).unwrap());
    manifest.append(&payload).unwrap();
}

/// Regression: `verify` called the database intact, and `upgrade` converted what was left.
#[test]
fn a_log_that_is_missing_is_named_and_a_conversion_may_do_without() {
    let parent = &*home();
    write_leveldb(parent, ONE);
    name_log(parent, 12);
    let before = files(parent);
    let commands = READING.iter().chain(["upgrade"].iter());
    for command in commands {
        let arguments = COMMANDS.iter().find(|(name, _)| name == command).unwrap().1;
        let parts = ["000012.log", "lost", "cairn upgrade --without-log"];
        cairn(command, parent, arguments).failed(3, &parts);
    }
    assert_eq!(files(parent), before);
    let text = cairn("upgrade", parent, &["--without-log"]).done();
    assert!(text.contains("000012.log was missing"), "{text}");
    assert_eq!(cairn("get", parent, &["key"]).done(), "value\n");
}

#[test]
fn a_locked_database_is_an_error_of_its_own() {
    let parent = &*home();
    let (ours, theirs) = (parent.join("cairn"), parent.join("leveldb"));
    let db = Db::open(&ours).unwrap();
    for (command, arguments) in COMMANDS {
        let reads = READING.contains(&command) || INSPECTING.contains(&command);
        if !["upgrade", "changes", "leases"].contains(&command) && !reads {
            let parts = [ours.to_str().unwrap(), "close", HOLDER];
            cairn(command, &ours, arguments).failed(4, &parts);
        }
    }
    db.close().unwrap();
    write_leveldb(&theirs, ONE);
    let dir = RealEnv::new().open_dir(&theirs, false).unwrap();
    let lock = dir.lock("LOCK").unwrap();
    let locked = |command: &str| command == "upgrade" || READING.contains(&command);
    for (command, arguments) in COMMANDS.iter().filter(|(command, _)| locked(command)) {
        cairn(command, &theirs, arguments).failed(4, &[theirs.to_str().unwrap(), "close"]);
    }
    drop(lock);
    assert_eq!(cairn("get", &theirs, &["key"]).done(), "value\n");
}

/// Inverts bytes in the middle of the only file whose name ends with `ending`.
fn damage(path: &Path, ending: &str) -> String {
    let name = file_of(path, ending);
    let mut bytes = std::fs::read(path.join(&name)).unwrap();
    let middle = bytes.len() / 2;
    for byte in &mut bytes[middle..middle + 16] {
        *byte = !*byte;
    }
    std::fs::write(path.join(&name), bytes).unwrap();
    name
}

#[test]
fn a_damaged_table_is_named_and_never_printed_from() {
    let parent = &*home();
    let (ours, theirs) = (parent.join("cairn"), parent.join("leveldb"));
    write_table(&ours, numbers(20_000));
    write_leveldb(&theirs, numbers(20_000));
    for (path, ending) in [(&ours, ".tbl"), (&theirs, ".ldb")] {
        let intact = cairn("scan", path, NONE).done();
        let table = damage(path, ending);
        // What precedes the damage is printed, and it is right.
        let scanned = cairn("scan", path, NONE).ended(3, &[&table, "offset"]);
        assert!(!scanned.is_empty() && scanned.len() < intact.len());
        assert!(intact.starts_with(&scanned));
        cairn("count", path, NONE).failed(3, &[&table, "restore", "cairn repair --dry-run"]);
    }
    cairn("verify", &ours, NONE).failed(3, &["corruption", "restore"]);
    cairn("upgrade", &theirs, NONE).failed(3, &["corruption"]);
}

#[test]
fn a_wrong_command_line_is_2() {
    let parent = &*home();
    write_table(parent, ONE);
    let before = files(parent);
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
        cairn(command, parent, arguments).failed(2, &[part]);
    }
    assert_eq!(files(parent), before);
}

#[test]
fn a_database_of_another_order_is_refused() {
    let path = &*home();
    open_reverse(path, "example.order").close().unwrap();
    let before = files(path);
    for (command, arguments) in COMMANDS {
        if !["destroy", "upgrade", "repair"].contains(&command) && !INSPECTING.contains(&command) {
            let name = path.to_str().unwrap();
            cairn(command, path, arguments).failed(5, &[name, "comparator"]);
        }
    }
    assert_eq!(files(path), before);
}

#[test]
fn a_known_order_is_found_and_another_is_declared() {
    let parent = &*home();
    let known = parent.join("leveldb.ReverseBytewiseComparator");
    let other = parent.join("example.order");
    for (path, options) in [(&known, NONE), (&other, &["--comparator", "reverse"])] {
        let db = open_reverse(path, path.file_name().unwrap().to_str().unwrap());
        for key in ["a", "b", "c"] {
            db.put(key.as_bytes(), b"").unwrap();
        }
        db.close().unwrap();
        let with = |arguments: &[&'static str]| [options, arguments].concat();
        cairn("put", path, &with(&["d", ""])).done();
        cairn("compact", path, options).done();
        cairn("verify", path, options).done();
        let scanned = cairn("scan", path, &with(&["--keys-only", "--from", "c"]));
        assert_eq!(scanned.done(), "c\nb\na\n");
    }
    cairn("scan", &known, &["--prefix", "b"]).failed(2, &["--prefix"]);
    cairn("scan", &known, &["--comparator", "other"]).failed(2, &["bytewise", "idb_cmp1"]);
}
