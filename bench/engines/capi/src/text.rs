//! Strings of a library: those that it owns, and those that it allocates and its caller frees.

use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bench_core::fault::Fault;

/// The library's `free`.
pub(crate) type Free = unsafe extern "C" fn(*mut c_void);

/// Returns a path as a string for a library.
///
/// # Errors
/// If it contains a NUL byte.
pub fn path_text(path: &Path) -> Result<CString, Fault> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Fault::new("the directory's name contains a NUL byte"))
}

/// Copies a string that the library owns; `None` for null.
///
/// # Safety
/// `text` must be null, or NUL-terminated and valid until the call returns.
pub unsafe fn copy_text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// Copies a string and frees it with the library's `free`; `None` for null.
///
/// # Safety
/// `text` must be null, or NUL-terminated, allocated by the library of `free` and not used again.
pub unsafe fn take_text(text: *mut c_char, free: Free) -> Option<String> {
    // SAFETY: guaranteed by the caller.
    let owned = unsafe { copy_text(text) }?;
    // SAFETY: guaranteed by the caller.
    unsafe { free(text.cast()) };
    Some(owned)
}

/// Turns the error string of a call into a result and frees the string.
///
/// # Errors
/// The error string, unless it is null.
///
/// # Safety
/// Same as [`take_text`].
#[inline]
pub unsafe fn outcome(error: *mut c_char, free: Free) -> Result<(), Fault> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: guaranteed by the caller.
    Err(unsafe { fault(error, free) })
}

/// # Safety
/// Same as [`take_text`].
#[cold]
unsafe fn fault(error: *mut c_char, free: Free) -> Fault {
    // SAFETY: guaranteed by the caller.
    Fault::new(unsafe { take_text(error, free) }.unwrap_or_default())
}
