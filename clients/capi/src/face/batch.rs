//! Batches of writes.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use cairndb::{BatchEntry, Result};

use crate::bytes::{bytes, range};
use crate::face::error::{cairndb_error, outcome, outcome_in};
use crate::face::handles::cairndb_batch;
use crate::handle::{Handle, destroy, insert, with_exclusive};
use crate::leveldb::batch::append;
use crate::objects::Batch;

/// What a write of a batch does: one of `CAIRNDB_WRITE_*`. Later versions may add some.
pub type cairndb_write_kind = u32;

/// Sets a key to a value.
pub const CAIRNDB_WRITE_PUT: u32 = 1;
/// Removes a key.
pub const CAIRNDB_WRITE_DELETE: u32 = 2;
/// Adds a merge operand to a key.
pub const CAIRNDB_WRITE_MERGE: u32 = 3;
/// Removes the keys from the key up to, but not including, the value. An empty value stands for no
/// end, for which `cairndb_batch_delete_range` takes NULL. Deletions of prefixes are ranges, too.
pub const CAIRNDB_WRITE_DELETE_RANGE: u32 = 4;

#[inline]
fn with(
    batch: *const cairndb_batch,
    run: impl FnOnce(&mut Batch) -> Result<()>,
) -> *mut cairndb_error {
    outcome(with_exclusive(Handle::of(batch), |_, batch: &mut Batch| {
        run(batch)
    }))
}

/// Stores an empty batch in `*batch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_create(
    batch: *mut *mut cairndb_batch,
) -> *mut cairndb_error {
    let made = insert(Batch::default());
    // SAFETY: the header requires the address of a handle.
    unsafe { outcome_in(batch, null_mut(), made.map(Handle::pointer)) }
}

/// Destroys a batch.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_batch_destroy(batch: *mut cairndb_batch) -> *mut cairndb_error {
    outcome(destroy::<Batch>(Handle::of(batch)))
}

/// Adds a put. A key or value that is too long is reported by `cairndb_write`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_put(
    batch: *mut cairndb_batch,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    // SAFETY: as above.
    let value = unsafe { bytes(value, value_len) };
    with(batch, |batch| {
        batch.0.put(key?, value?);
        Ok(())
    })
}

/// Adds a deletion.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_delete(
    batch: *mut cairndb_batch,
    key: *const c_char,
    key_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    with(batch, |batch| {
        batch.0.delete(key?);
        Ok(())
    })
}

/// Adds the deletion of a range, as `cairndb_delete_range` does. It also removes what earlier
/// writes of the batch put there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_delete_range(
    batch: *mut cairndb_batch,
    from: *const c_char,
    from_len: usize,
    to: *const c_char,
    to_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or readable bytes.
    let range = unsafe { range((from, from_len), (to, to_len)) };
    with(batch, |batch| {
        batch.0.delete_range(range?);
        Ok(())
    })
}

/// Adds the deletion of all keys that start with `prefix`. With a comparator, `cairndb_write`
/// refuses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_delete_prefix(
    batch: *mut cairndb_batch,
    prefix: *const c_char,
    prefix_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let prefix = unsafe { bytes(prefix, prefix_len) };
    with(batch, |batch| {
        batch.0.delete_prefix(prefix?);
        Ok(())
    })
}

/// Adds a merge operand.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_merge(
    batch: *mut cairndb_batch,
    key: *const c_char,
    key_len: usize,
    operand: *const c_char,
    operand_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    // SAFETY: as above.
    let operand = unsafe { bytes(operand, operand_len) };
    with(batch, |batch| {
        batch.0.merge(key?, operand?);
        Ok(())
    })
}

/// Removes all writes of the batch and keeps its memory.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_batch_clear(batch: *mut cairndb_batch) -> *mut cairndb_error {
    with(batch, |batch| {
        batch.0.clear();
        Ok(())
    })
}

/// Adds the writes of `source`, which may be the same batch, after those of `batch`.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_batch_append(
    batch: *mut cairndb_batch,
    source: *mut cairndb_batch,
) -> *mut cairndb_error {
    outcome(append(Handle::of(batch), Handle::of(source)))
}

/// Stores the number of writes in `*count`, and their encoded size in `*bytes`. Either may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_size(
    batch: *mut cairndb_batch,
    count: *mut usize,
    bytes: *mut usize,
) -> *mut cairndb_error {
    let mut sizes = (0, 0);
    let outcome = with(batch, |batch| {
        sizes = (batch.0.len(), batch.0.byte_len());
        Ok(())
    });
    for (place, size) in [(count, sizes.0), (bytes, sizes.1)] {
        if !place.is_null() {
            // SAFETY: the header requires NULL or the address of a number.
            unsafe { place.write(size) };
        }
    }
    outcome
}

/// Calls `take` for each write, in order; the value of a deleted key is empty. The batch is in use
/// meanwhile: `take` must not call the library with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_batch_iterate(
    batch: *mut cairndb_batch,
    state: *mut c_void,
    take: Option<
        unsafe extern "C" fn(
            state: *mut c_void,
            kind: cairndb_write_kind,
            key: *const c_char,
            key_len: usize,
            value: *const c_char,
            value_len: usize,
        ),
    >,
) -> *mut cairndb_error {
    with(batch, |batch| {
        let Some(take) = take else {
            return Ok(());
        };
        for entry in batch.0.iter() {
            let (kind, key, value): (_, &[u8], &[u8]) = match entry {
                BatchEntry::Put { key, value } => (CAIRNDB_WRITE_PUT, key, value),
                BatchEntry::Merge { key, operand } => (CAIRNDB_WRITE_MERGE, key, operand),
                BatchEntry::Delete { key } => (CAIRNDB_WRITE_DELETE, key, &[]),
                BatchEntry::DeleteRange { from, to } => {
                    (CAIRNDB_WRITE_DELETE_RANGE, from, to.unwrap_or_default())
                }
                _ => continue,
            };
            let (key_start, value_start) = (key.as_ptr().cast(), value.as_ptr().cast());
            // SAFETY: the caller passed the function for this state; the lengths are those of
            // slices that live during the call.
            unsafe { take(state, kind, key_start, key.len(), value_start, value.len()) };
        }
        Ok(())
    })
}
