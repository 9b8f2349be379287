//! Memory of the C allocator, for everything that the caller frees.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use cairndb::{Error, ErrorKind, Result};

/// Copies `bytes` to memory that the caller frees with `free`. No bytes get an address, too:
/// NULL means that there is no value.
///
/// # Errors
/// `NoSpace` if there is no memory.
#[inline]
pub(crate) fn copy(bytes: &[u8]) -> Result<*mut c_char> {
    // SAFETY: `malloc` may be called with any length.
    let memory = unsafe { libc::malloc(bytes.len().max(1)) };
    if memory.is_null() {
        return Err(no_memory(bytes.len()));
    }
    // SAFETY: the memory is new and long enough.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), memory.cast::<u8>(), bytes.len()) };
    Ok(memory.cast())
}

#[cold]
fn no_memory(bytes: usize) -> Error {
    Error::new(ErrorKind::NoSpace, "no memory for the result").found(format_args!("{bytes} bytes"))
}

/// Copies `text` to a string that the caller frees with `free`: up to its first NUL byte, and NULL
/// if there is no memory.
pub(crate) fn copy_text(text: &str) -> *mut c_char {
    let text = text.split('\0').next().unwrap_or_default();
    let mut bytes = Vec::with_capacity(text.len() + 1);
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
    copy(&bytes).unwrap_or(null_mut())
}

/// Frees memory that [`copy`] or [`copy_text`] returned.
///
/// # Safety
/// `memory` must be NULL or memory of the C allocator that nothing uses any more.
pub(crate) unsafe fn free(memory: *mut c_void) {
    // SAFETY: guaranteed by the caller.
    unsafe { libc::free(memory) };
}
