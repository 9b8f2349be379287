//! Iterators, and their options: a snapshot, and the keys that the iterator sees. And the iterator
//! over what differs in two databases.

use std::ffi::c_char;
use std::ops::Bound;
use std::ptr::{null, null_mut};

use cairndb::{Cursor, Error, Result};

use crate::bytes::{bytes, c_string, parts_of};
use crate::face::error::{cairndb_error, give_error, no_place, outcome, outcome_in, step_in};
use crate::face::handles::{cairndb_db, cairndb_diff, cairndb_iter, cairndb_snapshot};
use crate::handle::{Handle, destroy, entry_of, insert, with_exclusive, with_shared};
use crate::leveldb::iterator::{create, entry, step, step_many, step_on, store_len};
use crate::leveldb::objects::{give, take_back};
use crate::objects::{Comparison, Database, Iter, Keyed, Part, Position, Spans};

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

/// Options of an iterator. Setters do nothing for NULL; a key with a wrong length is reported by
/// `cairndb_iter_create_with`. Destroy them with `cairndb_iter_options_destroy`.
pub struct cairndb_iter_options {
    snapshot: Handle,
    part: Result<Option<Part>>,
}

impl std::fmt::Debug for cairndb_iter_options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("cairndb_iter_options")
            .finish_non_exhaustive()
    }
}

/// Returns options for an iterator over all keys of the current state.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_iter_options_create() -> *mut cairndb_iter_options {
    give(cairndb_iter_options {
        snapshot: Handle::NULL,
        part: Ok(None),
    })
}

/// Destroys options; NULL is allowed. Iterators keep what they were created with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_iter_options_destroy(options: *mut cairndb_iter_options) {
    // SAFETY: the header requires NULL or live options.
    unsafe { take_back(options) };
}

/// Sets the snapshot to read; NULL for the current state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_iter_options_set_snapshot(
    options: *mut cairndb_iter_options,
    snapshot: *const cairndb_snapshot,
) {
    // SAFETY: the header requires NULL or live options.
    if let Some(options) = unsafe { options.as_mut() } {
        options.snapshot = Handle::of(snapshot);
    }
}

/// Sets the part of the keys; the first error is kept.
///
/// # Safety
/// `options` must be NULL or live.
unsafe fn set_part(options: *mut cairndb_iter_options, part: Result<Part>) {
    // SAFETY: guaranteed by the caller.
    if let Some(options) = unsafe { options.as_mut() }
        && options.part.is_ok()
    {
        options.part = part.map(Some);
    }
}

/// Sets the keys that the iterator sees: from `from` to before `to`, in the order of the database.
/// NULL stands for the first or the last key. Replaces a prefix that was set before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_iter_options_set_range(
    options: *mut cairndb_iter_options,
    from: *const c_char,
    from_len: usize,
    to: *const c_char,
    to_len: usize,
) {
    // SAFETY: the header requires NULL or readable bytes.
    let from = unsafe { bound(from, from_len) };
    // SAFETY: as above.
    let to = unsafe { bound(to, to_len) };
    let part = from.and_then(|from| {
        let from = from.map_or(Bound::Unbounded, Bound::Included);
        let to = to?.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(Part::Range(from, to))
    });
    // SAFETY: the header requires NULL or live options.
    unsafe { set_part(options, part) };
}

/// Sets the keys that the iterator sees: those that start with `prefix`. With a comparator, those
/// that start with `prefix` and follow `prefix` itself without a gap. Replaces a range that was set
/// before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_iter_options_set_prefix(
    options: *mut cairndb_iter_options,
    prefix: *const c_char,
    prefix_len: usize,
) {
    // SAFETY: the header requires readable bytes.
    let prefix = unsafe { bytes(prefix, prefix_len) };
    let part = prefix.map(|prefix| Part::Prefix(prefix.to_vec()));
    // SAFETY: the header requires NULL or live options.
    unsafe { set_part(options, part) };
}

/// Copies one end of a range; NULL for none.
///
/// # Safety
/// `key` must be NULL or readable for `len` bytes.
unsafe fn bound(key: *const c_char, len: usize) -> Result<Option<Vec<u8>>> {
    if key.is_null() {
        return Ok(None);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { bytes(key, len) }.map(|key| Some(key.to_vec()))
}

/// Stores an iterator with these options in `*iter`, not yet on an entry. Later writes are not
/// visible to it.
///
/// If a range or a prefix is set, a move that leaves it ends there: the iterator must be positioned
/// again. `cairndb_iter_seek` with a key before it moves to its first entry, and
/// `cairndb_iter_seek_for_prev` with a key after it to its last one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_iter_create_with(
    db: *mut cairndb_db,
    options: *const cairndb_iter_options,
    iter: *mut *mut cairndb_iter,
) -> *mut cairndb_error {
    // SAFETY: the header requires live options.
    unsafe { create_with::<Database>(Handle::of(db), options, iter) }
}

/// Stores an iterator over a database or a keyspace in `*iter`.
///
/// # Safety
/// `options` must be NULL or live, and `iter` NULL or writable.
pub(crate) unsafe fn create_with<T: Keyed>(
    place: Handle,
    options: *const cairndb_iter_options,
    iter: *mut *mut cairndb_iter,
) -> *mut cairndb_error {
    // SAFETY: guaranteed by the caller.
    let options = unsafe { options.as_ref() };
    let made = options
        .ok_or_else(|| Error::invalid("the options are NULL"))
        .and_then(|options| {
            let part = options.part.as_ref().map_err(Error::clone)?;
            create::<T>(place, options.snapshot, part.as_ref())
        });
    // SAFETY: guaranteed by the caller.
    unsafe { outcome_in(iter, null_mut(), made.map(Handle::pointer)) }
}

/// Stores an iterator in `*iter`, not yet on an entry: over `snapshot`, or over the current state
/// if that is NULL. Later writes are not visible to it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_iter_create(
    db: *mut cairndb_db,
    snapshot: *const cairndb_snapshot,
    iter: *mut *mut cairndb_iter,
) -> *mut cairndb_error {
    let made = create::<Database>(Handle::of(db), Handle::of(snapshot), None);
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
    outcome(step(Handle::of(iter), Position::seek_to_first))
}

/// Moves to the last entry.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_iter_seek_to_last(iter: *mut cairndb_iter) -> *mut cairndb_error {
    outcome(step(Handle::of(iter), Position::seek_to_last))
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
    outcome(step_on(Handle::of(iter), Cursor::next, Position::next))
}

/// Moves to the previous entry. Does nothing if the iterator is not on one.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_iter_prev(iter: *mut cairndb_iter) -> *mut cairndb_error {
    outcome(step_on(Handle::of(iter), Cursor::prev, Position::prev))
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

/// A key whose values differ.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cairndb_difference {
    /// Name of the keyspace; NULL for the default one.
    pub keyspace: *const c_char,
    /// Address of the key.
    pub key: *const c_char,
    /// Length of the key.
    pub key_len: usize,
    /// Address of the value in the first database. NULL if it does not have the key; not NULL for
    /// an empty value.
    pub before: *const c_char,
    /// Length of this value.
    pub before_len: usize,
    /// Address of the value in the second database; likewise.
    pub after: *const c_char,
    /// Length of this value.
    pub after_len: usize,
}

/// Compares the contents of two databases, as of the call, and stores the comparison in `*diff`.
/// Of a database and its fork, the tables that both share are skipped, as long as they are most of
/// both; otherwise, both are read from front to back.
///
/// Errors: `INVALID_ARGUMENT` if a keyspace has different orders in the two databases; those of
/// `cairndb_get`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_diff_create(
    before: *const cairndb_db,
    after: *const cairndb_db,
    diff: *mut *mut cairndb_diff,
) -> *mut cairndb_error {
    let made = with_shared(Handle::of(before), |before: &Database| {
        with_shared(Handle::of(after), |after: &Database| {
            insert(Comparison {
                diff: cairndb::diff(&before.0, &after.0)?,
                at: None,
                keyspace: None,
            })
        })
    });
    // SAFETY: the header requires NULL or the address of a handle.
    unsafe { outcome_in(diff, null_mut(), made.map(Handle::pointer)) }
}

/// Stores the next difference in `*difference`, and in `*found` whether there is one. They are in
/// the order of their keys, the default keyspace first, then the others by name. The addresses are
/// valid until the next call with this handle. A call may take long where nothing differs, and can
/// be watched. After an error other than `INTERRUPTED` there are no more differences.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_diff_next(
    diff: *mut cairndb_diff,
    difference: *mut cairndb_difference,
    found: *mut bool,
) -> *mut cairndb_error {
    let step = |it: &mut Comparison| {
        it.at = it.diff.next().transpose()?;
        let Some(at) = &it.at else {
            return Ok(None);
        };
        it.keyspace = at.keyspace.as_deref().map(c_string);
        let (key, key_len) = parts_of(Some(&at.key));
        let (before, before_len) = parts_of(at.before.as_deref());
        let (after, after_len) = parts_of(at.after.as_deref());
        Ok(Some(cairndb_difference {
            keyspace: it.keyspace.as_ref().map_or(null(), |name| name.as_ptr()),
            key,
            key_len,
            before,
            before_len,
            after,
            after_len,
        }))
    };
    let step = || with_exclusive(Handle::of(diff), |_, it| step(it));
    // SAFETY: the header requires NULL or the addresses of a difference and a truth value.
    unsafe { step_in(difference, found, step) }
}

/// Destroys a comparison, also after its databases were closed.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_diff_destroy(diff: *mut cairndb_diff) -> *mut cairndb_error {
    outcome(destroy::<Comparison>(Handle::of(diff)))
}
