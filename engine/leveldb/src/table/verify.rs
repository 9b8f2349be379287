//! Checking all of a table: checksums, order, index and filter.

use std::sync::Arc;

use cairndb_base::{Error, Kind, Result, SeqNo};

use super::filter::FilterBlock;
use super::{Table, bloom};
use crate::internal_key;

/// What a table holds, from [`Table::verify`]. [`TableBuilder`](super::TableBuilder) has an
/// example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSummary {
    /// The number of entries, deletes included.
    pub entries: u64,
    /// The number of deletes.
    pub deletes: u64,
    /// The smallest sequence number; 0 without entries.
    pub seq_min: SeqNo,
    /// The largest sequence number; 0 without entries.
    pub seq_max: SeqNo,
    /// The first internal key, encoded.
    pub smallest: Vec<u8>,
    /// The last internal key, encoded.
    pub largest: Vec<u8>,
    /// Whether the table has LevelDB's Bloom filter.
    pub filtered: bool,
}

impl Table {
    /// Reads every block and checks what a reader relies on: the order of the entries, that no
    /// entry is greater than the index key of its block, and that the filter, if it is LevelDB's
    /// own, lets every key pass.
    ///
    /// # Errors
    /// `Corruption` at the first thing that is wrong; `NotSupported` if a codec is unknown; `Io`.
    pub fn verify(self: &Arc<Table>) -> Result<TableSummary> {
        let filter = self.read_filter(bloom::NAME)?;
        let filter = filter.as_deref().map(FilterBlock::decode).transpose();
        let filter = filter.map_err(|error| error.file(self.name()))?;
        let mut summary = TableSummary {
            filtered: filter.is_some(),
            ..TableSummary::default()
        };
        let mut cursor = self.cursor();
        cursor.seek_to_first()?;
        while cursor.valid() {
            let (key, tag) = (cursor.key(), cursor.tag());
            let wrong = |what: &'static str| {
                let error = Error::corruption(what).file(self.name());
                Err(error.offset(cursor.block_offset()).key(key))
            };
            if summary.entries > 0 {
                let before = internal_key::split(&summary.largest)?;
                if internal_key::compare(self.order(), before, (key, tag)).is_ge() {
                    return wrong("the entries of a table are not in order");
                }
            }
            let bound = internal_key::split(cursor.index_key())?;
            if internal_key::compare(self.order(), (key, tag), bound).is_gt() {
                return wrong("an entry is greater than the index key of its block");
            }
            let offset = cursor.block_offset();
            if filter
                .as_ref()
                .is_some_and(|filter| !filter.may_contain(offset, key))
            {
                return wrong("the filter denies a key of its table");
            }
            summary.largest.clear();
            internal_key::append(&mut summary.largest, key, tag);
            let seq = cursor.seq();
            if summary.entries == 0 {
                summary.smallest.clone_from(&summary.largest);
                summary.seq_min = seq;
            }
            summary.entries += 1;
            summary.deletes += u64::from(cursor.kind() == Kind::Delete);
            summary.seq_min = summary.seq_min.min(seq);
            summary.seq_max = summary.seq_max.max(seq);
            cursor.next()?;
        }
        Ok(summary)
    }
}
