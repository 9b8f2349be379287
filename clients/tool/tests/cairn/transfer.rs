//! `dump`, `load`, `export` and `import`: every format in both directions, together with the
//! programs of the stores that own the formats, and killed at random moments.

mod bad_input;
mod foreign_text;
#[cfg(target_os = "linux")]
mod full_disk;
mod keyspaces;
mod kills;
mod leveldb;
mod options;
mod programs;
mod random;
mod rocksdb;
mod round_trips;

use std::path::Path;
use std::process::Command;

use crate::{Entries, Ran};

/// Runs `cairn` with the words of `line`; `@` before a word stands for the directory `at`.
fn cairn(at: &Path, line: &str) -> Ran {
    command(at, line).output().unwrap().into()
}

fn command(at: &Path, line: &str) -> Command {
    crate::command(at, &words(at, line))
}

fn words(at: &Path, line: &str) -> Vec<String> {
    let word = |word: &str| match word.strip_prefix('@') {
        Some(name) => at.join(name).to_str().unwrap().to_owned(),
        None => word.to_owned(),
    };
    line.split_whitespace().map(word).collect()
}

/// Fails with the first key that differs, instead of a page of bytes.
#[track_caller]
fn assert_same(found: &Entries, expected: &Entries, what: &str) {
    let both = found.iter().zip(expected);
    for ((found, value), (key, expected)) in both {
        assert_eq!(found, key, "{what}");
        assert!(value == expected, "{what}: the value of {key:?}");
    }
    assert_eq!(found.len(), expected.len(), "{what}");
}
