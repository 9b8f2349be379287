//! Every command under bad input: its exit code, and a message that names the directory.

use std::path::Path;

use cairndb::Db;
use cairndb::env::{Env, RealEnv};
use cairndb::leveldb::Order;
use cairndb_leveldb::{FileName, LogWriter, ManifestSalvage, VersionEdit};

use crate::{cairn, files, write_cairn, write_leveldb};

/// Commands that look into the files of either store, also while the database is open.
const INSPECTING: [&str; 3] = ["tables", "log", "manifest"];

/// Commands that read the entries of either store.
const READING: [&str; 7] = ["get", "scan", "count", "stats", "verify", "dump", "export"];

/// Every command, with arguments that are right.
const COMMANDS: [(&str, &[&str]); 17] = [
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
        let converts = ["upgrade", "repair"].contains(&command);
        let reads = READING.contains(&command) || INSPECTING.contains(&command);
        if !converts && !reads {
            cairn(command, parent.path(), arguments).failed(5, &["LevelDB", "cairn upgrade"]);
        }
    }
    assert_eq!(files(parent.path()), before);
}

/// Regression: `put --create` was advised for a directory without `CURRENT`.
#[test]
fn a_leveldb_directory_without_current_or_manifest_is_named_by_every_command() {
    let parent = tempfile::tempdir().unwrap();
    write_leveldb(parent.path(), one_entry());
    let mut names = files(parent.path()).into_keys();
    let manifest = names.find(|name| name.starts_with("MANIFEST")).unwrap();
    // Without `CURRENT`, the manifest is not missed.
    for missing in [&*manifest, "CURRENT"] {
        std::fs::remove_file(parent.path().join(missing)).unwrap();
        let before = files(parent.path());
        let others: [(&str, &[&str]); 3] = [
            ("put", &["key", "value", "--create"]),
            ("upgrade", &["--dry-run"]),
            ("upgrade", &["--without-log"]),
        ];
        for (command, arguments) in COMMANDS.into_iter().chain(others) {
            if command != "repair" && !INSPECTING.contains(&command) {
                let parts = [missing, "missing", "LevelDB", "cairn repair"];
                cairn(command, parent.path(), arguments).failed(3, &parts);
            }
        }
        assert_eq!(files(parent.path()), before);
    }
    let home = tempfile::tempdir().unwrap();
    let repaired = home.path().join("repaired");
    cairn("repair", parent.path(), &[&repaired]);
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
    let parent = tempfile::tempdir().unwrap();
    write_leveldb(parent.path(), one_entry());
    name_log(parent.path(), 12);
    let before = files(parent.path());
    let commands = READING.iter().chain(["upgrade"].iter());
    for command in commands {
        let arguments = COMMANDS.iter().find(|(name, _)| name == command).unwrap().1;
        let parts = ["000012.log", "lost", "cairn upgrade --without-log"];
        cairn(command, parent.path(), arguments).failed(3, &parts);
    }
    assert_eq!(files(parent.path()), before);
    let text = cairn("upgrade", parent.path(), &["--without-log"]).done();
    assert!(text.contains("000012.log was missing"), "{text}");
    assert_eq!(cairn("get", parent.path(), &["key"]).done(), "value\n");
}

#[test]
fn a_locked_database_is_an_error_of_its_own() {
    let parent = tempfile::tempdir().unwrap();
    let (ours, theirs) = (parent.path().join("cairn"), parent.path().join("leveldb"));
    let db = Db::open(&ours).unwrap();
    for (command, arguments) in COMMANDS {
        if command != "upgrade" && !INSPECTING.contains(&command) {
            let process = if cfg!(target_os = "linux") {
                format!("process {} has the database open", std::process::id())
            } else {
                "another process".to_owned()
            };
            let parts = [ours.to_str().unwrap(), "close", &process];
            cairn(command, &ours, arguments).failed(4, &parts);
        }
    }
    db.close().unwrap();
    write_leveldb(&theirs, one_entry());
    let dir = RealEnv::new().open_dir(&theirs, false).unwrap();
    let lock = dir.lock("LOCK").unwrap();
    let locked = |command: &str| command == "upgrade" || READING.contains(&command);
    for (command, arguments) in COMMANDS.iter().filter(|(command, _)| locked(command)) {
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
        cairn("count", path, &[] as &[&str])
            .failed(3, &[&table, "restore", "cairn repair --dry-run"]);
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
    let order = cairndb::leveldb::ReverseOrder::of("example.order", Order::Bytewise);
    let order = std::sync::Arc::new(order);
    let options = cairndb::Options::new()
        .create_if_missing(true)
        .comparator(order);
    options.open(path).unwrap().close().unwrap();
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
    let parent = tempfile::tempdir().unwrap();
    let entries = |name: &str, comparator: &str, arguments: &[&str]| {
        let path = parent.path().join(name);
        let order = cairndb::leveldb::ReverseOrder::of(comparator, Order::Bytewise);
        let options = cairndb::Options::new().create_if_missing(true);
        let db = options
            .comparator(std::sync::Arc::new(order))
            .open(&path)
            .unwrap();
        for key in ["a", "b", "c"] {
            db.put(key.as_bytes(), b"").unwrap();
        }
        db.close().unwrap();
        cairn("put", &path, &[arguments, &["d", ""]].concat()).done();
        cairn("compact", &path, arguments).done();
        cairn("verify", &path, arguments).done();
        cairn(
            "scan",
            &path,
            &[arguments, &["--keys-only", "--from", "c"]].concat(),
        )
        .done()
    };
    assert_eq!(
        entries("known", "leveldb.ReverseBytewiseComparator", &[]),
        "c\nb\na\n"
    );
    let declared = ["--comparator", "reverse"];
    assert_eq!(entries("declared", "example.order", &declared), "c\nb\na\n");
    let path = parent.path().join("known");
    cairn("scan", &path, &["--prefix", "b"]).failed(2, &["--prefix"]);
    cairn("scan", &path, &["--comparator", "other"]).failed(2, &["bytewise", "idb_cmp1"]);
}
