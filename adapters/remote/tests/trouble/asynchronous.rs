//! The asynchronous face in trouble: cancelled calls, and blocking calls where they must not be.

use std::time::Duration;

use cairndb_remote::testing::{EtcdCluster, Medium, PostgresServer, Proxy};
use cairndb_remote::{AsyncStoreExt as _, open, open_async};
use cairndb_store::{CallOptions, ErrorKind, Scan};

use crate::support;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
}

#[test]
fn a_blocking_call_inside_a_runtime_is_refused() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let url = server.url("t");
    let store = open(&url).expect("the server runs");
    let kinds = runtime().block_on(async {
        let inside = open(&url).expect_err("inside a runtime").kind();
        (
            inside,
            store.get(b"a").expect_err("inside a runtime").kind(),
        )
    });
    assert_eq!(
        kinds,
        (ErrorKind::InvalidArgument, ErrorKind::InvalidArgument)
    );
    assert!(store.get(b"a").expect("an answer").is_none());
}

/// Cancels calls at many moments. Each batch must be there whole or not at all, and the connections
/// must stay in order.
#[test]
fn cancelled_calls_leave_a_defined_state() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let url = format!("{}?pool=3", server.url("t"));
    runtime().block_on(async {
        let store = open_async(&url).await.expect("the server runs");
        for round in 0..200_u64 {
            let value = round.to_le_bytes();
            let patience = Duration::from_micros(round * 10);
            let write = async {
                let mut batch = cairndb_store::Batch::new();
                batch.put(b"a", &value);
                batch.put(b"b", &value);
                batch.delete(b"c");
                store.write(&batch).await
            };
            let _ = tokio::time::timeout(patience, write).await;
            let transaction = store.transact(|transaction| {
                Box::pin(async move {
                    let found = transaction.multi_get(&[b"a", b"b"]).await?;
                    assert_eq!(found[0], found[1]);
                    transaction.put(b"a", &value)?;
                    transaction.put(b"b", &value)
                })
            });
            let _ = tokio::time::timeout(patience, transaction).await;
            let mut scan = store.scan(&Scan::all());
            let _ = tokio::time::timeout(patience, scan.next_page()).await;
            let found = store.multi_get(&[b"a", b"b"]).await.expect("an answer");
            assert_eq!(found[0], found[1], "round {round}");
        }
    });
}

/// A scan of the transaction waits for an answer; the commit must not wait as long.
#[test]
fn a_commit_beside_a_read_ends_at_its_own_deadline() {
    let server = PostgresServer::start(Medium::Memory);
    let cluster = EtcdCluster::start(Medium::Memory);
    let servers = [
        server
            .as_ref()
            .map(|server| ("postgres://cairn@", server.port(), "/postgres/t")),
        cluster
            .as_ref()
            .map(|cluster| ("etcd://", cluster.ports()[0], "/t")),
    ];
    for (scheme, port, path) in servers.into_iter().flatten() {
        let proxy = Proxy::start(port);
        let url = format!("{scheme}127.0.0.1:{}{path}?timeout=5s", proxy.port());
        runtime().block_on(commit_beside_a_read(&url, &proxy));
    }
    if server.is_none() || cluster.is_none() {
        support::skip("a commit beside a read: install postgresql and etcd-server");
    }
}

async fn commit_beside_a_read(url: &str, proxy: &Proxy) {
    let store = open_async(url).await.expect("the server runs");
    let transaction = store.begin().await.expect("a transaction");
    let found = transaction.get(b"a").await.expect("an answer");
    assert!(found.is_none());
    transaction.put(b"a", b"1").expect("within the limits");
    let mut scan = transaction.scan(&Scan::all());
    proxy.mute();
    let mut page = scan.next_page();
    let short = CallOptions::new().timeout(Duration::from_millis(300));
    let start = tokio::time::Instant::now();
    let commit = async {
        let commit = transaction.commit_with(&short).await;
        (
            commit.expect_err("the scan goes on").kind(),
            start.elapsed(),
        )
    };
    // The scan is polled first, so it has what the commit waits for.
    let (kind, elapsed) = tokio::select! {
        biased;
        page = &mut page => panic!("the scan was answered: {page:?}"),
        ended = commit => ended,
    };
    assert_eq!(kind, ErrorKind::DeadlineExceeded, "{url}");
    assert!(elapsed < Duration::from_secs(2), "{url}: {elapsed:?}");
}
