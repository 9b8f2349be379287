//! `copy`, and `get`, `put`, `delete` and `scan` with `--store`: over databases in files, etcd and
//! PostgreSQL, whose servers the tests start.

mod bad_input;
mod commands;
mod copies;
mod kills;
mod resumed;

use std::path::Path;

use bench_core::host::test_skip::skip;
use cairndb_remote::testing::{EtcdCluster, Medium, PostgresServer};

use crate::{Entries, Ran, command};

/// Runs `cairn` in the directory `at`.
fn cairn(at: &Path, words: &[&str]) -> Ran {
    command(at, words).output().unwrap().into()
}

fn entries(pairs: &[(&str, &str)]) -> Entries {
    let bytes = |text: &str| text.as_bytes().to_vec();
    let pairs = pairs.iter().map(|(key, value)| (bytes(key), bytes(value)));
    pairs.collect()
}

/// Entries with ascending keys of four bytes.
fn ascending(count: u32, value_bytes: usize) -> impl Iterator<Item = ([u8; 4], Vec<u8>)> {
    (0..count).map(move |n| (n.to_be_bytes(), vec![b'v'; value_bytes]))
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

    /// Returns the URL of a store with this name on each server, and that of a database.
    fn urls(&self, name: &str, file: &str) -> Vec<String> {
        let etcd = self.etcd.as_ref().map(|cluster| cluster.url(name));
        let postgres = self.postgres.as_ref().map(|server| server.url(name));
        let servers = etcd.into_iter().chain(postgres);
        servers.chain([file.to_owned()]).collect()
    }
}

fn etcd(medium: Medium) -> Option<EtcdCluster> {
    let probe = ["get", "--store", "etcd://127.0.0.1:1/x?timeout=10ms", "key"];
    let probed = cairn(Path::new("/"), &probe);
    if probed.stderr.contains("was built without") {
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
