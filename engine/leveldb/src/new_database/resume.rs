//! Continues a new database that was not finished.
//!
//! Tables are numbered from 2 without a gap, and each is synced before the next one begins. What is
//! complete is therefore a prefix; the first table that is not, and everything after it, is written
//! again.

use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::Dir;

use super::{NewDatabase, WriteOptions};
use crate::internal_key::InternalKey;
use crate::manifest::NewTable;
use crate::name::{CURRENT, FileName, LOCK};
use crate::table::{Table, TableSummary};

impl NewDatabase {
    /// Continues a database whose writer ended before [`NewDatabase::finish`]. The complete tables
    /// stay, and `entry` is given their keys and values; other files of the database are removed.
    /// The next entry must come after [`NewDatabase::last_key`].
    ///
    /// The options must be those of the earlier writer. Cost: reads all complete tables twice.
    ///
    /// # Errors
    /// `InvalidArgument` if the directory holds a finished database; `Locked`, `Io`; an error of
    /// `entry`.
    ///
    /// ```
    /// # use std::path::Path;
    /// # use cairndb_env::{Background, Env, MemEnv};
    /// # use cairndb_leveldb::{NewDatabase, WriteOptions};
    /// # let dir = MemEnv::new(Background::Stepped).open_dir(Path::new("db"), true)?;
    /// let mut new = NewDatabase::create(&dir, WriteOptions::default())?;
    /// new.put(b"apple", b"red")?;
    /// drop(new);
    /// let mut new = NewDatabase::resume(&dir, WriteOptions::default(), |_, _| Ok(()))?;
    /// assert_eq!(new.last_key(), None, "the table was not complete");
    /// new.put(b"apple", b"red")?;
    /// assert_eq!(new.finish()?.entries, 1);
    /// # Ok::<(), cairndb_leveldb::Error>(())
    /// ```
    pub fn resume(
        dir: &Arc<dyn Dir>,
        options: WriteOptions,
        mut entry: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<NewDatabase> {
        let lock = dir
            .lock(LOCK)
            .map_err(|error| error.directory(dir.path()))?;
        if dir.size_of(CURRENT)?.is_some() {
            let error = Error::invalid("the directory holds a finished LevelDB database");
            return Err(error.directory(dir.path()));
        }
        let mut new = NewDatabase::empty(dir, options, lock);
        while let Some((table, summary)) = new.complete_table()? {
            new.take_table(&table, summary, &mut entry)?;
        }
        for name in dir.list()? {
            let stays = match FileName::parse(&name) {
                None | Some(FileName::Lock | FileName::Messages) => true,
                Some(FileName::Table(number)) => number < new.next_file,
                Some(_) => false,
            };
            if !stays {
                dir.unlink(&name)?;
            }
        }
        Ok(new)
    }

    /// Opens the next table if it is complete.
    fn complete_table(&self) -> Result<Option<(Arc<Table>, TableSummary)>> {
        let name = FileName::Table(self.next_file).to_string();
        let opened = match self.dir.size_of(&name)? {
            None => return Ok(None),
            Some(_) => self.dir.open_read(&name),
        };
        let order = self.options.order.clone();
        let table = opened.and_then(|file| Table::open(file, name, order));
        match table.and_then(|table| table.verify().map(|summary| (table, summary))) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::Corruption => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a complete table as one of its own.
    fn take_table(
        &mut self,
        table: &Arc<Table>,
        summary: TableSummary,
        entry: &mut impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut cursor = table.cursor();
        cursor.seek_to_first()?;
        while cursor.valid() {
            entry(cursor.key(), cursor.value())?;
            cursor.next()?;
        }
        self.entries += summary.entries;
        self.last_seq = self.last_seq.max(summary.seq_max);
        let last = InternalKey::decode(&summary.largest)?;
        self.last_key.clear();
        self.last_key.extend_from_slice(last.key);
        self.tables.push(NewTable {
            level: 0,
            number: self.next_file,
            size: table.size(),
            smallest: summary.smallest,
            largest: summary.largest,
        });
        self.next_file += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cairndb_env::{Background, Env, MemEnv};

    use super::*;
    use crate::{Database, ReadOptions, TableOptions};

    fn options() -> WriteOptions {
        let tables = TableOptions {
            block_bytes: 256,
            ..TableOptions::default()
        };
        WriteOptions {
            table_bytes: 2000,
            tables,
            ..WriteOptions::default()
        }
    }

    fn put_from(new: &mut NewDatabase, count: usize) {
        let first = new.last_key().map(<[u8]>::to_vec);
        for n in 0..count {
            let key = format!("{n:05}");
            if first.as_deref().is_none_or(|first| key.as_bytes() > first) {
                new.put(key.as_bytes(), &[b'v'; 50]).unwrap();
            }
        }
    }

    #[test]
    fn what_is_complete_stays_and_the_rest_is_written_again() {
        for count in [0, 1, 30, 300, 1000] {
            let env = MemEnv::new(Background::Stepped);
            let dir = env.open_dir(Path::new("db"), true).unwrap();
            let mut new = NewDatabase::create(&dir, options()).unwrap();
            put_from(&mut new, count);
            drop(new);
            let mut seen = 0;
            let counted = |_: &[u8], _: &[u8]| {
                seen += 1;
                Ok(())
            };
            let mut new = NewDatabase::resume(&dir, options(), counted).unwrap();
            assert!(
                seen <= count && (seen > 0) == (count >= 300),
                "{seen} of {count}"
            );
            put_from(&mut new, 1000);
            assert_eq!(new.finish().unwrap().entries, 1000);
            let error = NewDatabase::resume(&dir, options(), |_, _| Ok(())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            let database = Database::open(&dir, &ReadOptions::default()).unwrap();
            let mut cursor = database.cursor();
            cursor.seek_to_first().unwrap();
            for n in 0..1000 {
                assert_eq!(cursor.key(), format!("{n:05}").as_bytes());
                cursor.next().unwrap();
            }
            assert!(!cursor.valid());
            for info in database.tables() {
                database.verify_table(info).unwrap();
            }
        }
    }
}
