//! A child process that dies or takes too long loses only its current row.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use bench_core::host::test_text::has;

use crate::common::{command, run, stderr, stdout};

/// A row that takes minutes in the middle of short ones.
const LIST: &str = "--benchmarks=fillrandom,readrandom,crc32c[X1000],readseq";
/// The random fill of the null engine is the same before and after the crash.
const WORDS: [&str; 3] = ["--engine=null", "--num=1000", LIST];

#[test]
fn a_killed_child_costs_its_row_alone() {
    let home = tempfile::tempdir().expect("a directory");
    let mut program = command(&home.path().join("db"), &WORDS)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(program.stdout.take().expect("piped"));
    let mut line = String::new();
    while !line.starts_with("crc32c ") {
        line.clear();
        assert!(
            lines.read_line(&mut line).expect("readable") > 0,
            "ended early"
        );
    }
    let id = program.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"))
        .expect("Linux reports it");
    let child = children.split_whitespace().next().expect("one child");
    // The shell's builtin: a machine may have no program of that name.
    assert!(
        Command::new("sh")
            .args(["-c", &format!("kill -9 {child}")])
            .status()
            .expect("a shell runs")
            .success()
    );
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("readable");
    has(
        &rest,
        "crc32c       : failed (the process was killed by signal 9 (SIGKILL))\n",
    );
    has(&rest, "\nreadseq      : ");
    assert!(!rest.contains("Keys: "), "one header is enough: {rest}");
    assert!(
        !rest.contains("fillrandom") && !rest.contains("readrandom"),
        "{rest}"
    );
    assert_eq!(program.wait().expect("ends").code(), Some(1));
}

#[test]
fn a_row_past_its_time_limit_is_ended() {
    let words = [
        "--engine=null --num=10000000 --reads=1000",
        "--benchmarks=readrandom,acquireload,readseq --row_timeout=2",
    ];
    let output = run(&words);
    let text = stdout(&output);
    assert!(
        text.contains("acquireload  : failed (time limit of 2 s)\n"),
        "{text}{}",
        stderr(&output)
    );
    has(&text, "\nreadseq      : ");
    assert_eq!(output.status.code(), Some(1));
}
