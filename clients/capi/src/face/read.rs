//! Point reads, their values, and the snapshots that they read.

use std::ffi::c_char;
use std::ptr::{null, null_mut};

use cairndb::{Db, Error, Result, Snapshot, Value};

use crate::bytes::bytes;
use crate::face::error::{cairndb_error, give_error, no_place, outcome, outcome_in};
use crate::face::handles::{cairndb_db, cairndb_snapshot};
use crate::handle::{Handle, destroy, insert, with_shared};
use crate::leveldb::database::read_value;
use crate::leveldb::objects::{give, take_back};
use crate::objects::{Database, SnapshotOf};

/// A value, which stays valid when its key is overwritten and when the database is closed. A value
/// of 64 KiB or more that is stored uncompressed is not copied, but read where its file is mapped;
/// as long as it lives, the file takes space on disk.
#[derive(Debug)]
pub struct cairndb_value(Value);

/// Reads through the database, or through a snapshot of it.
#[inline]
fn read<R>(
    db: *const cairndb_db,
    snapshot: *const cairndb_snapshot,
    current: impl FnOnce(&Db) -> Result<R>,
    earlier: impl FnOnce(&Snapshot) -> Result<R>,
) -> Result<R> {
    let (db, snapshot) = (Handle::of(db), Handle::of(snapshot));
    with_shared(db, |database: &Database| {
        if snapshot.is_null() {
            return current(&database.0);
        }
        with_shared(snapshot, |snapshot: &SnapshotOf| {
            snapshot.check_of(db)?;
            earlier(&snapshot.snapshot)
        })
    })
}

#[inline]
fn get(
    db: *const cairndb_db,
    snapshot: *const cairndb_snapshot,
    key: Result<&[u8]>,
) -> Result<Option<Value>> {
    let key = key?;
    read(db, snapshot, |db| db.get(key), |snapshot| snapshot.get(key))
}

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
    if value.is_null() {
        return give_error(&no_place());
    }
    // SAFETY: the header requires readable bytes.
    let found = get(db, snapshot, unsafe { bytes(key, key_len) });
    let found = found.map(|found| found.map_or(null_mut(), |found| give(cairndb_value(found))));
    // SAFETY: the header requires the address of a value.
    unsafe { outcome_in(value, null_mut(), found) }
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
    let room = if buffer.is_null() { 0 } else { capacity };
    // SAFETY: the header requires readable bytes.
    let read = unsafe { bytes(key, key_len) }.and_then(|key| {
        read_value(Handle::of(db), Handle::of(snapshot), key, |value| {
            if value.len() <= room {
                // SAFETY: the header requires a buffer with room for `capacity` bytes.
                unsafe {
                    std::ptr::copy_nonoverlapping(value.as_ptr(), buffer.cast(), value.len());
                }
            }
            Ok(value.len())
        })
    });
    if !value_len.is_null() {
        let len = read.as_ref().map_or(0, |len| len.unwrap_or(0));
        // SAFETY: the header requires NULL or the address of a length.
        unsafe { value_len.write(len) };
    }
    let outcome = read.map(|len| len.is_some());
    // SAFETY: the header requires the address of a truth value.
    unsafe { outcome_in(found, false, outcome) }
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
    // SAFETY: the header requires readable bytes.
    let contains = unsafe { bytes(key, key_len) }.and_then(|key| {
        read(
            db,
            snapshot,
            |db| db.contains(key),
            |snapshot| snapshot.contains(key),
        )
    });
    // SAFETY: the header requires the address of a truth value.
    unsafe { outcome_in(found, false, contains) }
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
    if count == 0 {
        return null_mut();
    }
    if keys.is_null() || key_lens.is_null() || values.is_null() {
        return give_error(&Error::invalid("an array of keys or values is NULL"));
    }
    // SAFETY: the header requires `count` elements.
    let values = unsafe { std::slice::from_raw_parts_mut(values, count) };
    values.fill(null_mut());
    // SAFETY: the header requires NULL or `count` elements.
    let mut errors =
        (!errors.is_null()).then(|| unsafe { std::slice::from_raw_parts_mut(errors, count) });
    if let Some(errors) = &mut errors {
        errors.fill(null_mut());
    }
    // SAFETY: the header requires `count` keys and lengths.
    let found = unsafe { keys_of(count, keys, key_lens) }.and_then(|keys| {
        read(
            db,
            snapshot,
            |db| db.multi_get_each(&keys),
            |snapshot| snapshot.multi_get_each(&keys),
        )
    });
    let stored = found.and_then(|found| store(found, values, errors));
    outcome(stored)
}

/// Stores what was found.
///
/// # Errors
/// The first error of a key, if there is no array for errors.
fn store(
    found: Vec<Result<Option<Value>>>,
    values: &mut [*mut cairndb_value],
    mut errors: Option<&mut [*mut cairndb_error]>,
) -> Result<()> {
    if errors.is_none()
        && let Some(Err(error)) = found.iter().find(|found| found.is_err())
    {
        return Err(error.clone());
    }
    for (index, found) in found.into_iter().enumerate() {
        match (found, &mut errors) {
            (Ok(Some(value)), _) => values[index] = give(cairndb_value(value)),
            (Err(error), Some(errors)) => errors[index] = give_error(&error),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the keys of two arrays.
///
/// # Safety
/// Both arrays must be readable for `count` elements, and each key for its length.
unsafe fn keys_of<'a>(
    count: usize,
    keys: *const *const c_char,
    lens: *const usize,
) -> Result<Vec<&'a [u8]>> {
    // SAFETY: guaranteed by the caller.
    let keys = unsafe { std::slice::from_raw_parts(keys, count) };
    // SAFETY: guaranteed by the caller.
    let lens = unsafe { std::slice::from_raw_parts(lens, count) };
    let pairs = keys.iter().zip(lens);
    // SAFETY: guaranteed by the caller.
    pairs
        .map(|(key, len)| unsafe { bytes(*key, *len) })
        .collect()
}

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
