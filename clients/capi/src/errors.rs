//! Errors as LevelDB's functions return them: one line of text through `errptr`.
//!
//! The text starts with the name of LevelDB's own category, because programs look for it. Kinds
//! that LevelDB does not have follow it.

use std::ffi::c_char;

use cairndb::{Error, ErrorKind, Result};

use crate::boundary::keep;
use crate::memory::{copy_text, free};

/// Returns the text of `error`, starting with LevelDB's category.
fn status_text(error: &Error) -> String {
    let category = match error.kind() {
        ErrorKind::Corruption => "Corruption",
        // LevelDB, too, calls a missing database an invalid argument.
        ErrorKind::InvalidArgument | ErrorKind::NotFound => "Invalid argument",
        ErrorKind::NotSupported | ErrorKind::FormatTooNew => "Not implemented",
        _ => "IO error",
    };
    let text = error.to_string();
    let kind = error.kind().as_str();
    let same = kind.eq_ignore_ascii_case(category) || error.kind() == ErrorKind::Io;
    match text
        .strip_prefix(kind)
        .and_then(|rest| rest.strip_prefix(": "))
    {
        Some(rest) if same => format!("{category}: {rest}"),
        _ => format!("{category}: {text}"),
    }
}

/// Stores the text of `error` in `*errptr`, and frees the text of an earlier error there. Without
/// an `errptr`, keeps the error for the thread.
///
/// # Safety
/// `errptr` must be NULL or the address of a pointer that is NULL or memory of the C allocator.
#[cold]
unsafe fn store(errptr: *mut *mut c_char, error: Error) {
    if errptr.is_null() {
        return keep(error);
    }
    let text = copy_text(&status_text(&error));
    // SAFETY: guaranteed by the caller.
    let earlier = unsafe { errptr.replace(text) };
    // SAFETY: guaranteed by the caller; the pointer was just replaced.
    unsafe { free(earlier.cast()) };
    keep(error);
}

/// Returns what `result` holds, or `other` after storing the error in `*errptr`.
///
/// # Safety
/// `errptr` must be NULL or the address of a pointer that is NULL or memory of the C allocator.
#[inline]
pub(crate) unsafe fn or_store<T>(errptr: *mut *mut c_char, result: Result<T>, other: T) -> T {
    match result {
        Ok(value) => value,
        Err(error) => {
            // SAFETY: guaranteed by the caller.
            unsafe { store(errptr, error) };
            other
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;
    use std::ptr::null_mut;

    use super::*;

    #[test]
    fn errors_start_with_leveldbs_categories() {
        let text = |kind| status_text(&Error::new(kind, "page 7").file("000007.tbl"));
        assert_eq!(
            text(ErrorKind::Corruption),
            "Corruption: page 7 (file 000007.tbl)"
        );
        assert_eq!(
            text(ErrorKind::InvalidArgument),
            "Invalid argument: page 7 (file 000007.tbl)"
        );
        assert_eq!(text(ErrorKind::Io), "IO error: page 7 (file 000007.tbl)");
        assert_eq!(
            text(ErrorKind::Locked),
            "IO error: locked: page 7 (file 000007.tbl)"
        );
        assert_eq!(
            text(ErrorKind::NotFound),
            "Invalid argument: not found: page 7 (file 000007.tbl)"
        );
    }

    #[test]
    fn a_later_error_replaces_an_earlier_one() {
        let mut text = null_mut();
        for message in ["first", "second"] {
            // SAFETY: the pointer is NULL or the text of the first error.
            unsafe { store(&raw mut text, Error::invalid(message)) };
        }
        // SAFETY: a string of `store`.
        let found = unsafe { CStr::from_ptr(text) };
        assert_eq!(found.to_bytes(), b"Invalid argument: second");
        // SAFETY: nothing else refers to the text.
        unsafe { free(text.cast()) };
    }
}
