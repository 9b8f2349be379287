//! Reads: of the database as it is, or of a snapshot.

use std::sync::{Arc, Mutex, PoisonError};

use cairndb::{Error, ErrorKind, Result, Snapshot};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMemoryView};

use crate::arguments::Bytes;
use crate::boundary::detached;
use crate::errors::raised;
use crate::handle::Handle;
use crate::scan::{Bounds, Scan, What};
use crate::values::{Source, read, touch, view_of};

/// What reads are about.
#[derive(Debug)]
pub(crate) enum Moment {
    /// The database as it is.
    Now,
    /// A snapshot; `None` once it was released.
    Then(Mutex<Option<Arc<Snapshot>>>),
}

/// The reads that a database and a snapshot have in common.
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
        }
    }
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

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |source| {
            detached(py, || {
                let mut cursor = source.cursor();
                cursor.seek_to_first()?;
                Ok(cursor.valid())
            })
        })
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Scan> {
        self.with(py, |source| {
            let cursor = source.cursor();
            Ok(Scan::new(&self.handle, cursor, Bounds::all(), What::Keys))
        })
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
        self.with(py, |source| {
            self.handle.open_db().map_err(|error| raised(py, &error))?;
            Ok(Scan::new(
                &self.handle,
                source.cursor(),
                bounds,
                What::from_code(what),
            ))
        })
    }

    /// Whether the database, or the snapshot, was closed.
    #[getter]
    fn closed(&self) -> bool {
        let released = match &self.moment {
            Moment::Now => false,
            Moment::Then(snapshot) => live(snapshot).is_err(),
        };
        released || self.handle.is_closed()
    }

    /// The directory of the database, as it was given.
    #[getter]
    fn path(&self) -> std::ffi::OsString {
        self.handle.path().as_os_str().to_owned()
    }
}
