//! The types that programs know only by name: handles, values that reads return, and buffers for
//! results of merge operators.

use std::ffi::c_char;
use std::marker::{PhantomData, PhantomPinned};
use std::ptr::null;

use cairndb::Value;

use crate::boundary::keep;
use crate::bytes::bytes;
use crate::leveldb::objects::take_back;

/// Not constructed: a handle is a number in the shape of an address.
type Opaque = PhantomData<(*mut u8, PhantomPinned)>;

/// The handle of an open database. Close it with `cairndb_close`.
#[derive(Debug)]
pub struct cairndb_db {
    _opaque: Opaque,
}

/// The handle of a keyspace. Close it with `cairndb_keyspace_close`.
#[derive(Debug)]
pub struct cairndb_keyspace {
    _opaque: Opaque,
}

/// The handle of a snapshot. Release it with `cairndb_snapshot_release`.
#[derive(Debug)]
pub struct cairndb_snapshot {
    _opaque: Opaque,
}

/// The handle of an iterator. Destroy it with `cairndb_iter_destroy`.
#[derive(Debug)]
pub struct cairndb_iter {
    _opaque: Opaque,
}

/// The handle of a comparison. Destroy it with `cairndb_diff_destroy`.
#[derive(Debug)]
pub struct cairndb_diff {
    _opaque: Opaque,
}

/// The handle of a feed of changes. Destroy it with `cairndb_changes_destroy`.
#[derive(Debug)]
pub struct cairndb_changes {
    _opaque: Opaque,
}

/// The handle of a batch. Destroy it with `cairndb_batch_destroy`.
#[derive(Debug)]
pub struct cairndb_batch {
    _opaque: Opaque,
}

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
