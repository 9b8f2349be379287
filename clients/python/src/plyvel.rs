//! The iterators of plyvel, whose other classes are Python's, in `cairndb._plyvel`.
//!
//! plyvel's iterators stand between entries and move both ways, so a step is a move of the cursor
//! rather than an entry of a chunk.

mod iterator;
mod raw;

use std::sync::Arc;

use cairndb::{Cursor, Error, ErrorKind, Result};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

pub(crate) use iterator::PlyvelIterator;
pub(crate) use raw::PlyvelRawIterator;

use crate::boundary::guarded;
use crate::errors::name;
use crate::handle::Handle;

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Returns the exception that plyvel raises for `error`.
#[cold]
fn raised(py: Python<'_>, error: &Error) -> PyErr {
    if error.kind() == ErrorKind::Closed {
        return closed();
    }
    let make = MAKE.get_or_try_init(py, || -> PyResult<Py<PyAny>> {
        Ok(py
            .import("cairndb._plyvel")?
            .getattr("make_error")?
            .unbind())
    });
    let exception =
        make.and_then(|make| make.bind(py).call1((name(error.kind()), error.to_string())));
    exception.map_or_else(|failure| failure, PyErr::from_value)
}

/// Returns the exception for an iterator that was closed, or whose database was.
#[cold]
fn closed() -> PyErr {
    PyRuntimeError::new_err("Database or iterator is closed")
}

/// Returns an error in a forked child.
#[inline]
fn check_process(py: Python<'_>, handle: &Handle) -> PyResult<()> {
    match handle.db() {
        Ok(_) => Ok(()),
        Err(error) => Err(raised(py, &error)),
    }
}

/// A cursor of a database, until the iterator is closed.
struct OpenCursor {
    handle: Arc<Handle>,
    cursor: Option<Cursor>,
}

impl OpenCursor {
    fn new(handle: &Arc<Handle>, cursor: Cursor) -> OpenCursor {
        OpenCursor {
            handle: Arc::clone(handle),
            cursor: Some(cursor),
        }
    }

    /// Returns the cursor.
    ///
    /// # Errors
    /// `RuntimeError` after a close of the iterator or the database; `IOError` in a forked child.
    #[inline]
    fn get(&mut self, py: Python<'_>) -> PyResult<&mut Cursor> {
        if self.handle.is_closed() {
            return Err(closed());
        }
        check_process(py, &self.handle)?;
        self.cursor.as_mut().ok_or_else(closed)
    }

    /// Moves the cursor, without the interpreter's lock.
    #[inline]
    fn step(
        &mut self,
        py: Python<'_>,
        step: impl FnOnce(&mut Cursor) -> Result<()> + Send,
    ) -> PyResult<&mut Cursor> {
        let cursor = self.get(py)?;
        match py.detach(|| guarded(|| step(cursor))) {
            Ok(()) => Ok(cursor),
            Err(error) => Err(raised(py, &error)),
        }
    }
}
