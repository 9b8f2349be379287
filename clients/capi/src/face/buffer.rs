//! Buffers for results of merge operators.

use std::ffi::c_char;

use crate::boundary::keep;
use crate::bytes::bytes;

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
