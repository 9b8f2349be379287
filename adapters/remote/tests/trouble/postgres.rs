//! PostgreSQL in trouble.

use std::time::Duration;

use cairndb_remote::open;
use cairndb_remote::testing::{Medium, PostgresServer, Proxy};
use cairndb_store::{CallOptions, ErrorKind, Scan, StoreExt as _};

use crate::{ROUND_TRIP, support};

fn short() -> CallOptions {
    CallOptions::new().timeout(Duration::from_millis(300))
}

#[test]
fn a_stopped_server_is_noticed_at_the_deadline() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let proxy = Proxy::start(server.port());
    let url = format!("postgres://cairn@127.0.0.1:{}/postgres/t", proxy.port());
    let store = open(&url).expect("the server runs");
    // Prepares the statements of a commit on the first connection.
    let warm = store.begin().expect("a transaction");
    assert!(!warm.contains(b"a").expect("the server answers"));
    warm.put(b"a", b"1").expect("within the limits");
    warm.commit().expect("the server answers");
    let transaction = store.begin().expect("a transaction");
    assert!(transaction.contains(b"a").expect("the server answers"));
    transaction.put(b"a", b"3").expect("within the limits");
    let snapshot = store.snapshot().expect("a snapshot");
    store.put(b"b", b"1").expect("the server answers");

    // The server goes on, but nobody hears it.
    proxy.mute();
    let write = store.put_with(b"a", b"2", &short()).expect_err("no answer");
    assert_eq!(write.kind(), ErrorKind::OutcomeUnknown, "{write}");
    let commit = transaction.commit_with(&short()).expect_err("no answer");
    assert_eq!(commit.kind(), ErrorKind::OutcomeUnknown, "{commit}");
    let read = store.get_with(b"a", &short()).expect_err("no answer");
    assert_eq!(read.kind(), ErrorKind::DeadlineExceeded, "{read}");
    // Without a connection nothing is sent.
    let unsent = store.put_with(b"a", b"5", &short()).expect_err("no answer");
    assert_eq!(unsent.kind(), ErrorKind::DeadlineExceeded, "{unsent}");
    let old = snapshot.get_with(b"a", &short()).expect_err("no answer");
    assert_eq!(old.kind(), ErrorKind::DeadlineExceeded, "{old}");

    // Afterwards everything works again, over new connections.
    proxy.hear();
    proxy.cut();
    let value = store.get(b"a").expect("the server answers");
    let value = value.map(cairndb_store::Value::into_vec);
    assert!(
        [Some(b"2".to_vec()), Some(b"3".to_vec())].contains(&value),
        "{value:?}"
    );
    let old = snapshot.get(b"a").expect_err("its connection is gone");
    assert_eq!(old.kind(), ErrorKind::SnapshotExpired, "{old}");
    store.put(b"a", b"4").expect("the server answers");
}

#[test]
fn a_host_that_accepts_and_is_silent_is_given_up() {
    // The system accepts the connection; nobody reads from it.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let silent = listener.local_addr().expect("a bound socket").port();
    let url = format!("postgres://cairn@127.0.0.1:{silent}/postgres/t?timeout=300ms");
    let (opened, done) = std::sync::mpsc::channel();
    let opening = std::thread::Builder::new().spawn(move || opened.send(open(&url)));
    opening.expect("a thread can be started");
    let patience = Duration::from_secs(20);
    let opened = done.recv_timeout(patience).expect("an answer in time");
    let error = opened.expect_err("nobody answers");
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let hosts = format!("127.0.0.1:{silent},127.0.0.1:{}", server.port());
    let url = format!("postgres://cairn@{hosts}/postgres/t?timeout=2s");
    let store = open(&url).expect("the second host answers");
    assert!(!store.contains(b"a").expect("the second host answers"));
}

#[test]
fn an_open_store_does_not_show_its_user() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let store = open(&server.url("t")).expect("the server runs");
    let text = format!("{store:?} {:?}", store.snapshot().expect("a snapshot"));
    assert!(text.contains("127.0.0.1"), "{text}");
    assert!(!text.contains("\"cairn\""), "{text}");
}

#[test]
fn a_restart_ends_snapshots_and_nothing_else() {
    let Some(mut server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let store = open(&server.url("t")).expect("the server runs");
    store.put(b"a", b"1").expect("the server answers");
    let snapshot = store.snapshot().expect("a snapshot");
    server.kill();
    server.restart();
    let error = snapshot.get(b"a").expect_err("its connection is gone");
    assert_eq!(error.kind(), ErrorKind::SnapshotExpired, "{error}");
    // A transaction whose connection is lost before the commit runs again.
    let mut runs = 0;
    store
        .transact(|transaction| {
            runs += 1;
            let found = transaction.get(b"a")?;
            if runs == 1 {
                server.kill();
                server.restart();
            }
            transaction.put(b"b", &found.expect("it was written"))?;
            transaction.contains(b"c").map(drop)
        })
        .expect("the second run commits");
    assert_eq!(runs, 2);
    assert_eq!(
        store.get(b"b").expect("an answer").as_deref(),
        Some(&b"1"[..])
    );
}

#[test]
fn a_full_pool_is_named() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let store = open(&format!("{}?pool=2", server.url("t"))).expect("the server runs");
    let held = [store.snapshot(), store.snapshot()];
    let error = store
        .get_with(b"a", &short())
        .expect_err("the pool is empty");
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
    assert!(
        error.to_string().contains("2 connections of the pool"),
        "{error}"
    );
    drop(held);
    assert!(store.get(b"a").expect("a connection is free").is_none());
}

#[test]
fn a_hundred_keys_take_one_round_trip() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let proxy = Proxy::start(server.port());
    let url = format!("postgres://cairn@127.0.0.1:{}/postgres/t", proxy.port());
    let store = open(&url).expect("the server runs");
    let keys: Vec<Vec<u8>> = (0..100_u8).map(|n| vec![n]).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut batch = cairndb_store::Batch::new();
    for key in &keys {
        batch.put(key, key);
    }
    batch.delete(b"absent");
    // The first of the five calls prepares its statements.
    proxy.delay(ROUND_TRIP);
    let trips = |call: &dyn Fn()| (0..5).map(|_| proxy.round_trips(call)).min();
    assert_eq!(trips(&|| store.write(&batch).expect("written")), Some(1));
    let read = || {
        assert_eq!(
            store
                .multi_get(&keys)
                .expect("read")
                .iter()
                .flatten()
                .count(),
            100
        );
    };
    assert_eq!(trips(&read), Some(1));
    let scan = || {
        let entries = store.scan(&Scan::all().limit(50)).expect("read");
        assert_eq!(entries.count(), 50);
    };
    assert_eq!(trips(&scan), Some(1));
    // A transaction that reads two keys at once and writes: one for the read, one for the commit.
    let transact = || {
        let body = |transaction: &dyn cairndb_store::Transaction| {
            let found = transaction.multi_get(&[b"\x01", b"\x02"])?;
            assert_eq!(found.len(), 2);
            transaction.put(b"sum", b"1")
        };
        store.transact(body).expect("committed");
    };
    assert_eq!(trips(&transact), Some(2));
}
