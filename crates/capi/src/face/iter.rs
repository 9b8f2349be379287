//! Iterators.

use std::ffi::c_char;
use std::ptr::{null, null_mut};

use cairndb::Cursor;

use crate::bytes::bytes;
use crate::face::error::{cairndb_error, give_error, no_place, outcome, outcome_in};
use crate::face::handles::{cairndb_db, cairndb_iter, cairndb_snapshot};
use crate::handle::{Handle, destroy, entry_of};
use crate::leveldb::iterator::{create, entry, step, step_many, store_len};
use crate::objects::{Iter, Spans};

/// One entry that `cairndb_iter_next_n` has stored.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cairndb_entry {
    /// Address of the key.
    pub key: *const c_char,
    /// Length of the key.
    pub key_len: usize,
    /// Address of the value.
    pub value: *const c_char,
    /// Length of the value.
    pub value_len: usize,
}

/// Stores an iterator in `*iter`, not yet on an entry: over `snapshot`, or over the current state
/// if that is NULL. Later writes are not visible to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_iter_create(
    db: *mut cairndb_db,
    snapshot: *const cairndb_snapshot,
    iter: *mut *mut cairndb_iter,
) -> *mut cairndb_error {
    let made = create(Handle::of(db), Handle::of(snapshot));
    // SAFETY: the header requires the address of a handle.
    unsafe { outcome_in(iter, null_mut(), made.map(Handle::pointer)) }
}

/// Destroys an iterator.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_iter_destroy(iter: *mut cairndb_iter) -> *mut cairndb_error {
    outcome(destroy::<Iter>(Handle::of(iter)))
}

/// Moves to the first entry. In an empty database the iterator is not on an entry afterwards.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_iter_seek_to_first(iter: *mut cairndb_iter) -> *mut cairndb_error {
    outcome(step(Handle::of(iter), Cursor::seek_to_first))
}

/// Moves to the last entry.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_iter_seek_to_last(iter: *mut cairndb_iter) -> *mut cairndb_error {
    outcome(step(Handle::of(iter), Cursor::seek_to_last))
}

/// Moves to the first entry whose key is `key` or follows it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_iter_seek(
    iter: *mut cairndb_iter,
    key: *const c_char,
    key_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    outcome(step(Handle::of(iter), |cursor| cursor.seek(key?)))
}

/// Moves to the last entry whose key is `key` or precedes it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_iter_seek_for_prev(
    iter: *mut cairndb_iter,
    key: *const c_char,
    key_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    outcome(step(Handle::of(iter), |cursor| cursor.seek_for_prev(key?)))
}

/// Moves to the next entry. Does nothing if the iterator is not on one.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_iter_next(iter: *mut cairndb_iter) -> *mut cairndb_error {
    outcome(step(Handle::of(iter), Cursor::next))
}

/// Moves to the previous entry. Does nothing if the iterator is not on one.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_iter_prev(iter: *mut cairndb_iter) -> *mut cairndb_error {
    outcome(step(Handle::of(iter), Cursor::prev))
}

/// Returns whether the iterator is on an entry; `false` for a handle that is not valid.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_iter_valid(iter: *const cairndb_iter) -> bool {
    matches!(entry_of(Handle::of(iter)), Ok(Some(_)))
}

/// Returns the key of the entry, valid until the next move, and its length in `*key_len`. NULL if
/// there is no entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_iter_key(
    iter: *const cairndb_iter,
    key_len: *mut usize,
) -> *const c_char {
    let entry = entry(Handle::of(iter));
    let (key, len) = entry.map_or((null(), 0), |entry| (entry.key, entry.key_len));
    // SAFETY: the header requires NULL or the address of a length.
    unsafe { store_len(key_len, len) };
    key.cast()
}

/// Returns the value of the entry, valid until the next move, and its length in `*value_len`. NULL
/// if there is no entry.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_iter_value(
    iter: *const cairndb_iter,
    value_len: *mut usize,
) -> *const c_char {
    let entry = entry(Handle::of(iter));
    let (value, len) = entry.map_or((null(), 0), |entry| (entry.value, entry.value_len));
    // SAFETY: the header requires NULL or the address of a length.
    unsafe { store_len(value_len, len) };
    value.cast()
}

/// Stores up to `max` entries in `entries`, beginning with the one that the iterator is on, moves
/// past them, and stores their number in `*count`. It is 0 at the end.
///
/// There may be fewer than `max` before the end, too: a call ends once it has gathered a mebibyte
/// of keys and values. The entries are copies in memory of the iterator, which live until its next
/// move. After an error, the entries before it are stored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_iter_next_n(
    iter: *mut cairndb_iter,
    max: usize,
    entries: *mut cairndb_entry,
    count: *mut usize,
) -> *mut cairndb_error {
    if count.is_null() || (entries.is_null() && max > 0) {
        return give_error(&no_place());
    }
    let mut stored = 0;
    let stepped = step_many(Handle::of(iter), max, |start, spans: &Spans| {
        // SAFETY: the memory has room for the spans, which lie one after the other.
        let value = unsafe { start.add(spans.key_len) };
        // SAFETY: the header requires room for `max` entries.
        let place = unsafe { entries.add(stored) };
        let entry = cairndb_entry {
            key: start.cast(),
            key_len: spans.key_len,
            value: value.cast(),
            value_len: spans.value_len,
        };
        // SAFETY: as above.
        unsafe { place.write(entry) };
        stored += 1;
    });
    // SAFETY: the header requires the address of a number.
    unsafe { count.write(stored) };
    outcome(stepped)
}
