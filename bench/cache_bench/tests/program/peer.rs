//! RocksDB's own program as a peer.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bench_core::host::test_text::{begins, ends, has};

use crate::common::{good, objects, run, run_short, skip, stderr, stdout};

/// A program that passes for RocksDB's and then does `body`.
fn impostor(home: &Path, body: &str) -> PathBuf {
    let path = home.join("cache_bench");
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = --help ]; then echo 'Flags from ./cache/cache_bench_tool.cc:'; exit 1; fi\n{body}\n"
    );
    // Another process writes the file: a concurrent fork of this process would keep it open, and a
    // file open for writing cannot be executed.
    let mut writer = Command::new("sh")
        .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut stdin = writer.stdin.take().expect("piped");
    stdin.write_all(text.as_bytes()).expect("taken");
    drop(stdin);
    assert!(writer.wait().expect("ends").success());
    path
}

#[test]
fn the_installed_program_runs_beside_ours_over_as_many_keys() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("results.json");
    let words = [
        "--cache=lru,rocksdb_lru,rocksdb_hyper_clock --cache_size=4M --value_bytes=1024",
        &format!("--json={}", path.display()),
    ];
    let output = run_short(&words);
    if stderr(&output).contains("is not installed") {
        skip("cache_bench beside RocksDB's: install rocksdb-tools");
        return;
    }
    let text = good(&output);
    for one in &objects(&path)[2..] {
        assert!(
            one["title"]
                .as_str()
                .is_some_and(|title| title.starts_with("RocksDB ")),
            "{one}"
        );
        assert_eq!(
            (&one["status"], &one["ops"], &one["verified"]),
            (&"ok".into(), &6000.into(), &false.into())
        );
        assert!(
            one["ops_per_second"]
                .as_f64()
                .is_some_and(|rate| rate > 0.0),
            "{one}"
        );
        assert!(one["p99_ns"].as_f64().is_some_and(|ns| ns > 0.0), "{one}");
    }
    has(&text, "\nNote: RocksDB's own harness: ");
}

#[test]
fn its_absence_is_an_error_only_where_it_was_named() {
    let nowhere = "--rocksdb_cache_bench=/nowhere/cache_bench";
    let named = run_short(&["--cache=rocksdb_lru", nowhere]);
    assert_eq!(named.status.code(), Some(1));
    begins(
        &stderr(&named),
        "--rocksdb_cache_bench=/nowhere/cache_bench: No such file",
    );
    // Our own program is not mistaken for it, even if it comes first in PATH.
    let own = format!(
        "--rocksdb_cache_bench={}",
        env!("CARGO_BIN_EXE_cache_bench")
    );
    let output = run_short(&["--cache=rocksdb_lru", &own]);
    ends(&stderr(&output), ": is not RocksDB's cache_bench\n");
}

#[test]
fn what_it_says_is_believed_only_as_far_as_it_can_be_read() {
    let home = tempfile::tempdir().expect("a directory");
    for (body, reason) in [
        ("echo Killed; exit 0", "the last line is: Killed)"),
        (
            "exit 7",
            "rocksdb_lru: FAILED (the process ended with status 7)",
        ),
        (
            "kill -9 $$",
            "rocksdb_lru: FAILED (the process was killed by signal 9 (SIGKILL))",
        ),
        (
            "echo 'Complete in soon s; QPS = many'",
            "the last line is: Complete in soon s; QPS = many)",
        ),
    ] {
        let program = format!(
            "--rocksdb_cache_bench={}",
            impostor(home.path(), body).display()
        );
        let output = run_short(&["--cache=rocksdb_lru,null", &program]);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(1), "{body}");
        assert!(text.contains(reason), "{body}\n{text}");
        assert!(
            text.contains("\nrocksdb_lru          FAILED: "),
            "{body}\n{text}"
        );
        assert!(
            text.contains("\nnull      "),
            "the other still runs\n{text}"
        );
    }
}

#[test]
fn values_too_small_for_its_hyper_clock_skip_that_row() {
    let home = tempfile::tempdir().expect("a directory");
    let program = impostor(home.path(), "echo 'Complete in 1.0 s; QPS = 5'");
    let program = format!("--rocksdb_cache_bench={}", program.display());
    let text = good(&run(&[
        "--cache=rocksdb_lru,rocksdb_hyper_clock --threads=1 --ops_per_thread=5",
        &program,
    ]));
    has(&text, "\nComplete in 1.000 s; QPS = 5\n");
    has(
        &text,
        "\nrocksdb_hyper_clock: skipped (not with values below 96 bytes",
    );
}
