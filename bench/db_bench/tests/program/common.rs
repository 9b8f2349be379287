//! Helpers that run the program and inspect its output.

pub(crate) use bench_core::host::test_skip::{skip, unable};

use std::path::Path;
use std::process::{Command, Output};

/// Prepares a run of the program with these arguments, several of which may be one text.
pub(crate) fn program(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_db_bench"));
    for words in words {
        command.args(words.replace(" -", "\n-").lines());
    }
    command
}

/// Prepares a run with a directory for its databases.
pub(crate) fn command(db: &Path, words: &[&str]) -> Command {
    let db = format!("--db={}", db.display());
    program(&[&[db.as_str()], words].concat())
}

/// Runs the program to completion.
pub(crate) fn run_at(db: &Path, words: &[&str]) -> Output {
    command(db, words).output().expect("the program starts")
}

/// Runs the program with its databases in `home`.
pub(crate) fn run_in(home: &Path, words: &[&str]) -> Output {
    run_at(&home.join("db"), words)
}

/// Runs the program with databases that are removed after it.
pub(crate) fn run(words: &[&str]) -> Output {
    let home = tempfile::tempdir().expect("a directory");
    run_in(home.path(), words)
}

/// Returns what a run that succeeded printed.
#[track_caller]
pub(crate) fn good(output: &Output) -> String {
    let text = stdout(output);
    assert!(output.status.success(), "{text}{}", stderr(output));
    text
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}
