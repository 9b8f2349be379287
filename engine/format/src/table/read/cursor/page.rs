//! The page around a cursor: how far a compaction or a merging iterator can go without comparisons.

use std::cmp::Ordering;

use cairndb_base::head::HEAD_BYTES;
use cairndb_base::{HeadRule, SEQ_MAX};

use super::decoded::Decoded;
use super::walk::PageWalk;
use crate::table::page::layout::flag;
use crate::table::read::open::Table;

/// Number of steps up to which a search does not pay off.
const FEW_STEPS: usize = 4;

/// View of a cursor's page, for entries other than the current one.
#[derive(Clone, Copy, Debug)]
pub struct CursorPage<'c> {
    pub(super) table: &'c Table,
    pub(super) walk: &'c PageWalk,
    pub(super) decoded: &'c Decoded,
    /// Index of the current entry.
    pub(super) index: usize,
}

impl CursorPage<'_> {
    /// Returns whether the current entry is known to be the only version of its key in this table:
    /// all entries of its page have the sequence number 0, which only the oldest version of a key
    /// can have.
    #[inline]
    pub fn unique(self) -> bool {
        let layout = self.walk.layout();
        // The first entry may be the oldest version of a key whose other versions end the previous
        // page.
        let alone = self.index > 0 || !layout.has(flag::CONTINUED);
        layout.seq_width == 0 && layout.base_seq == 0 && alone
    }

    /// Writes to `out` the heads of the current key and of the following keys in the page, at most
    /// `most`. Writes only that of the current key if the others are neither in columns nor
    /// decoded, and none without a position. Returns the length of all these keys if each consists
    /// of the rule's prefix and its head, so that equal heads mean equal keys; else 0.
    pub fn heads_ahead(self, rule: &HeadRule, most: usize, out: &mut Vec<u64>) -> usize {
        out.clear();
        let (index, count) = (self.index, self.walk.count());
        if count == 0 {
            return 0;
        }
        let end = count.min(index.saturating_add(most.max(1)));
        let page = self.walk.view(self.table);
        if self.table.order.is_bytewise()
            && page.fixed_keys()
            && let Some(between) = page.prefix().strip_prefix(rule.prefix())
        {
            page.heads_behind(between, index..end, out);
            let own = usize::from(page.layout.head_bytes) + page.ending().len();
            let len = page.prefix().len() + own;
            let held = len <= rule.prefix().len() + HEAD_BYTES;
            return if held { len } else { 0 };
        }
        if self.decoded.holds_key(index) {
            let decoded = index..end.min(self.decoded.keys().end);
            out.extend(decoded.map(|index| rule.head(self.decoded.key(index))));
        } else {
            out.push(rule.head(self.decoded.key(index)));
        }
        0
    }

    /// Compares the next key in the page, which must exist, with `key`.
    pub fn compare_next(self, key: &[u8]) -> Ordering {
        debug_assert!(self.index + 1 < self.walk.count());
        let page = self.walk.view(self.table);
        page.compare_key(self.index + 1, key, &self.table.order)
    }

    /// Returns whether the cursor is at the first entry of its page or of the decoded keys;
    /// backwards, at the last.
    #[inline]
    pub fn begins_key_window(self, forward: bool) -> bool {
        let decoded = self.decoded.keys();
        if forward {
            self.index == 0 || self.index == decoded.start
        } else {
            self.index + 1 == self.walk.count() || self.index + 1 == decoded.end
        }
    }

    /// Returns the number of steps in one direction that stay within the page.
    #[inline]
    pub(crate) fn steps(self, forward: bool) -> usize {
        if forward {
            self.walk.count().saturating_sub(self.index + 1)
        } else {
            self.index
        }
    }

    /// Returns the number of steps in one direction that stay within the page and before `bound`,
    /// another source's key. May return 0 instead of a small number: sources that alternate then
    /// cost one comparison and no search.
    pub fn steps_before(self, bound: &[u8], forward: bool) -> usize {
        let (page, order) = (self.walk.view(self.table), &self.table.order);
        let before = |index| {
            let key = page.compare_key(index, bound, order);
            if forward { key.is_lt() } else { key.is_gt() }
        };
        let left = self.steps(forward);
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
