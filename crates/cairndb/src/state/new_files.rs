//! Creating files under numbers that nobody has used.
//!
//! A number whose name is taken is skipped, whatever the name stands for: a user's own file, a
//! link, a folder, a pipe. Opening counts from above every name that it has listed; this is for
//! names that came later, and for those that it does not count from.

use std::io;

use cairndb_base::{Error, FileNumber, Result};

/// Names in a row that may be taken: more than anybody puts there by chance, and an end for a file
/// system that calls every name taken.
const TAKEN_MAX: usize = 1 << 12;

/// Whether a file could not be created because its name is taken.
pub(crate) fn is_taken(error: &Error) -> bool {
    error.io_kind() == Some(io::ErrorKind::AlreadyExists)
}

/// Creates a file under the first number that `next` gives and whose name is free; returns both.
///
/// # Errors
/// Those of `create`.
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
