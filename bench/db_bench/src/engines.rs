//! The engines this program knows, by name.

use bench_core::fault::Fault;
use bench_core::plan::Plan;
use bench_core::runner::{self, Event};
use engine_cairndb::Cairn;
use engine_leveldb::LevelDb;
use engine_lmdb::Lmdb;
use engine_null::Null;
use engine_rocksdb::RocksDb;
use engine_sqlite3::Sqlite;

use crate::extra;

/// The engines of this program, in the order of a table's first round.
pub(crate) const NAMES: &[&str] = &["cairndb", "leveldb", "rocksdb", "sqlite3", "lmdb", "null"];

/// Every engine by name.
pub(crate) fn names() -> impl Iterator<Item = &'static str> + Clone {
    let brought = extra::all().iter().map(|extra| extra.name);
    NAMES.iter().copied().chain(brought)
}

/// Why an engine cannot be used, in two cases that are told differently.
pub(crate) enum Trouble {
    /// Its library is not there or not the one it should be.
    Absent(Fault),
    /// It is there and its store cannot be opened or closed.
    Broken(Fault),
}

/// Runs a plan in this process.
pub(crate) fn run(plan: &Plan, emit: &mut dyn FnMut(Event)) -> Result<(), Trouble> {
    if let Some(extra) = extra::named(&plan.engine) {
        return (extra.run)(plan, emit).map_err(Trouble::Broken);
    }
    let library = plan.library.as_deref();
    match plan.engine.as_str() {
        "leveldb" => {
            let loaded = LevelDb::load(library).map_err(Trouble::Absent)?;
            runner::run(&&loaded, plan, emit)
        }
        "rocksdb" => {
            let loaded = RocksDb::load(library).map_err(Trouble::Absent)?;
            runner::run(&&loaded, plan, emit)
        }
        "sqlite3" => {
            let loaded = Sqlite::load(library).map_err(Trouble::Absent)?;
            runner::run(&&loaded, plan, emit)
        }
        "lmdb" => {
            let loaded = Lmdb::load(library).map_err(Trouble::Absent)?;
            runner::run(&&loaded, plan, emit)
        }
        "cairndb" => runner::run(&Cairn, plan, emit),
        "null" => runner::run(&Null, plan, emit),
        other => Err(Fault::new(format!("no engine is called {other}"))),
    }
    .map_err(Trouble::Broken)
}

/// Whether an engine's library can be loaded: its version, or why not.
pub(crate) fn probe(name: &str) -> Result<String, Fault> {
    use bench_core::engine::Engine as _;
    match name {
        "leveldb" => LevelDb::load(None).map(|loaded| (&&loaded).version()),
        "rocksdb" => RocksDb::load(None).map(|loaded| (&&loaded).version()),
        "sqlite3" => Sqlite::load(None).map(|loaded| (&&loaded).version()),
        "lmdb" => Lmdb::load(None).map(|loaded| (&&loaded).version()),
        _ => Ok(env!("CARGO_PKG_VERSION").to_owned()),
    }
}
