//! Texts of a library: those that it keeps, and those that it allocates and its caller returns.

use std::ffi::{CStr, c_char, c_void};

use bench_core::fault::Fault;

/// The library's `free`.
pub(crate) type Free = unsafe extern "C" fn(*mut c_void);

/// Copies a text that the library keeps; `None` for null.
///
/// # Safety
/// `text` is null, or ends with zero and stays until the call returns.
pub unsafe fn copy_text(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// Copies a text and returns it to the library; `None` for null.
///
/// # Safety
/// `text` is null, or ends with zero, was allocated by the library of `free` and is not used again.
pub unsafe fn take_text(text: *mut c_char, free: Free) -> Option<String> {
    // SAFETY: as the caller promises.
    let owned = unsafe { copy_text(text) }?;
    // SAFETY: as the caller promises.
    unsafe { free(text.cast()) };
    Some(owned)
}

/// Turns the error text of a call into a result and returns the text to the library.
///
/// # Errors
/// The text, unless it is null.
///
/// # Safety
/// As for [`take_text`].
#[inline]
pub unsafe fn outcome(error: *mut c_char, free: Free) -> Result<(), Fault> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: as the caller promises.
    Err(unsafe { fault(error, free) })
}

/// # Safety
/// As for [`take_text`].
#[cold]
unsafe fn fault(error: *mut c_char, free: Free) -> Fault {
    // SAFETY: as the caller promises.
    Fault::new(unsafe { take_text(error, free) }.unwrap_or_default())
}
