//! RocksDB's databases, written by its own program `ldb`.

use std::path::Path;
use std::process::Command;

use bench_core::host::test_skip::skip;
use data_encoding::HEXUPPER;

use super::random::{Random, on_random};
use super::{assert_same, cairn};
use crate::{Entries, fed, files, home, names, read};

/// Returns whether RocksDB's program is installed, whose package needs the library.
fn is_installed() -> bool {
    let found = Command::new("ldb").arg("--version").output().is_ok();
    if !found {
        skip("ldb is not installed; install rocksdb-tools");
    }
    found
}

/// Runs `ldb` with the words of `line` on the database `rocks`, and `stdin`.
fn ldb(at: &Path, line: &str, stdin: &[u8]) {
    let mut program = Command::new("ldb");
    program.arg(format!("--db={}", at.join("rocks").display()));
    program.args(line.split_whitespace());
    fed(program, stdin).ended(0, &[]);
}

/// Loads entries, whose keys are not empty: `ldb` cannot write others.
fn load(parent: &Path, options: &str, entries: &Entries) {
    let lines = entries.iter().map(|(key, value)| {
        let (key, value) = (HEXUPPER.encode(key), HEXUPPER.encode(value));
        format!("0x{key} ==> 0x{value}\n")
    });
    let text: String = lines.collect();
    let line = format!("load --hex --create_if_missing {options}");
    ldb(parent, &line, text.as_bytes());
}

#[test]
fn random_databases_are_imported_and_not_changed() {
    if !is_installed() {
        return;
    }
    // Without a compaction, the entries are in the log.
    let mut options = ["", "--compact"].iter().cycle();
    on_random("rocksdb", Random::entries, |at, _, mut entries| {
        entries.remove(&b""[..]);
        load(at, options.next().unwrap(), &entries);
        let before = files(&at.join("rocks"));
        cairn(at, "import @to @rocks --format=rocksdb").done();
        assert!(
            files(&at.join("rocks")) == before,
            "the source is unchanged"
        );
        assert_same(&read(&at.join("to")), &entries, "rocksdb");
    });
}

#[test]
fn each_family_is_a_keyspace_or_has_a_prefix() {
    if !is_installed() {
        return;
    }
    let at = &*home();
    let entries = |key: &str| Entries::from([(key.as_bytes().to_vec(), b"1".to_vec())]);
    load(at, "", &entries("a"));
    ldb(at, "create_column_family fruit", b"");
    ldb(at, "--column_family=fruit put apple red", b"");
    let keys = |options: &str| {
        let _ = std::fs::remove_dir_all(at.join("to"));
        cairn(at, &format!("import @to @rocks --format=rocksdb {options}")).done();
        let scan = |line: &str| cairn(at, &format!("scan @to --keys-only {line}")).done();
        let names = cairn(at, "keyspaces @to").done();
        let names = names.lines().map(|name| format!("--keyspace {name}"));
        [scan("")]
            .into_iter()
            .chain(names.map(|name| scan(&name)))
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(""), ["a\n", "apple\n"]);
    assert_eq!(keys("--family fruit"), ["", "apple\n"]);
    let found = keys("--family default= --family fruit=f\\x00");
    assert_eq!(found, ["a\nf\\x00apple\n"]);
    let missing = cairn(at, "import @other @rocks --format=rocksdb --family stone");
    missing.failed(2, &["no column family `stone`", "default, fruit"]);
    assert!(!at.join("other").exists());
}

#[test]
fn what_is_no_database_is_named() {
    if !is_installed() {
        return;
    }
    let at = &*home();
    cairn(at, "import @to @rocks --format=rocksdb").failed(5, &["rocks: RocksDB: "]);
    cairn(at, "import @to --format=rocksdb").failed(2, &["directory"]);
    cairn(at, "export @to @new --format=rocksdb").failed(2, &["not exported"]);
    let entries = (0..300).map(|n| (format!("{n:05}").into_bytes(), b"value".to_vec()));
    load(at, "", &entries.collect());
    ldb(at, "compact", b"");
    let names = names(&at.join("rocks"));
    let table = names.iter().find(|name| name.contains(".sst")).unwrap();
    let table = at.join("rocks").join(table);
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[..100].iter_mut().for_each(|byte| *byte = !*byte);
    std::fs::write(&table, bytes).unwrap();
    cairn(at, "import @to @rocks --format=rocksdb").failed(3, &["Corruption"]);
}
