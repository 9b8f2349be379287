//! The tables of a database: where they are, those that are open, and a cursor over a level.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_base::{Order, Result};
use cairndb_env::Dir;
use cairndb_env::sync::Mutex;

use super::source::SortedSource;
use crate::internal_key;
use crate::table::{Table, TableCursor};

/// One table of a database, as the manifest describes it.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// # use cairndb_leveldb::{Database, InternalKey, NewDatabase, ReadOptions, WriteOptions};
/// # let dir = MemEnv::new(Background::Stepped).open_dir(Path::new("db"), true)?;
/// # let mut new = NewDatabase::create(&dir, WriteOptions::default())?;
/// # new.put(b"apple", b"red")?;
/// # new.finish()?;
/// let database = Database::open(&dir, &ReadOptions::default())?;
/// let info = &database.tables()[0];
/// assert_eq!((info.level, InternalKey::decode(&info.largest)?.key), (1, &b"apple"[..]));
/// assert_eq!(database.verify_table(info)?.entries, 1);
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableInfo {
    /// Its level: 0 to 6.
    pub level: usize,
    /// The number in its name.
    pub number: u64,
    /// The name of its file.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its first internal key, encoded; see [`crate::InternalKey::decode`].
    pub smallest: Vec<u8>,
    /// Its last internal key, encoded.
    pub largest: Vec<u8>,
}

impl TableInfo {
    /// The user keys of the first and the last entry. Both internal keys were decoded with the
    /// manifest.
    fn bounds(&self) -> [(&[u8], u64); 2] {
        let split = |key| internal_key::split(key).unwrap_or((&[], 0));
        [split(&self.smallest), split(&self.largest)]
    }

    /// Whether the table may hold a user key.
    pub(crate) fn covers(&self, order: &Order, key: &[u8]) -> bool {
        let [smallest, largest] = self.bounds();
        order.compare(smallest.0, key).is_le() && order.compare(key, largest.0).is_le()
    }

    /// Whether all of this table comes before another one.
    pub(crate) fn is_before(&self, order: &Order, other: &TableInfo) -> bool {
        internal_key::compare(order, self.bounds()[1], other.bounds()[0]).is_lt()
    }
}

/// Opens tables and keeps the most recently used ones open.
#[derive(Debug)]
pub(crate) struct Tables {
    dir: Arc<dyn Dir>,
    order: Order,
    decoded_bytes_max: usize,
    open_max: usize,
    open: Mutex<OpenTables>,
}

/// The open tables by number, each with the time of its last use.
#[derive(Debug, Default)]
struct OpenTables {
    tables: BTreeMap<u64, (u64, Arc<Table>)>,
    clock: u64,
}

impl Tables {
    pub(crate) fn new(
        dir: Arc<dyn Dir>,
        order: Order,
        decoded_bytes_max: usize,
        open_max: usize,
    ) -> Tables {
        let open = Mutex::new(OpenTables::default());
        Tables {
            dir,
            order,
            decoded_bytes_max,
            open_max: open_max.max(1),
            open,
        }
    }

    pub(crate) fn order(&self) -> &Order {
        &self.order
    }

    /// The open table.
    pub(crate) fn open(&self, info: &TableInfo) -> Result<Arc<Table>> {
        let mut open = self.open.lock();
        open.clock += 1;
        let now = open.clock;
        if let Some((used, table)) = open.tables.get_mut(&info.number) {
            *used = now;
            return Ok(Arc::clone(table));
        }
        let file = self.dir.open_read(&info.name)?;
        let (name, order) = (info.name.clone(), self.order.clone());
        let table = Table::open_front(file, name, order, info.size, self.decoded_bytes_max)?;
        if open.tables.len() >= self.open_max {
            let oldest = open.tables.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(number) = oldest.map(|(number, _)| *number) {
                open.tables.remove(&number);
            }
        }
        open.tables.insert(info.number, (now, Arc::clone(&table)));
        Ok(table)
    }
}

/// A position in tables that follow one another, of which one is open at a time.
#[derive(Debug)]
pub(crate) struct LevelCursor {
    tables: Arc<Tables>,
    infos: Arc<[TableInfo]>,
    /// The table of `cursor`.
    at: usize,
    cursor: Option<TableCursor>,
}

impl LevelCursor {
    /// A cursor over tables in ascending order.
    pub(crate) fn new(tables: Arc<Tables>, infos: Arc<[TableInfo]>) -> LevelCursor {
        LevelCursor {
            tables,
            infos,
            at: 0,
            cursor: None,
        }
    }

    /// Opens table `at` and places a cursor in it.
    fn enter(&mut self, at: usize, place: impl Fn(&mut TableCursor) -> Result<()>) -> Result<bool> {
        self.cursor = None;
        let Some(info) = self.infos.get(at) else {
            return Ok(false);
        };
        let mut cursor = self.tables.open(info)?.cursor();
        place(&mut cursor)?;
        self.at = at;
        let valid = cursor.valid();
        self.cursor = Some(cursor).filter(|_| valid);
        Ok(valid)
    }

    /// Goes to the first entry of table `at` or of the next one that has any.
    fn enter_forwards(&mut self, at: usize) -> Result<()> {
        let mut at = at;
        while at < self.infos.len() && !self.enter(at, TableCursor::seek_to_first)? {
            at += 1;
        }
        Ok(())
    }

    /// Goes to the last entry of the tables before `end`.
    fn enter_backwards(&mut self, end: usize) -> Result<()> {
        let mut end = end;
        while end > 0 && !self.enter(end - 1, TableCursor::seek_to_last)? {
            end -= 1;
        }
        Ok(())
    }

    /// Takes one step in the current table. Returns whether that leads to an entry.
    fn step(&mut self, step: impl Fn(&mut TableCursor) -> Result<()>) -> Result<bool> {
        let mut cursor = self.cursor.take();
        if let Some(cursor) = &mut cursor {
            step(cursor)?;
        }
        self.cursor = cursor.filter(TableCursor::valid);
        Ok(self.cursor.is_some())
    }
}

impl SortedSource for LevelCursor {
    fn valid(&self) -> bool {
        self.cursor.is_some()
    }

    fn key(&self) -> &[u8] {
        self.cursor.as_ref().map_or(&[], TableCursor::key)
    }

    fn tag(&self) -> u64 {
        self.cursor.as_ref().map_or(0, TableCursor::tag)
    }

    fn value(&self) -> &[u8] {
        self.cursor.as_ref().map_or(&[], TableCursor::value)
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.cursor = None;
        self.enter_forwards(0)
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.cursor = None;
        self.enter_backwards(self.infos.len())
    }

    fn seek(&mut self, key: &[u8], tag: u64) -> Result<()> {
        self.cursor = None;
        let order = self.tables.order().clone();
        let before =
            |info: &TableInfo| internal_key::compare(&order, info.bounds()[1], (key, tag)).is_lt();
        let at = self.infos.partition_point(before);
        if at < self.infos.len() && !self.enter(at, |cursor| cursor.seek_tag(key, tag))? {
            self.enter_forwards(at + 1)?;
        }
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        if self.valid() && !self.step(TableCursor::next)? {
            self.enter_forwards(self.at + 1)?;
        }
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        if self.valid() && !self.step(TableCursor::prev)? {
            self.enter_backwards(self.at)?;
        }
        Ok(())
    }
}
