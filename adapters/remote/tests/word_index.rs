//! The example `word_index` over every store: the same program, the same index.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]
#![expect(
    dead_code,
    reason = "the tests call the functions of the example, not its main"
)]

mod support;
#[path = "../examples/word_index.rs"]
mod word_index;

use std::collections::BTreeMap;

use cairndb_remote::testing::{EtcdCluster, Medium, PostgresServer};
use support::skip;
use word_index::{add, find, top};

/// The texts that are indexed, by name.
fn texts() -> Vec<(String, String)> {
    let contract = include_str!("../../../docs/guide/past-one-machine.md");
    let glossary = include_str!("../../../docs/glossary.md");
    vec![
        ("contract".to_owned(), contract.to_owned()),
        ("glossary".to_owned(), glossary.to_owned()),
        (
            "numbers".to_owned(),
            (0..300)
                .map(|n| format!("n{n}"))
                .collect::<Vec<_>>()
                .join(" "),
        ),
    ]
}

/// Counts without a store.
fn expected() -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut words = BTreeMap::<String, BTreeMap<String, u64>>::new();
    for (file, text) in texts() {
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            if !word.is_empty() {
                let places = words.entry(word.to_lowercase()).or_default();
                *places.entry(file.clone()).or_default() += 1;
            }
        }
    }
    words
}

fn check(url: &str) {
    let store = cairndb_remote::open(url).unwrap();
    // Several programs at once, each with all files: every part is counted once.
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let store = &*store;
                for (file, text) in texts() {
                    add(store, &file, &text).unwrap();
                }
            });
        }
    });
    let expected = expected();
    let mut frequent: Vec<(u64, String)> = expected
        .iter()
        .map(|(word, places)| (places.values().sum(), word.clone()))
        .collect();
    frequent.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    assert_eq!(top(&*store, usize::MAX).unwrap(), frequent);
    for word in ["the", "n7", "store", "absent"] {
        let places = expected.get(word).cloned().unwrap_or_default();
        let total = places.values().sum();
        let places = places.into_iter().collect();
        assert_eq!(find(&*store, word).unwrap(), (total, places), "{word}");
    }
    store.close().unwrap();
}

#[test]
fn local_stores_index_alike() {
    check("memory:");
    let parent = tempfile::tempdir().unwrap();
    check(&format!("file://{}", parent.path().join("words").display()));
}

#[test]
fn etcd_indexes_alike() {
    match EtcdCluster::start(Medium::Memory) {
        Some(cluster) => check(&cluster.url("words")),
        None => skip("the example over etcd: install etcd-server"),
    }
}

#[test]
fn postgres_indexes_alike() {
    match PostgresServer::start(Medium::Memory) {
        Some(server) => check(&server.url("words")),
        None => skip("the example over PostgreSQL: install postgresql"),
    }
}
