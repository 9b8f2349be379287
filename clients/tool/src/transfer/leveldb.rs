//! LevelDB's directories, in both directions.
//!
//! The directory that an export makes is no database until its last step writes `CURRENT`, and has
//! its final name only after it was read back. What a killed export has left are complete tables,
//! which stay, and a part of one more.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cairndb::env::{Env, RealEnv};
use cairndb::leveldb::Order;
use cairndb_leveldb::{Cursor, Database, NewDatabase, WriteOptions};

use super::contents::Contents;
use super::export::{Export, claim, compare_database, report};
use super::source::{EntrySource, Step};
use super::target::{ExportTarget, Made};
use crate::database::{DatabaseReader, leveldb_at, open_leveldb};
use crate::failure::{Failure, Result};
use crate::progress::Progress;
use crate::range::Range;

/// The file that makes a directory a database.
const CURRENT: &str = "CURRENT";

/// Reads a database.
pub(crate) struct LevelDbSource {
    path: PathBuf,
    cursor: Cursor,
    is_begun: bool,
    /// Keeps the lock.
    _database: Database,
}

impl LevelDbSource {
    pub(crate) fn open(path: &Path) -> Result<LevelDbSource> {
        let Some(dir) = leveldb_at(path) else {
            let path = path.display();
            return Err(Failure::other(format!(
                "{path} holds no LevelDB database; check the path"
            )));
        };
        let database = open_leveldb(&dir, path)?;
        Ok(LevelDbSource {
            path: path.to_owned(),
            cursor: database.cursor(),
            is_begun: false,
            _database: database,
        })
    }
}

impl EntrySource for LevelDbSource {
    fn advance(&mut self) -> Result<Step<'_>> {
        let moved = if self.is_begun {
            self.cursor.next()
        } else {
            self.is_begun = true;
            self.cursor.seek_to_first()
        };
        moved.map_err(Failure::of_leveldb(&self.path))?;
        Ok(if self.cursor.valid() {
            Step::Entry(self.cursor.key(), self.cursor.value())
        } else {
            Step::End
        })
    }
}

/// Exports entries to a directory.
pub(crate) fn export(request: &Export) -> Result<()> {
    let reader = &request.reader()?;
    let ExportTarget::Made(made) = &ExportTarget::of(request.target)? else {
        let message = "the format leveldb needs the name of a directory to make";
        return Err(Failure::usage(message));
    };
    let (_, is_resumed) = claim(request, made)?;
    // A kill after the last step of the writer leaves a database without its final name.
    let is_complete = made.partial.join(CURRENT).exists();
    let written = (!is_complete).then(|| write(request, reader, made));
    let written = written.transpose()?;
    let found = read_back(made, &reader.order(request.directory))?;
    if written.is_some_and(|written| written != found) {
        return Err(Failure::other(format!(
            "{} does not hold what was written to it; check the disk, and begin again with \
             --restart",
            made.partial.display()
        )));
    }
    if is_resumed {
        compare_database(request, reader, &found)?;
    }
    made.finish()?;
    let left_out = match request.keyspace {
        None => reader.keyspaces(),
        Some(_) => Vec::new(),
    };
    report(request, &found, &left_out)
}

/// Writes what is missing. Returns what the whole holds.
fn write(request: &Export, reader: &DatabaseReader, made: &Made) -> Result<Contents> {
    let failed = Failure::of_leveldb(&made.partial);
    let dir = RealEnv::new().open_dir(&made.partial, true);
    let dir = dir.map_err(&failed)?;
    let options = WriteOptions {
        order: reader.order(request.directory),
        ..WriteOptions::default()
    };
    let mut contents = Contents::default();
    let new = NewDatabase::resume(&dir, options, |key, value| {
        contents.add(key, value);
        Ok(())
    });
    let mut new = new.map_err(&failed)?;
    // The last key of an interrupted export is passed over.
    let mut passed = new.last_key().map(<[u8]>::to_vec);
    let range = request.range.beginning_at(passed.as_ref());
    let mut progress = Progress::begin("exporting");
    reader.walk(request.directory, &range, false, |key, value| {
        if passed.take().is_none_or(|passed| passed != key) {
            contents.add(key, value);
            new.put(key, value).map_err(&failed)?;
            progress.entry(|| None)?;
        }
        Ok(true)
    })?;
    new.finish().map_err(&failed)?;
    Ok(contents)
}

/// Reads the new database.
fn read_back(made: &Made, order: &Order) -> Result<Contents> {
    let path = &made.partial;
    let opened = RealEnv::new().open_dir(path, false);
    let dir = opened.map_err(Failure::of_leveldb(path))?;
    let mut options = cairndb_leveldb::ReadOptions::default();
    if let Order::Custom(comparator) = order {
        options.orders = options.orders.with(Arc::clone(comparator));
    }
    let database = Database::open(&dir, &options).map_err(Failure::of_leveldb(path))?;
    DatabaseReader::LevelDb(Box::new(database)).contents(path, &Range::default())
}
