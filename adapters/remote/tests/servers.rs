//! The contract suite on real servers, which the tests start: a three-node etcd cluster and a
//! PostgreSQL server; and on the asynchronous face of the local stores.
//!
//! `CAIRN_REMOTE_OPS` sets the number of random operations on each server, `CAIRN_SEED` the seed.
//! With the feature `tikv`, `CAIRN_TIKV=pd-address:2379/tests` runs the suite in that keyspace of a
//! TiKV cluster, which it empties.

#![expect(clippy::print_stdout, reason = "tests print their seeds")]

mod support;

use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_env::testing::setting::setting;
use cairndb_remote::testing::{EtcdCluster, Medium, Pooler, PostgresServer};
use cairndb_remote::{AsyncStore, Blocking, Local, open};
use cairndb_store::testing::{ModelSize, run_cases, run_model};
use cairndb_store::{MemoryStore, Store};

/// Random operations of a push, on each server.
const OPERATIONS: u64 = 10_000;
/// And through a pooler, where the statements are the same.
const POOLED_OPERATIONS: u64 = 1_000;

fn size(operations: u64) -> ModelSize {
    let seed = setting("CAIRN_SEED").unwrap_or(53);
    let operations = setting("CAIRN_REMOTE_OPS").unwrap_or(operations);
    println!("seed {seed}, {operations} operations");
    ModelSize::new(seed, operations)
}

fn keeps_the_contract(operations: u64, url: impl Fn(&str) -> String) {
    let open = |name: &str| open(&url(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let count = run_cases(&mut |name| open(name));
    println!("{count} cases");
    assert!(count >= 120, "only {count} cases");
    assert!(
        run_model(&*open("model"), size(operations)) > 0,
        "no transaction conflicted"
    );
}

#[test]
fn etcd_keeps_the_contract() {
    let Some(cluster) = EtcdCluster::start(Medium::Memory) else {
        return support::skip("etcd: install etcd-server");
    };
    keeps_the_contract(OPERATIONS, |name| cluster.url(name));
}

#[test]
fn postgres_keeps_the_contract() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    keeps_the_contract(OPERATIONS, |name| server.url(name));
}

#[test]
fn postgres_through_a_pooler_keeps_the_contract() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let Some(pooler) = Pooler::start(&server, &["pool_mode = transaction"]) else {
        return support::skip("PostgreSQL through a pooler: install pgbouncer");
    };
    keeps_the_contract(POOLED_OPERATIONS, |name| pooler.url(name));
}

/// Runs the suite in the keyspace that `CAIRN_TIKV` names, such as `pd-address:2379/tests`. Deletes
/// everything in it before each case.
#[cfg(feature = "tikv")]
#[test]
fn tikv_keeps_the_contract() {
    let Ok(address) = std::env::var("CAIRN_TIKV") else {
        println!("not run: CAIRN_TIKV names no cluster");
        return;
    };
    let url = format!("tikv://{address}");
    let emptied = || {
        let store = open(&url).unwrap_or_else(|error| panic!("{url}: {error}"));
        let first = cairndb_store::Scan::all().limit(100);
        loop {
            let page = store
                .scan(&first)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let page = page.expect("the keyspace can be read");
            if page.is_empty() {
                return store;
            }
            for (key, _) in page {
                store.delete(&key).expect("the keyspace can be emptied");
            }
        }
    };
    let count = run_cases(&mut |_| emptied());
    println!("{count} cases");
    run_model(&*emptied(), size(OPERATIONS));
}

/// Opens a local store through both faces.
fn through_the_runtime(store: impl Store + 'static) -> Box<dyn Store> {
    let local = Local::new(store);
    let start = || async { Ok(std::sync::Arc::new(local) as std::sync::Arc<dyn AsyncStore>) };
    Box::new(Blocking::start(start).expect("a runtime"))
}

#[test]
fn the_asynchronous_face_of_a_database_keeps_the_contract() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let number = AtomicU64::new(0);
    let count = run_cases(&mut |_| {
        let name = number.fetch_add(1, Ordering::Relaxed).to_string();
        let db = cairndb::Db::open(dir.path().join(name)).expect("an empty database");
        through_the_runtime(db)
    });
    assert!(count >= 120, "only {count} cases");
}

#[test]
fn the_asynchronous_face_of_memory_keeps_the_contract() {
    run_cases(&mut |_| through_the_runtime(MemoryStore::new()));
    run_model(&*through_the_runtime(MemoryStore::new()), size(OPERATIONS));
}
