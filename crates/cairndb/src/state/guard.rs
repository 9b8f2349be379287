//! Keeping a panic in the user's code from taking a background job with it.
//!
//! Comparators and merge operators run inside flushes and merges, on the worker's thread or on that of
//! a writer that helps. A job that unwound would leave its parts marked as being flushed, and every
//! writer and `close` waiting for ever; as an error it is noted, told to whoever needs the room, and
//! tried again later.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cairndb_base::{Error, ErrorKind, Result};

/// What `run` returns; a panic becomes `InvalidArgument` with its message.
///
/// Unwind safety: jobs work on values of their own and on shared state that changes only when they are
/// installed, which a job that panicked is not.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(Error::new(
            ErrorKind::InvalidArgument,
            "a comparator or merge operator panicked in the background",
        )
        .found(text.unwrap_or("a panic without a text")))
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
