//! Repairs of databases that are not open, and their reports.

use std::ffi::{CString, c_char};
use std::ptr::{null, null_mut};

use cairndb::{KeySpan, RepairOptions, RepairReport};

use crate::boundary::guarded;
use crate::bytes::{c_string, path};
use crate::face::error::{cairndb_error, outcome, outcome_in};
use crate::face::options::cairndb_options;
use crate::leveldb::objects::{give, take_back};
use crate::memory::copy_text;

/// Reads everything and writes nothing.
pub const CAIRNDB_REPAIR_DRY_RUN: u32 = 1;
/// Also keeps entries of tables that an intact manifest does not name; keys that were deleted may
/// be back.
pub const CAIRNDB_REPAIR_INCLUDE_UNNAMED: u32 = 2;

/// The report of a repair. Destroy it with `cairndb_repair_report_destroy`.
pub struct cairndb_repair_report {
    text: String,
    json: String,
    summary: cairndb_repair_summary,
    findings: Vec<Finding>,
}

impl std::fmt::Debug for cairndb_repair_report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("cairndb_repair_report")
            .finish_non_exhaustive()
    }
}

/// What a repair has kept, in numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct cairndb_repair_summary {
    /// Number of keys with a value in the new database.
    pub keys: u64,
    /// Number of bytes of these keys and their values.
    pub bytes: u64,
    /// Number of large values among them.
    pub large_values: u64,
    /// Number of tables from which at least one entry was read.
    pub tables: u64,
    /// Number of entries read from tables, each version and tombstone counted.
    pub table_entries: u64,
    /// Number of log records read.
    pub log_records: u64,
    /// Number of entries in these records that no table holds.
    pub log_entries: u64,
    /// Number of findings, for `cairndb_repair_report_finding`.
    pub findings: usize,
    /// Whether nothing is lost and nothing is in doubt.
    pub complete: bool,
    /// Whether nothing was written.
    pub dry_run: bool,
}

/// What a finding reports: one of `CAIRNDB_FINDING_*`. Later versions may add some.
pub type cairndb_finding_kind = u32;

/// Bytes of a file could not be read. `flag`: older versions of the keys, and deleted keys, may be
/// in the new database.
pub const CAIRNDB_FINDING_LOST: u32 = 1;
/// It cannot be determined whether something of the keys is lost or out of date.
pub const CAIRNDB_FINDING_DOUBT: u32 = 2;
/// The manifest does not name the file. `flag`: its entries were included.
pub const CAIRNDB_FINDING_UNNAMED: u32 = 3;
/// Damage that lost no entry.
pub const CAIRNDB_FINDING_HARMLESS: u32 = 4;

/// One finding of a repair. The addresses live as long as the report.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cairndb_repair_finding {
    /// What it reports.
    pub kind: cairndb_finding_kind,
    /// See the constants of the kind.
    pub flag: bool,
    /// Name of the file in the source directory; NULL for a doubt.
    pub file: *const c_char,
    /// Reason, as a phrase; empty for a file that the manifest does not name.
    pub reason: *const c_char,
    /// Offset of the first byte in the file.
    pub offset: u64,
    /// Number of bytes; 0 if it is not known.
    pub bytes: u64,
    /// Number of entries that can be read, of a file that the manifest does not name.
    pub entries: u64,
    /// The first key that may be affected; NULL if there is no lower bound.
    pub first_key: *const c_char,
    /// Length of the first key.
    pub first_key_len: usize,
    /// The last key that may be affected; NULL if there is no upper bound.
    pub last_key: *const c_char,
    /// Length of the last key.
    pub last_key_len: usize,
}

/// A finding, with the memory to which the structure for the caller points.
#[derive(Default)]
struct Finding {
    kind: u32,
    flag: bool,
    file: Option<CString>,
    reason: CString,
    offset: u64,
    bytes: u64,
    entries: u64,
    keys: KeySpan,
}

fn findings(report: &RepairReport) -> Vec<Finding> {
    let lost = report.lost.iter().map(|loss| Finding {
        kind: CAIRNDB_FINDING_LOST,
        flag: loss.older,
        file: Some(c_string(&loss.file)),
        reason: c_string(&loss.reason),
        offset: loss.offset,
        bytes: loss.bytes,
        keys: loss.keys.clone(),
        ..Finding::default()
    });
    let doubts = report.doubts.iter().map(|doubt| Finding {
        kind: CAIRNDB_FINDING_DOUBT,
        reason: c_string(&doubt.reason),
        keys: doubt.keys.clone(),
        ..Finding::default()
    });
    let unnamed = report.unnamed.iter().map(|unnamed| Finding {
        kind: CAIRNDB_FINDING_UNNAMED,
        flag: unnamed.included,
        file: Some(c_string(&unnamed.file)),
        bytes: unnamed.bytes,
        entries: unnamed.entries,
        keys: unnamed.keys.clone(),
        ..Finding::default()
    });
    let harmless = report.harmless.iter().map(|damage| Finding {
        kind: CAIRNDB_FINDING_HARMLESS,
        file: Some(c_string(&damage.file)),
        reason: c_string(&damage.reason),
        offset: damage.offset,
        ..Finding::default()
    });
    lost.chain(doubts).chain(unnamed).chain(harmless).collect()
}

impl cairndb_repair_report {
    fn new(report: &RepairReport) -> cairndb_repair_report {
        let findings = findings(report);
        let kept = &report.kept;
        let summary = cairndb_repair_summary {
            keys: kept.keys,
            bytes: kept.bytes,
            large_values: kept.large_values,
            tables: kept.tables,
            table_entries: kept.table_entries,
            log_records: kept.log_records,
            log_entries: kept.log_entries,
            findings: findings.len(),
            complete: report.is_complete(),
            dry_run: report.dry_run,
        };
        cairndb_repair_report {
            text: report.to_string(),
            json: report.to_json(),
            summary,
            findings,
        }
    }
}

/// Reads the damaged database in directory `source`, which is not changed, and writes everything
/// that is intact to a new database in directory `target`, which must be missing or empty. `source`
/// may be LevelDB's.
///
/// `options` need the database's comparator and merge operator. `flags` are 0 or a sum of
/// `CAIRNDB_REPAIR_*`. Stores the report in `*report`, which may be NULL. Damage is no error: it is
/// in the report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_repair(
    source: *const c_char,
    target: *const c_char,
    options: *const cairndb_options,
    flags: u32,
    report: *mut *mut cairndb_repair_report,
) -> *mut cairndb_error {
    // SAFETY: the header requires NULL or live options.
    let options = unsafe { cairndb_options::read(options) };
    // SAFETY: the header requires a string.
    let source = unsafe { path(source) };
    // SAFETY: as above.
    let target = unsafe { path(target) };
    let repaired = guarded(|| {
        let options = RepairOptions::new(&options?)
            .dry_run(flags & CAIRNDB_REPAIR_DRY_RUN != 0)
            .include_unnamed(flags & CAIRNDB_REPAIR_INCLUDE_UNNAMED != 0);
        cairndb::repair(source?, target?, &options)
    });
    if report.is_null() {
        return outcome(repaired.map(drop));
    }
    let made = repaired.map(|report| give(cairndb_repair_report::new(&report)));
    // SAFETY: the header requires NULL or the address of a report.
    unsafe { outcome_in(report, null_mut(), made) }
}

/// Destroys a report; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_repair_report_destroy(report: *mut cairndb_repair_report) {
    // SAFETY: the header requires NULL or a live report.
    unsafe { take_back(report) };
}

/// Returns what the repair has kept, in numbers; zeros for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_repair_report_summary(
    report: *const cairndb_repair_report,
) -> cairndb_repair_summary {
    // SAFETY: the header requires NULL or a live report.
    unsafe { report.as_ref() }.map_or_else(Default::default, |report| report.summary)
}

/// Stores the finding at `index` in `*finding`: first what is lost, then doubts, files that the
/// manifest does not name, and harmless damage. Returns whether there is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_repair_report_finding(
    report: *const cairndb_repair_report,
    index: usize,
    finding: *mut cairndb_repair_finding,
) -> bool {
    // SAFETY: the header requires NULL or a live report.
    let found = unsafe { report.as_ref() }.and_then(|report| report.findings.get(index));
    let Some(found) = found.filter(|_| !finding.is_null()) else {
        return false;
    };
    let key = |key: &Option<Vec<u8>>| {
        let key = key.as_deref();
        (
            key.map_or(null(), <[u8]>::as_ptr).cast(),
            key.map_or(0, <[u8]>::len),
        )
    };
    let (first_key, first_key_len) = key(&found.keys.first);
    let (last_key, last_key_len) = key(&found.keys.last);
    let stored = cairndb_repair_finding {
        kind: found.kind,
        flag: found.flag,
        file: found.file.as_ref().map_or(null(), |file| file.as_ptr()),
        reason: found.reason.as_ptr(),
        offset: found.offset,
        bytes: found.bytes,
        entries: found.entries,
        first_key,
        first_key_len,
        last_key,
        last_key_len,
    };
    // SAFETY: the header requires NULL or the address of a finding.
    unsafe { finding.write(stored) };
    true
}

/// Returns the report as text for people, which the caller frees with `free`. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_repair_report_text(
    report: *const cairndb_repair_report,
) -> *mut c_char {
    // SAFETY: the header requires NULL or a live report.
    unsafe { report.as_ref() }.map_or(null_mut(), |report| copy_text(&report.text))
}

/// Returns the report as one JSON object, in a string that the caller frees with `free`. Keys are
/// strings in which every byte other than printable ASCII, and the backslash, is `\xNN`. NULL for
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_repair_report_json(
    report: *const cairndb_repair_report,
) -> *mut c_char {
    // SAFETY: the header requires NULL or a live report.
    unsafe { report.as_ref() }.map_or(null_mut(), |report| copy_text(&report.json))
}
