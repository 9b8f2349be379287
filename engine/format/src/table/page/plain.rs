//! Columns of a plain data page: the header fields that a point lookup needs, read without locating
//! all columns.
//!
//! Most pages are plain. Keys are prefix, head and perhaps the page's ending; they have no tails
//! and no lengths of their own. All entries are of one kind, which is not merge, and values are
//! stored one by one. [`Layout`](super::layout::Layout) reads pages of every sort and costs more.
//!
//! Nothing here checks the bytes: the page has already been checked.

use cairndb_base::head::behind_prefix;
use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Kind, SeqNo};
use cairndb_kernel::{append_parts, search};

use crate::table::EntryMark;
use crate::table::page::bits::{head_bytes, head_of, load, load_span, load16, low8, low32};
use crate::table::page::layout::{HEADER_BYTES, ValueMode, flag, page_kind, u64_at};

/// The bytes of a page, whose length the compiler knows.
pub(crate) type PageBytes = [u8; PAGE_BYTES];

/// Header fields of a plain page, from which each column's offset is computed when it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainColumns {
    pub(crate) count: usize,
    prefix_len: usize,
    /// Number of bytes of the ending; 0 if there is none.
    ending_len: usize,
    head_bytes: usize,
    head_width: usize,
    base_head: u64,
    /// The base of the sequence numbers. Entries add to it, unless `seq_width` is 0.
    base_seq: SeqNo,
    seq_width: usize,
    flags: u8,
    pub(crate) mode: u8,
    kind: Kind,
    raw_len: usize,
    stored_len: usize,
}

/// Columns that a plain page does not have.
const UNUSUAL: u8 = flag::TAILS | flag::HEAD_LENS | flag::KINDS;

impl PlainColumns {
    /// Reads the header of a page that has been checked; `None` unless the page is plain.
    #[inline]
    pub(crate) fn of(page: &PageBytes) -> Option<PlainColumns> {
        let header = page.first_chunk::<HEADER_BYTES>()?;
        let half = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let (flags, mode) = (header[5], header[14]);
        let kind = match header[13] {
            kind if kind == Kind::Put as u8 => Kind::Put,
            kind if kind == Kind::Delete as u8 => Kind::Delete,
            kind if kind == Kind::Pointer as u8 => Kind::Pointer,
            _ => return None,
        };
        let (head_bytes, head_width, seq_width) = (header[10], header[11], header[12]);
        // Widths and head bytes were checked with the page, but a failing disk may return other
        // bytes later.
        if header[4] != page_kind::DATA
            || flags & UNUSUAL != 0
            || !matches!(seq_width, 0 | 1 | 2 | 4 | 8)
            || mode == ValueMode::Groups as u8
            || !matches!(head_width, 1 | 2 | 4 | 8)
            || head_bytes > 8
        {
            return None;
        }
        let ended = flags & flag::ENDING != 0;
        Some(PlainColumns {
            count: half(6),
            prefix_len: half(8),
            ending_len: if ended { half(36) } else { 0 },
            head_bytes: head_bytes.into(),
            head_width: head_width.into(),
            base_head: u64_at(header, 16),
            base_seq: u64_at(header, 24),
            seq_width: seq_width.into(),
            flags,
            mode,
            kind,
            raw_len: half(32),
            stored_len: half(34),
        })
    }

    #[inline]
    fn heads_at(&self) -> usize {
        HEADER_BYTES + self.prefix_len + self.ending_len
    }

    /// Returns the index of the first entry at or after `key`, and whether its key equals `key`.
    #[inline]
    pub(crate) fn search(&self, page: &PageBytes, key: &[u8]) -> (usize, bool) {
        let prefix_end = HEADER_BYTES + self.prefix_len;
        let prefix = page.get(HEADER_BYTES..prefix_end).unwrap_or_default();
        let Some(suffix) = behind_prefix(key, prefix) else {
            return (if key < prefix { 0 } else { self.count }, false);
        };
        let head = head_of(key, self.prefix_len, self.head_bytes);
        let Some(sought) = head.checked_sub(self.base_head) else {
            return (0, false);
        };
        let column = self.heads_at()..self.heads_at() + self.count * self.head_width;
        let Some(heads) = page.get(column) else {
            return (self.count, false);
        };
        let (index, same_head) = search::locate(heads, self.head_width, self.count, sought);
        let Some(tail) = suffix.get(self.head_bytes..).filter(|_| same_head) else {
            // A key that ends within its head sorts before longer keys with the same head.
            return (index, false);
        };
        if tail.is_empty() && self.ending_len == 0 {
            return (index, true);
        }
        // All keys of the page have the same ending, and each has a head of its own, shared by its
        // versions only.
        let ending = page.get(prefix_end..self.heads_at()).unwrap_or_default();
        let order = ending.cmp(tail);
        if order.is_lt() {
            let beyond = search::upper_bound(heads, self.head_width, self.count, sought);
            return (beyond, false);
        }
        (index, order.is_eq())
    }

    /// Seeks in the candidate page of `key`: the page's columns and the index of the first entry at
    /// or after (`key`, `snapshot`), whose key replaces the contents of `found`. `None` if the page
    /// alone cannot decide.
    #[inline]
    pub(crate) fn seek(
        page: &PageBytes,
        key: &[u8],
        snapshot: SeqNo,
        found: &mut Vec<u8>,
    ) -> Option<(PlainColumns, usize)> {
        let columns = PlainColumns::of(page)?;
        let (index, exact) = columns.search(page, key);
        // A key whose head led here sorts after the page's first key, unless the key lacks the
        // table's prefix or the bytes common to a tie: then the page is arbitrary. And if the
        // newest version of a key is too new for the snapshot, an older one may follow.
        if index == 0 || index >= columns.count || columns.mark(page, index).seq > snapshot {
            return None;
        }
        found.clear();
        if exact {
            found.extend_from_slice(key);
        } else {
            columns.key_into(page, index, found);
        }
        Some((columns, index))
    }

    /// Returns the sequence number and kind of an entry.
    #[inline]
    pub(crate) fn mark(&self, page: &PageBytes, index: usize) -> EntryMark {
        let mut seq = self.base_seq;
        if self.seq_width != 0 {
            let more = load(page, low32(self.seqs_at()), low8(self.seq_width), index);
            seq = seq.wrapping_add(more);
        }
        let kind = self.kind;
        EntryMark { seq, kind }
    }

    /// Returns the size in bytes of a column of 16-bit numbers, or 0 if the page does not have it.
    #[inline]
    fn column(&self, bit: u8) -> usize {
        if self.flags & bit == 0 {
            0
        } else {
            2 * self.count
        }
    }

    #[inline]
    fn raws_at(&self) -> usize {
        self.heads_at() + self.count * self.head_width
    }

    #[inline]
    fn seqs_at(&self) -> usize {
        self.raws_at() + self.column(flag::RAWS)
    }

    /// Appends the key of an entry.
    #[inline]
    fn key_into(&self, page: &PageBytes, index: usize, key: &mut Vec<u8>) {
        let prefix_end = HEADER_BYTES + self.prefix_len;
        let ending = page.get(prefix_end..self.heads_at()).unwrap_or_default();
        let delta = load(page, low32(self.heads_at()), low8(self.head_width), index);
        let head = head_bytes(self.base_head.wrapping_add(delta), self.head_bytes);
        let prefix = page.get(HEADER_BYTES..prefix_end).unwrap_or_default();
        append_parts(key, [prefix, &head[..self.head_bytes], ending]);
    }

    /// Returns the start and end of an entry's stored value in the page, and the length of the
    /// decoded value.
    #[inline]
    pub(crate) fn value_of(&self, page: &PageBytes, index: usize) -> (usize, usize, usize) {
        let ends_at = self.seqs_at() + self.count * self.seq_width;
        let values_at = ends_at + self.column(flag::ENDS);
        let (start, end) = if self.flags & flag::ENDS == 0 {
            (index * self.stored_len, (index + 1) * self.stored_len)
        } else {
            load_span(page, low32(ends_at), index)
        };
        let raw_len = if self.mode == ValueMode::Raw as u8 {
            end.saturating_sub(start)
        } else if self.flags & flag::RAWS == 0 {
            self.raw_len
        } else {
            load16(page, low32(self.raws_at()), index)
        };
        (values_at + start, values_at + end, raw_len)
    }
}
