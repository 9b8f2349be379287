//! What a merge asks of a cursor: entries as they are stored, and how far it may go unchecked.

use std::cmp::Ordering;

use cairndb_base::head::HEAD_BYTES;
use cairndb_base::{HeadRule, Result, SEQ_MAX};

use super::TableCursor;
use crate::table::page::bits::low32;
use crate::table::page::layout::{ValueMode, flag};
use crate::table::page::values::Stored;
use crate::table::{EntryIn, ValueIn};

/// Steps that are not worth a search.
const FEW_STEPS: usize = 4;

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

    /// The heads of the current key and of those behind it in the page, `most` at most, into `out`; of the current one
    /// alone where neither columns nor spelled keys tell the others'. None when the cursor is nowhere. Returns the length of all these keys
    /// where they are the rule's prefix and what their heads hold, so that equal heads are of equal keys; else 0.
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
            let spelled = self.index..end.min(self.keys.entries().end);
            out.extend(spelled.map(|index| rule.head(self.keys.key(index))));
        } else {
            out.push(rule.head(self.key()));
        }
        0
    }

    /// Orders the key behind the current one in the page, which there must be, against `key`.
    pub fn compare_next(&self, key: &[u8]) -> Ordering {
        debug_assert!(self.index + 1 < self.count);
        let order = &self.table.order;
        self.view().compare_key(self.index + 1, key, order)
    }

    /// Whether it stands on the first entry of its page or of a stretch whose keys are keys, or backwards on the last.
    #[inline]
    pub fn begins_key_window(&self, forward: bool) -> bool {
        let spelled = self.keys.entries();
        if forward {
            self.index == 0 || self.index == spelled.start
        } else {
            self.index + 1 == self.count || self.index + 1 == spelled.end
        }
    }

    /// How many steps in one direction stay within the page.
    #[inline]
    pub(crate) fn steps_in_page(&self, forward: bool) -> usize {
        if forward {
            self.count.saturating_sub(self.index + 1)
        } else {
            self.index
        }
    }

    /// How many steps in one direction stay within the page and before `bound`, another source's key. 0 may be told
    /// for a few: sources that alternate are then asked for one comparison, no search.
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
        // The oldest version of a key has the number 0, or stands right before where that would.
        let found = page.search(bound, 0, order);
        self.index
            .saturating_sub(found.index + usize::from(found.exact))
    }
}
