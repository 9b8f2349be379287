//! `verify` and `stats` of LevelDB's directories, which are only read.

use std::path::Path;
use std::sync::Arc;

use cairndb::env::Dir;
use cairndb_leveldb::{Database, FileName};
use serde_json::json;

use super::stats::bars::{Bar, print_bars};
use super::stats::figures::Files;
use crate::database::{DatabaseReader, open_leveldb};
use crate::failure::{Failure, Result};
use crate::output::{Output, counted, print, print_json};
use crate::progress::Meter;
use crate::progress::interrupt;
use crate::range::Range;

/// Reads and checks everything: each table by itself, then all entries in order. Of a database
/// whose comparator is unknown, checksums are checked, but the order of the keys cannot be.
pub(super) fn verify(path: &Path, dir: &Arc<dyn Dir>, json: bool) -> Result<()> {
    let database = open_leveldb(dir, path)?;
    let is_ordered = database.order().name() == database.comparator();
    let stored = is_ordered.then(|| verify_tables(path, &database));
    let stored = stored.transpose()?;
    let (tables, logs) = (database.tables().len(), database.report().logs.len());
    let is_torn = database.report().torn_log.is_some();
    let reader = DatabaseReader::LevelDb(Box::new(database));
    let contents = reader.contents(path, &Range::default())?;
    let mut report = json!({
        "tables": tables,
        "entries": contents.entries,
        "bytes": contents.bytes,
        "order_checked": is_ordered,
    });
    let entries = counted(contents.entries, "entry", "entries");
    let tables = counted(tables as u64, "table", "tables");
    let mut text = match stored {
        None => format!("readable: {entries} in {tables}; the order of the keys cannot be checked"),
        Some((versions, deletes)) => {
            report["versions"] = versions.into();
            report["deletes"] = deletes.into();
            report["logs"] = logs.into();
            report["torn_log"] = is_torn.into();
            format!(
                "intact: {entries}; {} in {tables}, {} among them; {}",
                counted(versions, "stored version", "stored versions"),
                counted(deletes, "deletion", "deletions"),
                counted(logs as u64, "log", "logs"),
            )
        }
    };
    if is_ordered && is_torn {
        text += "\na crash has torn the end of the newest log; what follows is dropped";
    }
    if json {
        return print_json(&report.to_string());
    }
    print(text.lines())
}

/// Checks each table. Returns the numbers of the versions and the deletions that they hold.
fn verify_tables(path: &Path, database: &Database) -> Result<(u64, u64)> {
    let (mut versions, mut deletes) = (0, 0);
    let (meter, mut done) = (Meter::new("verifying"), 0);
    let total = database.tables().iter().map(|info| info.size).sum();
    for info in database.tables() {
        let summary = database.verify_table(info);
        let summary = summary.map_err(Failure::of_leveldb(path))?;
        versions += summary.entries;
        deletes += summary.deletes;
        done += info.size;
        meter.set(done, total);
        interrupt::check()?;
    }
    Ok((versions, deletes))
}

/// Returns the bytes of the tables of each level.
fn levels(database: &Database) -> Vec<u64> {
    let tables = || database.tables().iter();
    let count = tables().map(|info| info.level + 1).max().unwrap_or(0);
    let of = |level| tables().filter(move |info| info.level == level);
    let levels = (0..count).map(|level| of(level).map(|info| info.size).sum());
    levels.collect()
}

/// Prints what the files take.
pub(super) fn stats(path: &Path, dir: &Arc<dyn Dir>, json: bool) -> Result<()> {
    let database = open_leveldb(dir, path)?;
    let kinds = ["tables", "logs", "manifests", "others"];
    let files = Files::of(&**dir, kinds, |found| match FileName::parse(found)? {
        FileName::Table(_) | FileName::OldTable(_) => Some(0),
        FileName::Log(_) => Some(1),
        FileName::Manifest(_) => Some(2),
        _ => None,
    });
    let files = files.map_err(Failure::of_leveldb(path))?;
    let levels = levels(&database);
    if json {
        let all = json!({
            "store": "leveldb",
            "comparator": database.comparator(),
            "tables": database.tables().len(),
            "last_sequence_number": database.last_seq(),
            "file_bytes": files.json(),
            "level_bytes": levels,
        });
        return print_json(&all.to_string());
    }
    let mut output = Output::stdout()?;
    output.text(&format!(
        "LevelDB database: {}, {}; comparator {}",
        counted(database.tables().len() as u64, "table", "tables"),
        counted(database.report().logs.len() as u64, "log", "logs"),
        database.comparator().escape_debug(),
    ))?;
    let mut bars = Bar::of(&files);
    for (level, bytes) in levels.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
        bars.push(Bar::new(format!("level {level}"), *bytes));
    }
    print_bars(&bars, &mut output)?;
    output.finish()
}
