//! Batches of writes.

use std::ffi::{c_char, c_void};

use cairndb::{BatchEntry, Result};

use crate::boundary::or_keep;
use crate::bytes::bytes;
use crate::handle::{Handle, destroy, insert, with_exclusive};
use crate::leveldb::leveldb_writebatch_t;
use crate::objects::Batch;

/// Receives a put of a batch.
type Put = unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize);
/// Receives a deletion of a batch.
type Deleted = unsafe extern "C" fn(*mut c_void, *const c_char, usize);

/// Changes a batch; an error is kept for the thread.
#[inline]
fn change(batch: *mut leveldb_writebatch_t, change: impl FnOnce(&mut Batch) -> Result<()>) {
    let done = with_exclusive(Handle::of(batch), |_, batch: &mut Batch| change(batch));
    or_keep(done, ());
}

/// Makes an empty batch.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_writebatch_create() -> *mut leveldb_writebatch_t {
    or_keep(insert(Batch::default()), Handle::NULL).pointer()
}

/// Destroys a batch.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_writebatch_destroy(batch: *mut leveldb_writebatch_t) {
    or_keep(destroy::<Batch>(Handle::of(batch)), ());
}

/// Removes all writes of the batch.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_writebatch_clear(batch: *mut leveldb_writebatch_t) {
    change(batch, |batch| {
        batch.0.clear();
        Ok(())
    });
}

/// Adds a put.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_writebatch_put(
    batch: *mut leveldb_writebatch_t,
    key: *const c_char,
    klen: usize,
    val: *const c_char,
    vlen: usize,
) {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, klen) };
    // SAFETY: as above.
    let val = unsafe { bytes(val, vlen) };
    change(batch, |batch| {
        batch.0.put(key?, val?);
        Ok(())
    });
}

/// Adds a deletion.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_writebatch_delete(
    batch: *mut leveldb_writebatch_t,
    key: *const c_char,
    klen: usize,
) {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, klen) };
    change(batch, |batch| {
        batch.0.delete(key?);
        Ok(())
    });
}

/// Calls `put` or `deleted` for each write, in order. The batch is in use meanwhile: the functions
/// must not call the library with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_writebatch_iterate(
    batch: *const leveldb_writebatch_t,
    state: *mut c_void,
    put: Option<Put>,
    deleted: Option<Deleted>,
) {
    change(batch.cast_mut(), |batch| {
        for entry in batch.0.iter() {
            // SAFETY: the caller passed the functions for this state; the lengths are those of
            // slices that live during the call.
            unsafe { show(&entry, state, put, deleted) };
        }
        Ok(())
    });
}

/// Passes one write to the caller's function for it, if there is one.
///
/// # Safety
/// The functions must accept `state`.
unsafe fn show(
    entry: &BatchEntry<'_>,
    state: *mut c_void,
    put: Option<Put>,
    deleted: Option<Deleted>,
) {
    match (*entry, put, deleted) {
        (BatchEntry::Put { key, value }, Some(put), _) => {
            let (at, value_at) = (key.as_ptr().cast(), value.as_ptr().cast());
            // SAFETY: guaranteed by the caller.
            unsafe { put(state, at, key.len(), value_at, value.len()) };
        }
        (BatchEntry::Delete { key }, _, Some(deleted)) => {
            // SAFETY: guaranteed by the caller.
            unsafe { deleted(state, key.as_ptr().cast(), key.len()) };
        }
        _ => {}
    }
}

/// Adds the writes of `source` to those of `destination`; both may be the same batch.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_writebatch_append(
    destination: *mut leveldb_writebatch_t,
    source: *const leveldb_writebatch_t,
) {
    or_keep(append(Handle::of(destination), Handle::of(source)), ());
}

/// Adds the writes of one batch to another.
///
/// # Errors
/// Those of the handles.
pub(crate) fn append(destination: Handle, source: Handle) -> Result<()> {
    with_exclusive(destination, |_, to: &mut Batch| {
        if destination == source {
            let copy = to.0.clone();
            to.0.append(&copy);
            return Ok(());
        }
        with_exclusive(source, |_, from: &mut Batch| {
            to.0.append(&from.0);
            Ok(())
        })
    })
}
