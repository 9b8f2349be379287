//! The table file: sorted entries in self-contained 4 KiB pages, a filter, a fence index, one meta
//! block.
//!
//! A [`TableBuilder`] writes a table once, from entries in order. A [`Table`] and its
//! [`TableCursor`]s read it, in place from a mapping or through a page cache. Flush and compaction
//! write tables; gets, scans and compaction read them. `docs/format/table.md`, `page.md` and
//! `filter.md` describe the bytes.
//!
//! Folders: `page` is one data page, `index` maps a key to a page, `build` writes tables, `read`
//! reads them. `meta.rs` is the meta block, `bounds.rs` chooses the bounds there, `mark.rs`
//! recognises a table file.
//!
//! Invariants:
//! 1. Entries are ordered by (key, sequence descending), and no two are equal in both.
//! 2. Every page has a checksum that binds the file number and the page number, so a page from
//!    another place, another file or another time is detected.
//! 3. A page is checked whole (checksum and structure) before its first use. Later uses cannot
//!    fail; if they did, they would return an error, because there is no unsafe code here.
//!
//! Threads: a [`Table`] is shared freely and takes no lock; builders and cursors have one owner.

mod bounds;
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

pub use bounds::{BOUND_BYTES, BoundLimits, are_separable};
pub use build::TableBuilder;
pub(crate) use mark::is_table;
pub use read::cursor::{CursorPage, PageWindow, TableCursor};
pub use read::get::Prefetched;
pub use read::open::{FoundVersion, Table};
pub use read::salvage::{Salvaged, SalvagedPage, TableFacts, TableSalvage, is_table_number};
pub use read::seek::Approach;
pub use read::source::PageAccess;

/// Compression of a table's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// Uncompressed.
    None,
    /// Each value on its own, with the short-value codec; a value that does not shrink is stored
    /// raw.
    Short,
    /// Decided from the first values of the table: each on its own, or against a dictionary or in
    /// groups if that makes the table at least a tenth smaller.
    #[default]
    Adaptive,
    /// Same as `Adaptive` if that stores each value on its own. Values that `Adaptive` would encode
    /// against a dictionary or in groups, which takes three times as long, are stored raw. The
    /// table is compacted with itself when the database is idle ([`TableBuilder::is_deferred`]).
    Deferred,
}

/// Settings of a builder.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// The order of the keys; its name is stored.
    pub order: Order,
    /// Compression of the values.
    pub compression: Compression,
    /// Number of filter bits per distinct key; 0 writes no filter. With 10, one absent key in a
    /// hundred passes.
    pub filter_bits_per_key: u32,
    /// The number of the file, which every checksum binds.
    pub file: FileNumber,
    /// Dictionary for the values, used if they benefit from one and it suits them. A suitable
    /// dictionary with which the values already arrive takes precedence. If neither suits, the
    /// table makes one of its own. Tables with the same dictionary are compacted without decoding
    /// their values.
    pub dictionary: Option<Arc<Dictionary>>,
    /// The section of the keys, see [`TableSummary::section`].
    pub section: u8,
}

impl TableOptions {
    /// Returns the defaults for a file: bytewise order, adaptive compression, ten filter bits.
    pub fn new(file: FileNumber) -> TableOptions {
        TableOptions {
            order: Order::Bytewise,
            compression: Compression::default(),
            filter_bits_per_key: FILTER_BITS_PER_KEY,
            file,
            dictionary: None,
            section: 0,
        }
    }
}

/// The largest section of keys.
pub(crate) const SECTION_MAX: u8 = 2;

/// Number of filter bits per key: about one absent key in a hundred passes.
pub const FILTER_BITS_PER_KEY: u32 = 10;

/// A value being added to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueIn<'a> {
    /// The value itself.
    Raw(&'a [u8]),
    /// The bytes as another table stores them alone: raw if they are `raw_len` long, else encoded
    /// by the short-value codec. A compaction copies them verbatim.
    Stored {
        /// The stored bytes.
        bytes: &'a [u8],
        /// Length of the decoded value.
        raw_len: u32,
    },
    /// The bytes as another table stores them: encoded alone against its dictionary. Copied
    /// verbatim if the new table has the same dictionary.
    Shared {
        /// The stored bytes.
        bytes: &'a [u8],
        /// Length of the decoded value.
        raw_len: u32,
        /// The dictionary.
        dictionary: &'a Arc<Dictionary>,
    },
}

impl<'a> ValueIn<'a> {
    /// Returns the bytes, encoded or not.
    pub fn bytes(&self) -> &'a [u8] {
        match self {
            ValueIn::Raw(bytes) | ValueIn::Stored { bytes, .. } | ValueIn::Shared { bytes, .. } => {
                bytes
            }
        }
    }
}

/// An entry being copied from one table to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryIn<'a> {
    /// The key.
    pub key: &'a [u8],
    /// Sequence number of the entry.
    pub seq: SeqNo,
    /// Kind of the entry.
    pub kind: Kind,
    /// Value of the entry, as stored if possible.
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

/// Contents of a finished table, for the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSummary {
    /// Section of the keys: 0 for the default keyspace, 1 for all others in bytewise order, 2 for
    /// all with a comparator.
    pub section: u8,
    /// The first key, or a shorter one before it.
    pub smallest: Vec<u8>,
    /// The last key, or a shorter one after it.
    pub largest: Vec<u8>,
    /// The smallest sequence number written.
    pub seq_min: SeqNo,
    /// The largest sequence number written.
    pub seq_max: SeqNo,
    /// Number of entries, each version counted.
    pub entries: u64,
    /// Number of entries that are tombstones.
    pub deletes: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Key bytes and uncompressed value bytes added.
    pub raw_bytes: u64,
    /// Checksum of the meta block; a reader that has it can recognise this file.
    pub checksum: u32,
    /// Value files that pointers in this table refer to, each with the bytes of the records,
    /// ordered by file.
    pub value_refs: Vec<(u64, u64)>,
    /// Whether `smallest` or `largest` is not a key of the table.
    pub loose_bounds: bool,
}

/// Sequence number and kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryMark {
    /// Sequence number of the entry.
    pub seq: SeqNo,
    /// Kind of the entry.
    pub kind: Kind,
}

/// The largest raw length that a page column can hold; longer values go to an extent.
const RAW_LEN_MAX_IN_PAGE: usize = u16::MAX as usize;
