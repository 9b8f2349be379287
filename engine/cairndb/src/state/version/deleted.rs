//! What the deletion of a range hides in the tables of a version.

use std::sync::Arc;

use cairndb_base::SeqNo;

use crate::state::ranges::Deleted;
use crate::state::sections::{Orders, Section, StoredKey};
use crate::state::version::{TableHandle, Version};

/// Returns the number of an entry, for comparison with a deletion of its range. A compaction stores
/// 0 for a version that all readers see, or 1 if newer versions of the key precede it; such a
/// version is newer than the deletions that were `applied`, and older than all others.
#[inline]
pub(crate) fn number_or(stored: SeqNo, applied: impl FnOnce() -> SeqNo) -> SeqNo {
    if stored > 1 { stored } else { applied() }
}

impl TableHandle {
    /// Returns whether an entry with this stored number is older than a deletion of its range at
    /// `deleted`.
    #[inline]
    pub(crate) fn deleted_before(&self, stored: SeqNo, deleted: SeqNo) -> bool {
        number_or(stored, || self.record.ranges_applied) < deleted
    }

    /// Returns whether an entry may be newer than a deletion of its range at `deleted`.
    pub(crate) fn has_newer_than(&self, deleted: SeqNo) -> bool {
        let newest = self.newest().max(self.record.seq_max);
        newest.max(self.record.ranges_applied) > deleted
    }

    /// Returns whether an entry may be older than a deletion of its range at `deleted`.
    pub(crate) fn has_hidden_by(&self, deleted: SeqNo) -> bool {
        self.record.seq_min < deleted && self.record.ranges_applied < deleted
    }
}

impl Version {
    /// Returns the tables that may have keys in `range`.
    pub(crate) fn tables_in<'v>(
        &'v self,
        orders: &'v Orders,
        section: Section,
        range: &'v Deleted,
    ) -> impl Iterator<Item = &'v Arc<TableHandle>> {
        let stored = move |bytes| StoredKey { section, bytes };
        let end = range.end.as_deref().map(stored);
        let end = end.unwrap_or(StoredKey::END_OF_DEFAULT);
        let runs = self.runs.iter();
        let tables = runs.flat_map(move |run| run.overlapping(orders, stored(&range.start), end));
        // Those that begin with the range's end overlap it only by their bounds.
        tables.filter(move |table| range.reaches(&orders[section], &table.record.smallest))
    }
}
