//! The objects that handles stand for.

use std::ffi::CString;
use std::ops::Bound;

use cairndb::{
    Cursor, Db, Diff, Difference, Error, Keyspace, RangeCursor, Result, Snapshot, WriteBatch,
};

use crate::handle::{Handle, HandleKind, Object, SharedObject};

/// An open database, and its default keyspace.
pub(crate) struct Database(pub(crate) Db, Keyspace);

impl Object for Database {
    const KIND: HandleKind = HandleKind::Database;
}

impl SharedObject for Database {}

impl Database {
    pub(crate) fn new(db: Db) -> Database {
        let default = db.default_keyspace();
        Database(db, default)
    }
}

/// A keyspace.
pub(crate) struct KeyspaceOf(pub(crate) Keyspace);

impl Object for KeyspaceOf {
    const KIND: HandleKind = HandleKind::Keyspace;
}

impl SharedObject for KeyspaceOf {}

/// An object with keys: a database, or a keyspace of one.
pub(crate) trait Keyed: SharedObject {
    fn keys(&self) -> &Keyspace;
}

impl Keyed for Database {
    #[inline]
    fn keys(&self) -> &Keyspace {
        &self.1
    }
}

impl Keyed for KeyspaceOf {
    #[inline]
    fn keys(&self) -> &Keyspace {
        &self.0
    }
}

/// A snapshot, and the database it was taken of.
pub(crate) struct SnapshotOf {
    pub(crate) snapshot: Snapshot,
    pub(crate) database: Handle,
}

impl Object for SnapshotOf {
    const KIND: HandleKind = HandleKind::Snapshot;
}

impl SharedObject for SnapshotOf {}

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

/// The keys that an iterator sees, if not all.
pub(crate) enum Part {
    Range(Bound<Vec<u8>>, Bound<Vec<u8>>),
    Prefix(Vec<u8>),
}

/// The position of an iterator, over all keys or a part of them.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every iterator sees all keys, and a box would cost a load at every step"
)]
pub(crate) enum Position {
    Whole(Cursor),
    Part(Box<RangeCursor>),
}

impl Position {
    pub(crate) fn new(cursor: Cursor, part: Option<&Part>) -> Position {
        let part = match part {
            None => return Position::Whole(cursor),
            Some(Part::Range(from, to)) => cursor.within((from.as_ref(), to.as_ref())),
            Some(Part::Prefix(prefix)) => cursor.with_prefix(prefix),
        };
        Position::Part(Box::new(part))
    }

    #[inline]
    pub(crate) fn entry(&self) -> Option<(&[u8], &[u8])> {
        match self {
            Position::Whole(cursor) => cursor.valid().then(|| (cursor.key(), cursor.value())),
            Position::Part(cursor) => cursor.valid().then(|| (cursor.key(), cursor.value())),
        }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        match self {
            Position::Whole(cursor) => cursor.next(),
            Position::Part(cursor) => cursor.next(),
        }
    }

    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        match self {
            Position::Whole(cursor) => cursor.prev(),
            Position::Part(cursor) => cursor.prev(),
        }
    }

    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<()> {
        match self {
            Position::Whole(cursor) => cursor.seek(key),
            Position::Part(cursor) => cursor.seek(key),
        }
    }

    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        match self {
            Position::Whole(cursor) => cursor.seek_for_prev(key),
            Position::Part(cursor) => cursor.seek_for_prev(key),
        }
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        match self {
            Position::Whole(cursor) => cursor.seek_to_first(),
            Position::Part(cursor) => cursor.seek_to_first(),
        }
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        match self {
            Position::Whole(cursor) => cursor.seek_to_last(),
            Position::Part(cursor) => cursor.seek_to_last(),
        }
    }
}

/// An iterator, with the error of its last move.
pub(crate) struct Iter {
    pub(crate) position: Position,
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
    const KIND: HandleKind = HandleKind::Iterator;
}

/// A comparison of two databases, and the difference that it is at.
pub(crate) struct Comparison {
    pub(crate) diff: Diff,
    pub(crate) at: Option<Difference>,
    pub(crate) keyspace: Option<CString>,
}

impl Object for Comparison {
    const KIND: HandleKind = HandleKind::Comparison;
}

/// A batch of writes.
#[derive(Default)]
pub(crate) struct Batch(pub(crate) WriteBatch);

impl Object for Batch {
    const KIND: HandleKind = HandleKind::Batch;
}
