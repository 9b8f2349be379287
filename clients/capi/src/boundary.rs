//! The boundary: panics, and the last error of a thread.
//!
//! Many of LevelDB's functions return nothing and have no `errptr`. Their errors are kept for the
//! thread, and `cairndb_last_error` returns the newest.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cairndb::{Error, ErrorKind, Result};

use crate::handle::HandleKind;

thread_local! {
    static LAST: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// Keeps `error` as the thread's last error.
#[cold]
pub(crate) fn keep(error: Error) {
    // During the end of a thread there may be no place left for it.
    let _ = LAST.try_with(|last| *last.borrow_mut() = Some(error));
}

/// Removes and returns the thread's last error.
pub(crate) fn take_last() -> Option<Error> {
    LAST.try_with(|last| last.borrow_mut().take())
        .ok()
        .flatten()
}

/// Returns what `result` holds, or `other` after keeping the error for the thread.
#[inline]
pub(crate) fn or_keep<T>(result: Result<T>, other: T) -> T {
    result.unwrap_or_else(|error| {
        keep(error);
        other
    })
}

/// Returns the error for a panic in a call on an object of `kind`.
#[cold]
pub(crate) fn panicked(kind: HandleKind, panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let message = match kind {
        HandleKind::Database => "a call panicked, so the database refuses further calls; reopen it",
        _ => "a call panicked, so the handle refuses further calls; destroy it",
    };
    Error::new(ErrorKind::Poisoned, message).found(text.unwrap_or("a panic without a message"))
}

/// Runs `run`, which uses no handle. A panic becomes an error.
///
/// # Errors
/// Those of `run`; `Poisoned` after a panic.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|panic| Err(panicked(HandleKind::Database, &*panic)))
}
