//! Replicas under kills: a process writes a database flat out and, from its feed of changes, keeps
//! another CairnDB database, a SQLite database or a table of PostgreSQL in step. It is killed at
//! random times, and so is the server. Each time it continues after the place that the replica
//! has stored.
//!
//! Every tenth kill, and at the end, the replica catches up. Then it must be equal to its source,
//! and its own count of the entries that it was given must be the number that were written: none
//! is missing, none came twice, and none is of a write that was taken back. The only pauses are
//! the lives of the processes.
//!
//! `CAIRN_REPLICA_KILLS` is the number of kills for each replica (default 6), `CAIRN_SEED` replays
//! what is written and when a process is killed, but not the scheduling.

#![expect(clippy::print_stdout, reason = "tests print their seeds")]

#[path = "../support/mod.rs"]
mod support;

mod child;
mod kills;
mod replica;
mod source;
mod targets;

use cairndb_env::testing::setting::setting;
use cairndb_remote::testing::{Medium, PostgresServer, Proxy};

use kills::{Disturbance, Kills};
use targets::{CAIRN, SQLITE};

/// Kills of a push.
const KILLS: u64 = 6;

/// Not a test by itself: the body of the processes that the other tests start.
#[test]
fn child() {
    child::live_as_child();
}

/// Kills processes that keep `target` in step, and disturbs the target with `disturb` meanwhile.
fn stays_in_step(name: &str, target: &str, disturb: Option<&mut Disturbance<'_>>) {
    let seed = setting("CAIRN_SEED").unwrap_or(68);
    let wanted = setting("CAIRN_REPLICA_KILLS").unwrap_or(KILLS);
    println!("replica in {name}: CAIRN_SEED={seed} CAIRN_REPLICA_KILLS={wanted}");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let totals = Kills::new(dir.path(), target, seed).run(wanted, disturb);
    println!("replica in {name}: {totals:?}");
    assert!(totals.processes + totals.servers >= wanted);
    assert!(totals.changes > 20 * wanted, "hardly anything was replayed");
}

#[test]
fn a_database_stays_in_step_with_a_killed_one() {
    stays_in_step("CairnDB", CAIRN, None);
}

#[test]
fn sqlite_stays_in_step_with_a_killed_database() {
    if !targets::has_sqlite() {
        return support::skip("a replica in SQLite: install libsqlite3-0");
    }
    stays_in_step("SQLite", SQLITE, None);
}

#[test]
fn postgres_stays_in_step_with_a_killed_database() {
    let Some(mut server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let proxy = Proxy::start(server.port());
    let port = proxy.port();
    let url = format!("postgres://cairn@127.0.0.1:{port}/postgres/replica?timeout=8s");
    let mut disturb = |number: u64| match number % 4 {
        0 | 2 => {
            server.kill();
            server.restart();
            true
        }
        1 => {
            proxy.cut();
            false
        }
        // Commits arrive, answers do not.
        _ => {
            proxy.lose_answers(3);
            false
        }
    };
    stays_in_step("PostgreSQL", &url, Some(&mut disturb));
}
