//! Reading one value into a Python object.

mod view;

use std::cell::Cell;

use cairndb::{Keyspace, Result, Snapshot, Value};
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

/// What values are read from: a keyspace, at some time.
#[derive(Clone, Copy)]
pub(crate) struct ValueSource<'a> {
    pub(crate) keyspace: &'a Keyspace,
    pub(crate) view: ValueView<'a>,
}

/// The time of a read.
#[derive(Clone, Copy)]
pub(crate) enum ValueView<'a> {
    Now,
    Then(&'a Snapshot),
    Within(&'a OpenTransaction),
}

impl ValueSource<'_> {
    pub(crate) fn get(self, key: &[u8]) -> Result<Option<Value>> {
        let keyspace = self.keyspace;
        match self.view {
            ValueView::Now => keyspace.get(key),
            ValueView::Then(snapshot) => snapshot.get_in(keyspace, key),
            ValueView::Within(open) => open.with(|it| it.get_in(keyspace, key)),
        }
    }

    fn get_into(self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        let keyspace = self.keyspace;
        match self.view {
            ValueView::Now => keyspace.get_into(key, out),
            ValueView::Then(snapshot) => snapshot.get_into_in(keyspace, key, out),
            ValueView::Within(_) => {
                let value = self.get(key)?;
                out.clear();
                out.extend_from_slice(value.as_deref().unwrap_or_default());
                Ok(value.is_some())
            }
        }
    }

    pub(crate) fn contains(self, key: &[u8]) -> Result<bool> {
        let keyspace = self.keyspace;
        match self.view {
            ValueView::Now => keyspace.contains(key),
            ValueView::Then(snapshot) => snapshot.contains_in(keyspace, key),
            ValueView::Within(open) => open.with(|it| it.contains_in(keyspace, key)),
        }
    }

    pub(crate) fn multi_get(self, keys: &[&[u8]]) -> Result<Vec<Option<Value>>> {
        let keyspace = self.keyspace;
        match self.view {
            ValueView::Now => keyspace.multi_get(keys),
            ValueView::Then(snapshot) => snapshot.multi_get_in(keyspace, keys),
            ValueView::Within(open) => open.with(|it| it.multi_get_in(keyspace, keys)),
        }
    }

    /// Returns a cursor, but `None` for a transaction, whose cursors borrow it.
    ///
    /// # Errors
    /// Those of `Snapshot::cursor_in`.
    pub(crate) fn cursor(self) -> Result<Option<cairndb::Cursor>> {
        match self.view {
            ValueView::Now => Ok(Some(self.keyspace.cursor())),
            ValueView::Then(snapshot) => snapshot.cursor_in(self.keyspace).map(Some),
            ValueView::Within(_) => Ok(None),
        }
    }

    /// Returns the first or the last entry.
    pub(crate) fn entry_at(self, end: RangeEnd) -> Result<Option<Entry>> {
        let keyspace = self.keyspace;
        match self.view {
            ValueView::Now => end.of(keyspace.iter()),
            ValueView::Then(snapshot) => end.of(snapshot.range_in(keyspace, ..)?),
            ValueView::Within(open) => open.with(|it| end.of(it.range_in(keyspace, ..)?)),
        }
    }
}

/// One end of the keys.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RangeEnd {
    First,
    Last,
}

impl RangeEnd {
    pub(crate) fn of(
        self,
        mut entries: impl DoubleEndedIterator<Item = Result<Entry>>,
    ) -> Result<Option<Entry>> {
        let entry = match self {
            RangeEnd::First => entries.next(),
            RangeEnd::Last => entries.next_back(),
        };
        entry.transpose()
    }
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
