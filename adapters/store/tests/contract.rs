//! The contract suite on the embedded stores: a database in files and the store in memory.
//!
//! `CAIRN_STORE_OPS` sets the number of random operations on each, `CAIRN_SEED` the seed.

#![expect(clippy::print_stdout, reason = "tests print their seeds")]

use cairndb::Db;
use cairndb_env::testing::setting::setting;
use cairndb_store::testing::{ModelSize, run_cases, run_model};
use cairndb_store::{MemoryStore, Store};

/// Random operations of a push.
const OPERATIONS: u64 = 200_000;

fn size() -> ModelSize {
    let seed = setting("CAIRN_SEED").unwrap_or(53);
    let operations = setting("CAIRN_STORE_OPS").unwrap_or(OPERATIONS);
    println!("seed {seed}, {operations} operations");
    ModelSize::new(seed, operations)
}

#[test]
fn a_database_keeps_the_contract() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut open = |name: &str| -> Box<dyn Store> {
        Box::new(Db::open(dir.path().join(name)).expect("an empty database"))
    };
    let count = run_cases(&mut open);
    println!("{count} cases");
    assert!(count >= 120, "only {count} cases");
}

#[test]
fn the_store_in_memory_keeps_the_contract() {
    let count = run_cases(&mut |_| Box::new(MemoryStore::new()));
    assert!(count >= 120, "only {count} cases");
}

#[test]
fn a_database_agrees_with_the_model() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let db = Db::open(dir.path()).expect("an empty database");
    assert!(run_model(&db, size()) > 0, "no transaction conflicted");
}

#[test]
fn the_store_in_memory_agrees_with_the_model() {
    assert!(run_model(&MemoryStore::new(), size()) > 0);
}

#[test]
fn the_suite_detects_a_store_that_forgets() {
    let failed = std::panic::catch_unwind(|| {
        let store = MemoryStore::new();
        // Every case but the first finds what the ones before have left.
        run_cases(&mut |_| Box::new(store.clone()))
    });
    assert!(failed.is_err());
}
