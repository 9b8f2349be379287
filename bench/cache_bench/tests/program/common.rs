//! Helpers to run the program and read its output.

pub(crate) use bench_core::host::test_skip::skip;

use std::process::{Command, Output};

/// Flags of a run that is short enough for a test.
pub(crate) const SHORT: &str = "--threads=2 --ops_per_thread=3000 --max_key=5000";

/// Runs the program with these arguments, several of which may be one text.
pub(crate) fn run(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cache_bench"));
    for words in words {
        command.args(words.replace(" -", "\n-").lines());
    }
    command.output().expect("the program starts")
}

/// Runs the program with these arguments and those in [`SHORT`].
pub(crate) fn run_short(words: &[&str]) -> Output {
    run(&[&[SHORT], words].concat())
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

/// Returns the objects of a `--json` file.
pub(crate) fn objects(path: &std::path::Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).expect("written");
    text.lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}
