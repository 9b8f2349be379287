//! Iterators.

use std::ffi::c_char;
use std::ptr::null;

use cairndb::{Cursor, Error, Result};

use crate::boundary::{keep, or_keep};
use crate::bytes::bytes;
use crate::errors::or_store;
use crate::handle::{Entry, Handle, destroy, entry_of, insert, with_exclusive, with_shared};
use crate::leveldb::options::leveldb_readoptions_t;
use crate::leveldb::{leveldb_iterator_t, leveldb_t, translate};
use crate::objects::{Copies, Database, Iter, Keyed, Part, Position, SnapshotOf, Spans};

/// Makes an iterator over the database or the snapshot of the options, not yet on an entry. NULL
/// after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_create_iterator(
    db: *mut leveldb_t,
    options: *const leveldb_readoptions_t,
) -> *mut leveldb_iterator_t {
    // SAFETY: the header requires NULL or live options.
    let snapshot = unsafe { translate::snapshot(options) };
    let made = create::<Database>(Handle::of(db), snapshot, None);
    or_keep(made, Handle::NULL).pointer()
}

/// Makes an iterator over a part of the keys of a database or a keyspace, or over all of them;
/// `snapshot` may be the null handle.
///
/// # Errors
/// Those of the handles; `InvalidArgument` if the snapshot is of another database.
pub(crate) fn create<T: Keyed>(
    place: Handle,
    snapshot: Handle,
    part: Option<&Part>,
) -> Result<Handle> {
    with_shared(place, |place: &T| {
        let cursor = if snapshot.is_null() {
            place.keys().cursor()
        } else {
            with_shared(snapshot, |snapshot: &SnapshotOf| {
                snapshot.snapshot.cursor_in(place.keys())
            })?
        };
        insert(Iter {
            position: Position::new(cursor, part),
            error: None,
            copies: Copies::default(),
        })
    })
}

/// Destroys an iterator.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_iter_destroy(iter: *mut leveldb_iterator_t) {
    or_keep(destroy::<Iter>(Handle::of(iter)), ());
}

/// Moves the iterator and notes where its entry is.
#[inline]
pub(crate) fn step(handle: Handle, step: impl FnOnce(&mut Position) -> Result<()>) -> Result<()> {
    with_exclusive(handle, |slot, iter: &mut Iter| {
        // Until the move has succeeded, there is no entry, also if it panics.
        slot.entry.set(None);
        let moved = step(&mut iter.position);
        if moved.is_ok() {
            slot.entry.set(iter.position.entry());
        }
        iter.error = None;
        moved.inspect_err(|error| iter.error = Some(error.clone()))
    })
}

/// Same as [`step`], for the moves of a scan: the kind of the position is looked at once, which is
/// measurable. `part` is the move of a cursor over a part of the keys.
#[inline]
pub(crate) fn step_on(
    handle: Handle,
    whole: impl FnOnce(&mut Cursor) -> Result<()>,
    part: impl FnOnce(&mut Position) -> Result<()>,
) -> Result<()> {
    with_exclusive(handle, |slot, iter: &mut Iter| {
        slot.entry.set(None);
        let Position::Whole(cursor) = &mut iter.position else {
            let moved = part(&mut iter.position);
            if moved.is_ok() {
                slot.entry.set(iter.position.entry());
            }
            iter.error = moved.as_ref().err().cloned();
            return moved;
        };
        let moved = whole(cursor);
        if moved.is_ok() && cursor.valid() {
            slot.entry.set(Some((cursor.key(), cursor.value())));
        }
        iter.error = None;
        moved.inspect_err(|error| iter.error = Some(error.clone()))
    })
}

/// Returns whether the iterator is on an entry.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_iter_valid(iter: *const leveldb_iterator_t) -> u8 {
    match entry_of(Handle::of(iter)) {
        Ok(entry) => entry.is_some().into(),
        Err(error) => {
            keep(error);
            0
        }
    }
}

/// Moves to the first entry.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_iter_seek_to_first(iter: *mut leveldb_iterator_t) {
    or_keep(step(Handle::of(iter), Position::seek_to_first), ());
}

/// Moves to the last entry.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_iter_seek_to_last(iter: *mut leveldb_iterator_t) {
    or_keep(step(Handle::of(iter), Position::seek_to_last), ());
}

/// Moves to the first entry at or after `key`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_iter_seek(
    iter: *mut leveldb_iterator_t,
    key: *const c_char,
    keylen: usize,
) {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, keylen) };
    or_keep(step(Handle::of(iter), |cursor| cursor.seek(key?)), ());
}

/// Moves to the next entry.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_iter_next(iter: *mut leveldb_iterator_t) {
    or_keep(step_on(Handle::of(iter), Cursor::next, Position::next), ());
}

/// Moves to the previous entry.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_iter_prev(iter: *mut leveldb_iterator_t) {
    or_keep(step_on(Handle::of(iter), Cursor::prev, Position::prev), ());
}

/// Returns the entry, or keeps the error.
#[inline]
pub(crate) fn entry(iter: Handle) -> Option<Entry> {
    match entry_of(iter) {
        Ok(Some(entry)) => Some(entry),
        Ok(None) => {
            keep(Error::invalid("the iterator is not on an entry"));
            None
        }
        Err(error) => {
            keep(error);
            None
        }
    }
}

/// Stores a length that the caller asked for.
///
/// # Safety
/// `place` must be NULL or the address of a length.
#[inline]
pub(crate) unsafe fn store_len(place: *mut usize, len: usize) {
    if !place.is_null() {
        // SAFETY: guaranteed by the caller.
        unsafe { place.write(len) };
    }
}

/// Returns the key of the entry, valid until the next move. NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_iter_key(
    iter: *const leveldb_iterator_t,
    klen: *mut usize,
) -> *const c_char {
    let entry = entry(Handle::of(iter));
    let (key, len) = entry.map_or((null(), 0), |entry| (entry.key, entry.key_len));
    // SAFETY: the header requires NULL or the address of a length.
    unsafe { store_len(klen, len) };
    key.cast()
}

/// Returns the value of the entry, valid until the next move. NULL if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_iter_value(
    iter: *const leveldb_iterator_t,
    vlen: *mut usize,
) -> *const c_char {
    let entry = entry(Handle::of(iter));
    let (value, len) = entry.map_or((null(), 0), |entry| (entry.value, entry.value_len));
    // SAFETY: the header requires NULL or the address of a length.
    unsafe { store_len(vlen, len) };
    value.cast()
}

/// Stores the error of the last move in `*errptr`, if it failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_iter_get_error(
    iter: *const leveldb_iterator_t,
    errptr: *mut *mut c_char,
) {
    let error = with_exclusive(Handle::of(iter), |_, iter: &mut Iter| {
        iter.error.clone().map_or(Ok(()), Err)
    });
    // SAFETY: the header requires the address of NULL or of an earlier text.
    unsafe { or_store(errptr, error, ()) };
}

/// Bytes after which [`step_many`] ends.
const MANY_BYTES: usize = 1 << 20;

/// Copies up to `max` entries to memory of the iterator, beginning with the one that it is on,
/// moves past them, and then passes where each starts to `take`, with its lengths.
///
/// # Errors
/// Those of the handle and of the moves; the entries before the error are passed nevertheless.
pub(crate) fn step_many(
    handle: Handle,
    max: usize,
    mut take: impl FnMut(*const u8, &Spans),
) -> Result<()> {
    with_exclusive(handle, |slot, iter: &mut Iter| {
        slot.entry.set(None);
        let Iter {
            position,
            error,
            copies,
        } = iter;
        let moved = copies.fill(position, max);
        copies.each(&mut take);
        if moved.is_ok() {
            slot.entry.set(position.entry());
        }
        *error = moved.as_ref().err().cloned();
        moved
    })
}

impl Copies {
    fn fill(&mut self, position: &mut Position, max: usize) -> Result<()> {
        self.bytes.clear();
        self.spans.clear();
        if position.entry().is_none() {
            // Moves nowhere, but reports that the database was closed.
            return position.next();
        }
        while self.spans.len() < max && self.bytes.len() < MANY_BYTES {
            let Some((key, value)) = position.entry() else {
                break;
            };
            self.bytes.extend_from_slice(key);
            self.bytes.extend_from_slice(value);
            self.spans.push(Spans {
                key_len: key.len(),
                value_len: value.len(),
            });
            position.next()?;
        }
        Ok(())
    }

    fn each(&self, take: &mut impl FnMut(*const u8, &Spans)) {
        let mut rest = &*self.bytes;
        for spans in &self.spans {
            take(rest.as_ptr(), spans);
            rest = &rest[spans.key_len + spans.value_len..];
        }
    }
}
