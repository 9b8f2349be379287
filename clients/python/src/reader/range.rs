//! A part of a database: bounds that are iterated later.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::Bytes;
use crate::reader::point::ReadPoint;
use crate::scan::{Bounds, Scan, What};

/// The arguments of `range` or `prefix`.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(crate) start: Option<Vec<u8>>,
    pub(crate) stop: Option<Vec<u8>>,
    pub(crate) prefix: Option<Vec<u8>>,
    pub(crate) reverse: bool,
    pub(crate) limit: Option<u64>,
}

/// Returns the number of entries that `limit` allows.
///
/// # Errors
/// `ValueError` if it is negative, `TypeError` if it is no number.
pub(crate) fn limit_of(limit: Option<Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let Some(limit) = limit else {
        return Ok(None);
    };
    if limit.lt(0)? {
        let message = format!("limit is a number of entries, not {limit}");
        return Err(PyValueError::new_err(message));
    }
    limit.extract().map(Some)
}

/// Copies the bytes of an argument.
pub(crate) fn owned(bytes: Option<Bytes<'_, '_>>) -> Option<Vec<u8>> {
    bytes.as_deref().map(<[u8]>::to_vec)
}

/// A part of a database: an iterable of `(key, value)` pairs, in order.
///
/// Returned by `range` and `prefix` of a database, a snapshot or a transaction. A range reads
/// nothing until it is iterated, and can be iterated again. Each iteration sees the database as of
/// its start.
///
/// >>> db.update({b"a": b"1", b"b": b"2", b"c": b"3"})
/// >>> part = db.range(b"a", b"c")
/// >>> list(part)
/// [(b'a', b'1'), (b'b', b'2')]
/// >>> list(part.keys()), list(part.values())
/// ([b'a', b'b'], [b'1', b'2'])
/// >>> list(reversed(part))
/// [(b'b', b'2'), (b'a', b'1')]
#[pyclass(frozen, module = "cairndb")]
#[derive(Debug)]
pub(crate) struct Range {
    point: Arc<ReadPoint>,
    limits: Limits,
}

impl Range {
    pub(crate) fn new(point: &Arc<ReadPoint>, limits: Limits) -> Range {
        Range {
            point: Arc::clone(point),
            limits,
        }
    }

    fn scan(&self, py: Python<'_>, what: What, reverse: bool) -> PyResult<Scan> {
        let limits = &self.limits;
        let bounds = Bounds::new(
            self.point.keyspace().order(),
            limits.start.clone(),
            limits.stop.clone(),
            limits.prefix.as_deref(),
            reverse,
            limits.limit,
        );
        self.point.scan(py, bounds, what)
    }
}

#[pymethods]
impl Range {
    fn __iter__(&self, py: Python<'_>) -> PyResult<Scan> {
        self.items(py)
    }

    /// Iterates over the entries as pairs; the same as iterating over the range.
    fn items(&self, py: Python<'_>) -> PyResult<Scan> {
        self.scan(py, What::Entries, self.limits.reverse)
    }

    /// Iterates over the keys only, which is faster than over the pairs.
    fn keys(&self, py: Python<'_>) -> PyResult<Scan> {
        self.scan(py, What::Keys, self.limits.reverse)
    }

    /// Iterates over the values only.
    fn values(&self, py: Python<'_>) -> PyResult<Scan> {
        self.scan(py, What::Values, self.limits.reverse)
    }

    fn __reversed__(&self, py: Python<'_>) -> PyResult<Scan> {
        if self.limits.limit.is_some() {
            let message = "a range with a limit is not reversible; pass reverse=True to range()";
            return Err(PyTypeError::new_err(message));
        }
        self.scan(py, What::Entries, !self.limits.reverse)
    }

    /// Returns the number of entries. Scans the range, but makes no Python objects of it.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let scan = Bound::new(py, self.keys(py)?)?;
        Ok(usize::try_from(Scan::count(&scan)?)?)
    }

    /// Returns whether there is an entry. Does not scan the range.
    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        let scan = Bound::new(py, self.keys(py)?)?;
        Ok(Scan::__next__(&scan)?.is_some())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let limits = &self.limits;
        let mut parts = Vec::new();
        for (name, bytes) in [
            ("prefix", &limits.prefix),
            ("start", &limits.start),
            ("stop", &limits.stop),
        ] {
            if let Some(bytes) = bytes {
                let bytes = PyBytes::new(py, bytes);
                parts.push(format!("{name}={}", bytes.repr()?));
            }
        }
        if limits.reverse {
            parts.push("reverse=True".to_owned());
        }
        if let Some(limit) = limits.limit {
            parts.push(format!("limit={limit}"));
        }
        if parts.is_empty() {
            parts.push("of all entries".to_owned());
        }
        Ok(format!("<cairndb.Range {}>", parts.join(", ")))
    }
}
