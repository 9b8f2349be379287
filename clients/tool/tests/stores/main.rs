//! `copy`, and `get`, `put`, `delete` and `scan` with `--store`, as a shell would run them: over
//! databases in files, etcd and PostgreSQL, whose servers the tests start.
//!
//! | variable | meaning |
//! |---|---|
//! | `CAIRN_SEED` | seed of all randomness, 1 by default |
//! | `CAIRN_COPY_ENTRIES` | entries copied between kills, 4,000 by default; if set, no rate limit |

#![expect(
    clippy::unwrap_used,
    clippy::big_endian_bytes,
    clippy::print_stdout,
    reason = "tests fail by panicking, print what they ran, and use keys in the order of numbers"
)]

mod bad_input;
mod commands;
mod copies;
mod kills;
mod resumed;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bench_core::host::test_skip::skip;
use cairndb::{Db, Options, WriteBatch};
use cairndb_remote::testing::{EtcdCluster, Medium, PostgresServer};

/// Entries in order.
type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// What one run printed.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    /// Asserts that the run was a success, and returns its output.
    #[track_caller]
    fn done(self) -> String {
        assert_eq!((self.code, &*self.stderr), (Some(0), ""), "{self:?}");
        self.stdout
    }

    /// Asserts that the run failed with a code and a message that names each of `parts`, and
    /// printed nothing else.
    #[track_caller]
    fn failed(self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stdout.is_empty(), "{self:?}");
        for part in parts {
            assert!(self.stderr.contains(part), "no {part}: {self:?}");
        }
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn command(parent: &Path, arguments: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_cairn"));
    program.args(arguments).stdin(Stdio::null());
    program.current_dir(parent);
    program
}

/// Runs `cairn` in the directory `parent`.
fn cairn(parent: &Path, arguments: &[&str]) -> Ran {
    command(parent, arguments).output().unwrap().into()
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

fn entries(pairs: &[(&str, &str)]) -> Entries {
    let bytes = |text: &str| text.as_bytes().to_vec();
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| (bytes(key), bytes(value)))
        .collect()
}

/// Servers of both engines, as far as they are installed, and `cairn` has their clients.
struct Servers {
    etcd: Option<EtcdCluster>,
    postgres: Option<PostgresServer>,
}

impl Servers {
    fn start() -> Servers {
        Servers {
            etcd: etcd(Medium::Memory),
            postgres: postgres(Medium::Memory),
        }
    }

    /// Returns the URL of a store with this name on each server.
    fn urls(&self, name: &str) -> Vec<String> {
        let etcd = self.etcd.as_ref().map(|cluster| cluster.url(name));
        let postgres = self.postgres.as_ref().map(|server| server.url(name));
        etcd.into_iter().chain(postgres).collect()
    }
}

fn etcd(medium: Medium) -> Option<EtcdCluster> {
    let probe = ["get", "--store", "etcd://127.0.0.1:1/x?timeout=10ms", "key"];
    if cairn(Path::new("/"), &probe)
        .stderr
        .contains("was built without")
    {
        skip("cairn over etcd: test it with --features remote, or with the whole workspace");
        return None;
    }
    let cluster = EtcdCluster::start(medium);
    if cluster.is_none() {
        skip("cairn over etcd: install etcd-server");
    }
    cluster
}

fn postgres(medium: Medium) -> Option<PostgresServer> {
    let server = PostgresServer::start(medium);
    if server.is_none() {
        skip("cairn over PostgreSQL: install postgresql");
    }
    server
}
