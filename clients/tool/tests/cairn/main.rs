//! Runs `cairn` as a shell would: output, exit codes, and what it leaves on disk.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_SEED` | seed of all randomness, 1 by default |
//! | `CAIRN_TRANSFERS` | number of random databases for each format, 12 by default |
//! | `CAIRN_KILLS` | 11 times the number of killed processes, 220 by default |
//! | `CAIRN_COPY_ENTRIES` | entries copied between kills, 4,000 by default; if set, no rate limit |

#![expect(
    clippy::unwrap_used,
    clippy::big_endian_bytes,
    clippy::print_stdout,
    reason = "tests fail by panicking, print what they ran, and use keys in the order of numbers"
)]

mod guide;
mod program;
mod stores;
mod transfer;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use cairndb::env::{Env, RealEnv};
use cairndb::leveldb::{Order, ReverseOrder};
use cairndb::{Db, Options, WriteBatch};
use cairndb_leveldb::{NewDatabase, WriteOptions};
use tempfile::TempDir;

/// Entries in order.
type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// A path in a directory that is removed at the end.
#[derive(Debug)]
struct Home {
    path: PathBuf,
    _directory: TempDir,
}

/// Returns a new directory.
fn home() -> Home {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    Home {
        path,
        _directory: directory,
    }
}

/// Returns a path in a new directory.
fn place(name: &str) -> Home {
    let home = home();
    let path = home.join(name);
    Home { path, ..home }
}

impl Deref for Home {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for Home {
    fn as_ref(&self) -> &Path {
        self
    }
}

/// What one run printed.
#[derive(Debug)]
struct Ran {
    /// The exit code; -1 of a process that was killed.
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

    /// Asserts that the run was a success, and returns the hash that it printed.
    #[track_caller]
    fn hash(self) -> String {
        let text = self.done();
        let (_, hash) = text.lines().next().unwrap().rsplit_once(' ').unwrap();
        assert_eq!(hash.len(), 16, "{text}");
        hash.to_owned()
    }

    /// Asserts that the run failed with a code and a message that names each of `parts`, and
    /// printed nothing else.
    #[track_caller]
    fn failed(self, code: i32, parts: &[&str]) {
        assert!(self.stdout.is_empty(), "{self:?}");
        self.ended(code, parts);
    }

    /// Asserts that the run ended with a code and a message that names each of `parts`. Returns
    /// what it printed.
    #[track_caller]
    fn ended(self, code: i32, parts: &[&str]) -> String {
        assert_eq!(self.code, code, "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part}: {self:?}");
        }
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// What a message says of a process that has the database open. Not its number: a child of another
/// test holds copies of this process's descriptors until it runs its program.
const HOLDER: &str = if cfg!(target_os = "linux") {
    " has the database open"
} else {
    "another process"
};

/// Asserts that a text has each of `parts`; a newline before it, also before the first line.
#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    let text = format!("\n{text}");
    for part in parts {
        assert!(text.contains(part), "no {part}: {text}");
    }
}

/// Returns the command `cairn` in the directory `at`.
fn command<A: AsRef<OsStr>>(at: &Path, words: &[A]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_cairn"));
    program.args(words).current_dir(at).stdin(Stdio::null());
    program
}

/// Runs `cairn` in the directory `at`, without files longer than `blocks` blocks of 512 bytes.
fn limited<A: AsRef<OsStr>>(blocks: u32, at: &Path, words: &[A]) -> Ran {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_cairn")]);
    let shell = shell.args(words).current_dir(at).stdin(Stdio::null());
    shell.output().unwrap().into()
}

/// Runs a command with bytes on its stdin.
fn fed(mut program: Command, stdin: &[u8]) -> Ran {
    program.stdin(Stdio::piped());
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin).unwrap();
    child.wait_with_output().unwrap().into()
}

/// Runs a command whose reader closes the pipe after ten bytes.
fn left(mut program: Command) -> Ran {
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    pipe.read_exact(&mut [0; 10]).unwrap();
    drop(pipe);
    child.wait_with_output().unwrap().into()
}

/// Writes a database.
fn write<K: AsRef<[u8]>, V: AsRef<[u8]>>(path: &Path, entries: impl IntoIterator<Item = (K, V)>) {
    fill(path, entries).close().unwrap();
}

/// Writes a database whose entries are in a table.
fn write_table<K: AsRef<[u8]>, V: AsRef<[u8]>>(
    path: &Path,
    entries: impl IntoIterator<Item = (K, V)>,
) {
    let db = fill(path, entries);
    db.compact_range(..).unwrap();
    db.close().unwrap();
}

fn fill<K: AsRef<[u8]>, V: AsRef<[u8]>>(
    path: &Path,
    entries: impl IntoIterator<Item = (K, V)>,
) -> Db {
    let db = Options::new().create_if_missing(true).open(path).unwrap();
    let mut batch = WriteBatch::new();
    for (key, value) in entries {
        batch.put(key.as_ref(), value.as_ref());
        if batch.byte_len() > 1 << 20 {
            db.write(&batch).unwrap();
            batch.clear();
        }
    }
    db.write(&batch).unwrap();
    db
}

/// Opens a new database with the reverse order, under a name.
fn open_reverse(path: &Path, name: &str) -> Db {
    let order = Arc::new(ReverseOrder::of(name, Order::Bytewise));
    let options = Options::new().create_if_missing(true).comparator(order);
    options.open(path).unwrap()
}

/// Writes a LevelDB database; `entries` are in order.
fn write_leveldb<K: AsRef<[u8]>, V: AsRef<[u8]>>(
    path: &Path,
    entries: impl IntoIterator<Item = (K, V)>,
) {
    write_leveldb_with(path, WriteOptions::default(), entries);
}

/// Writes a LevelDB database with options.
fn write_leveldb_with<K: AsRef<[u8]>, V: AsRef<[u8]>>(
    path: &Path,
    options: WriteOptions,
    entries: impl IntoIterator<Item = (K, V)>,
) {
    let dir = RealEnv::new().open_dir(path, true).unwrap();
    let mut new = NewDatabase::create(&dir, options).unwrap();
    for (key, value) in entries {
        new.put(key.as_ref(), value.as_ref()).unwrap();
    }
    new.finish().unwrap();
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

/// The names and contents of all files of a directory.
fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(path).unwrap().map(Result::unwrap);
    let file = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        // A database in use removes files that it no longer needs.
        Some((name, std::fs::read(entry.path()).ok()?))
    };
    entries.filter_map(file).collect()
}

/// The names in a directory, in order.
fn names(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(path).unwrap().map(Result::unwrap);
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The only file whose name ends with `ending`.
fn file_of(path: &Path, ending: &str) -> String {
    let mut names = names(path);
    names.retain(|name| name.ends_with(ending));
    let [name] = &*names else {
        panic!("one file, not {names:?}");
    };
    name.clone()
}

/// Removes a file or a directory, if there is one.
fn remove(path: &Path) {
    let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
}

/// Removes what is there of `names` in a directory.
fn clear(at: &Path, names: &[&str]) {
    for name in names {
        remove(&at.join(name));
    }
}
