//! A database that is opened to be read: what is in its logs, merged with its tables.

mod cursor;
mod memory;
mod merge;
mod open;
mod options;
mod source;
mod tables;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use cairndb_base::{Error, Kind, Order, Result, SEQ_MAX, SeqNo};
use cairndb_env::DirLock;

pub use cursor::{Cursor, EntryCursor};
pub use options::{ReadOptions, Recovery, Report, UnknownOrder};
pub use tables::TableInfo;

use crate::internal_key::{self, kind_of};
use crate::table::{Table, TableSummary};
use memory::{Memory, MemoryCursor};
use merge::MergingCursor;
use source::SortedSource;
use tables::{LevelCursor, Tables};

/// An open LevelDB database.
///
/// It is read as of its opening. While it is open no LevelDB process can open it if the directory
/// has a `LOCK` file, except for one that runs in this process: closing a file releases the record
/// locks that the same process holds on it, so a program must not open one directory with both.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// # use cairndb_leveldb::{NewDatabase, WriteOptions};
/// # let dir = MemEnv::new(Background::Stepped).open_dir(Path::new("db"), true)?;
/// # let mut new = NewDatabase::create(&dir, WriteOptions::default())?;
/// # new.put(b"apple", b"red")?;
/// # new.finish()?;
/// use cairndb_leveldb::{Database, ReadOptions};
/// let database = Database::open(&dir, &ReadOptions::default())?;
/// assert_eq!(database.comparator(), "leveldb.BytewiseComparator");
/// assert_eq!(database.get(b"apple")?.as_deref(), Some(&b"red"[..]));
/// assert_eq!(database.get_at(b"apple", 0)?, None, "before the first write");
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Debug)]
pub struct Database {
    memory: Arc<Memory>,
    tables: Arc<Tables>,
    /// All tables, by level and then by key; those of level 0 from the newest.
    infos: Vec<TableInfo>,
    /// What the merging cursor merges besides memory: tables in ascending order.
    runs: Vec<Arc<[TableInfo]>>,
    order: Order,
    comparator: String,
    last_seq: SeqNo,
    report: Report,
    _lock: Option<Box<dyn DirLock>>,
}

impl Database {
    /// The value of a key.
    ///
    /// # Errors
    /// `Corruption` if a table that is met is damaged; `NotSupported` if it is compressed in an
    /// unknown way; `Io`.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.get_at(key, self.last_seq)
    }

    /// The value that a key had at a sequence number. It is only exact if no compaction has dropped
    /// the entry: LevelDB keeps what its snapshots see, and the newest.
    ///
    /// # Errors
    /// As [`Database::get`].
    pub fn get_at(&self, key: &[u8], seq: SeqNo) -> Result<Option<Vec<u8>>> {
        let sought = internal_key::tag(seq.min(SEQ_MAX), Kind::Put);
        let mut found: Option<(u64, Vec<u8>)> = None;
        let runs = self.runs.iter().filter(|run| {
            // A run of one table need not be opened if the key is not in its range.
            !matches!(&***run, [only] if !only.covers(&self.order, key))
        });
        let memory = self.memory_source();
        for mut source in memory.into_iter().chain(runs.map(|run| self.source(run))) {
            source.seek(key, sought)?;
            let is_key = source.valid() && self.order.compare(source.key(), key).is_eq();
            if is_key && found.as_ref().is_none_or(|(tag, _)| *tag < source.tag()) {
                found = Some((source.tag(), source.value().to_vec()));
            }
        }
        match found {
            Some((tag, value)) => Ok((kind_of(tag)? == Kind::Put).then_some(value)),
            None => Ok(None),
        }
    }

    /// A cursor over what is visible now, which stands on no key.
    pub fn cursor(&self) -> Cursor {
        self.cursor_at(self.last_seq)
    }

    /// A cursor over what was visible at a sequence number, which stands on no key. As
    /// [`Database::get_at`], it sees only what no compaction has dropped.
    pub fn cursor_at(&self, seq: SeqNo) -> Cursor {
        Cursor::new(self.merged(), self.order.clone(), seq.min(SEQ_MAX))
    }

    /// A cursor over all entries, which stands on none.
    pub fn entries(&self) -> EntryCursor {
        EntryCursor::new(self.merged())
    }

    /// The sequence number of the latest write.
    pub fn last_seq(&self) -> SeqNo {
        self.last_seq
    }

    /// The name of the comparator in the manifest.
    pub fn comparator(&self) -> &str {
        &self.comparator
    }

    /// The order in which keys are returned.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// The tables in use, by level; those of level 0 from the newest, others by key.
    pub fn tables(&self) -> &[TableInfo] {
        &self.infos
    }

    /// What the opening met.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Opens one of the tables.
    ///
    /// # Errors
    /// `Corruption` if its footer or index are damaged; `NotSupported` if the index is stored by an
    /// unknown codec; `Io`.
    pub fn table(&self, info: &TableInfo) -> Result<Arc<Table>> {
        self.tables.open(info)
    }

    /// Reads all of one table and checks it, also against the manifest: see
    /// [`crate::Table::verify`].
    ///
    /// # Errors
    /// `Corruption` at the first thing that is wrong; `NotSupported`, `Io`.
    pub fn verify_table(&self, info: &TableInfo) -> Result<TableSummary> {
        let summary = self.tables.open(info)?.verify()?;
        let bounds = (&summary.smallest, &summary.largest);
        if summary.entries == 0 || bounds != (&info.smallest, &info.largest) {
            let error =
                Error::corruption("a table does not have the bounds that the manifest states");
            return Err(error.file(&*info.name).offset(0));
        }
        Ok(summary)
    }

    fn memory_source(&self) -> Option<Box<dyn SortedSource>> {
        let source =
            || -> Box<dyn SortedSource> { Box::new(MemoryCursor::new(Arc::clone(&self.memory))) };
        (!self.memory.is_empty()).then(source)
    }

    fn source(&self, run: &Arc<[TableInfo]>) -> Box<dyn SortedSource> {
        Box::new(LevelCursor::new(Arc::clone(&self.tables), Arc::clone(run)))
    }

    fn merged(&self) -> MergingCursor {
        let runs = self.runs.iter().map(|run| self.source(run));
        let sources = self.memory_source().into_iter().chain(runs).collect();
        MergingCursor::new(sources, self.order.clone())
    }
}
