//! Comparators and merge operators that are Python functions.
//!
//! The store calls them on the thread of a caller, which has detached, and on its background
//! threads; both attach for the call. They cannot be called once the interpreter is finalized,
//! because the package closes every database at exit.

use std::cmp::Ordering;
use std::fmt;

use cairndb::{Comparator, Error, ErrorKind, MergeOperator, Result};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

/// An order of keys: a function of two `bytes` that returns a negative number, zero or a positive
/// one.
pub(crate) struct PythonOrder {
    name: String,
    function: Py<PyAny>,
}

impl PythonOrder {
    pub(crate) fn new(name: String, function: Py<PyAny>) -> PythonOrder {
        PythonOrder { name, function }
    }

    fn call(&self, py: Python<'_>, a: &[u8], b: &[u8]) -> PyResult<Ordering> {
        let order = self
            .function
            .bind(py)
            .call1((PyBytes::new(py, a), PyBytes::new(py, b)))?;
        // Not converted: a difference of keys may exceed 64 bits, or be a float.
        Ok(if order.lt(0)? {
            Ordering::Less
        } else if order.gt(0)? {
            Ordering::Greater
        } else {
            Ordering::Equal
        })
    }
}

impl fmt::Debug for PythonOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonOrder")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Comparator for PythonOrder {
    fn name(&self) -> &str {
        &self.name
    }

    /// Compares two keys. Panics if the function raises: there is no order to go on with, and the
    /// store then refuses writes, as after any panic of a comparator.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let order = Python::try_attach(|py| self.call(py, a, b).map_err(|error| error.to_string()));
        match order {
            Some(Ok(order)) => order,
            Some(Err(error)) => panic!("the comparator {} raised {error}", self.name),
            None => panic!(
                "the comparator {} was called after the interpreter's exit",
                self.name
            ),
        }
    }
}

/// A merge operator: a function of a key, the value or `None`, and a list of operands, which
/// returns the new value.
pub(crate) struct PythonMergeOperator {
    name: String,
    function: Py<PyAny>,
}

impl PythonMergeOperator {
    pub(crate) fn new(name: String, function: Py<PyAny>) -> PythonMergeOperator {
        PythonMergeOperator { name, function }
    }

    fn call(
        &self,
        py: Python<'_>,
        key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
    ) -> PyResult<Vec<u8>> {
        let base = base.map(|base| PyBytes::new(py, base));
        let operands = operands.iter().map(|operand| PyBytes::new(py, operand));
        let operands = PyList::new(py, operands.collect::<Vec<_>>())?;
        let value = self
            .function
            .bind(py)
            .call1((PyBytes::new(py, key), base, operands))?;
        let value: crate::arguments::Bytes<'_, '_> = value.extract()?;
        Ok(value.to_vec())
    }
}

impl fmt::Debug for PythonMergeOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonMergeOperator")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl MergeOperator for PythonMergeOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn merge(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]]) -> Result<Vec<u8>> {
        let merged = Python::try_attach(|py| {
            self.call(py, key, base, operands)
                .map_err(|error| error.to_string())
        });
        match merged {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => Err(Error::invalid(format!(
                "the merge operator {} raised {error}",
                self.name
            ))),
            None => Err(Error::new(
                ErrorKind::Closed,
                "the merge operator was called after the interpreter's exit",
            )),
        }
    }
}
