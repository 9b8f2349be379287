//! `verify` and `stats` of LevelDB's directories, which are only read.

use std::path::Path;
use std::sync::Arc;

use cairndb::env::Dir;
use cairndb_leveldb::{Database, FileName};
use serde_json::{Value, json};

use super::stats::bars::{Bar, print_bars, say};
use crate::database::{DatabaseReader, open_leveldb};
use crate::failure::Failure;
use crate::output::{Output, counted};
use crate::progress::Meter;
use crate::progress::interrupt;
use crate::range::Range;

/// Reads and checks everything: each table by itself, then all entries in order.
pub(super) fn verify(path: &Path, dir: &Arc<dyn Dir>, json: bool) -> Result<(), Failure> {
    let database = open_leveldb(dir, path)?;
    let (as_json, text) = if database.order().name() == database.comparator() {
        verify_ordered(path, database)?
    } else {
        verify_unordered(path, database)?
    };
    let mut output = Output::stdout()?;
    if json {
        output.json(&as_json.to_string())?;
    } else {
        text.iter().try_for_each(|line| output.line(line))?;
    }
    output.finish()
}

/// What is printed: as JSON, and as lines of text.
type Verified = (Value, Vec<String>);

/// Reads and checks everything of a database whose comparator is known.
fn verify_ordered(path: &Path, database: Database) -> Result<Verified, Failure> {
    let failed = Failure::of_leveldb(path);
    let (mut stored, mut deletes) = (0, 0);
    let (meter, mut done) = (Meter::new("verifying"), 0);
    let total = database.tables().iter().map(|info| info.size).sum();
    for info in database.tables() {
        let summary = database.verify_table(info).map_err(&failed)?;
        stored += summary.entries;
        deletes += summary.deletes;
        done += info.size;
        meter.set(done, total);
        interrupt::check()?;
    }
    drop(meter);
    let (tables, logs) = (database.tables().len(), database.report().logs.len());
    let is_torn = database.report().torn_log.is_some();
    let reader = DatabaseReader::LevelDb(Box::new(database));
    let contents = reader.contents(path, &Range::default())?;
    let json = json!({
        "tables": tables,
        "versions": stored,
        "deletes": deletes,
        "logs": logs,
        "torn_log": is_torn,
        "entries": contents.entries,
        "bytes": contents.bytes,
        "order_checked": true,
    });
    let mut text = vec![format!(
        "intact: {}; {} in {}, {} among them; {}",
        counted(contents.entries, "entry", "entries"),
        counted(stored, "stored version", "stored versions"),
        counted(tables as u64, "table", "tables"),
        counted(deletes, "deletion", "deletions"),
        counted(logs as u64, "log", "logs"),
    )];
    if is_torn {
        let torn = "a crash has torn the end of the newest log; what follows is dropped";
        text.push(torn.to_owned());
    }
    Ok((json, text))
}

/// Reads everything of a database whose comparator is unknown. Checksums are checked, but the order
/// of the keys cannot be.
fn verify_unordered(path: &Path, database: Database) -> Result<Verified, Failure> {
    let tables = database.tables().len();
    let reader = DatabaseReader::LevelDb(Box::new(database));
    let contents = reader.contents(path, &Range::default())?;
    let json = json!({
        "tables": tables,
        "entries": contents.entries,
        "bytes": contents.bytes,
        "order_checked": false,
    });
    let text = format!(
        "readable: {} in {}; the order of the keys cannot be checked",
        counted(contents.entries, "entry", "entries"),
        counted(tables as u64, "table", "tables"),
    );
    Ok((json, vec![text]))
}

/// Bytes of the files in a directory, by kind.
#[derive(Default)]
struct Files {
    tables: u64,
    logs: u64,
    manifests: u64,
    others: u64,
}

impl Files {
    fn of(dir: &dyn Dir) -> cairndb::Result<Files> {
        let mut files = Files::default();
        for name in dir.list()? {
            let kind = match FileName::parse(&name) {
                Some(FileName::Table(_) | FileName::OldTable(_)) => &mut files.tables,
                Some(FileName::Log(_)) => &mut files.logs,
                Some(FileName::Manifest(_)) => &mut files.manifests,
                _ => &mut files.others,
            };
            // A link or a directory is not one of the database's files.
            *kind += dir.size_of(&name).ok().flatten().unwrap_or(0);
        }
        Ok(files)
    }

    fn total(&self) -> u64 {
        self.tables + self.logs + self.manifests + self.others
    }
}

/// Returns the bytes of the tables of each level.
fn levels(database: &Database) -> Vec<u64> {
    let mut levels = Vec::new();
    for info in database.tables() {
        if levels.len() <= info.level {
            levels.resize(info.level + 1, 0);
        }
        if let Some(level) = levels.get_mut(info.level) {
            *level += info.size;
        }
    }
    levels
}

/// Prints what the files take.
pub(super) fn stats(path: &Path, dir: &Arc<dyn Dir>, json: bool) -> Result<(), Failure> {
    let database = open_leveldb(dir, path)?;
    let files = Files::of(&**dir).map_err(Failure::of_leveldb(path))?;
    let levels = levels(&database);
    let mut output = Output::stdout()?;
    if json {
        let all = json!({
            "store": "leveldb",
            "comparator": database.comparator(),
            "tables": database.tables().len(),
            "last_sequence_number": database.last_seq(),
            "file_bytes": {
                "total": files.total(),
                "tables": files.tables,
                "logs": files.logs,
                "manifests": files.manifests,
                "others": files.others,
            },
            "level_bytes": levels,
        });
        output.json(&all.to_string())?;
        return output.finish();
    }
    let summary = format!(
        "LevelDB database: {}, {}; comparator {}",
        counted(database.tables().len() as u64, "table", "tables"),
        counted(database.report().logs.len() as u64, "log", "logs"),
        database.comparator().escape_debug(),
    );
    say(&summary, &mut output)?;
    let mut bars = vec![
        Bar::new("total", files.total()),
        Bar::new("tables", files.tables),
        Bar::new("logs", files.logs),
        Bar::new("manifests", files.manifests),
        Bar::new("other files", files.others),
    ];
    for (level, bytes) in levels.iter().enumerate().filter(|(_, bytes)| **bytes > 0) {
        bars.push(Bar::new(format!("level {level}"), *bytes));
    }
    print_bars(&bars, &mut output)?;
    output.finish()
}
