//! Helpers that run the program and inspect its output.

pub(crate) use bench_core::host::test_skip::{skip, unable};

use std::path::Path;
use std::process::{Command, Output};

/// Runs the program with these arguments, with a separate directory for the database.
pub(crate) fn command(db: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_db_bench"));
    command.arg(format!("--db={}", db.display())).args(words);
    command
}

/// Runs the program to completion.
pub(crate) fn run(words: &[&str]) -> Output {
    let home = tempfile::tempdir().expect("a directory");
    command(&home.path().join("db"), words)
        .output()
        .expect("the program starts")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}
