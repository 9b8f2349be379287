//! Runs `cairn` as a shell would: output, exit codes, and what it leaves on disk.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod coding;
mod failures;
mod generate;
mod inspect;
mod interrupt;
mod output;
mod reading;
mod repair;
mod shell;
mod whole;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use cairndb::env::{Env, RealEnv};
use cairndb::{Db, WriteBatch};
use cairndb_leveldb::{NewDatabase, WriteOptions};

/// What one run printed.
#[derive(Debug)]
struct Ran {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
}

impl Ran {
    /// Asserts that the run was a success, and returns its output.
    #[track_caller]
    fn done(self) -> String {
        assert_eq!((self.code, &*self.stderr), (0, ""), "{self:?}");
        String::from_utf8(self.stdout).expect("the output is text")
    }

    /// Asserts that the run failed with a code and a message that names each of `parts`, and
    /// printed nothing else.
    #[track_caller]
    fn failed(self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.stdout.is_empty(), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part}: {self:?}");
        }
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().expect("not killed by a signal"),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn command<A: AsRef<OsStr>>(command: &str, directory: &Path, arguments: &[A]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_cairn"));
    program.arg(command).arg(directory).args(arguments);
    program
}

/// Runs a command on a directory.
fn cairn<A: AsRef<OsStr>>(name: &str, directory: &Path, arguments: &[A]) -> Ran {
    let output = command(name, directory, arguments)
        .stdin(Stdio::null())
        .output();
    output.expect("the program runs").into()
}

/// Runs a command with bytes on its stdin.
fn cairn_with(name: &str, directory: &Path, arguments: &[&str], stdin: &[u8]) -> Ran {
    let mut program = command(name, directory, arguments);
    program.stdin(Stdio::piped());
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().expect("the program runs");
    let mut input = child.stdin.take().expect("stdin is a pipe");
    input.write_all(stdin).expect("the program reads stdin");
    drop(input);
    child.wait_with_output().expect("the program ends").into()
}

/// Writes a CairnDB database whose entries are in a table.
fn write_cairn<K: AsRef<[u8]>>(path: &Path, entries: impl IntoIterator<Item = (K, Vec<u8>)>) {
    let db = Db::open(path).unwrap();
    let mut batch = WriteBatch::new();
    for (key, value) in entries {
        batch.put(key.as_ref(), &value);
    }
    db.write(&batch).unwrap();
    db.compact_range(..).unwrap();
    db.close().unwrap();
}

/// Writes a LevelDB database; `entries` are in order.
fn write_leveldb<K: AsRef<[u8]>>(path: &Path, entries: impl IntoIterator<Item = (K, Vec<u8>)>) {
    let dir = RealEnv::new().open_dir(path, true).unwrap();
    let mut new = NewDatabase::create(&dir, WriteOptions::default()).unwrap();
    for (key, value) in entries {
        new.put(key.as_ref(), &value).unwrap();
    }
    new.finish().unwrap();
}

/// The names and contents of all files of a directory.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        files.insert(name, std::fs::read(entry.path()).unwrap());
    }
    files
}
