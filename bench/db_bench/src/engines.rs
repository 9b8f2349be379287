//! The engines of this program, by name.

pub(crate) mod builds;
pub(crate) mod extra;
pub(crate) mod networked;
pub(crate) mod programs;
mod using;

use std::path::Path;

use bench_core::engine::Engine;
use bench_core::fault::Fault;
use bench_core::host::library::Library;
use bench_core::measure::runner::{self, Event};
use bench_core::workload::plan::Plan;
use engine_cairndb::Cairn;
use engine_cairndb_c::{CairnC, beside_this_program};
use engine_disk::Disk;
use engine_kyoto::TreeDb;
use engine_leveldb::LevelDb;
use engine_lmdb::Lmdb;
use engine_null::Null;
use engine_redb::Redb;
use engine_rocksdb::RocksDb;
use engine_sqlite3::Sqlite;
use engine_wiredtiger::{TreeKind, WiredTiger};

pub(crate) use using::Trouble;
use using::Use;

/// All engines, in the order of a table's first round.
#[rustfmt::skip]
pub(crate) const NAMES: &[&str] = &[
    "cairndb", "leveldb", "rocksdb", "sqlite3", "kyoto_treedb", "wiredtiger_btree",
    "wiredtiger_lsm", "lmdb", "redb", "disk", "null",
];

/// Engines that run only if they are named: CairnDB through a C interface, which shows what the
/// interface costs and would only repeat the row of `cairndb` in a comparison of stores, and
/// engines over a network, which need `--store`.
pub(crate) const NAMED_ONLY: &[&str] = &["cairndb-c", "leveldb-on-cairndb", "etcd", "postgres"];

/// Returns the purpose of an engine that is not a store.
pub(crate) fn stands_for(name: &str) -> Option<&'static str> {
    match name {
        "disk" => Some("not a store: the bare loop of writes and reads"),
        "null" => Some("not a store: the cost of the harness itself"),
        "cairndb-c" => Some("CairnDB through cairndb.h; runs only if named"),
        "leveldb-on-cairndb" => Some("CairnDB through leveldb/c.h; runs only if named"),
        "etcd" | "postgres" => Some("over a network, at --store=URL; runs only if named"),
        _ => None,
    }
}

/// Returns every engine by name.
pub(crate) fn names() -> impl Iterator<Item = &'static str> + Clone {
    let brought = extra::all().iter().map(|extra| extra.name);
    let brought = brought.filter(|name| !programs::NAMES.contains(name));
    let elsewhere = programs::NAMES.iter().chain(NAMED_ONLY).copied();
    NAMES.iter().copied().chain(elsewhere).chain(brought)
}

/// Returns the engines that run unless some are named: of those in separate programs, two, if they
/// were built.
pub(crate) fn unnamed() -> impl Iterator<Item = &'static str> + Clone {
    let is_here = |name: &&str| {
        !programs::NAMES.contains(name)
            || extra::named(name).is_some()
            || programs::UNNAMED.contains(name) && programs::of(name).is_some()
    };
    names()
        .filter(|name| !NAMED_ONLY.contains(name))
        .filter(is_here)
}

/// The name that stands for two engines, selected by `--use_lsm`.
pub(crate) const EITHER: (&str, [&str; 2]) = ("wiredtiger", ["wiredtiger_btree", "wiredtiger_lsm"]);

/// Returns the flag that names another build of an engine's library.
#[rustfmt::skip]
pub(crate) const LIBRARY_FLAGS: &[(&str, &str)] = &[
    ("cairndb-c", "cairndb_lib"), ("leveldb-on-cairndb", "cairndb_lib"),
    ("leveldb", "leveldb_lib"), ("rocksdb", "rocksdb_lib"), ("sqlite3", "sqlite3_lib"),
    ("kyoto_treedb", "kyotocabinet_lib"), ("wiredtiger_btree", "wiredtiger_lib"),
    ("wiredtiger_lsm", "wiredtiger_lib"), ("lmdb", "lmdb_lib"),
];

/// Runs a plan over the engine.
struct Run<'r> {
    plan: &'r Plan,
    emit: &'r mut dyn FnMut(Event),
}

impl Use for Run<'_> {
    type Output = ();

    fn with<E: Engine>(self, engine: &E) -> Result<(), Fault> {
        runner::run(engine, self.plan, self.emit)
    }
}

/// The version of an engine, and the library that it was loaded from.
pub(crate) type Build = (String, Option<Library>);

/// Returns the build of the engine.
struct Loaded;

impl Use for Loaded {
    type Output = Build;

    fn with<E: Engine>(self, engine: &E) -> Result<Build, Fault> {
        Ok((engine.version(), engine.library()))
    }
}

/// Uses an engine after the search for its library.
fn loaded<L, U: Use>(library: Result<L, Fault>, task: U) -> Result<U::Output, Trouble>
where
    for<'e> &'e L: Engine,
{
    let engine = library.map_err(Trouble::Absent)?;
    task.with(&&engine).map_err(Trouble::Broken)
}

/// Uses the engine with this name.
fn using<U: Use>(name: &str, library: Option<&Path>, task: U) -> Result<U::Output, Trouble> {
    match name {
        "cairndb" => task.with(&Cairn).map_err(Trouble::Broken),
        "redb" => task.with(&Redb).map_err(Trouble::Broken),
        "disk" => task.with(&Disk).map_err(Trouble::Broken),
        "null" => task.with(&Null).map_err(Trouble::Broken),
        "cairndb-c" | "leveldb-on-cairndb" => {
            let beside = beside_this_program();
            let library = library.or(beside.as_deref());
            match name {
                "cairndb-c" => loaded(CairnC::load(library), task),
                _ => loaded(LevelDb::load_cairndb(library), task),
            }
        }
        "leveldb" => loaded(LevelDb::load(library), task),
        "rocksdb" => loaded(RocksDb::load(library), task),
        "sqlite3" => loaded(Sqlite::load(library), task),
        "kyoto_treedb" => loaded(TreeDb::load(library), task),
        "wiredtiger_btree" => loaded(WiredTiger::load(library, TreeKind::Btree), task),
        "wiredtiger_lsm" => loaded(WiredTiger::load(library, TreeKind::Lsm), task),
        "lmdb" => loaded(Lmdb::load(library), task),
        other if networked::NAMES.contains(&other) => networked::using(other, None, task),
        other if programs::NAMES.contains(&other) => Err(Trouble::Absent(Fault::new(format!(
            "its program db_bench-{other} was not found; `make peers` builds it"
        )))),
        other => Err(Trouble::Broken(Fault::new(format!(
            "no engine is called {other}"
        )))),
    }
}

/// Runs a plan in this process.
pub(crate) fn run(plan: &Plan, emit: &mut dyn FnMut(Event)) -> Result<(), Trouble> {
    if let Some(extra) = extra::named(&plan.engine) {
        return (extra.run)(plan, emit).map_err(Trouble::Broken);
    }
    if networked::NAMES.contains(&plan.engine.as_str()) {
        return networked::using(&plan.engine, plan.store.as_deref(), Run { plan, emit });
    }
    using(&plan.engine, plan.library.as_deref(), Run { plan, emit })
}

/// Returns the build of an engine, or why its library cannot be loaded.
pub(crate) fn build(name: &str, library: Option<&Path>) -> Result<Build, Fault> {
    if let Some(extra) = extra::named(name) {
        return Ok(((extra.version)(), None));
    }
    using(name, library, Loaded).map_err(|trouble| match trouble {
        Trouble::Absent(fault) | Trouble::Broken(fault) => fault,
    })
}
