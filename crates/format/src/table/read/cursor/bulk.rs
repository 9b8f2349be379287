//! Bulk reading for compactions and merging iterators: entries as stored, and how far to go without
//! comparisons.

use std::cmp::Ordering;

use cairndb_base::head::HEAD_BYTES;
use cairndb_base::{HeadRule, Result, SEQ_MAX};

use super::TableCursor;
use crate::table::page::bits::low32;
use crate::table::page::layout::{ValueMode, flag};
use crate::table::page::values::Stored;
use crate::table::{EntryIn, ValueIn};

/// For so few steps a search does not pay.
const FEW_STEPS: usize = 4;

impl TableCursor {
    /// Whether the current entry is known to be the only version of its key in this table: all
    /// entries of its page have the sequence number 0, which only the oldest version of a key can
    /// have.
    #[inline]
    pub fn page_unique(&self) -> bool {
        // The first entry may be the oldest version of a key whose other versions end the previous
        // page.
        let alone = self.index > 0 || !self.layout.has(flag::CONTINUED);
        self.layout.seq_width == 0 && self.layout.base_seq == 0 && alone
    }

    /// Key, mark and value as a compaction takes them: the value verbatim if it is stored alone,
    /// else decoded. An empty tombstone without a position.
    ///
    /// # Errors
    /// `Corruption` if the value has to be decoded and does not decode.
    #[inline]
    pub fn entry(&mut self) -> Result<EntryIn<'_>> {
        if self.count == 0 {
            return Ok(EntryIn::default());
        }
        if self.layout.mode == ValueMode::Groups {
            self.load_value()?;
        }
        let page = self.view();
        let value = match page.values().stored(self.index) {
            Stored::Raw(bytes) if self.table.deferred => ValueIn::Raw(bytes),
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
            Stored::Grouped => ValueIn::Raw(self.loaded()),
        };
        let mark = page.mark(self.index);
        Ok(EntryIn {
            key: self.key(),
            seq: mark.seq,
            kind: mark.kind,
            value,
        })
    }

    /// Writes the heads of the current key and of the following keys in the page, at most `most`,
    /// to `out`; only that of the current key if the others are neither in columns nor decoded;
    /// none without a position. Returns the length of all these keys if each consists of the rule's
    /// prefix and its head, so that equal heads mean equal keys; else 0.
    pub fn heads_ahead(&self, rule: &HeadRule, most: usize, out: &mut Vec<u64>) -> usize {
        out.clear();
        if self.count == 0 {
            return 0;
        }
        let end = self.count.min(self.index.saturating_add(most.max(1)));
        let page = self.view();
        if self.table.order.is_bytewise()
            && page.fixed_keys()
            && let Some(between) = page.prefix().strip_prefix(rule.prefix())
        {
            page.heads_behind(between, self.index..end, out);
            let own = usize::from(self.layout.head_bytes) + page.ending().len();
            let len = page.prefix().len() + own;
            let held = len <= rule.prefix().len() + HEAD_BYTES;
            return if held { len } else { 0 };
        }
        if self.keys.holds(self.index) {
            let decoded = self.index..end.min(self.keys.entries().end);
            out.extend(decoded.map(|index| rule.head(self.keys.key(index))));
        } else {
            out.push(rule.head(self.key()));
        }
        0
    }

    /// Compares the next key in the page, which must exist, with `key`.
    pub fn compare_next(&self, key: &[u8]) -> Ordering {
        debug_assert!(self.index + 1 < self.count);
        let order = &self.table.order;
        self.view().compare_key(self.index + 1, key, order)
    }

    /// Whether the cursor is at the first entry of its page or of the decoded keys; backwards, at
    /// the last.
    #[inline]
    pub fn begins_key_window(&self, forward: bool) -> bool {
        let decoded = self.keys.entries();
        if forward {
            self.index == 0 || self.index == decoded.start
        } else {
            self.index + 1 == self.count || self.index + 1 == decoded.end
        }
    }

    /// Number of steps in one direction that stay within the page.
    #[inline]
    pub(crate) fn steps_in_page(&self, forward: bool) -> usize {
        if forward {
            self.count.saturating_sub(self.index + 1)
        } else {
            self.index
        }
    }

    /// Number of steps in one direction that stay within the page and before `bound`, another
    /// source's key. May return 0 for a few: sources that alternate then cost one comparison and no
    /// search.
    pub fn steps_before(&self, bound: &[u8], forward: bool) -> usize {
        let (page, order) = (self.view(), &self.table.order);
        let before = |index| {
            let key = page.compare_key(index, bound, order);
            if forward { key.is_lt() } else { key.is_gt() }
        };
        let left = self.steps_in_page(forward);
        let (last, near) = if forward {
            (self.index + left, self.index + FEW_STEPS)
        } else {
            (0, self.index.saturating_sub(FEW_STEPS))
        };
        if left > 0 && self.begins_key_window(forward) && before(last) {
            return left;
        }
        if left <= FEW_STEPS || !before(near) {
            return 0;
        }
        if forward {
            let behind = page.search(bound, SEQ_MAX, order).index;
            return behind.saturating_sub(self.index + 1).min(left);
        }
        // The oldest version of a key has the number 0, or comes right before where that would be.
        let found = page.search(bound, 0, order);
        self.index
            .saturating_sub(found.index + usize::from(found.exact))
    }
}
