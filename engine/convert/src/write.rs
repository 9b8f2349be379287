//! Writes LevelDB's live entries to tables and value files.

use cairndb_base::{Digest, Kind, Result, watch};
use cairndb_files::{DatabaseFiles, DatabaseWriter};

use crate::source::LiveEntries;

/// Entries between two reports of progress.
const REPORT_ENTRIES: u64 = 1 << 16;
/// Sequence number of all entries: visible to every reader, as after a compaction of everything.
const SEQ: u64 = 0;

/// What was written, all of it synced, and what it contains.
pub(crate) struct Contents {
    pub(crate) files: DatabaseFiles,
    pub(crate) digest: Digest,
}

/// Writes all `entries`, and calls `report` once in a while.
///
/// # Errors
/// The errors of reading and writing.
pub(crate) fn write(
    writer: &mut DatabaseWriter<'_>,
    mut entries: LiveEntries,
    mut report: impl FnMut(&Digest),
) -> Result<Contents> {
    let mut digest = Digest::default();
    while entries.advance()? {
        let (key, value) = (entries.key(), entries.value());
        digest.add(key, value);
        watch::advance((key.len() + value.len()) as u64)?;
        writer.add(true, key, SEQ, Kind::Put, value)?;
        if digest.entries.is_multiple_of(REPORT_ENTRIES) {
            report(&digest);
        }
    }
    Ok(Contents {
        files: writer.finish()?,
        digest,
    })
}
