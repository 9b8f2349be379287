//! An open database: open, close, writes, work on the whole of it, and what its open has found.

use std::ffi::{CString, c_char};
use std::ptr::null_mut;
use std::time::Duration;

use cairndb::{Db, ForkReport, Keyspace, OpenReport, Result, WriteOptions};

use crate::boundary::guarded;
use crate::bytes::{bytes, c_string, path, range};
use crate::face::error::{cairndb_error, outcome, outcome_in};
use crate::face::handles::{cairndb_batch, cairndb_db, cairndb_snapshot};
use crate::face::options::{cairndb_durability, cairndb_options, level};
use crate::handle::{Handle, insert, with_exclusive, with_shared};
use crate::leveldb::database::close;
use crate::leveldb::objects::{give, take_back};
use crate::objects::{Batch, Database, Keyed, SnapshotOf};

/// Opens the database in directory `path` and stores its handle in `*db`. NULL options stand for
/// the defaults.
///
/// Errors: `NOT_FOUND` without a database, unless it is to be created; `INVALID_ARGUMENT` if the
/// directory holds something else, or was created with another comparator or merge operator;
/// `LOCKED` while another handle or process has it open; `CORRUPTION`, `FORMAT_TOO_NEW`,
/// `NO_SPACE`, `IO`. A refused open changes nothing on disk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_open(
    options: *const cairndb_options,
    path: *const c_char,
    db: *mut *mut cairndb_db,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { cairndb_options::read(options) };
    // SAFETY: the header requires a string.
    let place = unsafe { crate::bytes::path(path) };
    let opened = guarded(|| insert(Database::new(options?.open(place?)?)));
    // SAFETY: the header requires NULL or the address of a handle.
    unsafe { outcome_in(db, null_mut(), opened.map(Handle::pointer)) }
}

/// Closes the database: flushes, and makes everything durable, so that the next open has nothing to
/// replay. The handle is invalid afterwards, also after an error. Iterators and snapshots must
/// still be destroyed.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_close(db: *mut cairndb_db) -> *mut cairndb_error {
    outcome(close(Handle::of(db)))
}

/// Runs `run` with the database.
#[inline]
pub(crate) fn with(
    db: *const cairndb_db,
    run: impl FnOnce(&Db) -> Result<()>,
) -> *mut cairndb_error {
    outcome(with_shared(Handle::of(db), |database: &Database| {
        run(&database.0)
    }))
}

/// Runs `run` with the keys of a database or a keyspace.
#[inline]
pub(crate) fn with_keys<T: Keyed>(
    place: Handle,
    run: impl FnOnce(&Keyspace) -> Result<()>,
) -> *mut cairndb_error {
    outcome(with_shared(place, |place: &T| run(place.keys())))
}

#[inline]
pub(crate) fn write_options(durability: u32) -> Result<WriteOptions> {
    let options = WriteOptions::new();
    let level = level(durability)?;
    Ok(level.map_or(options, |level| options.durability(level)))
}

/// Sets `key` (at most 64 MiB) to `value` (at most 1 GiB). After an error the write is not visible.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_put(
    db: *mut cairndb_db,
    key: *const c_char,
    key_len: usize,
    value: *const c_char,
    value_len: usize,
    durability: cairndb_durability,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    // SAFETY: as above.
    let value = unsafe { bytes(value, value_len) };
    with_keys::<Database>(Handle::of(db), |keys| {
        keys.put_with(key?, value?, &write_options(durability)?)
    })
}

/// Removes `key`. An absent key is no error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_delete(
    db: *mut cairndb_db,
    key: *const c_char,
    key_len: usize,
    durability: cairndb_durability,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    with_keys::<Database>(Handle::of(db), |keys| {
        keys.delete_with(key?, &write_options(durability)?)
    })
}

/// Removes the keys from `from` up to, but not including, `to`, in constant time. `from` may be
/// NULL for the first key, and `to` NULL for no end; a `to` that is not NULL, of length 0, is the
/// empty key. Ends in reverse order remove nothing. The space is freed in the background.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_delete_range(
    db: *mut cairndb_db,
    from: *const c_char,
    from_len: usize,
    to: *const c_char,
    to_len: usize,
    durability: cairndb_durability,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or readable bytes.
    let range = unsafe { range((from, from_len), (to, to_len)) };
    with_keys::<Database>(Handle::of(db), |keys| {
        keys.delete_range_with(range?, &write_options(durability)?)
    })
}

/// Removes the keys that start with `prefix`, as `cairndb_delete_range` does, at the durability of
/// the database; a batch can be written with another one. `INVALID_ARGUMENT` with a
/// comparator, whose order need not keep such keys together.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_delete_prefix(
    db: *mut cairndb_db,
    prefix: *const c_char,
    prefix_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let prefix = unsafe { bytes(prefix, prefix_len) };
    with_keys::<Database>(Handle::of(db), |keys| keys.delete_prefix(prefix?))
}

/// Adds `operand` to `key`, without reading it; the merge operator of the database folds it when
/// the key is read or compacted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_merge(
    db: *mut cairndb_db,
    key: *const c_char,
    key_len: usize,
    operand: *const c_char,
    operand_len: usize,
    durability: cairndb_durability,
) -> *mut cairndb_error {
    // SAFETY: the header requires readable bytes.
    let key = unsafe { bytes(key, key_len) };
    // SAFETY: as above.
    let operand = unsafe { bytes(operand, operand_len) };
    with_keys::<Database>(Handle::of(db), |keys| {
        keys.merge_with(key?, operand?, &write_options(durability)?)
    })
}

/// Applies all writes of a batch, or none. The batch keeps its writes.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_write(
    db: *mut cairndb_db,
    batch: *mut cairndb_batch,
    durability: cairndb_durability,
) -> *mut cairndb_error {
    with(db, |db| {
        let options = write_options(durability)?;
        with_exclusive(Handle::of(batch), |_, batch: &mut Batch| {
            db.write_with(&batch.0, &options)
        })
    })
}

/// Writes all memtables to tables and makes them durable, including writes at
/// `CAIRNDB_DURABILITY_NONE`.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_flush(db: *mut cairndb_db) -> *mut cairndb_error {
    with(db, Db::flush)
}

/// Makes every logged write so far durable, as a write at `CAIRNDB_DURABILITY_SYNC` would.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_sync(db: *mut cairndb_db) -> *mut cairndb_error {
    with(db, Db::sync)
}

/// Compacts the keys from `from` to before `to` into one run, and drops the versions that no
/// snapshot sees. NULL stands for the first or the last key. After an error the inputs are kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_compact_range(
    db: *mut cairndb_db,
    from: *const c_char,
    from_len: usize,
    to: *const c_char,
    to_len: usize,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or readable bytes.
    let range = unsafe { range((from, from_len), (to, to_len)) };
    with(db, |db| db.compact_range(range?))
}

/// Stores in `*bytes` how much the keys from `from` to before `to` take on disk, accurate to about
/// a page, plus a share of the large values. NULL stands for the first or the last key. Memtables
/// are not counted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_approximate_size(
    db: *const cairndb_db,
    from: *const c_char,
    from_len: usize,
    to: *const c_char,
    to_len: usize,
    bytes: *mut u64,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or readable bytes.
    let range = unsafe { range((from, from_len), (to, to_len)) };
    let size = with_shared(Handle::of(db), |database: &Database| {
        database.0.approximate_size(range?)
    });
    // SAFETY: the header requires NULL or the address of a number.
    unsafe { outcome_in(bytes, 0, size) }
}

/// How a fork has come to its files: tables and value files.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct cairndb_fork_report {
    /// Number of files that are shared through hard links.
    pub shared: u64,
    /// Number of files that could not be linked, and are clones that share blocks.
    pub cloned: u64,
    /// Number of files that could be neither linked nor cloned, and were copied.
    pub copied: u64,
    /// Bytes of the copied files.
    pub copied_bytes: u64,
}

/// Stores the report of a fork, if there is a place for it, and returns the error.
///
/// # Safety
/// `report` must be NULL or writable.
unsafe fn store_fork(
    report: *mut cairndb_fork_report,
    forked: Result<ForkReport>,
) -> *mut cairndb_error {
    if report.is_null() {
        return outcome(forked.map(drop));
    }
    let made = forked.map(|found| cairndb_fork_report {
        shared: found.shared,
        cloned: found.cloned,
        copied: found.copied,
        copied_bytes: found.copied_bytes,
    });
    // SAFETY: guaranteed by the caller.
    unsafe { outcome_in(report, cairndb_fork_report::default(), made) }
}

/// Creates a database at `directory`, which must be missing or empty, with everything written so
/// far. It shares tables and value files with this one through hard links, so its cost is that of a
/// flush and a link for each file; from then on, each of the two changes without the other. Files
/// that cannot be linked are cloned or copied, as `*report` says, which may be NULL.
///
/// Errors: those of `cairndb_flush`; `INVALID_ARGUMENT` if the directory is not empty; `LOCKED`
/// while another call makes it; `READ_ONLY` of a handle that cannot write. A failed call may be
/// repeated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_fork(
    db: *mut cairndb_db,
    directory: *const c_char,
    report: *mut cairndb_fork_report,
) -> *mut cairndb_error {
    // SAFETY: the header requires a string.
    let directory = unsafe { path(directory) };
    let forked = with_shared(Handle::of(db), |db: &Database| db.0.fork(directory?));
    // SAFETY: the header requires NULL or the address of a report.
    unsafe { store_fork(report, forked) }
}

/// Like `cairndb_fork`, with everything that the snapshot shows, in the keyspaces that exist now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_snapshot_fork(
    snapshot: *const cairndb_snapshot,
    directory: *const c_char,
    report: *mut cairndb_fork_report,
) -> *mut cairndb_error {
    // SAFETY: the header requires a string.
    let directory = unsafe { path(directory) };
    let forked = with_shared(Handle::of(snapshot), |taken: &SnapshotOf| {
        taken.snapshot.fork(directory?)
    });
    // SAFETY: the header requires NULL or the address of a report.
    unsafe { store_fork(report, forked) }
}

/// Same as `cairndb_fork` without a report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_checkpoint(
    db: *mut cairndb_db,
    directory: *const c_char,
) -> *mut cairndb_error {
    // SAFETY: the header requires a string.
    let directory = unsafe { path(directory) };
    with(db, |db| db.checkpoint(directory?))
}

/// Waits until the background work that is due now is done, but about `limit_ms` milliseconds at
/// most, and stores in `*done` whether it is. Returns the error that stopped the work, if any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_wait_idle(
    db: *mut cairndb_db,
    limit_ms: u64,
    done: *mut bool,
) -> *mut cairndb_error {
    let limit = Duration::from_millis(limit_ms);
    let waited = with_shared(Handle::of(db), |database: &Database| {
        // A limit that no clock reaches is none.
        if limit_ms == u64::MAX {
            return database.0.wait_idle().map(|()| true);
        }
        database.0.wait_idle_for(limit)
    });
    // SAFETY: the header requires NULL or the address of a truth value.
    unsafe { outcome_in(done, false, waited) }
}

/// What an open has found and done.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct cairndb_open_report {
    /// Number of log records that were replayed.
    pub replayed_records: u64,
    /// Number of entries in these records.
    pub replayed_entries: u64,
    /// Number of writes at `CAIRNDB_DURABILITY_NONE` that were lost.
    pub unlogged_lost: u64,
    /// Number of files that look like the database's, but are not, and are left alone.
    pub skipped_files: u64,
    /// Whether the open created the database.
    pub created: bool,
    /// Whether the database had been closed cleanly, so that nothing was replayed.
    pub clean: bool,
    /// Whether the log was cut. After a kill it usually is, although no record is lost.
    pub log_cut: bool,
    /// Whether the manifest's unsynced tail was cut.
    pub manifest_cut: bool,
}

/// Stores the report of the open of this database in `*report`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_get_open_report(
    db: *const cairndb_db,
    report: *mut cairndb_open_report,
) -> *mut cairndb_error {
    let found = with_shared(Handle::of(db), |database: &Database| {
        let found = database.0.open_report();
        Ok(cairndb_open_report {
            replayed_records: found.replayed_records,
            replayed_entries: found.replayed_entries,
            unlogged_lost: found.unlogged_lost,
            skipped_files: found.skipped.len() as u64,
            created: found.created,
            clean: found.clean,
            log_cut: found.log_cut.is_some(),
            manifest_cut: found.manifest_cut.is_some(),
        })
    });
    // SAFETY: the header requires NULL or the address of a report.
    unsafe { outcome_in(report, cairndb_open_report::default(), found) }
}

/// What a note reports: one of `CAIRNDB_NOTE_*`. Later versions may add some.
pub type cairndb_note_kind = u32;

/// The log was cut at the offset. After a kill it usually is, although no record is lost.
pub const CAIRNDB_NOTE_LOG_CUT: u32 = 1;
/// The manifest's unsynced tail was cut at the offset.
pub const CAIRNDB_NOTE_MANIFEST_CUT: u32 = 2;
/// The file looks like one of the database, but is not, and is left alone.
pub const CAIRNDB_NOTE_SKIPPED: u32 = 3;

/// One note of an open. The addresses live as long as the notes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cairndb_open_note {
    /// What it reports.
    pub kind: cairndb_note_kind,
    /// Name of the file in the database's directory.
    pub file: *const c_char,
    /// Number of bytes of the file that were kept; 0 for a file that is left alone.
    pub offset: u64,
    /// Reason, as a phrase; empty for the manifest.
    pub reason: *const c_char,
}

/// What an open has cut and left alone. Destroy it with `cairndb_open_notes_destroy`.
pub struct cairndb_open_notes(Vec<Note>);

impl std::fmt::Debug for cairndb_open_notes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("cairndb_open_notes").finish_non_exhaustive()
    }
}

/// A note, with the memory to which the structure for the caller points.
struct Note {
    kind: u32,
    file: CString,
    offset: u64,
    reason: CString,
}

impl Note {
    fn new(kind: u32, file: &str, offset: u64, reason: &str) -> Note {
        Note {
            kind,
            file: c_string(file),
            offset,
            reason: c_string(reason),
        }
    }
}

fn notes(report: &OpenReport) -> Vec<Note> {
    let log = report.log_cut.iter();
    let log = log.map(|cut| Note::new(CAIRNDB_NOTE_LOG_CUT, &cut.file, cut.offset, &cut.reason));
    let manifest = report.manifest_cut.iter();
    let manifest =
        manifest.map(|cut| Note::new(CAIRNDB_NOTE_MANIFEST_CUT, &cut.file, cut.offset, ""));
    let skipped = report.skipped.iter();
    let skipped =
        skipped.map(|skipped| Note::new(CAIRNDB_NOTE_SKIPPED, &skipped.file, 0, &skipped.reason));
    log.chain(manifest).chain(skipped).collect()
}

/// Stores in `*notes` what the open of this database has cut and left alone, by file.
/// `cairndb_get_open_report` has the numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_get_open_notes(
    db: *const cairndb_db,
    notes: *mut *mut cairndb_open_notes,
) -> *mut cairndb_error {
    let found = with_shared(Handle::of(db), |database: &Database| {
        Ok(self::notes(database.0.open_report()))
    });
    if notes.is_null() {
        // SAFETY: NULL is an error.
        return unsafe { outcome_in(notes, null_mut(), found.map(|_| null_mut())) };
    }
    let made = found.map(|found| give(cairndb_open_notes(found)));
    // SAFETY: the header requires the address of notes.
    unsafe { outcome_in(notes, null_mut(), made) }
}

/// Stores the note at `index` in `*note`. Returns whether there is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_open_notes_at(
    notes: *const cairndb_open_notes,
    index: usize,
    note: *mut cairndb_open_note,
) -> bool {
    // SAFETY: the header requires NULL or live notes.
    let found = unsafe { notes.as_ref() }.and_then(|notes| notes.0.get(index));
    let Some(found) = found.filter(|_| !note.is_null()) else {
        return false;
    };
    let stored = cairndb_open_note {
        kind: found.kind,
        file: found.file.as_ptr(),
        offset: found.offset,
        reason: found.reason.as_ptr(),
    };
    // SAFETY: the header requires NULL or the address of a note.
    unsafe { note.write(stored) };
    true
}

/// Destroys notes; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_open_notes_destroy(notes: *mut cairndb_open_notes) {
    // SAFETY: the header requires NULL or live notes.
    unsafe { take_back(notes) };
}
