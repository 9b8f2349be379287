//! The engines by name, for tests that run with each of them.

use std::path::PathBuf;

use bench_core::engine::Engine;
use bench_core::fault::Fault;
use engine_wiredtiger::{TreeKind, WiredTiger};

use crate::common::{run, skip, stdout};

/// What to install for each engine that is loaded.
#[rustfmt::skip]
const PACKAGES: [(&str, &str); 9] = [
    ("cairndb-c", "the C library: cargo build --package cairndb-capi"),
    ("kyoto_treedb", "libkyotocabinet16v5"),
    ("leveldb", "libleveldb1d"),
    ("leveldb-on-cairndb", "the C library: cargo build --package cairndb-capi"),
    ("lmdb", "liblmdb0"),
    ("rocksdb", "librocksdb7.8"),
    ("sqlite3", "libsqlite3-0"),
    ("wiredtiger_btree", "libwiredtiger0"), ("wiredtiger_lsm", "libwiredtiger0"),
];

/// A use of an available engine.
pub(crate) trait Act {
    fn with<E: Engine>(&self, engine: &E);
}

/// Uses the engine, or reports the missing library.
pub(crate) fn act(name: &str, act: &impl Act) {
    fn loaded<L>(name: &str, library: Result<L, Fault>, act: &impl Act)
    where
        for<'e> &'e L: Engine,
    {
        match library {
            Ok(engine) => act.with(&&engine),
            Err(fault) => absent(name, &format!("an adapter ({fault})")),
        }
    }
    // A build of the workspace leaves the C library next to this test.
    let test = std::env::current_exe().expect("a path");
    let c: PathBuf = test.with_file_name("libcairndb_capi.so");
    match name {
        "cairndb" => act.with(&engine_cairndb::Cairn),
        "disk" => act.with(&engine_disk::Disk),
        "redb" => act.with(&engine_redb::Redb),
        "cairndb-c" => loaded(name, engine_cairndb_c::CairnC::load(Some(&c)), act),
        "kyoto_treedb" => loaded(name, engine_kyoto::TreeDb::load(None), act),
        "leveldb" => loaded(name, engine_leveldb::LevelDb::load(None), act),
        "leveldb-on-cairndb" => {
            loaded(name, engine_leveldb::LevelDb::load_cairndb(Some(&c)), act);
        }
        "lmdb" => loaded(name, engine_lmdb::Lmdb::load(None), act),
        "rocksdb" => loaded(name, engine_rocksdb::RocksDb::load(None), act),
        "sqlite3" => loaded(name, engine_sqlite3::Sqlite::load(None), act),
        "wiredtiger_btree" => loaded(name, WiredTiger::load(None, TreeKind::Btree), act),
        "wiredtiger_lsm" => loaded(name, WiredTiger::load(None, TreeKind::Lsm), act),
        other => panic!("{other} is not known here"),
    }
}

/// Runs `test` if the program can load the library of `engine`.
pub(crate) fn with_library(engine: &str, test: impl FnOnce()) {
    let list = stdout(&run(&["--list"]));
    let found = format!("  {engine:<16} version ");
    if list.lines().any(|line| line.starts_with(&found)) {
        test();
    } else {
        absent(engine, &format!("db_bench over {engine}"));
    }
}

/// Records that a test was skipped because the library of an engine is missing.
fn absent(engine: &str, what: &str) {
    let package = PACKAGES.iter().find(|(name, _)| *name == engine);
    let (_, package) = package.expect("every other engine is built in");
    skip(&format!("{what}: install {package}"));
}

/// Declares a test for each engine, which calls a function with the engine's name.
macro_rules! for_each_engine {
    ($run:ident: $($test:ident $engine:literal,)*) => {
        $(
            #[test]
            fn $test() {
                $run($engine);
            }
        )*
    };
}

pub(crate) use for_each_engine;
