//! Snapshots.

use crate::boundary::or_keep;
use crate::handle::{Handle, destroy, insert, with_shared};
use crate::leveldb::{leveldb_snapshot_t, leveldb_t};
use crate::objects::{Database, SnapshotOf};

/// Takes a snapshot of everything written so far; NULL after an error.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_create_snapshot(db: *mut leveldb_t) -> *const leveldb_snapshot_t {
    let database = Handle::of(db);
    let taken = with_shared(database, |open: &Database| {
        let snapshot = open.0.snapshot();
        insert(SnapshotOf { snapshot, database })
    });
    or_keep(taken, Handle::NULL).pointer()
}

/// Releases a snapshot, also after its database was closed.
#[unsafe(no_mangle)]
pub extern "C" fn leveldb_release_snapshot(
    db: *mut leveldb_t,
    snapshot: *const leveldb_snapshot_t,
) {
    let (db, handle) = (Handle::of(db), Handle::of(snapshot));
    let checked = with_shared(handle, |snapshot: &SnapshotOf| snapshot.check_of(db));
    or_keep(checked.and_then(|()| destroy::<SnapshotOf>(handle)), ());
}
