//! What an open has cut and left alone, by file.

use std::ffi::{CString, c_char};
use std::ptr::null_mut;

use cairndb::OpenReport;

use crate::bytes::c_string;
use crate::face::error::{cairndb_error, outcome_in};
use crate::face::handles::cairndb_db;
use crate::handle::{Handle, with_shared};
use crate::leveldb::objects::{give, take_back};
use crate::objects::Database;

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
