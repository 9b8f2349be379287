//! What a merging cursor merges: the interface of a sorted source of entries.

use std::fmt::Debug;

use cairndb_base::Result;

use crate::table::TableCursor;

/// A position in entries sorted by internal key. After an error it stands on no entry. A step from
/// no entry leads to none.
pub(crate) trait SortedSource: Debug + Send {
    fn valid(&self) -> bool;
    /// The user key of the current entry.
    fn key(&self) -> &[u8];
    /// The tag of the current entry.
    fn tag(&self) -> u64;
    fn value(&self) -> &[u8];
    fn seek_to_first(&mut self) -> Result<()>;
    fn seek_to_last(&mut self) -> Result<()>;
    /// Goes to the first entry that is not before this internal key.
    fn seek(&mut self, key: &[u8], tag: u64) -> Result<()>;
    fn next(&mut self) -> Result<()>;
    fn prev(&mut self) -> Result<()>;
}

impl SortedSource for TableCursor {
    fn valid(&self) -> bool {
        TableCursor::valid(self)
    }

    fn key(&self) -> &[u8] {
        TableCursor::key(self)
    }

    fn tag(&self) -> u64 {
        TableCursor::tag(self)
    }

    fn value(&self) -> &[u8] {
        TableCursor::value(self)
    }

    fn seek_to_first(&mut self) -> Result<()> {
        TableCursor::seek_to_first(self)
    }

    fn seek_to_last(&mut self) -> Result<()> {
        TableCursor::seek_to_last(self)
    }

    fn seek(&mut self, key: &[u8], tag: u64) -> Result<()> {
        self.seek_tag(key, tag)
    }

    fn next(&mut self) -> Result<()> {
        TableCursor::next(self)
    }

    fn prev(&mut self) -> Result<()> {
        TableCursor::prev(self)
    }
}
