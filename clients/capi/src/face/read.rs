//! Point reads, and the snapshots that they read.

use std::ffi::c_char;
use std::ptr::null_mut;

use crate::face::buffer::cairndb_value;
use crate::face::error::{cairndb_error, outcome, outcome_in};
use crate::face::handles::{cairndb_db, cairndb_snapshot};
use crate::handle::{Handle, destroy, insert, with_shared};
use crate::objects::{Database, SnapshotOf};
use crate::source::Source;

/// Stores the value of `key` in `*value`, or NULL if there is none. Reads `snapshot`, or the
/// current state if that is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_get(
    db: *const cairndb_db,
    snapshot: *const cairndb_snapshot,
    key: *const c_char,
    key_len: usize,
    value: *mut *mut cairndb_value,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes, and the address of a value.
    unsafe { Source::<Database>::new(db, snapshot).get(key, key_len, value) }
}

/// Copies the value of `key` to `buffer`, which has room for `capacity` bytes, and stores its
/// length in `*value_len` and whether there is a value in `*found`. A value that is longer than the
/// buffer is not copied. Makes no object, so it is the fastest read of short values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_get_into(
    db: *const cairndb_db,
    snapshot: *const cairndb_snapshot,
    key: *const c_char,
    key_len: usize,
    buffer: *mut c_char,
    capacity: usize,
    value_len: *mut usize,
    found: *mut bool,
) -> *mut cairndb_error {
    let source = Source::<Database>::new(db, snapshot);
    // SAFETY: the header requires the same.
    unsafe { source.get_into((key, key_len), (buffer, capacity), value_len, found) }
}

/// Stores in `*found` whether `key` has a value. Reads no large value and folds no operands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_contains(
    db: *const cairndb_db,
    snapshot: *const cairndb_snapshot,
    key: *const c_char,
    key_len: usize,
    found: *mut bool,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes, and the address of a truth value.
    unsafe { Source::<Database>::new(db, snapshot).contains(key, key_len, found) }
}

/// Reads `count` keys as of the same moment: stores the value of each in `values`, NULL if it has
/// none. Lookups overlap, so this is faster than single reads in a large database.
///
/// If a value cannot be read, its error is stored in `errors`, and NULL for the others; the array
/// has `count` elements. If `errors` is NULL, the first such error is returned, and all values are
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_multi_get(
    db: *const cairndb_db,
    snapshot: *const cairndb_snapshot,
    count: usize,
    keys: *const *const c_char,
    key_lens: *const usize,
    values: *mut *mut cairndb_value,
    errors: *mut *mut cairndb_error,
) -> *mut cairndb_error {
    let source = Source::<Database>::new(db, snapshot);
    // SAFETY: the header requires the same.
    unsafe { source.multi_get(count, (keys, key_lens), values, errors) }
}

/// Stores a snapshot of everything written so far in `*snapshot`. It costs disk space while it
/// lives, because the versions that it sees are kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_snapshot_create(
    db: *mut cairndb_db,
    snapshot: *mut *mut cairndb_snapshot,
) -> *mut cairndb_error {
    let database = Handle::of(db);
    let taken = with_shared(database, |open: &Database| {
        let snapshot = open.0.snapshot();
        insert(SnapshotOf { snapshot, database })
    });
    // SAFETY: the header requires the address of a handle.
    unsafe { outcome_in(snapshot, null_mut(), taken.map(Handle::pointer)) }
}

/// Releases a snapshot, also after its database was closed.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_snapshot_release(snapshot: *mut cairndb_snapshot) -> *mut cairndb_error {
    outcome(destroy::<SnapshotOf>(Handle::of(snapshot)))
}
