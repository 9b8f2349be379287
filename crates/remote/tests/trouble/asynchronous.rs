//! The asynchronous face in trouble: cancelled calls, and blocking calls where they must not be.

use std::time::Duration;

use cairndb_remote::testing::{Medium, PostgresServer};
use cairndb_remote::{AsyncStoreExt as _, open, open_async};
use cairndb_store::{ErrorKind, Scan};

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
