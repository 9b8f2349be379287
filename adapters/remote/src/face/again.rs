//! Which transactions are run again.

use cairndb_store::{Error, ErrorKind};

/// Returns whether a transaction that failed with `error` has written nothing and can be run again.
pub(super) fn again(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Conflict | ErrorKind::SnapshotExpired
    )
}
