//! `dump`, `load`, `export` and `import`, as a shell would run them: every format in both
//! directions, beside the programs of the stores that own the formats, and killed at random
//! moments.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_SEED` | seed of all randomness, 1 by default |
//! | `CAIRN_TRANSFERS` | number of random databases for each format, 12 by default |
//! | `CAIRN_KILLS` | 11 times the number of killed processes, 220 by default |

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod bad_input;
mod foreign_text;
#[cfg(target_os = "linux")]
mod full_disk;
mod kills;
mod leveldb;
mod options;
mod programs;
mod random;
mod rocksdb;
mod round_trips;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bench_core::host::test_skip::skip;
use cairndb::{Db, Options, WriteBatch};
use cairndb_env::testing::setting::setting;

/// Entries in order.
type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// What one run printed.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
}

impl Ran {
    /// Asserts that the run was a success, and returns its output.
    #[track_caller]
    fn done(self) -> Vec<u8> {
        assert_eq!((self.code, &*self.stderr), (Some(0), ""), "{self:?}");
        self.stdout
    }

    /// Asserts that the run was a success, and returns the hash that it printed.
    #[track_caller]
    fn hash(self) -> String {
        let text = String::from_utf8(self.done()).unwrap();
        let (_, hash) = text.lines().next().unwrap().rsplit_once(' ').unwrap();
        assert_eq!(hash.len(), 16, "{text}");
        hash.to_owned()
    }

    /// Asserts that the run failed with a code and a message that names each of `parts`.
    #[track_caller]
    fn failed(self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part}: {self:?}");
        }
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn command<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_cairn"));
    program.args(arguments).stdin(Stdio::null());
    program
}

/// Runs `cairn` with the words of `line`; `@` before a word stands for the directory `parent`.
fn cairn(parent: &Path, line: &str) -> Ran {
    command(words(parent, line)).output().unwrap().into()
}

fn words(parent: &Path, line: &str) -> Vec<String> {
    let word = |word: &str| match word.strip_prefix('@') {
        Some(name) => parent.join(name).to_str().unwrap().to_owned(),
        None => word.to_owned(),
    };
    line.split_whitespace().map(word).collect()
}

/// Writes a database.
fn write(path: &Path, entries: &Entries) {
    let db = Options::new().create_if_missing(true).open(path).unwrap();
    let mut batch = WriteBatch::new();
    for (key, value) in entries {
        batch.put(key, value);
        if batch.byte_len() > 1 << 20 {
            db.write(&batch).unwrap();
            batch.clear();
        }
    }
    db.write(&batch).unwrap();
    db.close().unwrap();
}

/// Reads a database through its interface.
fn read(path: &Path) -> Entries {
    let db = Db::open(path).unwrap();
    let mut entries = Entries::new();
    for entry in db.iter() {
        let (key, value) = entry.unwrap();
        entries.insert(key.to_vec(), value.to_vec());
    }
    db.close().unwrap();
    entries
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
