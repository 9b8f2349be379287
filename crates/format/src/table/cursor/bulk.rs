//! What a merge asks of a cursor: entries as they are stored, and how far it may go unchecked.

use cairndb_base::Result;

use super::TableCursor;
use crate::table::bits::low32;
use crate::table::layout::{ValueMode, flag};
use crate::table::values::Stored;
use crate::table::{EntryIn, ValueIn};

impl TableCursor {
    /// Whether the current entry is known to be the only version of its key in this table: all of
    /// its page have the sequence number 0, which only the oldest version of a key can have.
    #[inline]
    pub fn page_unique(&self) -> bool {
        // The first entry may be the oldest version of a key whose others end the page before.
        let alone = self.index > 0 || !self.layout.has(flag::CONTINUED);
        self.layout.seq_width == 0 && self.layout.base_seq == 0 && alone
    }

    /// Key, mark and value as a merge takes them: the value verbatim where it is stored alone,
    /// else decoded. An empty tombstone when the cursor is nowhere.
    ///
    /// # Errors
    /// `Corruption` when the value has to be decoded and does not decode.
    #[inline]
    pub fn entry(&mut self) -> Result<EntryIn<'_>> {
        if self.count == 0 {
            return Ok(EntryIn::default());
        }
        if self.layout.mode == ValueMode::Groups {
            self.load_value()?;
        }
        let page = self.view();
        let value = match page.stored(self.index) {
            Stored::Raw(bytes) => ValueIn::Stored {
                bytes,
                raw_len: low32(bytes.len()),
            },
            Stored::Encoded { bytes, raw_len } => ValueIn::Stored {
                bytes,
                raw_len: low32(raw_len),
            },
            Stored::Shared {
                start,
                end,
                raw_len,
            } => ValueIn::Shared {
                bytes: page.bytes.get(start..end).unwrap_or_default(),
                raw_len: low32(raw_len),
                dictionary: &self.table.meta.dictionary,
            },
            Stored::Grouped => ValueIn::Raw(self.decoded_value()),
        };
        let mark = page.mark(self.index);
        Ok(EntryIn {
            key: self.key(),
            seq: mark.seq,
            kind: mark.kind,
            value,
        })
    }

    /// The value as a merge takes it, as in [`TableCursor::entry`].
    ///
    /// # Errors
    /// As [`TableCursor::entry`].
    #[inline]
    pub fn stored(&mut self) -> Result<ValueIn<'_>> {
        self.entry().map(|entry| entry.value)
    }

    /// Entries of the page from the current one on, it included.
    #[inline]
    pub fn entries_left_in_page(&self) -> usize {
        self.count - self.index
    }

    /// Entries of the page before the current one.
    #[inline]
    pub fn entries_before_in_page(&self) -> usize {
        self.index
    }

    /// Whether every key of the page is less than `bound`, so that a merge can take the rest of it
    /// without comparisons.
    #[inline]
    pub fn page_last_key_lt(&self, bound: &[u8]) -> bool {
        self.count > 0
            && self
                .view()
                .compare_key(self.count - 1, bound, &self.table.order)
                .is_lt()
    }

    /// Whether every key of the page is greater than `bound`, for a merge from back to front.
    #[inline]
    pub fn page_first_key_gt(&self, bound: &[u8]) -> bool {
        self.count > 0 && self.view().compare_key(0, bound, &self.table.order).is_gt()
    }
}
