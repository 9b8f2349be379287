//! Reading a database, also while another process has it open for writing.
//!
//! A read-only open comes first: it changes no byte, and works on every file system. It keeps
//! writers out, and a writer keeps it out. In that case the database is followed, which keeps
//! nobody out, but makes the file `SHARED`. The state does not change after the open, so that
//! everything a command reads is of one moment.

use std::path::Path;

use cairndb::{Error, ErrorKind, Options};

use super::options::options_for;
use crate::failure::{Failure, Result};
use crate::message::notify;

/// Number of attempts to open a database to which another process adds keyspaces with other
/// comparators.
const TRIES: u32 = 3;

/// What a command does with what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Shows it.
    Show,
    /// Has a result that is used later: the word says what was done. A note says that later writes
    /// are not in it.
    Keep(&'static str),
}

/// Calls `read` with the options for reading the database at `path`.
pub(crate) fn reading<T>(
    path: &Path,
    purpose: Purpose,
    read: impl Fn(Options) -> cairndb::Result<T>,
) -> Result<T> {
    let locked = match read(options_for(path).read_only(true)) {
        Err(error) if error.kind() == ErrorKind::Locked => error,
        result => return result.map_err(Failure::of(path)),
    };
    let followed = follow(path, read).map_err(|error| match error.kind() {
        ErrorKind::NotSupported | ErrorKind::ReadOnly => {
            Failure::unreadable(path, holder(&locked), &error)
        }
        _ => Failure::of(path)(error),
    })?;
    if let Purpose::Keep(done) = purpose {
        notify(&format!(
            "cairn: {}: {}; later writes are not {done}",
            path.display(),
            holder(&locked)
        ));
    }
    Ok(followed)
}

fn follow<T>(path: &Path, read: impl Fn(Options) -> cairndb::Result<T>) -> cairndb::Result<T> {
    let mut tried = 1;
    loop {
        match read(options_for(path).follow().manual_refresh(true)) {
            Err(error) if error.kind() == ErrorKind::InvalidArgument && tried < TRIES => tried += 1,
            result => return result,
        }
    }
}

/// Returns which process has the database open, of the error of a lock.
pub(crate) fn holder(locked: &Error) -> &str {
    locked.message().split(';').next().unwrap_or_default()
}
