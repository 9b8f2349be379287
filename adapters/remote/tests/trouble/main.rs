//! What happens when servers stop, answers are lost, calls are cancelled and limits are reached.

#[path = "../support/mod.rs"]
mod support;

mod asynchronous;
mod etcd;
mod pooler;
mod postgres;
mod standby;
mod tables;
mod users;

use std::time::Duration;

use cairndb_remote::testing::PostgresServer;
use cairndb_store::ErrorKind;

/// The time of a round trip where they are counted: far above that of a call on a loaded machine.
const ROUND_TRIP: Duration = Duration::from_millis(100);

/// Opens a URL that cannot be opened, and returns the error.
fn refused(url: &str) -> cairndb_store::Error {
    cairndb_remote::open(url).expect_err("the URL cannot be opened")
}

/// Executes statements on a connection of their own.
fn execute(server: &PostgresServer, statements: &[&str]) {
    execute_at(server.port(), statements);
}

fn execute_at(port: u16, statements: &[&str]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let config = format!("host=127.0.0.1 port={port} user=cairn");
        let config = format!("{config} dbname=postgres");
        let connecting = tokio_postgres::connect(&config, tokio_postgres::NoTls);
        let (client, connection) = connecting.await.expect("the server runs");
        let connection = tokio::spawn(connection);
        for statement in statements {
            let done = client.batch_execute(statement).await;
            done.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
        }
        connection.abort();
    });
}

#[test]
fn nobody_at_home_is_unavailable_and_secrets_stay_hidden() {
    for url in [
        "postgres://someone:hunter2@127.0.0.1:1/db/t?timeout=1s",
        "etcd://someone:hunter2@127.0.0.1:1/p?timeout=1s",
    ] {
        let error = refused(url);
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        let text = format!("{error} {error:?}");
        assert!(
            !text.contains("hunter2") && !text.contains("someone"),
            "{text}"
        );
    }
}

#[test]
fn a_missing_feature_is_named() {
    let error = refused("tikv://127.0.0.1/keyspace?timeout=1s");
    if cfg!(feature = "tikv") {
        return;
    }
    assert_eq!(error.kind(), ErrorKind::NotSupported);
    assert!(error.to_string().contains("feature `tikv`"), "{error}");
}
