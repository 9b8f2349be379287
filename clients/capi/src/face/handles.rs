//! The types that programs know only by name: handles.

use std::marker::{PhantomData, PhantomPinned};

/// Not constructed: a handle is a number in the shape of an address.
type Opaque = PhantomData<(*mut u8, PhantomPinned)>;

/// The handle of an open database. Close it with `cairndb_close`.
#[derive(Debug)]
pub struct cairndb_db {
    _opaque: Opaque,
}

/// The handle of a keyspace. Close it with `cairndb_keyspace_close`.
#[derive(Debug)]
pub struct cairndb_keyspace {
    _opaque: Opaque,
}

/// The handle of a snapshot. Release it with `cairndb_snapshot_release`.
#[derive(Debug)]
pub struct cairndb_snapshot {
    _opaque: Opaque,
}

/// The handle of an iterator. Destroy it with `cairndb_iter_destroy`.
#[derive(Debug)]
pub struct cairndb_iter {
    _opaque: Opaque,
}

/// The handle of a comparison. Destroy it with `cairndb_diff_destroy`.
#[derive(Debug)]
pub struct cairndb_diff {
    _opaque: Opaque,
}

/// The handle of a batch. Destroy it with `cairndb_batch_destroy`.
#[derive(Debug)]
pub struct cairndb_batch {
    _opaque: Opaque,
}
