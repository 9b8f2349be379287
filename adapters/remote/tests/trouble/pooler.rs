//! PostgreSQL through a pooler, which may give each transaction to another session of the server.

use cairndb_remote::open;
use cairndb_remote::testing::{Medium, Pooler, PostgresServer};
use cairndb_store::{Batch, ErrorKind, Result, Scan, Store, StoreExt as _};

use crate::{execute, execute_at, refused, support};

/// Passes on whatever the client demands of its session, or does not even notice it.
const INATTENTIVE: &str = "ignore_startup_parameters = options";
/// One session of the server, which all clients get in turn.
const ONE_SESSION: &str = "default_pool_size = 1";

#[test]
fn poolers_are_found_or_named() {
    let Some(server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    if Pooler::start(&server, &[]).is_none() {
        return support::skip("PostgreSQL through a pooler: install pgbouncer");
    }
    every_mode_that_has_transactions_works(&server);
    a_mode_without_transactions_is_named(&server);
    single_statements_are_serialisable(&server);
    a_pooler_that_is_not_found_is_named(&server);
}

/// Starts a pooler with `settings`.
fn start(server: &PostgresServer, settings: &[&str]) -> Pooler {
    Pooler::start(server, settings).expect("it has been found before")
}

/// Uses stores of one table with calls of every kind, by turns.
fn check_all_calls(stores: &[Box<dyn Store>]) -> Result<()> {
    for (turn, store) in (0..4_u8).zip(stores.iter().cycle()) {
        let (a, b) = ([b'a', turn], [b'b', turn]);
        store.put(&a, b"1")?;
        let snapshot = store.snapshot()?;
        assert!(store.compare_and_set(&b, None, Some(b"2"))?);
        assert!(!store.compare_and_set(&b, None, Some(b"3"))?);
        let mut batch = Batch::new();
        batch.put(&b, b"3");
        batch.delete(&a);
        store.write(&batch)?;
        assert!(snapshot.contains(&a)? && !snapshot.contains(&b)?);
        store.transact(|transaction| {
            let found = transaction.multi_get(&[&a, &b])?;
            assert!(found[0].is_none());
            transaction.put(&a, found[1].as_deref().unwrap_or_default())
        })?;
        assert_eq!(store.get(&a)?.as_deref(), Some(&b"3"[..]));
        store.delete(&a)?;
        assert_eq!(
            store.scan(&Scan::all().limit(9))?.count(),
            1 + usize::from(turn)
        );
    }
    Ok(())
}

fn every_mode_that_has_transactions_works(server: &PostgresServer) {
    for mode in ["session", "transaction"] {
        for (n, more) in ["", INATTENTIVE].into_iter().enumerate() {
            let pooler = start(server, &[&format!("pool_mode = {mode}"), more]);
            let url = pooler.url(&format!("{mode}{n}"));
            let stores = [(); 2].map(|()| open(&url).expect("the pooler is found"));
            let done = check_all_calls(&stores);
            done.unwrap_or_else(|error| panic!("{mode}, {more}: {error}"));
        }
    }
}

fn a_mode_without_transactions_is_named(server: &PostgresServer) {
    let pooler = start(server, &["pool_mode = statement"]);
    let error = refused(&pooler.url("t"));
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(
        error.to_string().contains("statement pooling mode"),
        "{error}"
    );
}

fn single_statements_are_serialisable(server: &PostgresServer) {
    let pooler = start(server, &["pool_mode = transaction", INATTENTIVE]);
    let store = open(&pooler.url("t")).expect("the pooler runs");
    // Entries that are there: the server guards them one by one, and absent ones together.
    for key in [b"a", b"b", b"c"] {
        store.put(key, b"0").expect("an answer");
    }
    // A single statement overwrites what a transaction has read that writes what another one has.
    let transaction = store.begin().expect("a transaction");
    assert!(transaction.contains(b"a").expect("an answer"));
    transaction.put(b"b", b"1").expect("within the limits");
    let other = store.begin().expect("a transaction");
    assert!(other.contains(b"b").expect("an answer"));
    other.put(b"c", b"1").expect("within the limits");
    store.put(b"a", b"1").expect("an answer");
    // Each of the three must come before another one, so one of the transactions has to give way.
    let commits = [other.commit(), transaction.commit()];
    let error = commits
        .into_iter()
        .find_map(Result::err)
        .expect("a conflict");
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
}

fn a_pooler_that_is_not_found_is_named(server: &PostgresServer) {
    // Every session is serialisable anyway, so nothing shows that the demand was ignored.
    let serialisable = "ALTER DATABASE postgres SET default_transaction_isolation = serializable";
    execute(server, &[serialisable]);
    let pooler = start(
        server,
        &["pool_mode = transaction", INATTENTIVE, ONE_SESSION],
    );
    let store = open(&pooler.url("t")).expect("the pooler runs");
    store.put(b"a", b"1").expect("prepared by the session");
    execute_at(pooler.port(), &["DEALLOCATE ALL"]);
    let error = store
        .put(b"a", b"2")
        .expect_err("the session has forgotten the statement");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(
        error.to_string().contains("add pooler=yes to the URL"),
        "{error}"
    );

    let set = open(&format!("{}?pooler=yes", pooler.url("t"))).expect("the pooler runs");
    set.put(b"a", b"2").expect("nothing is prepared");
    execute_at(pooler.port(), &["DEALLOCATE ALL"]);
    set.put(b"a", b"3").expect("nothing is prepared");
}
