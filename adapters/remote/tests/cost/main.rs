//! Measurements, which are not part of a push: `Store` beside a bare loop of the client with the
//! same requests, and the memory of a long scan. The memory of a short one is part of it.
//!
//! Run with `cargo test --release --package cairndb-remote --test cost -- --ignored --nocapture
//! --test-threads=1`. The servers keep their files on disk. `CAIRN_COST_OPS` sets the calls of a
//! round (1000), `CAIRN_SCAN_ENTRIES` the entries of the scan (a million).

#![expect(
    clippy::print_stdout,
    clippy::big_endian_bytes,
    reason = "a measurement prints figures; the order of big-endian keys is that of their numbers"
)]

#[path = "../support/mod.rs"]
mod support;

mod bare;
mod rounds;

use cairndb_env::testing::setting::setting;
use cairndb_remote::open;
use cairndb_remote::testing::{EtcdCluster, Medium, PostgresServer};
use cairndb_store::{Batch, Read, Scan, Store};
use peak_alloc::PeakAlloc;

use bare::{BareEtcd, BarePostgres};
use rounds::{Client, compare};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Largest heap of a scan, beyond what was there before it.
const SCAN_BYTES_MAX: usize = 16 << 20;

/// A store as a client of the measurement.
struct Ours(Box<dyn Store>);

impl Client for Ours {
    fn get(&mut self, key: &[u8]) {
        let found = self.0.get(key).expect("an answer");
        assert!(found.is_some());
    }
    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.0.put(key, value).expect("an answer");
    }
    fn multi_get(&mut self, keys: &[&[u8]]) {
        let found = self.0.multi_get(keys).expect("an answer");
        assert_eq!(found.iter().flatten().count(), keys.len());
    }
    fn write(&mut self, entries: &[(Vec<u8>, Vec<u8>)]) {
        let mut batch = Batch::new();
        for (key, value) in entries {
            batch.put(key, value);
        }
        self.0.write(&batch).expect("an answer");
    }
}

#[test]
#[ignore = "a measurement"]
fn postgres_beside_a_bare_loop() {
    let Some(server) = PostgresServer::start(Medium::Disk) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let mut ours = Ours(open(&server.url("t")).expect("the server runs"));
    let mut bare = BarePostgres::connect(server.port());
    compare("postgres", &mut ours, &mut bare);
}

#[test]
#[ignore = "a measurement"]
fn etcd_beside_a_bare_loop() {
    let Some(cluster) = EtcdCluster::start(Medium::Disk) else {
        return support::skip("etcd: install etcd-server");
    };
    let mut ours = Ours(open(&cluster.url("t")).expect("the cluster runs"));
    let mut bare = BareEtcd::connect(cluster.ports()[0]);
    compare("etcd", &mut ours, &mut bare);
}

#[test]
#[ignore = "a measurement"]
fn a_database_and_memory_for_comparison() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let db = cairndb::Db::open(dir.path()).expect("an empty database");
    let mut through = Ours(Box::new(db.clone()));
    compare("file", &mut through, &mut bare::BareDb(db));
}

fn scan_in_little_memory(store: &dyn Store) {
    let count = setting("CAIRN_SCAN_ENTRIES").unwrap_or(1_000_000);
    let mut batch = Batch::new();
    let step = u64::try_from(store.engine().limits.batch_ops.min(5000)).expect("small");
    for n in 0..count {
        batch.put(&n.to_be_bytes(), &[7; 100]);
        if n % step == step - 1 || n + 1 == count {
            store.write(&batch).expect("an answer");
            batch.clear();
        }
    }
    drop(batch);
    for scan in [Scan::all(), Scan::all().reverse()] {
        if store.engine().name == "etcd" && scan != Scan::all() {
            continue;
        }
        HEAP.reset_peak_usage();
        let before = HEAP.current_usage();
        let mut seen = 0;
        for entry in store.scan(&scan).expect("an answer") {
            entry.expect("an entry");
            seen += 1;
        }
        let used = HEAP.peak_usage().saturating_sub(before);
        println!(
            "{}: {seen} entries, {used} bytes of heap",
            store.engine().name
        );
        assert_eq!(seen, count);
        assert!(used <= SCAN_BYTES_MAX, "{used} bytes");
    }
}

#[test]
#[ignore = "a measurement"]
fn a_long_scan_of_postgres_takes_little_memory() {
    let Some(server) = PostgresServer::start(Medium::Disk) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    scan_in_little_memory(&*open(&server.url("t")).expect("the server runs"));
}

/// Short entries make long pages; the values after them are of a megabyte.
#[test]
fn long_values_after_short_ones_take_little_memory() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let store = open(&server.url("t")).expect("the server runs");
    let mut batch = Batch::new();
    for n in 0..10_000_u32 {
        batch.put(&n.to_be_bytes(), b"short");
    }
    store.write(&batch).expect("an answer");
    drop(batch);
    for n in 10_000..10_040_u32 {
        store
            .put(&n.to_be_bytes(), &vec![7; 1 << 20])
            .expect("an answer");
    }
    let transaction = store.begin().expect("a transaction");
    let readers: [&dyn Read; 2] = [&*store, &*transaction];
    for (reader, scan) in readers
        .into_iter()
        .zip([Scan::all(), Scan::all().reverse()])
    {
        HEAP.reset_peak_usage();
        let before = HEAP.current_usage();
        let entries = reader.scan(&scan).expect("an answer");
        let bytes = entries.map(|entry| entry.expect("an entry").1.len());
        assert_eq!(bytes.sum::<usize>(), 5 * 10_000 + (40 << 20));
        let used = HEAP.peak_usage().saturating_sub(before);
        assert!(used <= SCAN_BYTES_MAX, "{used} bytes");
    }
}

#[test]
#[ignore = "a measurement"]
fn a_long_scan_of_etcd_takes_little_memory() {
    let Some(cluster) = EtcdCluster::start(Medium::Disk) else {
        return support::skip("etcd: install etcd-server");
    };
    scan_in_little_memory(&*open(&cluster.url("t")).expect("the cluster runs"));
}
