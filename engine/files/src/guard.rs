//! Converts a panic in user code into an error of the background job that ran it.
//!
//! Comparators and merge operators run inside flushes and compactions, on the worker thread or on
//! the thread of a writer that helps. If such a job unwound, its memtables would stay marked as
//! being flushed, and every writer and `close` would wait forever. As an error, the failure is
//! recorded, returned to writers that need the result, and the job is retried later.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cairndb_base::{Error, ErrorKind, Result};

/// Returns the result of `run`; a panic becomes `InvalidArgument` with the panic message.
///
/// # Errors
/// Those of `run`; `InvalidArgument` if it panics.
///
/// Unwind safety: jobs work on their own values and on shared state that changes only when a job is
/// installed. A job that panicked is not installed.
pub fn guarded<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(Error::new(
            ErrorKind::InvalidArgument,
            "a comparator or merge operator panicked in the background",
        )
        .found(text.unwrap_or("a panic without a message")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_with_its_text() {
        assert_eq!(guarded(|| Ok(7)).unwrap(), 7);
        let error = guarded::<()>(|| panic!("operand of {} bytes", 3)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("operand of 3 bytes"), "{error}");
    }
}
