//! Pairs of `bytes`.
//!
//! `for key, value in ...` takes each pair apart and drops it. As `zip` does, an iterator therefore
//! keeps the last pair, and fills it again if nobody else refers to it: a twelfth of the time of a
//! step.

#![allow(
    unsafe_code,
    reason = "a pair that nobody else knows is filled again, for which there is no safe call"
)]

use std::sync::OnceLock;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

/// The version of Python from which on a tuple remembers its hash, so that it cannot be filled
/// again with what the stable interface has.
const REMEMBERS_HASH: (u8, u8) = (3, 14);

/// Makes pairs.
#[derive(Debug)]
pub(super) struct Pairs {
    last: Option<Py<PyTuple>>,
}

impl Pairs {
    /// Does not reuse pairs: for an iterator that makes none.
    pub(super) fn none() -> Pairs {
        Pairs { last: None }
    }

    pub(super) fn new(py: Python<'_>) -> PyResult<Pairs> {
        // Asking for the version parses a string.
        static REUSES: OnceLock<bool> = OnceLock::new();
        let last = if *REUSES.get_or_init(|| py.version_info() < REMEMBERS_HASH) {
            Some(PyTuple::new(py, [py.None(), py.None()])?.unbind())
        } else {
            None
        };
        Ok(Pairs { last })
    }

    /// Returns the pair of `key` and `value` if the last one can be filled again, else both.
    #[inline]
    pub(super) fn fill<'py>(
        &self,
        py: Python<'py>,
        key: Bound<'py, PyBytes>,
        value: Bound<'py, PyBytes>,
    ) -> Result<Bound<'py, PyTuple>, (Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let Some(last) = &self.last else {
            return Err((key, value));
        };
        // SAFETY: the object is alive, because `last` counts as a reference.
        if unsafe { ffi::Py_REFCNT(last.as_ptr()) } != 1 {
            return Err((key, value));
        }
        // SAFETY: a tuple of two items. `last` is the only reference, so nobody sees it change; the
        // call takes over the new item and drops the old one, which is `bytes` or None, so that no
        // other code runs. It fails only for another index or a shared tuple.
        unsafe { ffi::PyTuple_SetItem(last.as_ptr(), 0, key.into_ptr()) };
        // SAFETY: as above.
        unsafe { ffi::PyTuple_SetItem(last.as_ptr(), 1, value.into_ptr()) };
        Ok(last.bind(py).clone())
    }
}
