//! PostgreSQL servers that accept no writes.

use cairndb_remote::open;
use cairndb_remote::testing::{Medium, PostgresServer};
use cairndb_store::{ErrorKind, Scan};

use crate::{execute, support};

const READ_ONLY: [&str; 2] = [
    "ALTER SYSTEM SET default_transaction_read_only = on",
    "SELECT pg_reload_conf()",
];

#[test]
fn connections_leave_a_server_that_accepts_no_writes() {
    let started = [(); 2].map(|()| PostgresServer::start(Medium::Memory));
    let [Some(old), Some(new)] = started else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let only_new = open(&new.url("t")).expect("the server runs");
    let (user, ports) = ("cairn", [old.port(), new.port()]);
    let hosts = ports.map(|port| format!("127.0.0.1:{port}")).join(",");
    let url = format!("postgres://{user}@{hosts}/postgres/t");
    let store = open(&url).expect("both servers run");
    let kept = [store.snapshot(), store.snapshot()];
    store.put(b"a", b"1").expect("the first server answers");
    assert!(!only_new.contains(b"a").expect("an answer"));
    // Three idle connections to the first server, which accepts no writes from soon on.
    drop(kept);
    let only_old = open(&old.url("t")).expect("the server runs");
    execute(&old, &READ_ONLY);
    let mut written = 0_u32;
    while !only_new.contains(b"b").expect("an answer") {
        store
            .put(b"b", b"2")
            .expect("one of the servers accepts it");
        written += 1;
    }
    assert!(written > 0);
    // New connections go past it too.
    let store = open(&url).expect("the second server accepts writes");
    let entries = store.scan(&Scan::all()).expect("an answer");
    let keys: Vec<_> = entries.map(|entry| entry.expect("an entry").0).collect();
    assert_eq!(keys, [cairndb_store::Value::from(&b"b"[..])]);
    // A store that has no other host says so at once.
    let error = only_old.put(b"c", b"3").expect_err("no writes");
    assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
    assert!(only_old.contains(b"a").expect("reads still work"));
}
