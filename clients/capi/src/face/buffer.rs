//! Values that reads return, and buffers for results of merge operators.

use std::ffi::c_char;
use std::ptr::null;

use cairndb::Value;

use crate::boundary::keep;
use crate::bytes::bytes;
use crate::leveldb::objects::take_back;

/// Collects the result of a merge operator.
#[derive(Debug)]
pub struct cairndb_buffer(pub(crate) Vec<u8>);

/// Appends bytes to the result of a merge operator. Only for use in its functions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_buffer_append(
    buffer: *mut cairndb_buffer,
    data: *const c_char,
    len: usize,
) {
    // SAFETY: the header requires the buffer that the operator was called with.
    let Some(buffer) = (unsafe { buffer.as_mut() }) else {
        return;
    };
    // SAFETY: the header requires readable bytes.
    match unsafe { bytes(data, len) } {
        Ok(bytes) => buffer.0.extend_from_slice(bytes),
        Err(error) => keep(error),
    }
}

/// A value, which stays valid when its key is overwritten and when the database is closed. A value
/// of 64 KiB or more that is stored uncompressed is not copied, but read where its file is mapped;
/// as long as it lives, the file takes space on disk.
#[derive(Debug)]
pub struct cairndb_value(pub(crate) Value);

/// Returns the bytes of a value, which live as long as it does. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_value_data(value: *const cairndb_value) -> *const c_char {
    // SAFETY: the header requires NULL or a live value.
    unsafe { value.as_ref() }.map_or(null(), |value| value.0.as_ptr().cast())
}

/// Returns the length of a value. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_value_len(value: *const cairndb_value) -> usize {
    // SAFETY: the header requires NULL or a live value.
    unsafe { value.as_ref() }.map_or(0, |value| value.0.len())
}

/// Destroys a value; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_value_destroy(value: *mut cairndb_value) {
    // SAFETY: the header requires NULL or a live value.
    unsafe { take_back(value) };
}
