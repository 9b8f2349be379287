//! `bench/calibrate.sh` over programs that only print: the programs it finds, its verdicts and its
//! errors.

use bench_core::host::test_text::has;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A program that prints a time for every row and writes an options file, as RocksDB's program
/// does; `scan` is the time of a scan step.
fn program(home: &Path, name: &str, scan: &str, options: &str) -> PathBuf {
    let path = home.join(name);
    let text = format!(
        r#"#!/bin/bash
[ "$1" = --help ] && echo "Flags from tools/db_bench_tool.cc:" && exit 1
[ "$1" = --version ] && echo "db_bench version 1.2.3" && exit 0
for word in "$@"; do
    case $word in --db=*) mkdir -p "${{word#--db=}}" && echo "{options}" >"${{word#--db=}}/OPTIONS-000001" ;; esac
done
echo "LevelDB:    version 1.23" >&2
for row in fillseq fillrandom readrandom; do echo "$row : 2.000 micros/op 500000 ops/sec"; done
for row in readseq readreverse; do echo "$row : {scan} micros/op; 1.0 MB/s"; done
"#
    );
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
        .expect("made a program");
    path
}

/// Runs the script; `theirs` is the variable that names their program.
fn calibrate(home: &Path, engine: &str, theirs: (&str, &Path), ours: &Path) -> Output {
    Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../calibrate.sh"))
        .arg(engine)
        .env(theirs.0, theirs.1)
        .env("OURS", ours)
        .env("ROUNDS", "3")
        .env("DIR", home.join("databases"))
        .output()
        .expect("bash is installed")
}

fn said(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout[..], &output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn rows_that_agree_are_calibrated_and_others_are_named() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    let theirs = program(home, "theirs", "0.100", "  same=1");
    for (engine, variable) in [
        ("rocksdb", "ROCKSDB_DB_BENCH"),
        ("leveldb", "LEVELDB_DB_BENCH"),
    ] {
        let ours = program(home, "ours", "0.109", "  same=1");
        let (status, text) = said(&calibrate(home, engine, (variable, &theirs), &ours));
        assert_eq!(status, Some(0), "{text}");
        has(&text, "1.09 (1.09 to 1.09)");
        assert!(!text.contains("apart"), "{text}");

        let ours = program(home, "ours", "0.120", "  same=1");
        let (status, text) = said(&calibrate(home, engine, (variable, &theirs), &ours));
        assert_eq!(status, Some(1), "{text}");
        assert_eq!(text.matches("20 % apart").count(), 2, "{text}");
    }
    assert!(!home.join("databases").exists());
}

#[test]
fn where_a_round_of_a_row_is_calibrated_another_run_may_tell() {
    let home = tempfile::tempdir().expect("a directory");
    let theirs = program(home.path(), "theirs", "0.100", "  same=1");
    let reported = "single rounds are within 10 %";
    // Both scan rows of the first round are as fast as theirs; those of later rounds are slower.
    let reported_rows = home.path().join("rows");
    let rows = reported_rows.display();
    let scan = format!("$(echo >>{rows}; [ $(wc -l <{rows}) -gt 2 ] && echo 0.150 || echo 0.100)");
    let ours = program(home.path(), "ours", &scan, "  same=1");
    let theirs = ("ROCKSDB_DB_BENCH", theirs.as_path());
    let (status, text) = said(&calibrate(home.path(), "rocksdb", theirs, &ours));
    assert_eq!(status, Some(1), "{text}");
    has(&text, &format!("readreverse {reported}"));

    let ours = program(home.path(), "ours", "0.150", "  same=1");
    let (status, text) = said(&calibrate(home.path(), "rocksdb", theirs, &ours));
    assert_eq!(status, Some(1), "{text}");
    assert!(!text.contains(reported), "{text}");
}

#[test]
fn different_options_are_shown_and_nothing_is_judged() {
    let home = tempfile::tempdir().expect("a directory");
    let theirs = program(
        home.path(),
        "theirs",
        "0.100",
        "  write_buffer_size=1\n  listeners=x",
    );
    let ours = program(home.path(), "ours", "0.100", "  write_buffer_size=2");
    let theirs = ("ROCKSDB_DB_BENCH", theirs.as_path());
    let (status, text) = said(&calibrate(home.path(), "rocksdb", theirs, &ours));
    assert_eq!(status, Some(2), "{text}");
    has(&text, "<   write_buffer_size=1");
    assert!(!text.contains("listeners"), "{text}");
}

#[test]
fn our_own_program_is_not_taken_for_theirs() {
    let home = tempfile::tempdir().expect("a directory");
    let own = Path::new(env!("CARGO_BIN_EXE_db_bench"));
    for (engine, variable) in [
        ("rocksdb", "ROCKSDB_DB_BENCH"),
        ("leveldb", "LEVELDB_DB_BENCH"),
    ] {
        let (status, text) = said(&calibrate(home.path(), engine, (variable, own), own));
        assert_eq!(status, Some(2), "{text}");
        has(&text, "is not");
    }
    let (status, text) = said(&calibrate(
        home.path(),
        "sqlite3",
        ("NUM", Path::new("1")),
        own,
    ));
    assert_eq!(status, Some(2), "{text}");
    has(&text, "sqlite3 is not rocksdb or leveldb");
}
