//! What iterators and ranges need of a cursor, whether it is of a database or of a transaction.

use cairndb_base::Result;

use crate::api::value::Value;

/// A cursor, as far as an iterator needs it.
pub(crate) trait Walk: Sized {
    /// Moves to the first entry at or after `key`.
    fn seek(&mut self, key: &[u8]) -> Result<()>;
    /// Moves to the last entry at or before `key`.
    fn seek_for_prev(&mut self, key: &[u8]) -> Result<()>;
    /// Moves to the first entry.
    fn seek_to_first(&mut self) -> Result<()>;
    /// Moves to the last entry.
    fn seek_to_last(&mut self) -> Result<()>;
    /// Moves to the next entry.
    fn next(&mut self) -> Result<()>;
    /// Moves to the previous entry.
    fn prev(&mut self) -> Result<()>;
    /// Returns the key of the position, which the cursor keeps when the merge operator fails.
    fn place(&self) -> Option<&[u8]>;
    /// Returns the key and the value, borrowed until the next move.
    fn borrowed(&self) -> Borrowed<'_>;
    /// Copies the entry. A large value in a mapped file is borrowed.
    fn entry(&self) -> Entry;
    /// Returns another cursor over the same state, not yet positioned.
    fn fork(&self) -> Self;
}

/// A key and its value, borrowed.
pub(crate) type Borrowed<'a> = (&'a [u8], &'a [u8]);

/// The item of an iterator, unless it is an error.
pub(crate) type Entry = (Value, Value);
