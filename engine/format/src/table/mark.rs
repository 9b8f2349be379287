//! Recognises a table of this format: by the mark at its end, or by its first page.
//!
//! A finished table ends with the mark. A table whose writer died does not, but the checksum of its
//! first page binds the file's number, so that no other file passes this test by chance. Without
//! the second test, every process killed during a flush would leave a file that no process may
//! remove.

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{FileNumber, Result};
use cairndb_env::ReadFile;

use crate::checksum::crc32c_append;
use crate::table::meta::MAGIC;
use crate::table::page::extent::pages_of;
use crate::table::read::source::file_seed;

/// Number of bytes of an extent that are read at a time.
const CHUNK_BYTES: u64 = 256 << 10;

/// Returns whether `file` is table `number`, finished or not. Reads one page, or all pages of the
/// first entry if it takes several, 256 KiB at a time.
///
/// # Errors
/// The errors of reading the file.
pub(crate) fn is_table(file: &dyn ReadFile, number: FileNumber) -> Result<bool> {
    if let Some(at) = file.size().checked_sub(MAGIC.len() as u64) {
        let mut end = MAGIC;
        file.read_at(at, &mut end)?;
        if end == MAGIC {
            return Ok(true);
        }
    }
    begins_as_table(file, number)
}

/// Returns whether the first page or extent is intact and bound to `number`.
pub(crate) fn begins_as_table(file: &dyn ReadFile, number: FileNumber) -> Result<bool> {
    const PAGE: u64 = PAGE_BYTES as u64;
    if file.size() < PAGE {
        return Ok(false);
    }
    let mut bytes = vec![0; PAGE_BYTES];
    file.read_at(0, &mut bytes)?;
    let (stored, covered) = bytes.split_at(4);
    let stored = stored.first_chunk().map_or(0, |it| u32::from_le_bytes(*it));
    let mut found = crc32c_append(
        crc32c_append(file_seed(number), &0u32.to_le_bytes()),
        covered,
    );
    let end = pages_of(&bytes).saturating_mul(PAGE);
    if end > file.size() {
        return Ok(false);
    }
    let mut at = PAGE;
    while at < end {
        let len = usize::try_from(CHUNK_BYTES.min(end - at)).unwrap_or(PAGE_BYTES);
        bytes.resize(len, 0);
        file.read_at(at, &mut bytes)?;
        found = crc32c_append(found, &bytes);
        at += len as u64;
    }
    Ok(found == stored)
}
