//! Creates files under unused numbers.
//!
//! A number whose name is taken is skipped, whatever has that name: a user's own file, a link, a
//! directory, a pipe. Opening starts the numbers after every name that it listed; this module
//! handles names that appeared later, and names that opening does not count.

use std::io;

use cairndb_base::{Error, FileNumber, Result};

/// Limit of taken names in a row: more than would be there by chance, and an end for a file system
/// that reports every name as taken.
const TAKEN_MAX: usize = 1 << 12;

/// Whether a file could not be created because its name is taken.
pub(crate) fn is_taken(error: &Error) -> bool {
    error.io_kind() == Some(io::ErrorKind::AlreadyExists)
}

/// Creates a file under the first number from `next` whose name is free; returns both.
///
/// # Errors
/// Errors of `create`.
pub(crate) fn create_unused<T>(
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
