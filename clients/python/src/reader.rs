//! Reads: of the database as it is, of a snapshot, or of what a transaction sees.

mod point;
mod range;

use std::sync::Arc;

use cairndb::{Cursor, Keyspace, Snapshot};
pub(crate) use point::Moment;
use point::ReadPoint;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMemoryView};
pub(crate) use range::Range;
use range::{Limits, limit_of, owned};

use crate::arguments::Bytes;
use crate::boundary::detached;
use crate::errors::raised;
use crate::handle::Handle;
use crate::scan::{Bounds, Scan, What};
use crate::values::{Entry, RangeEnd, ValueSource, ValueView, read, touch, view_of};

/// Keys of a `multi_get` that are read between two looks for a signal.
const KEYS_AT_ONCE: usize = 1000;

/// The reads that a database, a snapshot and a transaction have in common.
#[pyclass(frozen, subclass, module = "cairndb._cairndb")]
#[derive(Debug)]
pub(crate) struct Reader {
    point: Arc<ReadPoint>,
}

impl Reader {
    pub(crate) fn new(handle: Arc<Handle>, keyspace: Keyspace, moment: Moment) -> Reader {
        let point = Arc::new(ReadPoint::new(handle, keyspace, moment));
        Reader { point }
    }

    /// Returns the reads of the keyspace `name`, at the same time.
    ///
    /// # Errors
    /// `Forked`, `Closed`; those of `Db::keyspace`.
    pub(crate) fn within(&self, py: Python<'_>, name: &str) -> PyResult<Reader> {
        let (handle, moment) = (Arc::clone(self.handle()), self.point.moment().clone());
        let keyspace = detached(py, || handle.open_db()?.keyspace(name))?;
        Ok(Reader::new(handle, keyspace, moment))
    }

    #[inline]
    pub(crate) fn keyspace(&self) -> &Keyspace {
        self.point.keyspace()
    }

    #[inline]
    pub(crate) fn handle(&self) -> &Arc<Handle> {
        self.point.handle()
    }

    /// Returns the snapshot that is read.
    ///
    /// # Errors
    /// `Forked`, `Closed`.
    pub(crate) fn snapshot(&self, py: Python<'_>) -> PyResult<Arc<Snapshot>> {
        let found = self.handle().open_db().and_then(|_| self.point.snapshot());
        found.map_err(|error| raised(py, &error))
    }

    /// Releases the snapshot.
    pub(crate) fn release(&self) {
        self.point.release();
    }

    /// Passes the source of the reads to `read`.
    ///
    /// # Errors
    /// Those of [`ReadPoint::with`].
    #[inline]
    pub(crate) fn with<T>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(ValueSource<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        self.point.with(py, read)
    }

    /// Returns a cursor over a database or a snapshot.
    ///
    /// # Errors
    /// Those of [`ReadPoint::with`].
    pub(crate) fn cursor(&self, py: Python<'_>) -> PyResult<Cursor> {
        self.point.cursor(py)
    }

    /// Returns whether the reads are of a transaction that has ended. Not in a forked child.
    pub(crate) fn has_ended(&self, py: Python<'_>) -> bool {
        self.point.has_ended(py)
    }

    fn scan(&self, py: Python<'_>, what: What, reverse: bool) -> PyResult<Scan> {
        let bounds = Bounds::new(self.keyspace().order(), None, None, None, reverse, None);
        self.point.scan(py, bounds, what)
    }

    fn entry_at<'py>(&self, py: Python<'py>, end: RangeEnd) -> PyResult<Option<Bound<'py, PyAny>>> {
        let entry = self.with(py, |source| detached(py, || source.entry_at(end)));
        pair(py, entry?)
    }
}

/// Returns an entry as a pair of `bytes`.
pub(crate) fn pair(py: Python<'_>, entry: Option<Entry>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let pair = entry.map(|(key, value)| {
        let pair = (PyBytes::new(py, &key), PyBytes::new(py, &value));
        pair.into_pyobject(py).map(Bound::into_any)
    });
    pair.transpose()
}

#[pymethods]
impl Reader {
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: Bytes<'_, 'py>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        match self.with(py, |source| read(py, source, &key))? {
            Some(value) => Ok(value),
            None => Err(PyKeyError::new_err((PyBytes::new(py, &key).unbind(),))),
        }
    }

    fn __contains__(&self, py: Python<'_>, key: Bytes<'_, '_>) -> PyResult<bool> {
        let key = &*key;
        self.with(py, |source| detached(py, || source.contains(key)))
    }

    /// Returns the value of `key`, or `default`.
    ///
    /// >>> db[b"granite"] = b"grey"
    /// >>> db.get(b"granite"), db.get(b"opal"), db.get(b"opal", b"?")
    /// (b'grey', None, b'?')
    #[pyo3(signature = (key, /, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: Bytes<'_, 'py>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.with(py, |source| read(py, source, &key))?;
        Ok(value.map(Bound::into_any).or(default))
    }

    /// Returns the value of `key` as a read-only `memoryview`, or `default`.
    ///
    /// Nothing is copied: the view refers to the memory that the store has read the value into or,
    /// for a large value that is stored uncompressed, to the mapped file. The view stays valid when
    /// the key is overwritten and the database closed; as long as it lives, the file takes its
    /// space.
    ///
    /// >>> db[b"photo"] = bytes(1_000_000)
    /// >>> view = db.get_view(b"photo")
    /// >>> len(view), view[:3].tobytes()
    /// (1000000, b'\x00\x00\x00')
    #[pyo3(signature = (key, default=None))]
    fn get_view<'py>(
        &self,
        py: Python<'py>,
        key: Bytes<'_, 'py>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let key = &*key;
        let value = self.with(py, |source| detached(py, || source.get(key)))?;
        let view = value.map(|value| view_of(py, value)).transpose()?;
        Ok(view.map(Bound::<PyMemoryView>::into_any).or(default))
    }

    /// Returns the values of `keys` as a list, all as of the same moment, with `default` for absent
    /// ones.
    ///
    /// One call for many keys is faster than a call for each.
    ///
    /// >>> db.update({b"a": b"1", b"b": b"2"})
    /// >>> db.multi_get([b"a", b"x", b"b"])
    /// [b'1', None, b'2']
    #[pyo3(signature = (keys, default=None))]
    fn multi_get<'py>(
        &self,
        py: Python<'py>,
        keys: Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let keys: Vec<Bound<'_, PyAny>> = keys.try_iter()?.collect::<PyResult<_>>()?;
        let keys: Vec<Bytes<'_, '_>> = keys
            .iter()
            .map(PyAnyMethods::extract)
            .collect::<PyResult<_>>()?;
        let keys: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
        let default = default.unwrap_or_else(|| py.None().into_bound(py));
        let mut values = Vec::with_capacity(keys.len());
        self.with(py, |source| {
            let handle = &**self.handle();
            let snapshot = match source.view {
                ValueView::Now if keys.len() > KEYS_AT_ONCE => {
                    Some(detached(py, || Ok(handle.db()?.snapshot()))?)
                }
                _ => None,
            };
            let view = snapshot.as_ref().map_or(source.view, ValueView::Then);
            let source = ValueSource { view, ..source };
            let mut left = &keys[..];
            loop {
                let (now, later) = left.split_at(left.len().min(KEYS_AT_ONCE));
                let found = detached(py, || {
                    let found = source.multi_get(now)?;
                    found.iter().flatten().for_each(|value| touch(value));
                    Ok(found)
                })?;
                values.extend(found.into_iter().map(|value| match value {
                    Some(value) => PyBytes::new(py, &value).into_any(),
                    None => default.clone(),
                }));
                if later.is_empty() {
                    return Ok(());
                }
                py.check_signals()?;
                left = later;
            }
        })?;
        PyList::new(py, values)
    }

    /// Returns the first entry as a pair, or None if there is none.
    ///
    /// >>> db.update({b"a": b"1", b"b": b"2"})
    /// >>> db.first(), db.last()
    /// ((b'a', b'1'), (b'b', b'2'))
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.entry_at(py, RangeEnd::First)
    }

    /// Returns the last entry as a pair, or None if there is none.
    fn last<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.entry_at(py, RangeEnd::Last)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let first = self.with(py, |source| {
            detached(py, || source.entry_at(RangeEnd::First))
        });
        Ok(first?.is_some())
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Scan> {
        self.scan(py, What::Keys, false)
    }

    /// Iterates over everything. `what` is 0 for keys, 1 for values, 2 for both.
    #[pyo3(signature = (what, reverse=false))]
    fn _scan(&self, py: Python<'_>, what: u8, reverse: bool) -> PyResult<Scan> {
        self.scan(py, What::from_code(what), reverse)
    }

    /// Returns the entries from key `start`, included, to key `stop`, excluded.
    ///
    /// Without `start` or `stop` the range has no bound there. With `reverse` it begins at the
    /// other end, and with `limit` it has that many entries at most.
    ///
    /// >>> db.update({b"a": b"1", b"b": b"2", b"c": b"3"})
    /// >>> list(db.range(b"b"))
    /// [(b'b', b'2'), (b'c', b'3')]
    /// >>> list(db.range(stop=b"c", reverse=True, limit=1))
    /// [(b'b', b'2')]
    #[pyo3(signature = (start=None, stop=None, *, reverse=false, limit=None))]
    fn range(
        &self,
        start: Option<Bytes<'_, '_>>,
        stop: Option<Bytes<'_, '_>>,
        reverse: bool,
        limit: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Range> {
        let limits = Limits {
            start: owned(start),
            stop: owned(stop),
            prefix: None,
            reverse,
            limit: limit_of(limit)?,
        };
        Ok(Range::new(&self.point, limits))
    }

    /// Returns the entries whose keys start with `prefix`.
    ///
    /// >>> db.update({b"user/ada": b"1815", b"user/alan": b"1912", b"visits": b"2"})
    /// >>> [key for key in db.prefix(b"user/").keys()]
    /// [b'user/ada', b'user/alan']
    #[pyo3(signature = (prefix, *, reverse=false, limit=None))]
    fn prefix(
        &self,
        prefix: Bytes<'_, '_>,
        reverse: bool,
        limit: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Range> {
        let limits = Limits {
            prefix: Some(prefix.to_vec()),
            reverse,
            limit: limit_of(limit)?,
            ..Limits::default()
        };
        Ok(Range::new(&self.point, limits))
    }

    /// Whether the database or the snapshot was closed, or the transaction has ended.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.point.is_closed(py)
    }

    /// The directory of the database, as it was given.
    #[getter]
    fn path(&self) -> std::ffi::OsString {
        self.handle().path().as_os_str().to_owned()
    }
}
