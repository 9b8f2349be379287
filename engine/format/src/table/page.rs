//! One data page or extent in place: search by key, and the columns of an entry.
//!
//! A [`Page`] is a byte slice and its [`Layout`]; making one allocates nothing. A search compares
//! the common prefix, then the heads (all of one width, searched by `kernel::search`), and only if
//! a head is not the whole suffix also lengths and tails.
//!
//! 1. `layout.rs`: where the columns are, and the check of a page. `extent.rs`: an entry of several
//!    pages.
//! 2. `values.rs`: the page's values. `key_window.rs`, `value_window.rs`: keys and values of an
//!    `entry_range.rs`, decoded together.
//! 3. `plain.rs`: the columns of plain pages, for point lookups.
//! 4. `writer.rs`, `shape.rs`: a page under construction. `bits.rs`: integers and heads.

pub(super) mod bits;
mod entry_range;
pub(super) mod extent;
pub(super) mod key_window;
pub(super) mod layout;
pub(super) mod plain;
pub(super) mod shape;
pub(super) mod value_window;
pub(super) mod values;
pub(super) mod writer;

use std::cmp::Ordering;
use std::ops::Range;

use cairndb_base::head::{self as base_head, HEAD_BYTES, behind_prefix};
use cairndb_base::{Kind, Order, SeqNo};
use cairndb_kernel::search;

use crate::table::EntryMark;
use crate::table::page::bits::{common_prefix, head_bytes, head_of, load, load_span};
use crate::table::page::layout::{HEADER_END, Layout, flag};

/// A data page or extent whose bytes have been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a, 'l> {
    pub(crate) bytes: &'a [u8],
    pub(crate) layout: &'l Layout,
}

/// Result of a search: the first entry at or after the sought one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) index: usize,
    /// Whether this entry has the sought key.
    pub(crate) exact: bool,
}

impl Layout {
    /// Returns whether the page has only plain puts with sequence number 0: the only versions of
    /// their keys, except for the first.
    #[inline]
    pub(crate) fn has_plain_puts(&self) -> bool {
        !self.has(flag::KINDS)
            && self.kind == Kind::Put
            && self.seq_width == 0
            && self.base_seq == 0
    }
}

impl<'a> Page<'a, '_> {
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.layout.count()
    }

    #[inline]
    pub(crate) fn slice(&self, start: u32, end: u32) -> &'a [u8] {
        self.bytes
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    #[inline]
    pub(crate) fn prefix(&self) -> &'a [u8] {
        self.slice(HEADER_END, HEADER_END + self.layout.prefix_len)
    }

    #[inline]
    fn delta(&self, index: usize) -> u64 {
        load(
            self.bytes,
            self.layout.heads_at,
            self.layout.head_width,
            index,
        )
    }

    /// Returns the head of an entry as a number.
    #[inline]
    pub(crate) fn head(&self, index: usize) -> u64 {
        self.layout.base_head.wrapping_add(self.delta(index))
    }

    /// Appends the heads, as [`HeadRule`](cairndb_base::HeadRule) defines them, of the keys of some
    /// entries: the bytes after a prefix that they share, which are `between` and then their own
    /// heads. Only for [fixed keys](Page::fixed_keys).
    pub(crate) fn heads_behind(&self, between: &[u8], entries: Range<usize>, out: &mut Vec<u64>) {
        let from = between.len();
        let end = from + usize::from(self.layout.head_bytes);
        let mut alike = base_head::head_of(between);
        if end < HEAD_BYTES {
            alike |= base_head::head_of(self.ending()) >> (8 * end);
        }
        if from >= HEAD_BYTES {
            out.extend(entries.map(|_| alike));
        } else {
            let own = |index| base_head::head_of(&self.head_word(index)) >> (8 * from);
            out.extend(entries.map(|index| alike | own(index)));
        }
    }

    /// Returns the number of suffix bytes in an entry's head.
    #[inline]
    pub(crate) fn head_len(&self, index: usize) -> usize {
        if !self.layout.has(flag::HEAD_LENS) {
            return usize::from(self.layout.head_bytes);
        }
        let at = self.layout.head_lens_at as usize + index;
        let len = self.bytes.get(at).copied().unwrap_or(0);
        usize::from(len.min(self.layout.head_bytes))
    }

    /// Returns the key bytes after an entry's head.
    #[inline]
    pub(crate) fn tail(&self, index: usize) -> &'a [u8] {
        if self.layout.has(flag::ENDING) {
            return self.ending();
        }
        if !self.layout.has(flag::TAILS) {
            return &[];
        }
        let (start, end) = load_span(self.bytes, self.layout.tail_ends_at, index);
        let at = self.layout.tails_at as usize;
        self.bytes.get(at + start..at + end).unwrap_or_default()
    }

    /// Returns the key bytes after every head, if all are equal.
    #[inline]
    pub(crate) fn ending(&self) -> &'a [u8] {
        if !self.layout.has(flag::ENDING) {
            return &[];
        }
        self.slice(self.layout.tails_at, self.layout.heads_at)
    }

    /// Returns the total length of the tails of some entries.
    pub(crate) fn tail_bytes(&self, entries: &Range<usize>) -> usize {
        if self.layout.has(flag::ENDING) {
            return entries.len() * self.ending().len();
        }
        if entries.is_empty() || !self.layout.has(flag::TAILS) {
            return 0;
        }
        let span = |index| load_span(self.bytes, self.layout.tail_ends_at, index);
        span(entries.end - 1)
            .1
            .saturating_sub(span(entries.start).0)
    }

    /// Returns eight bytes that start with an entry's head.
    #[inline]
    pub(crate) fn head_word(&self, index: usize) -> [u8; 8] {
        head_bytes(self.head(index), self.layout.head_bytes.into())
    }

    /// Returns whether every key is prefix, whole head and the page's ending, if any: no head
    /// lengths, no tails.
    #[inline]
    pub(crate) fn fixed_keys(&self) -> bool {
        !self.layout.has(flag::TAILS | flag::HEAD_LENS)
    }

    #[inline]
    pub(crate) fn seq(&self, index: usize) -> SeqNo {
        let delta = load(
            self.bytes,
            self.layout.seqs_at,
            self.layout.seq_width,
            index,
        );
        self.layout.base_seq.wrapping_add(delta)
    }

    #[inline]
    pub(crate) fn kind(&self, index: usize) -> Kind {
        if !self.layout.has(flag::KINDS) {
            return self.layout.kind;
        }
        let at = self.layout.kinds_at as usize + index;
        let number = self.bytes.get(at).copied().unwrap_or(0);
        Kind::from_u8(number).unwrap_or(Kind::Delete)
    }

    #[inline]
    pub(crate) fn mark(&self, index: usize) -> EntryMark {
        EntryMark {
            seq: self.seq(index),
            kind: self.kind(index),
        }
    }

    /// Appends the key of an entry.
    pub(crate) fn key_into(&self, index: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix());
        let head = head_bytes(self.head(index), self.layout.head_bytes.into());
        out.extend_from_slice(&head[..self.head_len(index)]);
        out.extend_from_slice(self.tail(index));
    }

    /// Returns the whole key, in a page that does not cut keys.
    fn whole_key(&self, index: usize) -> &'a [u8] {
        if self.layout.prefix_len > 0 {
            self.prefix()
        } else {
            self.tail(index)
        }
    }

    /// Compares an entry's key with `key`.
    pub(crate) fn compare_key(&self, index: usize, key: &[u8], order: &Order) -> Ordering {
        if !order.is_bytewise() {
            return order.compare(self.whole_key(index), key);
        }
        let prefix = self.prefix();
        let Some(suffix) = behind_prefix(key, prefix) else {
            return prefix.cmp(key);
        };
        let head = head_of(key, prefix.len(), self.layout.head_bytes.into());
        self.head(index)
            .cmp(&head)
            .then_with(|| self.compare_rest(index, suffix))
    }

    /// Returns the length of the common prefix of an entry's key and `key`.
    pub(crate) fn shared_with(&self, index: usize, key: &[u8]) -> usize {
        let word = self.head_word(index);
        let head = &word[..self.head_len(index)];
        let mut shared = 0;
        for part in [self.prefix(), head, self.tail(index)] {
            let more = common_prefix(part, &key[shared..]);
            shared += more;
            if more < part.len() {
                break;
            }
        }
        shared
    }

    /// Compares an entry whose head equals that of `suffix` with it.
    #[inline]
    fn compare_rest(&self, index: usize, suffix: &[u8]) -> Ordering {
        let head_bytes = usize::from(self.layout.head_bytes);
        let (head, tail) = suffix.split_at(suffix.len().min(head_bytes));
        self.head_len(index)
            .cmp(&head.len())
            .then_with(|| self.tail(index).cmp(tail))
    }

    /// Compares an entry with (key, seq) in table order.
    pub(crate) fn compare(&self, index: usize, key: &[u8], seq: SeqNo, order: &Order) -> Ordering {
        self.compare_key(index, key, order)
            .then_with(|| seq.cmp(&self.seq(index)))
    }

    /// Returns whether older versions of the key of a merge operand may follow, here or in the next
    /// page.
    #[inline]
    pub(crate) fn goes_on(&self, index: usize, kind: Kind, order: &Order) -> bool {
        kind == Kind::Merge && (index + 1 >= self.count() || self.same_key_as_next(index, order))
    }

    /// Returns whether an entry and the one after it have the same key.
    pub(crate) fn same_key_as_next(&self, index: usize, order: &Order) -> bool {
        if !order.is_bytewise() {
            return order
                .compare(self.whole_key(index), self.whole_key(index + 1))
                .is_eq();
        }
        self.delta(index) == self.delta(index + 1)
            && self.head_len(index) == self.head_len(index + 1)
            && self.tail(index) == self.tail(index + 1)
    }

    /// Returns the first entry at or after (key, seq).
    #[inline]
    pub(crate) fn search(&self, key: &[u8], seq: SeqNo, order: &Order) -> Slot {
        let mut slot = if order.is_bytewise() {
            self.search_bytewise(key)
        } else {
            self.search_custom(key, order)
        };
        if !slot.exact || (self.layout.seq_width == 0 && self.layout.base_seq <= seq) {
            return slot;
        }
        while self.seq(slot.index) > seq {
            let more = slot.index + 1 < self.count();
            slot.exact = more && self.same_key_as_next(slot.index, order);
            slot.index += 1;
            if !slot.exact {
                break;
            }
        }
        slot
    }

    #[inline]
    fn search_bytewise(&self, key: &[u8]) -> Slot {
        let layout = self.layout;
        let (count, prefix) = (layout.count(), self.prefix());
        let outside = |index| Slot {
            index,
            exact: false,
        };
        let Some(suffix) = behind_prefix(key, prefix) else {
            return outside(if key < prefix { 0 } else { count });
        };
        let width = usize::from(layout.head_width);
        let head_bytes = usize::from(layout.head_bytes);
        let head = head_of(key, prefix.len(), head_bytes);
        let Some(sought) = head.checked_sub(layout.base_head) else {
            return outside(0);
        };
        if width < 8 && sought >> (8 * width) != 0 {
            return outside(count);
        }
        let heads = self.slice(layout.heads_at, layout.head_lens_at);
        let index = if width == 0 {
            0
        } else {
            search::lower_bound(heads, width, count, sought)
        };
        if index >= count || self.delta(index) != sought {
            return outside(index);
        }
        if !layout.has(flag::TAILS | flag::HEAD_LENS | flag::ENDING) && suffix.len() <= head_bytes {
            return Slot {
                index,
                exact: suffix.len() == head_bytes,
            };
        }
        if layout.has(flag::ENDING) && suffix.get(head_bytes..) == Some(self.ending()) {
            return Slot { index, exact: true };
        }
        let end = if width == 0 {
            count
        } else {
            search::upper_bound(heads, width, count, sought)
        };
        Self::partition(index, end, |index| self.compare_rest(index, suffix))
    }

    fn search_custom(&self, key: &[u8], order: &Order) -> Slot {
        Self::partition(0, self.count(), |index| {
            order.compare(self.whole_key(index), key)
        })
    }

    /// Returns the first of `start..end` whose comparison is not `Less`.
    fn partition(start: usize, end: usize, compare: impl Fn(usize) -> Ordering) -> Slot {
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = low + (high - low) / 2;
            if compare(middle).is_lt() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Slot {
            index: low,
            exact: low < end && compare(low).is_eq(),
        }
    }
}
