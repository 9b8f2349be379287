//! One thread's session.

use std::fmt;

use bench_core::engine::Session;
use bench_core::fault::Fault;
use tidesdb::{ColumnFamily, IsolationLevel, TidesDB, Transaction};

use crate::calls::{drain, fault, retry};
use crate::cursor::TidesCursor;

/// The smallest key, because the library takes no empty ones.
const SMALLEST: &[u8] = &[0];

/// One thread's session.
pub struct TidesSession<'s> {
    database: &'s TidesDB,
    families: Vec<ColumnFamily<'s>>,
    /// Position of the selected column family.
    selected: usize,
    /// Never committed. Each of its reads sees the newest state.
    reads: Transaction<'s>,
    /// For single writes. Reset after each commit, as the authors' benchmark does.
    single: Transaction<'s>,
    batch: Option<Transaction<'s>>,
}

impl fmt::Debug for TidesSession<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TidesSession").finish_non_exhaustive()
    }
}

impl<'s> TidesSession<'s> {
    pub(crate) fn new(
        database: &'s TidesDB,
        families: Vec<ColumnFamily<'s>>,
    ) -> Result<Self, Fault> {
        Ok(Self {
            database,
            families,
            selected: 0,
            reads: database.begin_transaction().map_err(fault)?,
            single: database.begin_transaction().map_err(fault)?,
            batch: None,
        })
    }

    /// Commits the single write.
    #[inline]
    fn commit(&mut self) -> Result<(), Fault> {
        let transaction = &mut self.single;
        retry(|| transaction.commit()).map_err(fault)?;
        transaction
            .reset(IsolationLevel::ReadCommitted)
            .map_err(fault)
    }

    /// Returns the transaction of the batch, and the column family.
    #[inline]
    fn batch(&mut self) -> Result<(&Transaction<'s>, &ColumnFamily<'s>), Fault> {
        let batch = match self.batch.take() {
            Some(batch) => batch,
            None => self.database.begin_transaction().map_err(fault)?,
        };
        Ok((self.batch.insert(batch), &self.families[self.selected]))
    }
}

impl Session for TidesSession<'_> {
    type Cursor<'c>
        = TidesCursor<'c>
    where
        Self: 'c;

    #[inline]
    fn enter(&mut self, keyspace: u32) -> Result<(), Fault> {
        self.selected = keyspace as usize;
        Ok(())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let family = &self.families[self.selected];
        self.single.put(family, key, value).map_err(fault)?;
        self.commit()
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        let family = &self.families[self.selected];
        self.single.delete(family, key).map_err(fault)?;
        self.commit()
    }

    fn delete_range(&mut self, from: &[u8], to: &[u8]) -> Result<(), Fault> {
        let family = &self.families[self.selected];
        let from = if from.is_empty() { SMALLEST } else { from };
        self.single
            .delete_range(family, from, Some(to))
            .map_err(fault)?;
        self.commit()
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Fault> {
        let family = &self.families[self.selected];
        match retry(|| self.reads.get(family, key)) {
            Ok(value) => Ok(Some(found(&value))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(fault(error)),
        }
    }

    #[inline]
    fn batch_put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let (batch, family) = self.batch()?;
        batch.put(family, key, value).map_err(fault)
    }

    #[inline]
    fn batch_delete(&mut self, key: &[u8]) -> Result<(), Fault> {
        let (batch, family) = self.batch()?;
        batch.delete(family, key).map_err(fault)
    }

    fn batch_write(&mut self) -> Result<(), Fault> {
        let Some(mut batch) = self.batch.take() else {
            return Ok(());
        };
        retry(|| batch.commit()).map_err(fault)
    }

    /// Syncs the log of the memtable being filled, then waits for the full ones, whose logs that
    /// call does not sync, to become tables, which are synced.
    fn sync(&mut self) -> Result<(), Fault> {
        retry(|| self.database.sync_wal()).map_err(fault)?;
        drain(self.database);
        Ok(())
    }

    #[inline]
    fn cursor(&mut self) -> Result<TidesCursor<'_>, Fault> {
        let family = &self.families[self.selected];
        let iter = retry(|| self.reads.new_iterator(family)).map_err(fault)?;
        Ok(TidesCursor::new(iter))
    }
}
