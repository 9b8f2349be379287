//! `plyvel.RawIterator`: LevelDB's iterator as it is.

use std::sync::{Arc, Mutex};

use cairndb::Cursor;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;

use crate::errors::broken_lock;
use crate::handle::Handle;
use crate::plyvel::{OpenCursor, check_process};
use crate::reader::Reader;

/// An iterator that stands on an entry, or is not valid.
#[pyclass(frozen, weakref, name = "RawIterator", module = "plyvel._plyvel")]
pub(crate) struct PlyvelRawIterator {
    handle: Arc<Handle>,
    cursor: Mutex<OpenCursor>,
}

impl PlyvelRawIterator {
    fn with<T>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut OpenCursor) -> PyResult<T>,
    ) -> PyResult<T> {
        // In a forked child nobody may wait for the lock, as in `PlyvelIterator::lock`.
        check_process(py, &self.handle)?;
        let mut cursor = self
            .cursor
            .lock_py_attached(py)
            .map_err(|_| broken_lock())?;
        call(&mut cursor)
    }

    /// Calls `call` if the iterator is on an entry.
    fn at_entry<T>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut OpenCursor) -> PyResult<T>,
    ) -> PyResult<T> {
        let called = self.with(py, |cursor| {
            let valid = cursor.get(py)?.valid();
            valid.then(|| call(cursor)).transpose()
        })?;
        if let Some(called) = called {
            return Ok(called);
        }
        // Made now that the iterator is unlocked: that may start a garbage collection, which runs
        // other code, and that may use the iterator.
        let kind = py
            .import("cairndb._plyvel")?
            .getattr("IteratorInvalidError")?;
        Err(PyErr::from_value(kind.call0()?))
    }
}

#[pymethods]
impl PlyvelRawIterator {
    #[new]
    fn new(py: Python<'_>, reader: Bound<'_, Reader>) -> PyResult<PlyvelRawIterator> {
        let reader = reader.get();
        let cursor = reader.cursor(py)?;
        Ok(PlyvelRawIterator {
            handle: Arc::clone(reader.handle()),
            cursor: Mutex::new(OpenCursor::new(reader.handle(), cursor)),
        })
    }

    /// Returns whether the iterator is on an entry.
    fn valid(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |cursor| Ok(cursor.get(py)?.valid()))
    }

    /// Moves to the first entry.
    fn seek_to_first(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |cursor| {
            cursor.step(py, Cursor::seek_to_first).map(drop)
        })
    }

    /// Moves to the last entry.
    fn seek_to_last(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |cursor| cursor.step(py, Cursor::seek_to_last).map(drop))
    }

    /// Moves to the first entry at or after `target`.
    fn seek(&self, py: Python<'_>, target: Bound<'_, PyBytes>) -> PyResult<()> {
        let target = target.as_bytes();
        self.with(py, |cursor| {
            cursor.step(py, |cursor| cursor.seek(target)).map(drop)
        })
    }

    /// Moves to the next entry.
    fn next(&self, py: Python<'_>) -> PyResult<()> {
        self.at_entry(py, |cursor| cursor.step(py, Cursor::next).map(drop))
    }

    /// Moves to the previous entry.
    fn prev(&self, py: Python<'_>) -> PyResult<()> {
        self.at_entry(py, |cursor| cursor.step(py, Cursor::prev).map(drop))
    }

    /// Returns the key of the entry.
    fn key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.at_entry(py, |cursor| Ok(PyBytes::new(py, cursor.get(py)?.key())))
    }

    /// Returns the value of the entry.
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.at_entry(py, |cursor| Ok(PyBytes::new(py, cursor.get(py)?.value())))
    }

    /// Returns the key and the value of the entry.
    fn item<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        Ok((self.key(py)?, self.value(py)?))
    }

    /// Releases the iterator. The next use raises `RuntimeError`.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.handle.db().is_err() {
            return Ok(());
        }
        self.with(py, |cursor| {
            cursor.cursor = None;
            Ok(())
        })
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: Bound<'_, PyAny>) -> PyResult<bool> {
        self.close(py)?;
        Ok(false)
    }
}
