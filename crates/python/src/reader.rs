//! Reads: of the database as it is, of a snapshot, or of what a transaction sees.

use std::sync::{Arc, Mutex, PoisonError};

use cairndb::{Cursor, Error, ErrorKind, Result, Snapshot};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMemoryView};

use crate::arguments::Bytes;
use crate::boundary::detached;
use crate::errors::raised;
use crate::handle::Handle;
use crate::handle::transaction::OpenTransaction;
use crate::scan::{Bounds, Scan, What};
use crate::values::{End, Entry, Source, read, touch, view_of};

/// What reads are about.
#[derive(Debug)]
pub(crate) enum Moment {
    /// The database as it is.
    Now,
    /// A snapshot; `None` once it was released.
    Then(Mutex<Option<Arc<Snapshot>>>),
    /// What a transaction sees.
    Within(Arc<OpenTransaction>),
}

/// The reads that a database, a snapshot and a transaction have in common.
#[pyclass(frozen, subclass, module = "cairndb._cairndb")]
#[derive(Debug)]
pub(crate) struct Reader {
    handle: Arc<Handle>,
    moment: Moment,
}

impl Reader {
    pub(crate) fn new(handle: Arc<Handle>, moment: Moment) -> Reader {
        Reader { handle, moment }
    }

    #[inline]
    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// Releases the snapshot.
    pub(crate) fn release(&self) {
        if let Moment::Then(snapshot) = &self.moment {
            let snapshot = snapshot
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            drop(snapshot);
        }
    }

    /// Passes the source of the reads to `read`.
    ///
    /// # Errors
    /// `Forked`; `Closed` if the snapshot was released; those of `read`.
    #[inline]
    pub(crate) fn with<T>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(Source<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        let db = self.handle.db().map_err(|error| raised(py, &error))?;
        match &self.moment {
            Moment::Now => read(Source::Now(db)),
            Moment::Then(snapshot) => {
                let snapshot = live(snapshot).map_err(|error| raised(py, &error))?;
                read(Source::Then(&snapshot))
            }
            Moment::Within(transaction) => read(Source::Within(transaction)),
        }
    }

    /// Returns a cursor over a database or a snapshot.
    ///
    /// # Errors
    /// Those of [`Reader::with`].
    pub(crate) fn cursor(&self, py: Python<'_>) -> PyResult<Cursor> {
        let none = || PyTypeError::new_err("a database or a snapshot is required");
        self.with(py, |source| source.cursor().ok_or_else(none))
    }

    fn entry_at<'py>(&self, py: Python<'py>, end: End) -> PyResult<Option<Bound<'py, PyAny>>> {
        let entry = self.with(py, |source| detached(py, || source.entry_at(end)));
        pair(py, entry?)
    }

    fn scan(&self, py: Python<'_>, bounds: Bounds, what: What) -> PyResult<Scan> {
        self.handle.open_db().map_err(|error| raised(py, &error))?;
        if let Moment::Within(transaction) = &self.moment {
            return Ok(Scan::within(&self.handle, transaction, bounds, what));
        }
        Ok(Scan::new(&self.handle, self.cursor(py)?, bounds, what))
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

fn live(snapshot: &Mutex<Option<Arc<Snapshot>>>) -> Result<Arc<Snapshot>> {
    // Never held across a call, so waiting for it is short.
    let snapshot = snapshot.lock().unwrap_or_else(PoisonError::into_inner);
    let released = || Error::new(ErrorKind::Closed, "the snapshot was closed");
    snapshot.clone().ok_or_else(released)
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
    /// ```text
    /// >>> db[b"granite"] = b"grey"
    /// >>> db.get(b"granite"), db.get(b"opal"), db.get(b"opal", b"?")
    /// (b'grey', None, b'?')
    ///
    /// ```
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
    /// ```text
    /// >>> db[b"photo"] = bytes(1_000_000)
    /// >>> view = db.get_view(b"photo")
    /// >>> len(view), view[:3].tobytes()
    /// (1000000, b'\x00\x00\x00')
    ///
    /// ```
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
    /// ```text
    /// >>> db.update({b"a": b"1", b"b": b"2"})
    /// >>> db.multi_get([b"a", b"x", b"b"])
    /// [b'1', None, b'2']
    ///
    /// ```
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
        let values = self.with(py, |source| {
            detached(py, || {
                let values = source.multi_get(&keys)?;
                values.iter().flatten().for_each(|value| touch(value));
                Ok(values)
            })
        })?;
        let default = default.unwrap_or_else(|| py.None().into_bound(py));
        let values = values.into_iter().map(|value| match value {
            Some(value) => PyBytes::new(py, &value).into_any(),
            None => default.clone(),
        });
        PyList::new(py, values.collect::<Vec<_>>())
    }

    /// Returns the first entry as a pair, or None if there is none.
    ///
    /// ```text
    /// >>> db.update({b"a": b"1", b"b": b"2"})
    /// >>> db.first(), db.last()
    /// ((b'a', b'1'), (b'b', b'2'))
    ///
    /// ```
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.entry_at(py, End::First)
    }

    /// Returns the last entry as a pair, or None if there is none.
    fn last<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.entry_at(py, End::Last)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let first = self.with(py, |source| detached(py, || source.entry_at(End::First)));
        Ok(first?.is_some())
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Scan> {
        self.scan(py, Bounds::all(), What::Keys)
    }

    /// Iterates over a range. `what` is 0 for keys, 1 for values, 2 for both.
    #[pyo3(signature = (what, start=None, stop=None, prefix=None, reverse=false, limit=None))]
    fn _scan(
        &self,
        py: Python<'_>,
        what: u8,
        start: Option<Bytes<'_, '_>>,
        stop: Option<Bytes<'_, '_>>,
        prefix: Option<Bytes<'_, '_>>,
        reverse: bool,
        limit: Option<u64>,
    ) -> PyResult<Scan> {
        let start = start.as_deref().map(<[u8]>::to_vec);
        let stop = stop.as_deref().map(<[u8]>::to_vec);
        let bounds = Bounds::new(
            self.handle.order(),
            start,
            stop,
            prefix.as_deref(),
            reverse,
            limit,
        );
        self.scan(py, bounds, What::from_code(what))
    }

    /// Whether the database or the snapshot was closed, or the transaction has ended.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        let released = match &self.moment {
            Moment::Now => false,
            Moment::Then(snapshot) => live(snapshot).is_err(),
            Moment::Within(transaction) => py.detach(|| transaction.has_ended()),
        };
        released || self.handle.is_closed()
    }

    /// The directory of the database, as it was given.
    #[getter]
    fn path(&self) -> std::ffi::OsString {
        self.handle.path().as_os_str().to_owned()
    }
}
