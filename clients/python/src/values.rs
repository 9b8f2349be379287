//! Reading one value into a Python object.

mod view;

use std::cell::Cell;

use cairndb::{Db, Result, Snapshot, Transaction, Value};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

pub(crate) use view::view_of;

use crate::boundary::detached;
use crate::handle::transaction::OpenTransaction;

/// Values up to this length are read into the thread's buffer and copied from there into the
/// `bytes` object: cheaper than an allocation for each. A longer value is copied once, from where
/// it lies.
const BUFFERED_BYTES_MAX: usize = 16 << 10;

/// Bytes of a page of memory, of which one is read to bring the page in.
const PAGE_BYTES: usize = 4096;

thread_local! {
    /// The buffer of the thread.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// Length of the last value that the thread has read.
    static LAST_BYTES: Cell<usize> = const { Cell::new(0) };
}

/// What values are read from.
#[derive(Clone, Copy)]
pub(crate) enum ValueSource<'a> {
    Now(&'a Db),
    Then(&'a Snapshot),
    Within(&'a OpenTransaction),
}

impl ValueSource<'_> {
    pub(crate) fn get(self, key: &[u8]) -> Result<Option<Value>> {
        match self {
            ValueSource::Now(db) => db.get(key),
            ValueSource::Then(snapshot) => snapshot.get(key),
            ValueSource::Within(open) => open.with(|transaction| transaction.get(key)),
        }
    }

    fn get_into(self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        match self {
            ValueSource::Now(db) => db.get_into(key, out),
            ValueSource::Then(snapshot) => snapshot.get_into(key, out),
            ValueSource::Within(_) => {
                let value = self.get(key)?;
                out.clear();
                out.extend_from_slice(value.as_deref().unwrap_or_default());
                Ok(value.is_some())
            }
        }
    }

    pub(crate) fn contains(self, key: &[u8]) -> Result<bool> {
        match self {
            ValueSource::Now(db) => db.contains(key),
            ValueSource::Then(snapshot) => snapshot.contains(key),
            ValueSource::Within(open) => open.with(|transaction| transaction.contains(key)),
        }
    }

    pub(crate) fn multi_get(self, keys: &[&[u8]]) -> Result<Vec<Option<Value>>> {
        match self {
            ValueSource::Now(db) => db.multi_get(keys),
            ValueSource::Then(snapshot) => snapshot.multi_get(keys),
            ValueSource::Within(open) => open.with(|transaction| transaction.multi_get(keys)),
        }
    }

    /// Returns a cursor, but `None` for a transaction, whose cursors borrow it.
    pub(crate) fn cursor(self) -> Option<cairndb::Cursor> {
        match self {
            ValueSource::Now(db) => Some(db.cursor()),
            ValueSource::Then(snapshot) => Some(snapshot.cursor()),
            ValueSource::Within(_) => None,
        }
    }

    /// Returns the first or the last entry.
    pub(crate) fn entry_at(self, end: RangeEnd) -> Result<Option<Entry>> {
        match (self, end) {
            (ValueSource::Now(db), RangeEnd::First) => db.first(),
            (ValueSource::Now(db), RangeEnd::Last) => db.last(),
            (ValueSource::Then(snapshot), RangeEnd::First) => snapshot.first(),
            (ValueSource::Then(snapshot), RangeEnd::Last) => snapshot.last(),
            (ValueSource::Within(open), RangeEnd::First) => open.with(Transaction::first),
            (ValueSource::Within(open), RangeEnd::Last) => open.with(Transaction::last),
        }
    }
}

/// One end of the keys.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RangeEnd {
    First,
    Last,
}

/// A key and its value.
pub(crate) type Entry = (Value, Value);

/// Reads the value of `key` as `bytes`.
#[inline]
pub(crate) fn read<'py>(
    py: Python<'py>,
    source: ValueSource<'_>,
    key: &[u8],
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    if LAST_BYTES.get() > BUFFERED_BYTES_MAX {
        return read_long(py, source, key);
    }
    let mut buffer = BUFFER.take();
    let found = detached(py, || source.get_into(key, &mut buffer));
    let value = found.map(|found| found.then(|| PyBytes::new(py, &buffer)));
    LAST_BYTES.set(buffer.len());
    if buffer.capacity() <= 2 * BUFFERED_BYTES_MAX {
        BUFFER.set(buffer);
    }
    value
}

fn read_long<'py>(
    py: Python<'py>,
    source: ValueSource<'_>,
    key: &[u8],
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let value = detached(py, || {
        let value = source.get(key)?;
        if let Some(value) = &value {
            touch(value);
        }
        Ok(value)
    })?;
    LAST_BYTES.set(value.as_ref().map_or(0, |value| value.len()));
    Ok(value.map(|value| PyBytes::new(py, &value)))
}

/// Reads a byte of each page of a value, which may lie in a mapped file: what is not in memory is
/// read from the disk now, while other Python threads run.
pub(crate) fn touch(value: &[u8]) {
    for page in value.chunks(PAGE_BYTES) {
        std::hint::black_box(page.first());
    }
}
