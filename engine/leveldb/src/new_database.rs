//! A new database for LevelDB, written in one pass from entries in ascending order.
//!
//! All tables go to one level, the first that may hold so much, so that LevelDB has nothing to
//! compact when it opens the database. Tables are synced before the manifest that names them, and
//! the manifest before `CURRENT`, which makes the directory a database: after a crash there is a
//! complete one or none.

mod resume;

use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Kind, Order, Result, SeqNo};
use cairndb_env::{Dir, DirLock};

use crate::internal_key::InternalKey;
use crate::log::LogWriter;
use crate::manifest::{LEVELS, NewTable, VersionEdit, install_current};
use crate::name::{CURRENT, FileName, LOCK};
use crate::table::{TableBuilder, TableOptions};

/// How a new database is written.
///
/// ```
/// use cairndb_leveldb::WriteOptions;
/// assert_eq!(WriteOptions::default().table_bytes, 2 << 20);
/// ```
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The order of the keys, whose name the manifest will hold. LevelDB must be given the same.
    /// Default bytewise.
    pub order: Order,
    /// A table of this size is complete. Default 2 MiB, as LevelDB's own.
    pub table_bytes: u64,
    /// The form of the tables.
    pub tables: TableOptions,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            order: Order::Bytewise,
            table_bytes: 2 << 20,
            tables: TableOptions::default(),
        }
    }
}

/// What was written.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// # use cairndb_leveldb::{NewDatabase, WriteOptions};
/// # let dir = MemEnv::new(Background::Stepped).open_dir(Path::new("db"), true)?;
/// let mut new = NewDatabase::create(&dir, WriteOptions::default())?;
/// new.put(b"apple", b"red")?;
/// let summary = new.finish()?;
/// assert_eq!((summary.entries, summary.tables, summary.level), (1, 1, 1));
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The number of entries.
    pub entries: u64,
    /// The number of tables.
    pub tables: u64,
    /// The size of all tables in bytes.
    pub bytes: u64,
    /// The level that holds them.
    pub level: usize,
}

/// Bytes that level 1 may hold; each further level may hold ten times as much, the last any amount.
const LEVEL_1_BYTES: u64 = 10 << 20;

/// A database that is being written. It exists once [`NewDatabase::finish`] has returned.
///
/// The head of this crate has an example.
#[derive(Debug)]
pub struct NewDatabase {
    dir: Arc<dyn Dir>,
    options: WriteOptions,
    builder: Option<TableBuilder>,
    /// The user key of the last entry, which one table must hold all entries of.
    last_key: Vec<u8>,
    tables: Vec<NewTable>,
    /// The number of the next file.
    next_file: u64,
    last_seq: SeqNo,
    entries: u64,
    _lock: Box<dyn DirLock>,
}

impl NewDatabase {
    /// Begins a database in a directory that holds none, and locks it.
    ///
    /// # Errors
    /// `InvalidArgument` if there are files of a LevelDB database already; `Locked`, `NoSpace`,
    /// `Io`.
    pub fn create(dir: &Arc<dyn Dir>, options: WriteOptions) -> Result<NewDatabase> {
        let placed = |error: Error| error.directory(dir.path());
        let lock = dir.lock(LOCK).map_err(placed)?;
        for name in dir.list()? {
            let of_database = !matches!(
                FileName::parse(&name),
                None | Some(FileName::Lock | FileName::Messages)
            );
            if of_database {
                let error =
                    Error::invalid("the directory already holds files of a LevelDB database");
                return Err(placed(error.file(name)));
            }
        }
        Ok(NewDatabase::empty(dir, options, lock))
    }

    fn empty(dir: &Arc<dyn Dir>, options: WriteOptions, lock: Box<dyn DirLock>) -> NewDatabase {
        NewDatabase {
            dir: Arc::clone(dir),
            options,
            builder: None,
            last_key: Vec::new(),
            tables: Vec::new(),
            next_file: 2,
            last_seq: 0,
            entries: 0,
            _lock: lock,
        }
    }

    /// Adds a key with its value, at sequence number 1.
    ///
    /// # Errors
    /// `InvalidArgument` if the key does not come after the one before; `NoSpace`, `Io`. After an
    /// error of the last two kinds the database must be given up.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.add(
            InternalKey {
                key,
                seq: 1,
                kind: Kind::Put,
            },
            value,
        )
    }

    /// Adds an entry with a sequence number and kind of its own: keys in ascending order, and the
    /// entries of one key from the newest. A delete has no value.
    ///
    /// # Errors
    /// As [`NewDatabase::put`].
    pub fn add(&mut self, key: InternalKey<'_>, value: &[u8]) -> Result<()> {
        let is_new =
            self.entries == 0 || self.options.order.compare(&self.last_key, key.key).is_ne();
        // LevelDB expects all entries of a key in one table of a level.
        if is_new
            && self
                .builder
                .as_ref()
                .is_some_and(|builder| self.is_complete(builder))
        {
            if self.options.order.compare(&self.last_key, key.key).is_gt() {
                return Err(Error::invalid("the keys must be added in order").key(key.key));
            }
            self.end_table()?;
        }
        let mut builder = match self.builder.take() {
            Some(builder) => builder,
            None => self.begin_table()?,
        };
        let added = builder.add(key, value);
        self.builder = Some(builder);
        added?;
        self.entries += 1;
        self.last_seq = self.last_seq.max(key.seq);
        self.last_key.clear();
        self.last_key.extend_from_slice(key.key);
        Ok(())
    }

    /// The user key of the last entry; `None` before the first one.
    pub fn last_key(&self) -> Option<&[u8]> {
        (self.entries > 0).then_some(&*self.last_key)
    }

    fn is_complete(&self, builder: &TableBuilder) -> bool {
        builder.size() >= self.options.table_bytes
    }

    fn begin_table(&mut self) -> Result<TableBuilder> {
        let file = self
            .dir
            .create(&FileName::Table(self.next_file).to_string())?;
        let (order, options) = (self.options.order.clone(), self.options.tables.clone());
        Ok(TableBuilder::new(file, order, options))
    }

    fn end_table(&mut self) -> Result<()> {
        let Some(builder) = self.builder.take() else {
            return Ok(());
        };
        let (smallest, largest) = (builder.smallest().to_vec(), builder.largest());
        let (number, size) = (self.next_file, builder.finish()?);
        self.next_file += 1;
        self.tables.push(NewTable {
            level: 0,
            number,
            size,
            smallest,
            largest,
        });
        Ok(())
    }

    /// Writes the manifest and makes the directory a database.
    ///
    /// # Errors
    /// `NoSpace`, `Io`; then the directory holds no database.
    pub fn finish(mut self) -> Result<Summary> {
        self.end_table()?;
        let bytes = self.tables.iter().map(|table| table.size).sum();
        let level = level_for(bytes);
        for table in &mut self.tables {
            table.level = level;
        }
        let (manifest, tables) = (self.next_file, self.tables.len() as u64);
        let edit = VersionEdit {
            comparator: Some(self.options.order.name().to_owned()),
            log: Some(0),
            next_file: Some(manifest + 1),
            last_seq: Some(self.last_seq),
            added: std::mem::take(&mut self.tables),
            ..VersionEdit::default()
        };
        let mut payload = Vec::new();
        edit.encode(&mut payload);
        let mut writer =
            LogWriter::new(self.dir.create(&FileName::Manifest(manifest).to_string())?);
        writer.append(&payload)?;
        writer.sync()?;
        self.dir.sync()?;
        if self.dir.size_of(CURRENT)?.is_some() {
            let message = "another database appeared in the directory";
            return Err(Error::new(ErrorKind::InvalidArgument, message).file(CURRENT));
        }
        install_current(&self.dir, manifest)?;
        Ok(Summary {
            entries: self.entries,
            tables,
            bytes,
            level,
        })
    }
}

/// The first level that may hold so many bytes.
fn level_for(bytes: u64) -> usize {
    let (mut level, mut most) = (1, LEVEL_1_BYTES);
    while bytes > most && level + 1 < LEVELS {
        level += 1;
        most = most.saturating_mul(10);
    }
    level
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cairndb_env::{Background, Env, MemEnv};

    use super::*;
    use crate::{Database, ReadOptions};

    fn directory() -> Arc<dyn Dir> {
        MemEnv::new(Background::Stepped)
            .open_dir(Path::new("db"), true)
            .unwrap()
    }

    #[test]
    fn levels_hold_ten_times_as_much_as_the_one_before() {
        assert_eq!(level_for(0), 1);
        assert_eq!(level_for(10 << 20), 1);
        assert_eq!(level_for((10 << 20) + 1), 2);
        assert_eq!(level_for(1 << 30), 4);
        assert_eq!(level_for(u64::MAX), 6);
    }

    #[test]
    fn entries_of_one_key_stay_in_one_table() {
        let dir = directory();
        let tables = TableOptions {
            block_bytes: 64,
            ..TableOptions::default()
        };
        let options = WriteOptions {
            table_bytes: 1,
            tables,
            ..WriteOptions::default()
        };
        let mut new = NewDatabase::create(&dir, options).unwrap();
        for key in [b"a", b"b"] {
            for seq in (1..100).rev() {
                let kind = if seq % 10 == 0 {
                    Kind::Delete
                } else {
                    Kind::Put
                };
                let value = if kind == Kind::Put {
                    vec![1; 20]
                } else {
                    vec![]
                };
                new.add(InternalKey { key, seq, kind }, &value).unwrap();
            }
        }
        assert_eq!(new.finish().unwrap().tables, 2);
        let database = Database::open(&dir, &ReadOptions::default()).unwrap();
        assert_eq!(database.last_seq(), 99);
        assert!(database.get(b"a").unwrap().is_some());
        assert_eq!(database.get_at(b"a", 90).unwrap(), None);
        assert!(database.get_at(b"b", 89).unwrap().is_some());
    }

    #[test]
    fn wrong_orders_and_used_directories_are_refused() {
        let dir = directory();
        let options = WriteOptions {
            table_bytes: 1,
            ..WriteOptions::default()
        };
        let mut new = NewDatabase::create(&dir, options.clone()).unwrap();
        new.put(b"b", b"").unwrap();
        for key in [b"b", b"a"] {
            assert_eq!(
                new.put(key, b"").unwrap_err().kind(),
                ErrorKind::InvalidArgument
            );
        }
        let error = NewDatabase::create(&dir, options.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Locked);
        new.put(b"c", b"").unwrap();
        new.finish().unwrap();
        let error = NewDatabase::create(&dir, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let database = Database::open(&dir, &ReadOptions::default()).unwrap();
        let mut cursor = database.cursor();
        cursor.seek_to_first().unwrap();
        assert_eq!(cursor.key(), b"b");
    }

    #[test]
    fn an_empty_database_is_one() {
        let dir = directory();
        let new = NewDatabase::create(&dir, WriteOptions::default()).unwrap();
        assert_eq!(
            new.finish().unwrap(),
            Summary {
                level: 1,
                ..Summary::default()
            }
        );
        let database = Database::open(&dir, &ReadOptions::default()).unwrap();
        let mut cursor = database.cursor();
        cursor.seek_to_last().unwrap();
        assert!(!cursor.valid());
    }
}
