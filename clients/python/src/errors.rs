//! The store's errors as exceptions.
//!
//! The classes are Python's, in `cairndb._errors`, because each derives both from `cairndb.Error`
//! and from the built-in class that Python programs catch.

use std::error::Error as _;

use cairndb::{Error, ErrorKind};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyInt, PyMemoryView, PySlice, PyString};

static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Returns the exception for `error`: its class by the kind, its text, and the parts of it.
#[cold]
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    made(py, error).unwrap_or_else(|failure| failure)
}

fn made(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let make = MAKE.get_or_try_init(py, || -> PyResult<Py<PyAny>> {
        Ok(py.import("cairndb._errors")?.getattr("make")?.unbind())
    })?;
    let exception = make.bind(py).call1((
        name(error.kind()),
        error.to_string(),
        errno(error),
        error.file_name(),
        error.file_offset(),
        error.key_bytes().map(|key| PyBytes::new(py, key)),
    ))?;
    Ok(PyErr::from_value(exception))
}

/// Returns the number of the system's error that caused this one.
pub(crate) fn errno(error: &Error) -> Option<i32> {
    let cause = error.source()?.downcast_ref::<std::io::Error>()?;
    cause.raw_os_error()
}

/// Returns the name by which `cairndb._errors` knows a kind.
pub(crate) fn name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Io => "io",
        ErrorKind::Corruption => "corruption",
        ErrorKind::InvalidArgument => "invalid argument",
        ErrorKind::NotSupported => "not supported",
        ErrorKind::NoSpace => "no space",
        ErrorKind::Conflict => "conflict",
        ErrorKind::Locked => "locked",
        ErrorKind::Closed => "closed",
        ErrorKind::Poisoned => "poisoned",
        ErrorKind::Forked => "forked",
        ErrorKind::FormatTooNew => "format too new",
        ErrorKind::ReadOnly => "read-only",
        ErrorKind::NotFound => "not found",
        ErrorKind::Interrupted => "interrupted",
        ErrorKind::Revoked => "revoked",
        _ => "other",
    }
}

/// Returns a `TypeError` for an argument that is not bytes-like.
#[cold]
pub(crate) fn not_bytes(value: &Bound<'_, PyAny>) -> PyErr {
    let kind = value.get_type();
    let kind = kind.name();
    let kind = kind.map_or_else(|_| "object".to_owned(), |name| name.to_string());
    let help = if value.is_instance_of::<PyString>() {
        ": pass text.encode()"
    } else if value.is_instance_of::<PyInt>() {
        ": pass number.to_bytes(8, 'big'), which sorts by value"
    } else if value.call_method0("__index__").is_ok() {
        ": pass int(number).to_bytes(8, 'big'), which sorts by value"
    } else if value.is_instance_of::<PySlice>() {
        ": range(start, stop) returns the entries between two keys"
    } else if value
        .getattr("ndim")
        .is_ok_and(|number| number.eq(0).unwrap_or(false))
    {
        ": pass struct.pack('>d', number), or its bytes in an order that sorts by value"
    } else if PyMemoryView::from(value).is_ok() {
        " whose items are not single bytes: pass memoryview(data).tobytes(), in the machine's order"
    } else {
        ""
    };
    PyTypeError::new_err(format!(
        "a bytes-like object is required, not '{kind}'{help}"
    ))
}

/// Returns the error for a lock whose holder panicked.
#[cold]
pub(crate) fn broken_lock() -> PyErr {
    PyRuntimeError::new_err("an earlier call with this object panicked")
}
