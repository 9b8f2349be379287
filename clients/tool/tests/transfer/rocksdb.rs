//! RocksDB's databases, written by its own program `ldb`.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use data_encoding::HEXUPPER;

use crate::random::Random;
use crate::{Entries, assert_same, cairn, read, setting, skip, words};

/// Returns whether RocksDB's program is installed, whose package needs the library.
fn is_installed() -> bool {
    let found = Command::new("ldb").arg("--version").output().is_ok();
    if !found {
        skip("ldb is not installed; install rocksdb-tools");
    }
    found
}

/// Runs `ldb` with the words of `line`, and `stdin`.
fn ldb(parent: &Path, line: &str, stdin: &[u8]) {
    let mut program = Command::new("ldb");
    program.args(words(parent, line)).stdin(Stdio::piped());
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(stdin).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
}

/// Loads entries, whose keys are not empty: `ldb` cannot write others.
fn load(parent: &Path, options: &str, entries: &Entries) {
    let lines = entries.iter().map(|(key, value)| {
        let (key, value) = (HEXUPPER.encode(key), HEXUPPER.encode(value));
        format!("0x{key} ==> 0x{value}\n")
    });
    let text: String = lines.collect();
    let line = format!(
        "--db={} load --hex --create_if_missing {options}",
        parent.join("rocks").display()
    );
    ldb(parent, &line, text.as_bytes());
}

/// Names and lengths of the files of a directory.
fn files(path: &Path) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(path).unwrap();
    let mut files: Vec<(String, u64)> = entries
        .map(|entry| {
            let entry = entry.unwrap();
            (
                entry.file_name().into_string().unwrap(),
                entry.metadata().unwrap().len(),
            )
        })
        .collect();
    files.sort();
    files
}

#[test]
fn random_databases_are_imported_and_not_changed() {
    if !is_installed() {
        return;
    }
    let (seed, count) = (
        setting("CAIRN_SEED").unwrap_or(1),
        setting("CAIRN_TRANSFERS").unwrap_or(12),
    );
    for number in 0..count {
        eprintln!("rocksdb: CAIRN_SEED={}", seed + number);
        let mut entries = Random::new(seed + number).entries();
        entries.remove(&b""[..]);
        let parent = tempfile::tempdir().unwrap();
        let at = parent.path();
        // Without a compaction, the entries are in the log.
        load(
            at,
            ["", "--compact"][usize::from(number % 2 == 1)],
            &entries,
        );
        let before = files(&at.join("rocks"));
        cairn(at, "import @to @rocks --format=rocksdb").done();
        assert_eq!(files(&at.join("rocks")), before);
        assert_same(&read(&at.join("to")), &entries, "rocksdb");
    }
}

#[test]
fn each_family_has_a_prefix() {
    if !is_installed() {
        return;
    }
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    let entries = |key: &str| Entries::from([(key.as_bytes().to_vec(), b"1".to_vec())]);
    load(at, "", &entries("a"));
    let db = format!("--db={}", at.join("rocks").display());
    ldb(at, &format!("{db} create_column_family fruit"), b"");
    ldb(
        at,
        &format!("{db} --column_family=fruit put apple red"),
        b"",
    );
    let keys = |options: &str| {
        let _ = std::fs::remove_dir_all(at.join("to"));
        cairn(at, &format!("import @to @rocks --format=rocksdb {options}")).done();
        String::from_utf8(cairn(at, "scan @to --keys-only").done()).unwrap()
    };
    assert_eq!(keys(""), "default/a\nfruit/apple\n");
    assert_eq!(keys("--family fruit"), "fruit/apple\n");
    assert_eq!(
        keys("--family default= --family fruit=f\\x00"),
        "a\nf\\x00apple\n"
    );
    let missing = cairn(at, "import @other @rocks --format=rocksdb --family stone");
    missing.failed(2, &["no column family `stone`", "default, fruit"]);
    assert!(!at.join("other").exists());
}

#[test]
fn what_is_no_database_is_named() {
    if !is_installed() {
        return;
    }
    let parent = tempfile::tempdir().unwrap();
    let at = parent.path();
    cairn(at, "import @to @rocks --format=rocksdb").failed(5, &["rocks: RocksDB: "]);
    cairn(at, "import @to --format=rocksdb").failed(2, &["directory"]);
    cairn(at, "export @to @new --format=rocksdb").failed(2, &["not exported"]);
    let entries = (0..300).map(|n| (format!("{n:05}").into_bytes(), b"value".to_vec()));
    load(at, "", &entries.collect());
    ldb(
        at,
        &format!("--db={} compact", at.join("rocks").display()),
        b"",
    );
    let names = files(&at.join("rocks"));
    let (table, _) = names
        .iter()
        .find(|(name, _)| name.contains(".sst"))
        .unwrap();
    let table = at.join("rocks").join(table);
    let mut bytes = std::fs::read(&table).unwrap();
    for byte in &mut bytes[..100] {
        *byte = !*byte;
    }
    std::fs::write(&table, bytes).unwrap();
    cairn(at, "import @to @rocks --format=rocksdb").failed(3, &["Corruption"]);
}
