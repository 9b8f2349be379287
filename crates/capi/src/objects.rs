//! The objects that handles stand for.

use cairndb::{Cursor, Db, Error, Result, Snapshot, WriteBatch};

use crate::handle::{Handle, Kind, Object, Shared};

/// An open database.
pub(crate) struct Database(pub(crate) Db);

impl Object for Database {
    const KIND: Kind = Kind::Database;
}

impl Shared for Database {}

/// A snapshot, and the database it was taken of.
pub(crate) struct SnapshotOf {
    pub(crate) snapshot: Snapshot,
    pub(crate) database: Handle,
}

impl Object for SnapshotOf {
    const KIND: Kind = Kind::Snapshot;
}

impl Shared for SnapshotOf {}

impl SnapshotOf {
    /// Checks that the snapshot was taken of `database`.
    ///
    /// # Errors
    /// `InvalidArgument` if not.
    #[inline]
    pub(crate) fn check_of(&self, database: Handle) -> Result<()> {
        if self.database == database {
            return Ok(());
        }
        Err(Error::invalid(
            "the snapshot was taken of another database, or before this one was reopened",
        ))
    }
}

/// An iterator, with the error of its last move.
pub(crate) struct Iter {
    pub(crate) cursor: Cursor,
    pub(crate) error: Option<Error>,
    pub(crate) copies: Copies,
}

/// Entries that one call has copied: keys and values, one after the other.
#[derive(Default)]
pub(crate) struct Copies {
    pub(crate) bytes: Vec<u8>,
    pub(crate) spans: Vec<Spans>,
}

/// Lengths of one copied entry.
pub(crate) struct Spans {
    pub(crate) key_len: usize,
    pub(crate) value_len: usize,
}

impl Object for Iter {
    const KIND: Kind = Kind::Iterator;
}

/// A batch of writes.
#[derive(Default)]
pub(crate) struct Batch(pub(crate) WriteBatch);

impl Object for Batch {
    const KIND: Kind = Kind::Batch;
}
