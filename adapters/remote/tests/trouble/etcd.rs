//! etcd in trouble.

use std::time::Duration;

use cairndb_remote::testing::{EtcdCluster, Medium, Proxy};
use cairndb_remote::{Address, EtcdStore, open};
use cairndb_store::{CallOptions, ErrorKind, Scan, Store};

use crate::{ROUND_TRIP, support};

fn short() -> CallOptions {
    CallOptions::new().timeout(Duration::from_millis(500))
}

#[test]
fn one_member_of_three_may_be_missing_but_not_two() {
    let Some(mut cluster) = EtcdCluster::start(Medium::Memory) else {
        return support::skip("etcd: install etcd-server");
    };
    let store = open(&cluster.url("t")).expect("the cluster runs");
    for member in 0..3 {
        cluster.kill(member);
        // A write may be lost with its member; it is then never reported as refused.
        let key = [b'0' + u8::try_from(member).expect("below three")];
        while let Err(error) = store.put(&key, b"1") {
            assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
        }
        assert!(store.contains(&key).expect("two members answer"));
        cluster.restart(member);
    }
    assert_eq!(store.scan(&Scan::all()).expect("a scan").count(), 3);

    cluster.kill(0);
    cluster.kill(1);
    let read = store.get_with(b"0", &short()).expect_err("no majority");
    assert!(
        [ErrorKind::DeadlineExceeded, ErrorKind::Unavailable].contains(&read.kind()),
        "{read}"
    );
    let write = store
        .put_with(b"9", b"1", &short())
        .expect_err("no majority");
    let kinds = [
        ErrorKind::OutcomeUnknown,
        ErrorKind::Unavailable,
        ErrorKind::DeadlineExceeded,
    ];
    assert!(kinds.contains(&write.kind()), "{write}");
    cluster.restart(0);
    assert!(store.contains(b"0").expect("a majority answers"));
}

#[test]
fn a_compacted_revision_ends_its_snapshot() {
    let Some(cluster) = EtcdCluster::start(Medium::Memory) else {
        return support::skip("etcd: install etcd-server");
    };
    let store = open(&cluster.url("t")).expect("the cluster runs");
    store.put(b"a", b"1").expect("an answer");
    let snapshot = store.snapshot().expect("a snapshot");
    let transaction = store.begin().expect("a transaction");
    assert!(transaction.contains(b"a").expect("an answer"));
    for _ in 0..5 {
        store.put(b"a", b"2").expect("an answer");
    }
    compact(cluster.ports()[0]);
    let error = snapshot.get(b"a").expect_err("its revision was removed");
    assert_eq!(error.kind(), ErrorKind::SnapshotExpired, "{error}");
    let error = transaction.get(b"b").expect_err("its revision was removed");
    assert_eq!(error.kind(), ErrorKind::SnapshotExpired, "{error}");
    assert_eq!(
        store.get(b"a").expect("an answer").as_deref(),
        Some(&b"2"[..])
    );
}

/// Removes all old revisions, as an operator or the server's own schedule does.
fn compact(port: u16) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let endpoint = format!("http://127.0.0.1:{port}");
        let client = etcd_client::Client::connect([endpoint], None).await;
        let mut kv = client.expect("a connection").kv_client();
        let answer = kv.get("x", None).await.expect("an answer");
        let revision = answer.header().expect("a header").revision();
        let options = etcd_client::CompactionOptions::new().with_physical();
        kv.compact(revision, Some(options))
            .await
            .expect("compacted");
    });
}

#[test]
fn many_keys_take_one_request_unless_they_are_too_long() {
    let Some(cluster) = EtcdCluster::start(Medium::Memory) else {
        return support::skip("etcd: install etcd-server");
    };
    let proxy = Proxy::start(cluster.ports()[0]);
    let store = open(&format!("etcd://127.0.0.1:{}/t", proxy.port())).expect("the cluster runs");
    let keys: Vec<Vec<u8>> = (0..100_u8).map(|n| vec![n]).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut batch = cairndb_store::Batch::new();
    for key in &keys {
        batch.put(key, key);
    }
    store.write(&batch).expect("written");
    // Connected: the calls below pay for themselves alone.
    proxy.delay(ROUND_TRIP);
    let trips = |call: &dyn Fn()| (0..5).map(|_| proxy.round_trips(call)).min();
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
    assert_eq!(trips(&|| store.write(&batch).expect("written")), Some(1));

    let store = open(&cluster.url("t")).expect("the cluster runs");
    answers_beyond_the_limit_are_read_in_parts(&*store);
    requests_beyond_the_limit_are_refused(&*store);
}

/// Reads 42 MB, where an answer has at most 32 MiB.
fn answers_beyond_the_limit_are_read_in_parts(store: &dyn Store) {
    let keys: Vec<Vec<u8>> = (0..30_u8).map(|n| vec![b'l', n]).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    for key in &keys {
        store.put(key, &vec![key[1]; 1_400_000]).expect("written");
    }
    let found = store.multi_get(&keys).expect("read in parts");
    for (key, value) in keys.iter().zip(found) {
        let value = value.expect("it was written");
        assert_eq!((value.len(), value[0]), (1_400_000, key[1]));
    }
    for key in &keys {
        store.delete(key).expect("deleted");
    }
}

/// Reads absent keys that are long, in transactions that the cluster has to compare.
fn requests_beyond_the_limit_are_refused(store: &dyn Store) {
    let keys: Vec<Vec<u8>> = (0..60_u8).map(|n| vec![n; 60_000]).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let commit = |count: usize| {
        let transaction = store.begin().expect("a transaction");
        let found = transaction.multi_get(&keys[..count]).expect("an answer");
        assert!(found.iter().all(Option::is_none));
        transaction.put(b"long", b"1").expect("within the limits");
        transaction.commit()
    };
    // Each key is in the request twice: 1.44 MB, and 1.68 and 7.2 MB.
    commit(12).expect("within the limits");
    for count in [14, 60] {
        let error = commit(count).expect_err("too long");
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        let limit = error.limit().expect("it was refused before it was sent");
        assert_eq!((limit.name, limit.max), ("batch_bytes", 3 << 19));
    }
}

#[test]
fn a_watch_misses_nothing_while_members_die() {
    let Some(mut cluster) = EtcdCluster::start(Medium::Memory) else {
        return support::skip("etcd: install etcd-server");
    };
    let url = cluster.url("t");
    let store = open(&url).expect("the cluster runs");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let mut watch = runtime.block_on(async {
        let address = Address::parse(&url).expect("a valid URL");
        let watched = EtcdStore::connect(&address)
            .await
            .expect("the cluster runs");
        let watch = watched.watch(&Scan::prefix(b"w/"), None).await;
        watch.expect("a watch")
    });
    let mut expected = 0_u32;
    for member in [None, Some(0), Some(1), None] {
        if let Some(member) = member {
            cluster.kill(member);
        }
        for n in expected..expected + 20 {
            store.put(b"elsewhere", b"").ok();
            // An unknown outcome may write twice here; the watch then shows both.
            while store.put(b"w/n", &n.to_le_bytes()).is_err() {}
        }
        let mut last = None;
        while last != Some(expected + 19) {
            for change in runtime.block_on(watch.next()).expect("changes") {
                assert_eq!(&*change.key, b"w/n");
                let value = change.value.expect("nothing was deleted");
                let number = u32::from_le_bytes((*value).try_into().expect("4 bytes"));
                let before = last.unwrap_or(expected);
                assert!(
                    number == before || number == before + 1,
                    "{before} to {number}"
                );
                last = Some(number);
            }
        }
        expected += 20;
        if let Some(member) = member {
            cluster.restart(member);
        }
    }
    store.delete(b"w/n").expect("an answer");
    let changes = runtime.block_on(watch.next()).expect("changes");
    assert!(changes.iter().any(|change| change.value.is_none()));
}
