//! `stats`: what a database takes on disk, as bars or as JSON.

use std::path::Path;

use cairndb::Db;
use cairndb::env::{Env, RealEnv};
use cairndb_format::name::FileKind;
use serde_json::{Value, json};

use super::leveldb;
use crate::arguments::Stats;
use crate::bars::{Row, print_rows};
use crate::database::{leveldb_at, open_to_read};
use crate::failure::Failure;
use crate::output::{Output, counted};

/// The subdirectory in which a conversion keeps LevelDB's files.
const ORIGINAL: &str = "leveldb-original";

/// Bytes of the files in a directory, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Files {
    tables: u64,
    values: u64,
    logs: u64,
    manifests: u64,
    others: u64,
}

impl Files {
    /// Adds up the sizes of the regular files at `path`. The properties do not give those of log
    /// and manifest in a handle that only reads.
    fn of(path: &Path) -> cairndb::Result<Files> {
        let dir = RealEnv::new().open_dir(path, false)?;
        let mut files = Files::default();
        for name in dir.list()? {
            let kind = match FileKind::parse(&name) {
                Some(FileKind::Table(_)) => &mut files.tables,
                Some(FileKind::Value(_)) => &mut files.values,
                Some(FileKind::Log(_)) => &mut files.logs,
                Some(FileKind::Manifest(_)) => &mut files.manifests,
                _ => &mut files.others,
            };
            // A link or a directory is not one of the database's files.
            *kind += dir.size_of(&name).ok().flatten().unwrap_or(0);
        }
        Ok(files)
    }

    fn total(&self) -> u64 {
        self.tables + self.values + self.logs + self.manifests + self.others
    }
}

/// What `cairn stats` shows.
struct Figures {
    files: Files,
    space: Value,
    stats: Value,
    /// Bytes of the tables of each run, from the newest run.
    runs: Vec<u64>,
    /// Bytes of LevelDB's files; `None` if the database was not converted or they were removed.
    original: Option<u64>,
}

/// Prints the figures of a database.
pub(super) fn stats(arguments: &Stats) -> Result<(), Failure> {
    let path = &arguments.directory;
    if let Some(dir) = leveldb_at(path) {
        return leveldb::stats(path, &dir, arguments.order, arguments.json);
    }
    let db = open_to_read(path)?;
    let figures = Figures {
        files: Files::of(path).map_err(Failure::of(path))?,
        space: property(&db, "cairndb.space")?,
        stats: property(&db, "cairndb.stats")?,
        runs: runs(&db.property("leveldb.sstables").unwrap_or_default()),
        original: original_bytes(path).map_err(Failure::of(path))?,
    };
    let mut output = Output::stdout()?;
    if arguments.json {
        let files = &figures.files;
        let all = json!({
            "file_bytes": {
                "total": files.total(),
                "tables": files.tables,
                "value_files": files.values,
                "logs": files.logs,
                "manifests": files.manifests,
                "others": files.others,
            },
            "space": figures.space,
            "stats": figures.stats,
            "run_bytes": figures.runs,
            "leveldb_original_bytes": figures.original,
        });
        output.line(&all.to_string())?;
    } else {
        print(&figures, &mut output)?;
    }
    output.finish()
}

fn property(db: &Db, name: &str) -> Result<Value, Failure> {
    let text = db.property(name).unwrap_or_default();
    serde_json::from_str(&text)
        .map_err(|error| Failure::Other(format!("the property {name} is not JSON: {error}")))
}

/// Returns the bytes of each run, from the text that lists a heading for each run and a line
/// ` number:bytes[first .. last]` for each of its tables.
fn runs(text: &str) -> Vec<u64> {
    let mut runs = Vec::new();
    for line in text.lines() {
        if line.starts_with("--- run ") {
            runs.push(0);
        } else if let Some(run) = runs.last_mut() {
            let bytes = line.split([':', '[']).nth(1);
            *run += bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
        }
    }
    runs
}

/// Returns the bytes of LevelDB's files in the directory of a converted database.
fn original_bytes(path: &Path) -> cairndb::Result<Option<u64>> {
    let original = path.join(ORIGINAL);
    if !original.is_dir() {
        return Ok(None);
    }
    Files::of(&original).map(|files| Some(files.total()))
}

fn print(figures: &Figures, output: &mut Output) -> Result<(), Failure> {
    let count = |name: &str| figures.stats[name].as_u64().unwrap_or(0);
    output.line(&format!(
        "{} in {}, {} among them; {}",
        counted(count("entries"), "entry", "entries"),
        counted(count("tables"), "table", "tables"),
        counted(count("deletes"), "tombstone", "tombstones"),
        counted(count("value_files"), "value file", "value files"),
    ))?;
    let files = &figures.files;
    let mut rows: Vec<Row> = vec![
        ("total".to_owned(), files.total()),
        ("tables".to_owned(), files.tables),
        ("value files".to_owned(), files.values),
        ("logs".to_owned(), files.logs),
        ("manifests".to_owned(), files.manifests),
        ("other files".to_owned(), files.others),
    ];
    let dead = figures.space["dead_bytes_max"].as_u64().unwrap_or(0);
    rows.push(("dead, at most".to_owned(), dead));
    for (number, bytes) in figures.runs.iter().enumerate() {
        rows.push((format!("run {}", number + 1), *bytes));
    }
    rows.extend(
        figures
            .original
            .map(|bytes| (format!("{ORIGINAL}/"), bytes)),
    );
    print_rows(&rows, output)?;
    if figures.original.is_some() {
        output.line("CairnDB does not use LevelDB's files; remove them once you are sure")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_the_bytes_of_their_tables() {
        let text = "--- run 7 (age 0) ---\n 3:100[a .. b]\n 4:20[c .. d]\n--- run 2 (age 1) ---\n";
        assert_eq!(runs(text), [120, 0]);
    }
}
