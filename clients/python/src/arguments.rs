//! Arguments: bytes-like objects, durabilities, paths.

use std::ops::{self, Deref};
use std::path::PathBuf;
use std::time::Duration;

use cairndb::{Durability, WriteOptions};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::errors::not_bytes;

/// The bytes of a bytes-like object. A `bytes` object is borrowed, because it never changes; any
/// other is copied, because another thread could change it during the call.
pub(crate) enum Bytes<'a, 'py> {
    Borrowed(Borrowed<'a, 'py, PyBytes>),
    Copied(Bound<'py, PyBytes>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Bytes<'a, 'py> {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyBytes>() {
            Ok(bytes) => Ok(Bytes::Borrowed(bytes)),
            Err(_) => copied(&object).map(Bytes::Copied),
        }
    }
}

#[cold]
fn copied<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = object.py();
    let view = PyMemoryView::from(object).map_err(|error| {
        if error.is_instance_of::<PyTypeError>(py) {
            not_bytes(object)
        } else {
            error
        }
    })?;
    let dimensions: usize = view.getattr("ndim")?.extract()?;
    // Scalars of numpy, such as a time, are buffers of single bytes; their type knows better.
    let item = object.getattr_opt("dtype")?;
    let item = item.as_ref().unwrap_or_else(|| view.as_any());
    let item_bytes: usize = item.getattr("itemsize")?.extract()?;
    if dimensions == 0 || item_bytes != 1 {
        // A number of numpy, or an array of numbers: the order of its bytes is that of the machine,
        // and is rarely the one that was meant.
        return Err(not_bytes(object));
    }
    let bytes = view.call_method0("tobytes")?;
    Ok(bytes.cast_into::<PyBytes>()?)
}

impl Deref for Bytes<'_, '_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Borrowed(bytes) => bytes.as_bytes(),
            Bytes::Copied(bytes) => bytes.as_bytes(),
        }
    }
}

/// Returns the range from `start`, included, to `stop`, excluded.
pub(crate) fn range<'a>(
    start: Option<&'a Bytes<'_, '_>>,
    stop: Option<&'a Bytes<'_, '_>>,
) -> (ops::Bound<&'a [u8]>, ops::Bound<&'a [u8]>) {
    let start = start.map_or(ops::Bound::Unbounded, |key| ops::Bound::Included(&**key));
    let stop = stop.map_or(ops::Bound::Unbounded, |key| ops::Bound::Excluded(&**key));
    (start, stop)
}

/// The durability of a write, by name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DurabilityName(pub(crate) Durability);

impl<'py> FromPyObject<'_, 'py> for DurabilityName {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let name: String = object.extract()?;
        let durability = match name.as_str() {
            "none" => Durability::None,
            "os" => Durability::Os,
            "sync" => Durability::Sync,
            other => {
                let message = format!("durability is 'none', 'os' or 'sync', not '{other}'");
                return Err(PyValueError::new_err(message));
            }
        };
        Ok(DurabilityName(durability))
    }
}

/// Returns the options of a write.
pub(crate) fn write_options(durability: Option<DurabilityName>) -> WriteOptions {
    match durability {
        Some(DurabilityName(durability)) => WriteOptions::new().durability(durability),
        None => WriteOptions::new(),
    }
}

/// A number of seconds, as Python's `threading` takes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seconds(pub(crate) Duration);

impl<'py> FromPyObject<'_, 'py> for Seconds {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let seconds: f64 = object.extract()?;
        if seconds.is_nan() || seconds < 0.0 {
            let message = format!("a number of seconds, 0 or more, is required, not {seconds}");
            return Err(PyValueError::new_err(message));
        }
        // What no duration holds is as good as without end.
        let duration = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Ok(Seconds(duration))
    }
}

/// A path: `str`, `bytes` or `os.PathLike`.
#[derive(Debug)]
pub(crate) struct PathArgument(pub(crate) PathBuf);

impl<'py> FromPyObject<'_, 'py> for PathArgument {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let decode = object.py().import("os")?.getattr("fsdecode")?;
        let path: PathBuf = decode.call1((object,))?.extract()?;
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(PyValueError::new_err("embedded null byte in the path"));
        }
        Ok(PathArgument(path))
    }
}
