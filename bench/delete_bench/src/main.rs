//! `delete_bench`: queues, stacks, windows and deleted ranges, side by side on several engines.
//!
//! A store with a log keeps what is deleted as tombstones until a compaction, and a cursor has to
//! step over them. This program measures what that costs: the time of a turn, the dead entries that
//! cursors pass, and the disk space, with and without a cursor that is held from the start.
//!
//! Engines take turns within each round. Dead entries are counted in a run of their own, because
//! counting costs RocksDB time. Every answer of a cursor is checked.

#![expect(
    clippy::cast_precision_loss,
    reason = "counts and bytes below 2^53 become figures"
)]

mod cell;
mod flags;
mod table;
#[cfg(test)]
mod tests;
mod workload;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use bench_core::fault::Fault;
use bench_core::flags::Given;
use bench_core::result::output::{JsonLines, notify, print};
use engine_cairndb::Cairn;
use engine_leveldb::LevelDb;
use engine_lmdb::Lmdb;
use engine_rocksdb::RocksDb;

use crate::cell::{Cell, Extent, Outcome, measure};
use crate::table::Row;
use crate::workload::Workload;

/// The engines, in the order of the first round.
const ENGINES: [&str; 4] = ["cairndb", "leveldb", "rocksdb", "lmdb"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match begin(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            notify(&format!("{sentence}\n"));
            ExitCode::FAILURE
        }
    }
}

/// What the flags ask for.
struct Config {
    dir: PathBuf,
    engines: Vec<&'static str>,
    cells: Vec<Cell>,
    extent: Extent,
    rounds: u64,
}

fn begin(words: &[String]) -> Result<(), String> {
    let given = Given::parse(&flags::FAMILY, words)?;
    if given.is_on("help") {
        print(&flags::help());
        return Ok(());
    }
    if given.is_on("version") {
        print(&format!("delete_bench {}\n", env!("CARGO_PKG_VERSION")));
        return Ok(());
    }
    let config = config(&given)?;
    let json = Some(given.text("json")).filter(|path| !path.is_empty());
    let mut json = JsonLines::create(json.map(Path::new))?;
    print(&table::head());
    for cell in &config.cells {
        for row in rows(&config, *cell)? {
            print(&table::line(&row));
            json.line(&row.line())?;
        }
    }
    Ok(())
}

/// Returns the parts of a flag, each as `parse` returns it.
fn listed<T>(
    given: &Given,
    name: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, String> {
    let parts = given.text(name).split(',');
    parts
        .map(|part| parse(part).ok_or_else(|| format!("--{name}: {part} is not one of them")))
        .collect()
}

fn config(given: &Given) -> Result<Config, String> {
    let dir = given.text("db");
    if dir.is_empty() {
        return Err("--db=DIR is required: the directory that the stores are created in".into());
    }
    let known = |name: &str| ENGINES.into_iter().find(|engine| *engine == name);
    let thread_count = |text: &str| text.parse().ok().filter(|count| (1..=64).contains(count));
    let mut cells = Vec::new();
    for workload in listed(given, "workloads", Workload::named)? {
        for threads in listed(given, "threads", thread_count)? {
            for held in [false, true] {
                cells.push(Cell {
                    workload,
                    threads,
                    held,
                });
            }
        }
    }
    Ok(Config {
        dir: dir.into(),
        engines: listed(given, "engines", known)?,
        cells,
        extent: Extent {
            entries: given.count("num"),
            turns: given.count("turns"),
            time: Duration::from_secs(given.count("seconds")),
            memory_bytes: given.count("memory"),
            counts: false,
        },
        rounds: given.count("rounds"),
    })
}

/// Measures a cell on every engine, in turns.
fn rows(config: &Config, cell: Cell) -> Result<Vec<Row>, String> {
    let mut rows: Vec<Row> = config
        .engines
        .iter()
        .map(|engine| Row {
            cell,
            engine,
            timed: Vec::new(),
            counted: None,
        })
        .collect();
    let count = rows.len();
    for round in 0..usize::try_from(config.rounds).unwrap_or(usize::MAX) {
        for place in 0..count {
            // Each round starts with another engine.
            let row = &mut rows[(place + round) % count];
            let outcome = fresh(config, row.engine, cell, &config.extent)?;
            row.timed.push(outcome);
        }
    }
    let counts = Extent {
        counts: true,
        ..config.extent
    };
    for row in &mut rows {
        let outcome = fresh(config, row.engine, cell, &counts)?;
        row.counted = outcome.passed.map(|_| outcome);
    }
    Ok(rows)
}

/// Measures a cell in a new directory, and removes it.
fn fresh(config: &Config, engine: &str, cell: Cell, extent: &Extent) -> Result<Outcome, String> {
    let dir = config.dir.join(format!("{engine}-{}", std::process::id()));
    let shown = dir.display();
    std::fs::create_dir_all(&dir).map_err(|error| format!("creating {shown}: {error}"))?;
    let outcome = on(engine, cell, extent, &dir);
    std::fs::remove_dir_all(&dir).map_err(|error| format!("removing {shown}: {error}"))?;
    outcome.map_err(|fault| {
        let (workload, threads) = (cell.workload.name(), cell.threads);
        format!("{engine}, {workload}, {threads} threads: {fault}")
    })
}

/// Measures a cell on the engine with this name.
fn on(engine: &str, cell: Cell, extent: &Extent, dir: &Path) -> Result<Outcome, Fault> {
    match engine {
        "leveldb" => measure(&&LevelDb::load(None)?, cell, extent, dir),
        "rocksdb" => measure(&&RocksDb::load(None)?, cell, extent, dir),
        "lmdb" => measure(&&Lmdb::load(None)?, cell, extent, dir),
        _ => measure(&Cairn, cell, extent, dir),
    }
}
