//! Creates files under unused numbers.
//!
//! A number whose name is taken is skipped, regardless of what has that name: a user's own file, a
//! link, a directory, a pipe. When the database is opened, the numbers start after all listed
//! names; this module handles names that appear later, and names that are not counted then.

use std::io;

use cairndb_base::{Error, FileNumber, Result};
use cairndb_format::name::FileKind;

use crate::numbers::NUMBER_MAX;

/// Maximum number of consecutive taken names: more than would occur by chance, and a limit for a
/// file system that reports every name as taken.
const TAKEN_MAX: usize = 1 << 12;

/// Returns whether creating a file failed because its name is taken.
pub fn is_taken(error: &Error) -> bool {
    error.io_kind() == Some(io::ErrorKind::AlreadyExists)
}

/// Creates a file under the first number from `next` whose name is free, and returns both.
///
/// # Errors
/// Errors of `create`.
pub fn create_unused<T>(
    mut next: impl FnMut() -> u64,
    mut create: impl FnMut(FileNumber) -> Result<T>,
) -> Result<(FileNumber, T)> {
    let mut tries = 0;
    loop {
        let number = FileNumber(next());
        match create(number) {
            Ok(created) => return Ok((number, created)),
            Err(error) => {
                tries += 1;
                if !is_taken(&error) || tries == TAKEN_MAX {
                    return Err(error);
                }
            }
        }
    }
}

/// Returns the first number at or above `next` that no file in `listed` has. Numbers are never used
/// twice, not even those of files whose edit was lost. Numbers that no database reaches are
/// ignored: such files are not ours, and counting on from them would exhaust the numbers.
pub fn unused_file(listed: &[String], next: u64) -> u64 {
    let numbers = listed
        .iter()
        .filter_map(|found| FileKind::parse(found)?.number());
    let reached = numbers.filter(|used| used.0 < NUMBER_MAX / 2);
    reached.map(|used| used.0 + 1).fold(next, u64::max)
}
