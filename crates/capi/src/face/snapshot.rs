//! Snapshots.

use std::ptr::null_mut;

use crate::face::error::{cairndb_error, outcome, outcome_in};
use crate::face::handles::{cairndb_db, cairndb_snapshot};
use crate::handle::{Handle, destroy, insert, with_shared};
use crate::objects::{Database, SnapshotOf};

/// Stores a snapshot of everything written so far in `*snapshot`. It costs disk space while it
/// lives, because the versions that it sees are kept.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cairndb_snapshot_create(
    db: *mut cairndb_db,
    snapshot: *mut *mut cairndb_snapshot,
) -> *mut cairndb_error {
    let database = Handle::of(db);
    let taken = with_shared(database, |open: &Database| {
        let snapshot = open.0.snapshot();
        insert(SnapshotOf { snapshot, database })
    });
    // SAFETY: the header requires the address of a handle.
    unsafe { outcome_in(snapshot, null_mut(), taken.map(Handle::pointer)) }
}

/// Releases a snapshot, also after its database was closed.
#[unsafe(no_mangle)]
pub extern "C" fn cairndb_snapshot_release(snapshot: *mut cairndb_snapshot) -> *mut cairndb_error {
    outcome(destroy::<SnapshotOf>(Handle::of(snapshot)))
}
