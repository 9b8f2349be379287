//! Point reads, the snapshots that they read, and the writes of another process that they see.

use std::ffi::c_char;
use std::ptr::null_mut;
use std::time::Duration;

use cairndb::Db;

use crate::face::database::with;
use crate::face::error::{cairndb_error, outcome, outcome_in};
use crate::face::handles::cairndb_value;
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

/// Looks for new writes of the process that writes, in a follower (`cairndb_options_set_follow`):
/// reads that begin after this call see everything that was acknowledged before it. A follower does
/// so at each read, unless `cairndb_options_set_manual_refresh` is set.
///
/// Errors: `INVALID_ARGUMENT` if the handle does not follow, or if the database has a new keyspace
/// whose comparator or merge operator is not registered; `NOT_SUPPORTED` if a version that does not
/// inform followers writes; `CLOSED`, also if the database was destroyed; `REVOKED` if this process
/// may not write to the file system, and the writer removes files faster than they can be read;
/// `CORRUPTION`, `FORMAT_TOO_NEW`, `IO`. After an error the follower shows what it showed before.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_refresh(db: *mut cairndb_db) -> *mut cairndb_error {
    with(db, Db::refresh)
}

/// Waits until a follower sees everything up to a sequence number that `cairndb_sequence_number`
/// has stored in the process that writes, but `limit_ms` milliseconds at most, and stores in
/// `*reached` whether it does. `UINT64_MAX` is no limit. A write at `CAIRNDB_DURABILITY_NONE` is
/// seen after its flush, perhaps after later writes. The wait looks for new writes at least every
/// millisecond.
///
/// Errors: those of `cairndb_refresh`; `INTERRUPTED` by the watcher of `cairndb_watch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_wait_for(
    db: *mut cairndb_db,
    sequence_number: u64,
    limit_ms: u64,
    reached: *mut bool,
) -> *mut cairndb_error {
    let limit = Duration::from_millis(limit_ms);
    let waited = with_shared(Handle::of(db), |open: &Database| {
        open.0.wait_for(sequence_number, limit)
    });
    // SAFETY: the header requires NULL or the address of a truth value.
    unsafe { outcome_in(reached, false, waited) }
}

/// Stores the sequence number of the newest write that reads of this handle see in
/// `*sequence_number`; below 2^56. Each entry of a batch takes one number. Called after a write, it
/// stores that of the write or of a later one, which another process can pass to
/// `cairndb_wait_for`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_sequence_number(
    db: *const cairndb_db,
    sequence_number: *mut u64,
) -> *mut cairndb_error {
    let newest = with_shared(Handle::of(db), |open: &Database| {
        Ok(open.0.sequence_number())
    });
    // SAFETY: the header requires NULL or the address of a number.
    unsafe { outcome_in(sequence_number, 0, newest) }
}

/// Stores in `*has_writer` whether a process has the database of a follower open for writing now.
/// While there is none, the follower shows the last state.
///
/// Errors: `INVALID_ARGUMENT` if the handle does not follow; `NOT_SUPPORTED` if a version that does
/// not inform followers writes; `IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_has_writer(
    db: *const cairndb_db,
    has_writer: *mut bool,
) -> *mut cairndb_error {
    let found = with_shared(Handle::of(db), |open: &Database| open.0.has_writer());
    // SAFETY: the header requires NULL or the address of a truth value.
    unsafe { outcome_in(has_writer, false, found) }
}
