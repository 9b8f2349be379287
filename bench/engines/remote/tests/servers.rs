//! The engines over servers that the test starts: the conformance of an adapter, and its count of
//! round trips beside what a slow connection costs.

#![expect(clippy::print_stdout, reason = "a skipped test says so")]
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::time::Duration;

use bench_core::engine::{Cursor, Durability, Engine, Role, Session, Store};
use bench_core::host::test_skip::skip;
use bench_core::workload::settings::{Memory, Settings};
use cairndb_remote::testing::{EtcdCluster, Medium, PostgresServer, Proxy};
use engine_remote::{Remote, RemoteKind, RemoteStore};

fn open(kind: RemoteKind, url: &str, dir: &std::path::Path) -> RemoteStore {
    let settings = Settings::plain(Memory::split(4 << 20, false));
    Remote::new(kind, Some(url)).open(dir, &settings).unwrap()
}

fn key(n: u64) -> Vec<u8> {
    format!("{n:016}").into_bytes()
}

/// Runs calls of every kind, and compares both counts.
fn compare(kind: RemoteKind, url: &str, proxy: &Proxy) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(kind, url, dir.path());
    let mut session = store.session(Role::single(Durability::Sync)).unwrap();
    // Connects, and prepares every statement.
    calls(kind, &mut session);
    proxy.delay(Duration::from_millis(20));
    let before = store.round_trips().unwrap();
    let mut entries = 0;
    let seen = proxy.round_trips(|| entries = calls(kind, &mut session));
    let ours = store.round_trips().unwrap() - before;
    proxy.delay(Duration::ZERO);
    assert_eq!(entries, 1500);
    println!("{kind:?}: {ours} round trips counted, time for {seen}");
    // The work of the calls themselves adds to their time.
    assert!(ours <= seen && seen <= ours + ours / 2, "{ours} and {seen}");
    session.delete(&key(7)).unwrap();
    drop(session);
    store.close().unwrap();
    // The directory stands for the entries, which are still there.
    let store = open(kind, url, dir.path());
    let mut session = store.session(Role::single(Durability::Sync)).unwrap();
    assert_eq!(session.get(&key(7), <[u8]>::len).unwrap(), None);
    assert_eq!(session.get(&key(8), <[u8]>::len).unwrap(), Some(100));
    drop(session);
    store.close().unwrap();
    // An empty one stands for none.
    let other = tempfile::tempdir().unwrap();
    let store = open(kind, url, other.path());
    let mut session = store.session(Role::single(Durability::Sync)).unwrap();
    let mut cursor = session.cursor().unwrap();
    cursor.first().unwrap();
    assert!(!cursor.valid());
    drop((cursor, session));
    store.close().unwrap();
}

/// Runs calls of every kind, and returns the number of entries that a scan finds.
fn calls<S: Session>(kind: RemoteKind, session: &mut S) -> u64 {
    for n in 0..150 {
        session.put(&key(n), &[7; 100]).unwrap();
    }
    for n in 0..1500 {
        session.batch_put(&key(n), &[7; 100]).unwrap();
        if kind == RemoteKind::Etcd && n % 100 == 99 {
            session.batch_write().unwrap();
        }
    }
    session.batch_write().unwrap();
    for n in 0..100 {
        assert_eq!(session.get(&key(n * 13), <[u8]>::len).unwrap(), Some(100));
    }
    session.delete(b"absent").unwrap();
    let keys: Vec<Vec<u8>> = (1400..1600).map(key).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut found = 0;
    let each = |_, value: Option<&[u8]>| found += u64::from(value.is_some());
    session.multi_get(&keys, each).unwrap();
    assert_eq!(found, 100);
    let mut cursor = session.cursor().unwrap();
    cursor.seek(&key(700)).unwrap();
    assert_eq!(cursor.key(), key(700));
    cursor.prev().unwrap();
    assert_eq!(cursor.key(), key(699));
    cursor.next().unwrap();
    assert_eq!(cursor.key(), key(700));
    cursor.last().unwrap();
    assert_eq!(cursor.key(), key(1499));
    cursor.next().unwrap();
    assert!(!cursor.valid());
    cursor.first().unwrap();
    let mut entries = 0;
    while cursor.valid() {
        assert_eq!(cursor.key(), key(entries));
        assert_eq!(cursor.value().unwrap(), [7; 100]);
        entries += 1;
        cursor.next().unwrap();
    }
    entries
}

#[test]
fn postgres_counts_what_a_proxy_sees() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return skip("the engine postgres of db_bench: install postgresql");
    };
    let proxy = Proxy::start(server.port());
    let url = server.url("rows");
    let url = url.replace(
        &format!(":{}", server.port()),
        &format!(":{}", proxy.port()),
    );
    compare(RemoteKind::Postgres, &url, &proxy);
}

#[test]
fn etcd_counts_what_a_proxy_sees() {
    let settings = Settings::plain(Memory::split(4 << 20, false));
    let dir = tempfile::tempdir().unwrap();
    let probe = Remote::new(RemoteKind::Etcd, Some("etcd://127.0.0.1:1/x?timeout=10ms"));
    let error = probe.open(dir.path(), &settings).map(drop).unwrap_err();
    if error.to_string().contains("no adapter") {
        return skip("the engine etcd of db_bench: test it with the whole workspace");
    }
    let Some(cluster) = EtcdCluster::start(Medium::Memory) else {
        return skip("the engine etcd of db_bench: install etcd-server");
    };
    let proxy = Proxy::start(cluster.ports()[0]);
    let url = format!("etcd://127.0.0.1:{}/rows", proxy.port());
    compare(RemoteKind::Etcd, &url, &proxy);
}

#[test]
fn a_wrong_url_is_refused() {
    let settings = Settings::plain(Memory::split(4 << 20, false));
    let dir = tempfile::tempdir().unwrap();
    for (kind, url, part) in [
        (RemoteKind::Etcd, None, "needs --store=URL"),
        (
            RemoteKind::Postgres,
            Some("etcd://localhost/x"),
            "must be postgres",
        ),
        (RemoteKind::Postgres, Some("nothing"), "scheme"),
        (
            RemoteKind::Postgres,
            Some("postgres://127.0.0.1:1/db/t?timeout=50ms"),
            "unavailable",
        ),
    ] {
        let error = Remote::new(kind, url).open(dir.path(), &settings).map(drop);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
