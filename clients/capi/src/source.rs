//! Point reads: of a database or a keyspace, now or as of a snapshot.

use std::ffi::c_char;
use std::marker::PhantomData;
use std::ptr::null_mut;

use cairndb::{Error, Keyspace, Result, Snapshot, Value};

use crate::bytes::bytes;
use crate::face::error::{cairndb_error, give_error, no_place, outcome, outcome_in};
use crate::face::handles::cairndb_snapshot;
use crate::face::handles::cairndb_value;
use crate::handle::{Handle, with_shared};
use crate::leveldb::database::read_value;
use crate::leveldb::objects::give;
use crate::objects::{Keyed, SnapshotOf};

/// What a read looks at: the keys of an object of type `T`, now or as of a snapshot.
pub(crate) struct Source<T> {
    place: Handle,
    snapshot: Handle,
    kind: PhantomData<T>,
}

impl<T: Keyed> Source<T> {
    #[inline]
    pub(crate) fn new<P>(place: *const P, snapshot: *const cairndb_snapshot) -> Source<T> {
        Source {
            place: Handle::of(place),
            snapshot: Handle::of(snapshot),
            kind: PhantomData,
        }
    }

    #[inline]
    fn read<R>(
        &self,
        current: impl FnOnce(&Keyspace) -> Result<R>,
        earlier: impl FnOnce(&Snapshot, &Keyspace) -> Result<R>,
    ) -> Result<R> {
        with_shared(self.place, |place: &T| {
            if self.snapshot.is_null() {
                return current(place.keys());
            }
            with_shared(self.snapshot, |snapshot: &SnapshotOf| {
                earlier(&snapshot.snapshot, place.keys())
            })
        })
    }

    /// Stores a value, as `cairndb_get` does.
    ///
    /// # Safety
    /// The key must be readable, and `value` NULL or writable.
    pub(crate) unsafe fn get(
        &self,
        key: *const c_char,
        key_len: usize,
        value: *mut *mut cairndb_value,
    ) -> *mut cairndb_error {
        if value.is_null() {
            return give_error(&no_place());
        }
        // SAFETY: guaranteed by the caller.
        let found = unsafe { bytes(key, key_len) }
            .and_then(|key| self.read(|now| now.get(key), |then, place| then.get_in(place, key)));
        let found = found.map(|found| found.map_or(null_mut(), |found| give(cairndb_value(found))));
        // SAFETY: guaranteed by the caller.
        unsafe { outcome_in(value, null_mut(), found) }
    }

    /// Copies a value, as `cairndb_get_into` does.
    ///
    /// # Safety
    /// The key must be readable, and the buffer writable; the others NULL or writable.
    pub(crate) unsafe fn get_into(
        &self,
        (key, key_len): (*const c_char, usize),
        (buffer, capacity): (*mut c_char, usize),
        value_len: *mut usize,
        found: *mut bool,
    ) -> *mut cairndb_error {
        let room = if buffer.is_null() { 0 } else { capacity };
        // SAFETY: guaranteed by the caller.
        let read = unsafe { bytes(key, key_len) }.and_then(|key| {
            read_value::<T, _>(self.place, self.snapshot, key, |value| {
                if value.len() <= room {
                    // SAFETY: guaranteed by the caller: room for `capacity` bytes.
                    unsafe {
                        std::ptr::copy_nonoverlapping(value.as_ptr(), buffer.cast(), value.len());
                    }
                }
                Ok(value.len())
            })
        });
        if !value_len.is_null() {
            let len = read.as_ref().map_or(0, |len| len.unwrap_or(0));
            // SAFETY: guaranteed by the caller.
            unsafe { value_len.write(len) };
        }
        let outcome = read.map(|len| len.is_some());
        // SAFETY: guaranteed by the caller.
        unsafe { outcome_in(found, false, outcome) }
    }

    /// Stores whether a key has a value.
    ///
    /// # Safety
    /// The key must be readable, and `found` NULL or writable.
    pub(crate) unsafe fn contains(
        &self,
        key: *const c_char,
        key_len: usize,
        found: *mut bool,
    ) -> *mut cairndb_error {
        // SAFETY: guaranteed by the caller.
        let contains = unsafe { bytes(key, key_len) }.and_then(|key| {
            self.read(
                |now| now.contains(key),
                |then, place| then.contains_in(place, key),
            )
        });
        // SAFETY: guaranteed by the caller.
        unsafe { outcome_in(found, false, contains) }
    }

    /// Reads several keys, as `cairndb_multi_get` does.
    ///
    /// # Safety
    /// The arrays must have `count` elements, and the keys be readable; `errors` may be NULL.
    pub(crate) unsafe fn multi_get(
        &self,
        count: usize,
        (keys, key_lens): (*const *const c_char, *const usize),
        values: *mut *mut cairndb_value,
        errors: *mut *mut cairndb_error,
    ) -> *mut cairndb_error {
        if count == 0 {
            return null_mut();
        }
        if keys.is_null() || key_lens.is_null() || values.is_null() {
            return give_error(&Error::invalid("an array of keys or values is NULL"));
        }
        // SAFETY: guaranteed by the caller: `count` elements.
        let values = unsafe { std::slice::from_raw_parts_mut(values, count) };
        values.fill(null_mut());
        // SAFETY: guaranteed by the caller: NULL or `count` elements.
        let mut errors =
            (!errors.is_null()).then(|| unsafe { std::slice::from_raw_parts_mut(errors, count) });
        if let Some(errors) = &mut errors {
            errors.fill(null_mut());
        }
        // SAFETY: guaranteed by the caller: `count` keys and lengths.
        let found = unsafe { keys_of(count, keys, key_lens) }.and_then(|keys| {
            self.read(
                |now| now.multi_get_each(&keys),
                |then, place| then.multi_get_each_in(place, &keys),
            )
        });
        let stored = found.and_then(|found| store(found, values, errors));
        outcome(stored)
    }
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
