//! The table file: sorted entries in self-contained 4 KiB pages, a filter, a fence, one meta block.
//!
//! A table is written once by a [`TableBuilder`] from entries in order and read by a [`Table`] and
//! its [`TableCursor`]s, in place from a mapping or through a page cache. Flush and compaction
//! write tables; gets, scans and compaction read them. The bytes are described in
//! `docs/format/table.md`, `page.md` and `filter.md`.
//!
//! Invariants:
//! 1. Entries stand in (key, sequence descending) order and no two are equal in both.
//! 2. Every page carries a checksum that binds the file number and the page number, so a page at
//!    another place, of another file or of another time is noticed.
//! 3. A page is checked whole (checksum and structure) before its first use; later uses can then
//!    not go wrong, and if they did they would give an error: there is no unsafe code here.
//!
//! Threads: a [`Table`] is shared freely and takes no lock; builders and cursors have one owner.

mod build;
mod index;
mod mark;
mod meta;
mod page;
mod read;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use cairndb_base::{FileNumber, Kind, Order, SeqNo};
pub use cairndb_kernel::codec::Dictionary;

pub use build::TableBuilder;
pub(crate) use mark::is_table;
pub use read::cursor::{PageWindow, TableCursor};
pub use read::open::{FoundVersion, GetHints, Table};
pub use read::seek::Approach;
pub use read::source::PageAccess;

/// How a table stores its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// As they are.
    None,
    /// Each value on its own, with the short-value codec; a value that does not shrink stays raw.
    Short,
    /// Decided from the first values of the table: each on its own, against a dictionary or in groups
    /// where that makes the table at least a tenth smaller.
    #[default]
    Adaptive,
    /// As `Adaptive` where that stores each value on its own. What it would encode against a dictionary or in
    /// groups, at three times the price, is stored raw, to be merged with itself when there is time
    /// ([`TableBuilder::is_deferred`]).
    Deferred,
}

/// What a builder must know.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// The order of the keys; its name is stored.
    pub order: Order,
    /// How values are stored.
    pub compression: Compression,
    /// Filter bits for each distinct key; 0 writes no filter. 10 passes one absent key in a hundred.
    pub filter_bits_per_key: u32,
    /// The number of the file, which every checksum binds.
    pub file: FileNumber,
    /// A dictionary to take where the values are worth one and this one serves, unless they come with
    /// another that does: tables that have the same are merged without touching their values. Where
    /// neither serves the table makes one of its own.
    pub dictionary: Option<Arc<Dictionary>>,
}

impl TableOptions {
    /// The defaults for a file: bytewise order, adaptive compression, ten filter bits.
    pub fn new(file: FileNumber) -> TableOptions {
        TableOptions {
            order: Order::Bytewise,
            compression: Compression::default(),
            filter_bits_per_key: FILTER_BITS_PER_KEY,
            file,
            dictionary: None,
        }
    }
}

/// Filter bits for each key: about one absent key in a hundred passes.
pub const FILTER_BITS_PER_KEY: u32 = 10;

/// A value on its way into a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueIn<'a> {
    /// The value itself.
    Raw(&'a [u8]),
    /// The bytes as another table stores them alone: raw when they are `raw_len` long, else encoded
    /// by the short-value codec. A merge copies them without touching the codec.
    Stored {
        /// The stored bytes.
        bytes: &'a [u8],
        /// Length of the value they stand for.
        raw_len: u32,
    },
    /// The bytes as another table stores them: encoded alone against its dictionary. Copied where the
    /// new table has the same.
    Shared {
        /// The stored bytes.
        bytes: &'a [u8],
        /// Length of the value they stand for.
        raw_len: u32,
        /// What they are encoded against.
        dictionary: &'a Arc<Dictionary>,
    },
}

impl<'a> ValueIn<'a> {
    /// The bytes, encoded or not.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            ValueIn::Raw(bytes) | ValueIn::Stored { bytes, .. } | ValueIn::Shared { bytes, .. } => {
                bytes
            }
        }
    }
}

/// An entry on its way from one table into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryIn<'a> {
    /// The key.
    pub key: &'a [u8],
    /// Its sequence number.
    pub seq: SeqNo,
    /// What it does to its key.
    pub kind: Kind,
    /// Its value, as stored where that is possible.
    pub value: ValueIn<'a>,
}

impl Default for EntryIn<'_> {
    fn default() -> Self {
        EntryIn {
            key: &[],
            seq: 0,
            kind: Kind::Delete,
            value: ValueIn::Raw(&[]),
        }
    }
}

/// What a finished table holds, for the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSummary {
    /// The first key.
    pub smallest: Vec<u8>,
    /// The last key.
    pub largest: Vec<u8>,
    /// The smallest sequence number written.
    pub seq_min: SeqNo,
    /// The largest sequence number written.
    pub seq_max: SeqNo,
    /// Number of entries, versions counted apart.
    pub entries: u64,
    /// Entries that are tombstones.
    pub deletes: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Key bytes and uncompressed value bytes put in.
    pub raw_bytes: u64,
    /// Checksum of the meta block; a reader that knows it recognises the very file.
    pub checksum: u32,
    /// Value files that pointers in this table name, with the bytes of their records, by file.
    pub value_refs: Vec<(u64, u64)>,
}

/// One entry's place in the order and its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryMark {
    /// Its sequence number.
    pub seq: SeqNo,
    /// What it does to its key.
    pub kind: Kind,
}

/// The largest raw length a page column can state; longer values go to an extent.
const RAW_LEN_MAX_IN_PAGE: usize = u16::MAX as usize;
