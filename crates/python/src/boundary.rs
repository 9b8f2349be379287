//! The boundary between Python and the store: detaching, and panics.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cairndb::{Error, ErrorKind, Result};
use pyo3::prelude::*;

use crate::errors::raised;

/// Calls the store without the interpreter's lock, so that other Python threads run meanwhile.
///
/// # Errors
/// The error of `call` as an exception; `PoisonedError` if it panicked, as a comparator does whose
/// Python function raised.
#[inline]
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    call: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    match py.detach(|| guarded(call)) {
        Ok(value) => Ok(value),
        Err(error) => Err(raised(py, &error)),
    }
}

/// Turns a panic of `call` into an error.
///
/// # Errors
/// That of `call`; `Poisoned`.
#[inline]
pub(crate) fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(done) => done,
        Err(panic) => Err(panicked(&*panic)),
    }
}

#[cold]
fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no message");
    Error::new(ErrorKind::Poisoned, format!("the call panicked: {text}"))
}
