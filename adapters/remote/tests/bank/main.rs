//! A bank on real servers while they are killed, restarted and cut off.
//!
//! Eight clients move money between a hundred accounts. Each transfer also writes its own id. At
//! the end, one snapshot must explain itself: every acknowledged id is there, no id of a transfer
//! that failed for certain is there, and the balances are the sum of the ids that are.
//!
//! `CAIRN_BANK_SECONDS` sets the time on each engine (default 10, nightly 300), `CAIRN_SEED` the
//! seed of accounts and amounts.

#![expect(clippy::print_stdout, reason = "tests print their seeds")]

#[path = "../support/mod.rs"]
mod support;

mod clients;

use std::time::Duration;

use cairndb_env::testing::setting::setting;
use cairndb_remote::testing::{EtcdCluster, Medium, PostgresServer, Proxy};

use clients::Bank;

fn duration() -> Duration {
    Duration::from_secs(setting("CAIRN_BANK_SECONDS").unwrap_or(10))
}

#[test]
fn transfers_on_etcd_happen_once_or_never() {
    let Some(mut cluster) = EtcdCluster::start(Medium::Memory) else {
        return support::skip("etcd: install etcd-server");
    };
    let proxies: Vec<Proxy> = cluster.ports().into_iter().map(Proxy::start).collect();
    let hosts: Vec<String> = proxies
        .iter()
        .map(|proxy| format!("127.0.0.1:{}", proxy.port()))
        .collect();
    let url = format!("etcd://{}/bank?timeout=8s", hosts.join(","));
    let bank = Bank::open(&url);
    // Each member in turn, so the leader is among them.
    bank.run(duration(), |round| match round % 3 {
        0 => {
            cluster.kill(round / 3 % 3);
            bank.await_progress();
            cluster.restart(round / 3 % 3);
        }
        1 => proxies.iter().for_each(Proxy::cut),
        // Requests arrive, answers do not: the outcome of commits under way is unknown.
        _ => std::thread::scope(|scope| {
            for proxy in &proxies {
                scope.spawn(|| proxy.lose_answers(5));
            }
        }),
    });
    bank.check();
}

#[test]
fn transfers_on_postgres_happen_once_or_never() {
    let Some(mut server) = PostgresServer::start(Medium::Memory) else {
        return support::skip("PostgreSQL: install postgresql");
    };
    let proxy = Proxy::start(server.port());
    let url = format!(
        "postgres://cairn@127.0.0.1:{}/postgres/bank?timeout=8s&pool=10",
        proxy.port()
    );
    let bank = Bank::open(&url);
    bank.run(duration(), |round| match round % 3 {
        0 => {
            server.kill();
            server.restart();
        }
        1 => proxy.cut(),
        _ => proxy.lose_answers(5),
    });
    bank.check();
}
