//! Bytes and strings of the caller.

#![expect(
    unsafe_code,
    reason = "foreign functions are the purpose of this crate: what a C program passes are \
              addresses, here and in all files of it"
)]

use std::ffi::{CStr, CString, OsStr, c_char};
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null;

use cairndb::{Error, Result};

/// Returns the bytes at `start`. NULL is allowed for no bytes.
///
/// # Errors
/// `InvalidArgument` if `start` is NULL and `len` is not 0, or if `len` is longer than any object.
///
/// # Safety
/// `start` must be NULL or readable for `len` bytes, which nothing changes during the call.
#[inline]
pub(crate) unsafe fn bytes<'a, T>(start: *const T, len: usize) -> Result<&'a [u8]> {
    debug_assert_eq!(size_of::<T>(), 1, "lengths are in bytes");
    if len == 0 {
        return Ok(&[]);
    }
    if start.is_null() || isize::try_from(len).is_err() {
        return Err(refusal(start.is_null(), len));
    }
    // SAFETY: guaranteed by the caller; the length was checked.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), len) })
}

/// Returns the address and the length of bytes for the caller: NULL for none, not for no bytes.
pub(crate) fn parts_of(bytes: Option<&[u8]>) -> (*const c_char, usize) {
    bytes.map_or((null(), 0), |bytes| (bytes.as_ptr().cast(), bytes.len()))
}

/// A range of keys.
type Range<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Returns the range from the first key, included, to the second, excluded; NULL is for no end.
///
/// # Errors
/// Those of [`bytes`].
///
/// # Safety
/// Each must be NULL or readable bytes, which nothing changes during the call.
pub(crate) unsafe fn range<'a>(
    from: (*const c_char, usize),
    to: (*const c_char, usize),
) -> Result<Range<'a>> {
    let end = |(key, len): (*const c_char, usize), bound: fn(&'a [u8]) -> Bound<&'a [u8]>| {
        if key.is_null() {
            return Ok(Bound::Unbounded);
        }
        // SAFETY: guaranteed by the caller.
        unsafe { bytes(key, len) }.map(bound)
    };
    Ok((end(from, Bound::Included)?, end(to, Bound::Excluded)?))
}

#[cold]
fn refusal(null: bool, len: usize) -> Error {
    if null {
        Error::invalid("the address of a key or value is NULL, but its length is not 0").found(len)
    } else {
        Error::invalid("the length of a key or value is negative, or longer than memory").found(len)
    }
}

/// Returns the path in a string that ends with a NUL byte.
///
/// # Errors
/// `InvalidArgument` if `path` is NULL.
///
/// # Safety
/// `path` must be NULL or such a string, which nothing changes during the call.
pub(crate) unsafe fn path<'a>(path: *const c_char) -> Result<&'a Path> {
    if path.is_null() {
        return Err(Error::invalid("the path is NULL"));
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(path) };
    Ok(Path::new(OsStr::from_bytes(text.to_bytes())))
}

/// Returns `text` as a string that ends with a NUL byte, up to its first one.
pub(crate) fn c_string(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}

/// Returns the text in a string that ends with a NUL byte.
///
/// # Errors
/// `InvalidArgument` if `text` is NULL or not UTF-8; `what` names it.
///
/// # Safety
/// `text` must be NULL or such a string, which nothing changes during the call.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str> {
    if text.is_null() {
        return Err(Error::invalid(format!("{what} is NULL")));
    }
    // SAFETY: guaranteed by the caller.
    let text = unsafe { CStr::from_ptr(text) };
    let text = text.to_str();
    text.map_err(|_| Error::invalid(format!("{what} is not UTF-8")))
}
