//! Databases that are not open: verify, destroy, and conversions of LevelDB's.

use std::ffi::{c_char, c_void};

use cairndb::leveldb::{UpgradeOptions, UpgradeStep, plan, upgrade};

use crate::boundary::guarded;
use crate::callbacks::CallbackState;
use crate::face::error::{cairndb_error, outcome, outcome_in};
use crate::face::options::cairndb_options;

/// What `cairndb_verify` has read and found correct.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct cairndb_verify_report {
    /// Number of tables.
    pub tables: u64,
    /// Number of entries that a scan returns: keys with a value.
    pub entries: u64,
    /// Number of versions stored in the tables: entries, tombstones, merge operands and older
    /// versions.
    pub versions: u64,
    /// Number of bytes in the tables.
    pub bytes: u64,
    /// Number of large values.
    pub values: u64,
    /// Number of versions in the log that the next open would replay.
    pub log_versions: u64,
}

/// Checks the whole database in directory `path`, without changing anything. `options` need the
/// database's comparator and merge operator. The first damage is returned as `CORRUPTION`, with
/// file and offset. `report` may be NULL.
///
/// `LOCKED` while a handle has the database open for writing, unless `cairndb_options_set_follow`
/// is set: then the state at the time of the call is checked. `REVOKED` if the writer has removed
/// files of it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_verify(
    path: *const c_char,
    options: *const cairndb_options,
    report: *mut cairndb_verify_report,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { cairndb_options::read(options) };
    // SAFETY: the header requires a string.
    let place = unsafe { crate::bytes::path(path) };
    let verified = guarded(|| cairndb::verify(place?, &options?));
    let verified = verified.map(|found| cairndb_verify_report {
        tables: found.tables,
        entries: found.entries,
        versions: found.versions,
        bytes: found.bytes,
        values: found.values,
        log_versions: found.log_versions,
    });
    if report.is_null() {
        return outcome(verified.map(drop));
    }
    // SAFETY: the header requires NULL or the address of a report.
    unsafe { outcome_in(report, cairndb_verify_report::default(), verified) }
}

/// Removes the database in directory `path`: every file whose contents identify it as CairnDB's,
/// then the directory, if that leaves it empty. A missing database is no error. Unlike
/// `leveldb_destroy_db`, refuses a directory of LevelDB and keeps leveldb-original/.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_destroy(
    path: *const c_char,
    options: *const cairndb_options,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { cairndb_options::read(options) };
    // SAFETY: the header requires a string.
    let place = unsafe { crate::bytes::path(path) };
    outcome(guarded(|| cairndb::destroy(place?, &options?)))
}

/// The estimate of a conversion.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct cairndb_leveldb_plan_report {
    /// Bytes of LevelDB's tables and logs.
    pub source_bytes: u64,
    /// Bytes of the new files, a tenth added: the conversion needs that much free space.
    pub target_bytes: u64,
    /// Number of entries.
    pub entries: u64,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Whether the file system has enough free space, as far as known.
    pub fits: bool,
}

/// Estimates the conversion of the LevelDB database in directory `path`, and checks everything for
/// which it would be refused, except free space. Changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_leveldb_plan(
    path: *const c_char,
    options: *const cairndb_options,
    report: *mut cairndb_leveldb_plan_report,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { cairndb_options::read(options) };
    // SAFETY: the header requires a string.
    let place = unsafe { crate::bytes::path(path) };
    let planned = guarded(|| plan(place?, &options?));
    let planned = planned.map(|plan| cairndb_leveldb_plan_report {
        source_bytes: plan.source_bytes,
        target_bytes: plan.target_bytes,
        entries: plan.entries,
        duration_ms: u64::try_from(plan.duration.as_millis()).unwrap_or(u64::MAX),
        fits: plan.fits(),
    });
    // SAFETY: the header requires the address of a report.
    unsafe { outcome_in(report, cairndb_leveldb_plan_report::default(), planned) }
}

/// LevelDB's files are linked into leveldb-original/.
pub const CAIRNDB_UPGRADE_LINKING: u32 = 1;
/// The new files are written.
pub const CAIRNDB_UPGRADE_WRITING: u32 = 2;
/// The new files are read back.
pub const CAIRNDB_UPGRADE_VERIFYING: u32 = 3;
/// `CURRENT` is replaced and LevelDB's names are removed.
pub const CAIRNDB_UPGRADE_FINISHING: u32 = 4;

/// Converts the LevelDB database in directory `path` in place; LevelDB's files stay in
/// leveldb-original/. A directory that is CairnDB's already is no error. The call can be repeated
/// after a crash or an error.
///
/// `progress` may be NULL. It is called with one of `CAIRNDB_UPGRADE_*` at the start of each step,
/// and after every few thousand entries: `bytes` of about `bytes_expected` bytes of keys and values
/// are done. `*entries` becomes the number of entries that were converted; `entries` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_leveldb_upgrade(
    path: *const c_char,
    options: *const cairndb_options,
    state: *mut c_void,
    progress: Option<
        unsafe extern "C" fn(state: *mut c_void, step: u32, bytes: u64, bytes_expected: u64),
    >,
    entries: *mut u64,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { cairndb_options::read(options) };
    // SAFETY: the header requires a string.
    let place = unsafe { crate::bytes::path(path) };
    let state = CallbackState::new(state, None);
    let converted = guarded(|| {
        let options = UpgradeOptions::new(options?).on_progress(move |at| {
            let step = match at.step {
                UpgradeStep::Linking => CAIRNDB_UPGRADE_LINKING,
                UpgradeStep::Writing => CAIRNDB_UPGRADE_WRITING,
                UpgradeStep::Verifying => CAIRNDB_UPGRADE_VERIFYING,
                _ => CAIRNDB_UPGRADE_FINISHING,
            };
            if let Some(progress) = progress {
                // SAFETY: the caller passed the function for this state, and is waiting.
                unsafe { progress(state.pointer(), step, at.bytes, at.bytes_expected) };
            }
        });
        upgrade(place?, options)
    });
    let converted = converted.map(|report| report.entries);
    if entries.is_null() {
        return outcome(converted.map(drop));
    }
    // SAFETY: the header requires NULL or the address of a number.
    unsafe { outcome_in(entries, 0, converted) }
}
