//! The store over an embedded database: every method forwards to the one of `cairndb` that does it.
//!
//! The database checks its own limits; here they are checked first only where the kind of error
//! differs. Keys of a database with its own comparator are in the order of that comparator.

use cairndb::{Db, Value, WriteOptions};

use crate::batch::Batch;
use crate::entries::Entries;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{Engine, Limits};
use crate::options::CallOptions;
use crate::read::{Read, Snapshot};
use crate::scan::{Direction, Scan};
use crate::store::{ATTEMPTS_MAX, Store};
use crate::transaction::{OpenTransaction, Transaction};

static ENGINE: Engine = Engine::embedded("file");
const LIMITS: Limits = Limits::embedded();

fn write_options(options: &CallOptions) -> WriteOptions {
    match options.get_durability() {
        Some(durability) => WriteOptions::new().durability(durability),
        None => WriteOptions::new(),
    }
}

fn values(found: cairndb::Result<Vec<Option<Value>>>) -> Result<Vec<Option<Value>>> {
    Ok(found?)
}

/// Converts the error of a write. A handle is poisoned when a sync has failed, and it is unknown
/// whether the write whose sync it was is on disk.
#[cold]
fn write_error(error: cairndb::Error) -> Error {
    match error.kind() {
        cairndb::ErrorKind::Poisoned => unknown(error),
        _ => Error::from(error),
    }
}

#[cold]
fn unknown(error: cairndb::Error) -> Error {
    Error::from(error).with_kind(ErrorKind::OutcomeUnknown)
}

#[inline]
fn written<T>(result: cairndb::Result<T>) -> Result<T> {
    result.map_err(write_error)
}

/// Makes the entries of a scan from an iterator over its range.
fn entries<'a, I>(iter: I, scan: &Scan) -> Entries<'a>
where
    I: DoubleEndedIterator<Item = cairndb::Result<(Value, Value)>> + 'a,
{
    let limit = usize::try_from(scan.get_limit()).unwrap_or(usize::MAX);
    let convert = |entry: cairndb::Result<(Value, Value)>| entry.map_err(Error::from);
    match (scan.direction(), limit) {
        (Direction::Ascending, usize::MAX) => Entries::new(iter.map(convert)),
        (Direction::Ascending, limit) => Entries::new(iter.map(convert).take(limit)),
        (Direction::Descending, limit) => Entries::new(iter.rev().map(convert).take(limit)),
    }
}

macro_rules! reads {
    ($reader:ty) => {
        impl Read for $reader {
            #[inline]
            fn get_with(&self, key: &[u8], _: &CallOptions) -> Result<Option<Value>> {
                Ok(<$reader>::get(self, key)?)
            }
            fn multi_get_with(
                &self,
                keys: &[&[u8]],
                _: &CallOptions,
            ) -> Result<Vec<Option<Value>>> {
                values(<$reader>::multi_get(self, keys))
            }
            fn scan_with(&self, scan: &Scan, _: &CallOptions) -> Result<Entries<'_>> {
                Ok(entries(self.range(scan.bounds()), scan))
            }
            fn contains(&self, key: &[u8]) -> Result<bool> {
                Ok(<$reader>::contains(self, key)?)
            }
        }
    };
}

reads!(Db);
reads!(cairndb::Snapshot);
reads!(cairndb::Transaction);

impl Snapshot for cairndb::Snapshot {}

impl Transaction for cairndb::Transaction {
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        LIMITS.check_entry(key, value)?;
        Ok(cairndb::Transaction::put(self, key, value)?)
    }

    fn delete(&self, key: &[u8]) -> Result<()> {
        LIMITS.check_key(key)?;
        Ok(cairndb::Transaction::delete(self, key)?)
    }
}

impl OpenTransaction for cairndb::Transaction {
    fn commit_with(self: Box<Self>, options: &CallOptions) -> Result<()> {
        written(cairndb::Transaction::commit_with(
            *self,
            &write_options(options),
        ))
    }

    fn rollback(self: Box<Self>) {
        cairndb::Transaction::rollback(*self);
    }
}

impl Store for Db {
    fn engine(&self) -> &Engine {
        &ENGINE
    }

    #[inline]
    fn put_with(&self, key: &[u8], value: &[u8], options: &CallOptions) -> Result<()> {
        LIMITS.check_entry(key, value)?;
        written(Db::put_with(self, key, value, &write_options(options)))
    }

    #[inline]
    fn delete_with(&self, key: &[u8], options: &CallOptions) -> Result<()> {
        LIMITS.check_key(key)?;
        written(Db::delete_with(self, key, &write_options(options)))
    }

    fn delete_range_with(&self, scan: &Scan, options: &CallOptions) -> Result<()> {
        LIMITS.check_range(scan)?;
        written(Db::delete_range_with(
            self,
            scan.bounds(),
            &write_options(options),
        ))
    }

    fn write_with(&self, batch: &Batch, options: &CallOptions) -> Result<()> {
        batch.check()?;
        if batch.is_empty() {
            // Only checks the handle. At `Sync` it would be a sync.
            let options = WriteOptions::new().durability(cairndb::Durability::None);
            return Ok(Db::write_with(self, batch.encoded(), &options)?);
        }
        written(Db::write_with(
            self,
            batch.encoded(),
            &write_options(options),
        ))
    }

    fn compare_and_set_with(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
        options: &CallOptions,
    ) -> Result<bool> {
        LIMITS.check_entry(key, new.unwrap_or_default())?;
        let done = written(Db::compare_and_set(self, key, expected, new))?;
        // The database has no durability for this call, but a sync gives the same guarantee.
        if done && options.get_durability() == Some(cairndb::Durability::Sync) {
            // Readers see the new value already.
            Db::sync(self).map_err(unknown)?;
        }
        Ok(done)
    }

    fn snapshot_with(&self, _: &CallOptions) -> Result<Box<dyn Snapshot>> {
        Ok(Box::new(Db::snapshot(self)))
    }

    fn begin_with(&self, _: &CallOptions) -> Result<Box<dyn OpenTransaction>> {
        Ok(Box::new(Db::transaction(self)))
    }

    fn sync(&self) -> Result<()> {
        Ok(Db::sync(self)?)
    }

    fn close(&self) -> Result<()> {
        Ok(Db::close(self)?)
    }

    fn run_with(
        &self,
        body: &mut dyn FnMut(&dyn Transaction) -> Result<()>,
        options: &CallOptions,
    ) -> Result<()> {
        if options.get_durability().is_some() {
            return run_durably(self, body, options);
        }
        let mut attempts = ATTEMPTS_MAX;
        loop {
            // `Db::transact` also waits for writes that conflict and cannot be seen yet.
            let mut refused = None;
            let committed = self.transact(|transaction| {
                body(transaction).map_err(|error| {
                    refused = Some(error);
                    cairndb::Error::invalid("the body of the transaction failed")
                })
            });
            attempts -= 1;
            match refused {
                // The body wants to run again.
                Some(error) if error.kind() == ErrorKind::Conflict && attempts > 0 => {}
                Some(error) => return Err(error),
                None => return written(committed),
            }
        }
    }
}

/// Runs a transaction whose commit has its own durability.
fn run_durably(
    db: &Db,
    body: &mut dyn FnMut(&dyn Transaction) -> Result<()>,
    options: &CallOptions,
) -> Result<()> {
    let mut attempts = ATTEMPTS_MAX;
    loop {
        let transaction = Db::transaction(db);
        let result = body(&transaction).and_then(|()| {
            let committed = transaction.commit_with(&write_options(options));
            committed.map_err(from_commit)
        });
        match result {
            Err(error) if error.kind() == ErrorKind::Conflict && attempts > 1 => {
                attempts -= 1;
                // The write that conflicts may wait for its sync, and cannot be seen before.
                Db::sync(db)?;
            }
            result => return result,
        }
    }
}

fn from_commit(error: cairndb::Error) -> Error {
    let error = write_error(error);
    match error.kind() {
        // The lengths of keys and values were checked when they were written.
        ErrorKind::InvalidArgument => error.with_kind(ErrorKind::LimitExceeded),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::{from_commit, written};
    use crate::error::{Error, ErrorKind};

    #[test]
    fn a_failed_sync_leaves_the_outcome_of_a_write_unknown() {
        let failed = |kind| cairndb::Error::new(kind, "a sync failed");
        let poisoned = cairndb::ErrorKind::Poisoned;
        let write = written::<()>(Err(failed(poisoned))).map_err(|error| error.kind());
        assert_eq!(write, Err(ErrorKind::OutcomeUnknown));
        assert_eq!(
            from_commit(failed(poisoned)).kind(),
            ErrorKind::OutcomeUnknown
        );
        // A read has no outcome, and a full disk changes nothing.
        assert_eq!(Error::from(failed(poisoned)).kind(), ErrorKind::Engine);
        let full = written::<()>(Err(failed(cairndb::ErrorKind::NoSpace)));
        assert_eq!(full.map_err(|error| error.kind()), Err(ErrorKind::Full));
    }
}
