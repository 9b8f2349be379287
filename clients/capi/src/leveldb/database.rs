//! An open database: open, close, reads, writes, properties.

use std::ffi::{c_char, c_int};
use std::ops::Bound;
use std::path::Path;
use std::ptr::null_mut;

use cairndb::{Error, ErrorKind, Result};
use rustix::fs::Access;
use rustix::io::Errno;

use crate::boundary::{guarded, keep, or_keep};
use crate::bytes::{bytes, path, text};
use crate::errors::or_store;
use crate::handle::{Handle, destroy, insert, with_exclusive, with_pinned, with_shared};
use crate::leveldb::options::{leveldb_options_t, leveldb_readoptions_t, leveldb_writeoptions_t};
use crate::leveldb::{leveldb_t, leveldb_writebatch_t, translate};
use crate::memory::{copy, copy_text};
use crate::objects::{Batch, Database, Keyed, SnapshotOf};

/// Opens the database at `name`; NULL after an error. A LevelDB database is converted first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_open(
    options: *const leveldb_options_t,
    name: *const c_char,
    errptr: *mut *mut c_char,
) -> *mut leveldb_t {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { options.as_ref() };
    // SAFETY: the header requires a string.
    let name = unsafe { path(name) };
    let opened = guarded(|| {
        let name = name?;
        let db = translate::options(options)?.open(name);
        insert(Database::new(db.map_err(|error| lock_first(name, error))?))
    });
    // SAFETY: the header requires the address of NULL or of an earlier text.
    unsafe { or_store(errptr, opened, Handle::NULL) }.pointer()
}

/// Returns the error that LevelDB reports for a failed open of `name`.
///
/// LevelDB creates the lock file before it looks for a database. So in a directory that cannot be
/// written, a missing database is an I/O error there, and programs distinguish the two.
#[cold]
fn lock_first(name: &Path, error: Error) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return error;
    }
    match rustix::fs::access(name, Access::WRITE_OK) {
        Err(errno @ (Errno::ACCESS | Errno::ROFS)) => {
            Error::io("the lock file cannot be created", errno.into()).path(&name.join("LOCK"))
        }
        _ => error,
    }
}

/// Closes the database: makes everything durable. Iterators and snapshots may be destroyed later;
/// using them is an error.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_close(db: *mut leveldb_t) {
    or_keep(close(Handle::of(db)), ());
}

/// Closes the database of `handle`. The handle is invalid afterwards, whatever the result, unless
/// it belongs to the parent process.
///
/// # Errors
/// Those of the handle, and of `Db::close`.
pub(crate) fn close(handle: Handle) -> Result<()> {
    let closed = with_shared(handle, |database: &Database| database.0.close());
    let destroyed = destroy::<Database>(handle);
    match closed {
        // A poisoned handle: dropping the database closes it.
        Err(error) if error.kind() == ErrorKind::Poisoned => destroyed.and(Err(error)),
        closed => closed.and(destroyed),
    }
}

/// Sets `key` to `val`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_put(
    db: *mut leveldb_t,
    options: *const leveldb_writeoptions_t,
    key: *const c_char,
    keylen: usize,
    val: *const c_char,
    vallen: usize,
    errptr: *mut *mut c_char,
) {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { translate::write_options(options) };
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, keylen) };
    // SAFETY: as above.
    let val = unsafe { bytes(val, vallen) };
    let done = with_shared(Handle::of(db), |database: &Database| {
        database.0.put_with(key?, val?, &options)
    });
    // SAFETY: the header requires the address of NULL or of an earlier text.
    unsafe { or_store(errptr, done, ()) };
}

/// Removes `key`. An absent key is not an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_delete(
    db: *mut leveldb_t,
    options: *const leveldb_writeoptions_t,
    key: *const c_char,
    keylen: usize,
    errptr: *mut *mut c_char,
) {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { translate::write_options(options) };
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, keylen) };
    let done = with_shared(Handle::of(db), |database: &Database| {
        database.0.delete_with(key?, &options)
    });
    // SAFETY: the header requires the address of NULL or of an earlier text.
    unsafe { or_store(errptr, done, ()) };
}

/// Applies the batch atomically. The batch stays as it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_write(
    db: *mut leveldb_t,
    options: *const leveldb_writeoptions_t,
    batch: *mut leveldb_writebatch_t,
    errptr: *mut *mut c_char,
) {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { translate::write_options(options) };
    let done = with_shared(Handle::of(db), |database: &Database| {
        with_exclusive(Handle::of(batch), |_, batch: &mut Batch| {
            database.0.write_with(&batch.0, &options)
        })
    });
    // SAFETY: the header requires the address of NULL or of an earlier text.
    unsafe { or_store(errptr, done, ()) };
}

/// Returns the value of `key`, as memory that the caller frees, and its length in `*vallen`. NULL
/// if there is none, or after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_get(
    db: *mut leveldb_t,
    options: *const leveldb_readoptions_t,
    key: *const c_char,
    keylen: usize,
    vallen: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut c_char {
    // SAFETY: the header requires NULL or live options.
    let snapshot = unsafe { translate::snapshot(options) };
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, keylen) };
    let found = key.and_then(|key| get(Handle::of(db), snapshot, key));
    // SAFETY: the header requires the address of NULL or of an earlier text.
    let (value, len) = unsafe { or_store(errptr, found, (null_mut(), 0)) };
    // SAFETY: the header requires NULL or the address of a length.
    if let Some(vallen) = unsafe { vallen.as_mut() } {
        *vallen = len;
    }
    value
}

/// Copies the value of `key`; NULL and 0 if there is none.
#[inline]
fn get(db: Handle, snapshot: Handle, key: &[u8]) -> Result<(*mut c_char, usize)> {
    let take = |value: &[u8]| Ok((copy(value)?, value.len()));
    let found = read_value::<Database, _>(db, snapshot, key, take)?;
    Ok(found.unwrap_or((null_mut(), 0)))
}

/// Passes the value of `key` to `take`; `None` if there is none.
///
/// Short values are decoded into the thread's buffer. A large one is borrowed where it is mapped,
/// if the last one was large, too.
///
/// # Errors
/// Those of the handles, of the read and of `take`.
#[inline]
pub(crate) fn read_value<T: Keyed, R>(
    place: Handle,
    snapshot: Handle,
    key: &[u8],
    take: impl FnOnce(&[u8]) -> Result<R>,
) -> Result<Option<R>> {
    with_pinned(place, |place: &T, pin| {
        let keys = place.keys();
        if !snapshot.is_null() {
            return with_shared(snapshot, |snapshot: &SnapshotOf| {
                let value = snapshot.snapshot.get_in(keys, key)?;
                value.map(|value| take(&value)).transpose()
            });
        }
        if !pin.expects_short_value() {
            let value = keys.get(key)?;
            pin.note_value(value.as_ref().map_or(0, |value| value.len()));
            return value.map(|value| take(&value)).transpose();
        }
        let mut buffer = pin.take_buffer();
        let found = keys.get_into(key, &mut buffer);
        let taken = found.and_then(|found| found.then(|| take(&buffer)).transpose());
        pin.note_value(buffer.len());
        pin.keep_buffer(buffer);
        taken
    })
}

/// Returns a property as a string that the caller frees; NULL for an unknown name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_property_value(
    db: *mut leveldb_t,
    propname: *const c_char,
) -> *mut c_char {
    // SAFETY: the header requires a string.
    let name = unsafe { text(propname, "the property's name") };
    let found = with_shared(Handle::of(db), |database: &Database| {
        // A name that is not text is unknown, as any other.
        Ok(name.ok().and_then(|name| database.0.property(name)))
    });
    or_keep(found, None).map_or(null_mut(), |property| copy_text(&property))
}

/// Stores in `sizes` how many bytes each range takes on disk, approximately; 0 after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_approximate_sizes(
    db: *mut leveldb_t,
    num_ranges: c_int,
    range_start_key: *const *const c_char,
    range_start_key_len: *const usize,
    range_limit_key: *const *const c_char,
    range_limit_key_len: *const usize,
    sizes: *mut u64,
) {
    let ranges = usize::try_from(num_ranges).unwrap_or(0);
    let missing = [
        range_start_key.is_null(),
        range_start_key_len.is_null(),
        range_limit_key.is_null(),
        range_limit_key_len.is_null(),
        sizes.is_null(),
    ];
    if ranges > 0 && missing.contains(&true) {
        return keep(Error::invalid("an array of the ranges is NULL"));
    }
    for index in 0..ranges {
        // SAFETY: the header requires arrays of `num_ranges` elements.
        let start = unsafe { nth_key(range_start_key, range_start_key_len, index) };
        // SAFETY: as above.
        let limit = unsafe { nth_key(range_limit_key, range_limit_key_len, index) };
        let size = with_shared(Handle::of(db), |database: &Database| {
            database.0.approximate_size(start?..limit?)
        });
        let size = or_keep(size, 0);
        // SAFETY: as above.
        let place = unsafe { sizes.add(index) };
        // SAFETY: as above.
        unsafe { place.write(size) };
    }
}

/// Returns the key at `index` of two arrays.
///
/// # Safety
/// Both arrays must be readable at `index`, and the key for its length.
unsafe fn nth_key<'a>(
    keys: *const *const c_char,
    lens: *const usize,
    index: usize,
) -> Result<&'a [u8]> {
    // SAFETY: guaranteed by the caller.
    let key = unsafe { keys.add(index) };
    // SAFETY: guaranteed by the caller.
    let len = unsafe { lens.add(index) };
    // SAFETY: guaranteed by the caller.
    let (key, len) = (unsafe { key.read() }, unsafe { len.read() });
    // SAFETY: guaranteed by the caller.
    unsafe { bytes(key, len) }
}

/// Compacts the keys from `start_key` to `limit_key`; NULL stands for the first or the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leveldb_compact_range(
    db: *mut leveldb_t,
    start_key: *const c_char,
    start_key_len: usize,
    limit_key: *const c_char,
    limit_key_len: usize,
) {
    // SAFETY: the header requires NULL or readable bytes.
    let start = unsafe { end(start_key, start_key_len) };
    // SAFETY: as above.
    let limit = unsafe { end(limit_key, limit_key_len) };
    let compacted = with_shared(Handle::of(db), |database: &Database| {
        database.0.compact_range((start?, limit?))
    });
    or_keep(compacted, ());
}

/// Returns one end of a range; NULL for none.
///
/// # Safety
/// `key` must be NULL or readable for `len` bytes.
unsafe fn end<'a>(key: *const c_char, len: usize) -> Result<Bound<&'a [u8]>> {
    if key.is_null() {
        return Ok(Bound::Unbounded);
    }
    // SAFETY: guaranteed by the caller.
    unsafe { bytes(key, len) }.map(Bound::Included)
}
