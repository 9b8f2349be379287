//! Layout of one data page or extent: where its columns are, computed from its 40-byte header.
//!
//! A [`Layout`] is plain numbers without a borrow, so a cursor can store it next to the page. Pages
//! and extents (entries too large for a page) have the same layout: an extent is a page of one
//! entry whose common prefix is its whole key.
//!
//! Invariants: after [`Layout::parse`] every column lies inside the given bytes; after
//! [`Layout::validate`] every offset in a column does, too, and heads are in order.

use cairndb_base::limits::{PAGE_BYTES, STORED_KEY_BYTES_MAX, VALUE_BYTES_MAX};
use cairndb_base::{Kind, Order};

use crate::table::page::bits::{load, load_span, load16, low32};

/// Length of the header of a data page or extent.
pub(crate) const HEADER_BYTES: usize = 40;
/// Like [`HEADER_BYTES`], but as `u32`, for column offsets.
pub(crate) const HEADER_END: u32 = 40;

/// The kind of a page, at offset 4.
pub(crate) mod page_kind {
    /// Entries in columns.
    pub(crate) const DATA: u8 = 1;
    /// One entry that does not fit a page.
    pub(crate) const EXTENT: u8 = 2;
    /// Filter lines.
    pub(crate) const FILTER: u8 = 3;
    /// First heads of the data pages.
    pub(crate) const FENCE: u8 = 4;
    /// The meta block.
    pub(crate) const META: u8 = 5;
    /// Tie heads.
    pub(crate) const TIES: u8 = 6;
    /// First keys.
    pub(crate) const KEYS: u8 = 7;
}

/// Bits of the flags byte of a data page.
pub(crate) mod flag {
    /// The first key is the last key of the page before.
    pub(crate) const CONTINUED: u8 = 1;
    /// Some suffix is longer than the heads: a column of tail ends, and tails.
    pub(crate) const TAILS: u8 = 2;
    /// Some suffix is shorter than the heads: a column of head lengths.
    pub(crate) const HEAD_LENS: u8 = 4;
    /// Kinds differ: a column of kinds.
    pub(crate) const KINDS: u8 = 8;
    /// Raw lengths differ: a column of raw lengths.
    pub(crate) const RAWS: u8 = 16;
    /// Stored lengths differ: a column of value ends.
    pub(crate) const ENDS: u8 = 32;
    /// All keys have one length and the same ending, which is stored once, after the prefix. Heads
    /// hold everything between.
    pub(crate) const ENDING: u8 = 64;
    /// All flags that this version knows.
    pub(crate) const ALL: u8 = 127;
}

/// Storage of the values of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ValueMode {
    /// Uncompressed.
    Raw = 0,
    /// Each alone: raw if stored length and raw length are equal, else in the short-value codec.
    Each = 1,
    /// In groups of neighbours, each group raw or encoded by the short-value codec.
    Groups = 2,
    /// Each alone, as in `Each`, but encoded against the table's dictionary.
    Dictionary = 3,
}

/// Reason why this version cannot read a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// No version writes this.
    Damaged(&'static str),
    /// A later version may write this.
    TooNew(&'static str),
}

/// The numbers of one page: header fields and the offset of each column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) count: u32,
    pub(crate) prefix_len: u32,
    pub(crate) base_head: u64,
    pub(crate) base_seq: u64,
    /// Raw length of every value, unless there is a column for it.
    pub(crate) raw_len: u32,
    /// Stored length of every value, unless there is a column for it.
    pub(crate) stored_len: u32,
    pub(crate) heads_at: u32,
    pub(crate) head_lens_at: u32,
    pub(crate) tail_ends_at: u32,
    pub(crate) kinds_at: u32,
    pub(crate) raws_at: u32,
    pub(crate) seqs_at: u32,
    pub(crate) groups_at: u32,
    pub(crate) ends_at: u32,
    /// Offset of the tails, or of the ending, which precedes the heads.
    pub(crate) tails_at: u32,
    pub(crate) values_at: u32,
    pub(crate) values_end: u32,
    pub(crate) groups: u8,
    pub(crate) head_bytes: u8,
    pub(crate) head_width: u8,
    pub(crate) seq_width: u8,
    pub(crate) flags: u8,
    pub(crate) kind: Kind,
    pub(crate) mode: ValueMode,
    pub(crate) extent: bool,
}

#[inline]
fn u16_at(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    load16(header, low32(at), 0).try_into().unwrap_or(0)
}

#[inline]
pub(crate) fn u32_at(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    let bytes = header.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[inline]
pub(crate) fn u64_at(header: &[u8; HEADER_BYTES], at: usize) -> u64 {
    load(header, low32(at), 8, 0)
}

#[inline]
fn kind_of(number: u8) -> Result<Kind, Flaw> {
    // The checksum matched, so a newer version wrote this unassigned kind.
    let kind =
        Kind::from_u8(number).filter(|kind| !matches!(kind, Kind::RangeDelete | Kind::TimeMark));
    kind.ok_or(Flaw::TooNew("kind of entry"))
}

#[inline]
fn mode_of(number: u8) -> Result<ValueMode, Flaw> {
    match number {
        0 => Ok(ValueMode::Raw),
        1 => Ok(ValueMode::Each),
        2 => Ok(ValueMode::Groups),
        3 => Ok(ValueMode::Dictionary),
        _ => Err(Flaw::TooNew("value mode")),
    }
}

impl Layout {
    /// No entries.
    pub(crate) const EMPTY: Layout = Layout {
        count: 0,
        prefix_len: 0,
        base_head: 0,
        base_seq: 0,
        raw_len: 0,
        stored_len: 0,
        heads_at: 0,
        head_lens_at: 0,
        tail_ends_at: 0,
        kinds_at: 0,
        raws_at: 0,
        seqs_at: 0,
        groups_at: 0,
        ends_at: 0,
        tails_at: 0,
        values_at: 0,
        values_end: 0,
        groups: 0,
        head_bytes: 0,
        head_width: 0,
        seq_width: 0,
        flags: 0,
        kind: Kind::Delete,
        mode: ValueMode::Raw,
        extent: false,
    };

    /// Reads the header and computes the column offsets. `bytes` is one page, or a whole extent.
    #[inline]
    pub(crate) fn parse(bytes: &[u8]) -> Result<Layout, Flaw> {
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(Flaw::Damaged("page is cut short"));
        };
        match header[4] {
            page_kind::DATA => Layout::parse_page(header, bytes.len()),
            page_kind::EXTENT => Layout::parse_extent(header, bytes.len()),
            _ => Err(Flaw::Damaged("page is not a data page")),
        }
    }

    #[inline]
    fn parse_page(header: &[u8; HEADER_BYTES], len: usize) -> Result<Layout, Flaw> {
        let flags = header[5];
        if flags & !flag::ALL != 0 {
            return Err(Flaw::TooNew("page flags"));
        }
        let count = u16_at(header, 6);
        let (head_width, seq_width) = (header[11], header[12]);
        // Bit n is set if columns may have a width of n bytes.
        let widths = 0b1_0001_0111u16;
        if header[10] > 8
            || head_width > 8
            || seq_width > 8
            || (widths >> head_width) & (widths >> seq_width) & 1 == 0
            || count == 0
        {
            return Err(Flaw::Damaged("page header is malformed"));
        }
        let (kind, mode) = (kind_of(header[13])?, mode_of(header[14])?);
        let mut layout = Layout {
            count,
            prefix_len: u16_at(header, 8),
            base_head: u64_at(header, 16),
            base_seq: u64_at(header, 24),
            raw_len: u16_at(header, 32),
            stored_len: u16_at(header, 34),
            groups: header[15],
            head_bytes: header[10],
            head_width,
            seq_width,
            flags,
            kind,
            mode,
            ..Layout::EMPTY
        };
        layout.place(u16_at(header, 36), u16_at(header, 38));
        if layout.values_end as usize > len || len > PAGE_BYTES {
            return Err(Flaw::Damaged("page columns reach past the page"));
        }
        Ok(layout)
    }

    #[inline]
    fn place(&mut self, tails_bytes: u32, values_bytes: u32) {
        let count = self.count;
        let column = |bit: u8, width: u32| {
            if self.flags & bit == 0 {
                0
            } else {
                width * count
            }
        };
        let (lens, tail_ends) = (column(flag::HEAD_LENS, 1), column(flag::TAILS, 2));
        let (kinds, raws) = (column(flag::KINDS, 1), column(flag::RAWS, 2));
        let ends = column(flag::ENDS, 2);
        let prefix_end = HEADER_END + self.prefix_len;
        let ended = self.has(flag::ENDING);
        self.heads_at = prefix_end + if ended { tails_bytes } else { 0 };
        self.head_lens_at = self.heads_at + u32::from(self.head_width) * count;
        self.tail_ends_at = self.head_lens_at + lens;
        self.kinds_at = self.tail_ends_at + tail_ends;
        self.raws_at = self.kinds_at + kinds;
        self.seqs_at = self.raws_at + raws;
        self.groups_at = self.seqs_at + u32::from(self.seq_width) * count;
        self.ends_at = self.groups_at + 4 * u32::from(self.groups);
        let columns_end = self.ends_at + ends;
        self.tails_at = if ended { prefix_end } else { columns_end };
        self.values_at = columns_end + if ended { 0 } else { tails_bytes };
        self.values_end = self.values_at + values_bytes;
    }

    fn parse_extent(header: &[u8; HEADER_BYTES], len: usize) -> Result<Layout, Flaw> {
        if header[5] & !flag::CONTINUED != 0 {
            return Err(Flaw::TooNew("page flags"));
        }
        let (kind, mode) = (kind_of(header[13])?, mode_of(header[14])?);
        let (key_len, raw_len, stored_len) =
            (u32_at(header, 16), u32_at(header, 32), u32_at(header, 36));
        let heads_at = HEADER_END;
        let (Some(values_at), false) = (
            heads_at.checked_add(key_len),
            mode == ValueMode::Groups || u16_at(header, 6) != 1,
        ) else {
            return Err(Flaw::Damaged("extent header is malformed"));
        };
        let Some(values_end) = values_at.checked_add(stored_len) else {
            return Err(Flaw::Damaged("extent header is malformed"));
        };
        if values_end as usize > len {
            return Err(Flaw::Damaged("extent reaches past its pages"));
        }
        Ok(Layout {
            count: 1,
            prefix_len: key_len,
            base_head: 0,
            base_seq: u64_at(header, 24),
            raw_len,
            stored_len,
            heads_at: values_at,
            head_lens_at: values_at,
            tail_ends_at: values_at,
            kinds_at: values_at,
            raws_at: values_at,
            seqs_at: values_at,
            groups_at: values_at,
            ends_at: values_at,
            tails_at: values_at,
            values_at,
            values_end,
            groups: 0,
            head_bytes: 0,
            head_width: 0,
            seq_width: 0,
            flags: header[5],
            kind,
            mode,
            extent: true,
        })
    }

    /// Returns whether a column or other property is present; with several bits, whether any is.
    #[inline]
    pub(crate) fn has(&self, bit: u8) -> bool {
        self.flags & bit != 0
    }

    /// Returns the number of entries.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    /// Checks the columns, once per page, so that nothing can go wrong later.
    pub(crate) fn validate(&self, bytes: &[u8], order: &Order) -> Result<(), Flaw> {
        if self.extent {
            let expansion = 256 * u64::from(self.stored_len) + 64;
            if self.stored_len > self.raw_len
                || (self.mode == ValueMode::Raw && self.stored_len != self.raw_len)
                || (self.stored_len < self.raw_len && u64::from(self.raw_len) > expansion)
                || self.raw_len as usize > VALUE_BYTES_MAX
                || self.prefix_len as usize > STORED_KEY_BYTES_MAX
            {
                return Err(Flaw::Damaged("extent lengths disagree"));
            }
            return Ok(());
        }
        let cuts_keys = self.head_bytes != 0 || self.prefix_len != 0 || self.has(flag::ENDING);
        if !order.is_bytewise() && cuts_keys {
            return Err(Flaw::Damaged(
                "page cuts keys, but the order is not bytewise",
            ));
        }
        self.validate_keys(bytes)?;
        if self.has(flag::KINDS) {
            for index in 0..self.count() {
                let number = bytes.get(self.kinds_at as usize + index);
                kind_of(number.copied().unwrap_or(u8::MAX))?;
            }
        }
        match self.mode {
            ValueMode::Groups => self.validate_groups(bytes),
            ValueMode::Raw | ValueMode::Each | ValueMode::Dictionary => self.validate_values(bytes),
        }
    }

    fn validate_keys(&self, bytes: &[u8]) -> Result<(), Flaw> {
        let limit = match self.head_bytes {
            8 => u64::MAX,
            bytes => (1u64 << (8 * bytes)) - 1,
        };
        // The heads ascend: if the last fits, all do.
        let last = self.ascending_heads(bytes);
        let fits = last.and_then(|last| self.base_head.checked_add(last));
        if fits.is_none_or(|head| head > limit) {
            return Err(Flaw::Damaged("key heads are out of order"));
        }
        if self.has(flag::ENDING) && !self.has(flag::TAILS | flag::HEAD_LENS) {
            return Ok(());
        }
        let tails = self.validate_tails(bytes)?;
        if self.has(flag::ENDING) || tails != (self.values_at - self.tails_at) as usize {
            return Err(Flaw::Damaged("key tails are malformed"));
        }
        Ok(())
    }

    /// Returns the last head's distance from the first, or `None` if heads do not ascend. Each
    /// width has a loop of its own: every page is checked during a first scan, which was
    /// considerably slower when the width was chosen anew for each head.
    fn ascending_heads(&self, bytes: &[u8]) -> Option<u64> {
        fn last<const WIDTH: usize>(
            heads: &[u8],
            number: impl Fn(&[u8; WIDTH]) -> u64,
        ) -> Option<u64> {
            let (heads, _) = heads.as_chunks::<WIDTH>();
            heads
                .is_sorted_by_key(&number)
                .then(|| heads.last().map_or(0, number))
        }
        let start = self.heads_at as usize;
        let heads = bytes.get(start..start + self.count() * usize::from(self.head_width))?;
        match self.head_width {
            0 => Some(0),
            1 => last::<1>(heads, |head| u64::from(head[0])),
            2 => last::<2>(heads, |head| u64::from(u16::from_le_bytes(*head))),
            4 => last::<4>(heads, |head| u64::from(u32::from_le_bytes(*head))),
            _ => last::<8>(heads, |head| u64::from_le_bytes(*head)),
        }
    }

    /// Returns the total length of the tails; 0 in a page whose heads are whole suffixes.
    fn validate_tails(&self, bytes: &[u8]) -> Result<usize, Flaw> {
        let mut tails = 0;
        if !self.has(flag::HEAD_LENS) && !self.has(flag::TAILS) {
            return Ok(tails);
        }
        for index in 0..self.count() {
            let mut head_len = self.head_bytes;
            if self.has(flag::HEAD_LENS) {
                let at = self.head_lens_at as usize + index;
                head_len = bytes.get(at).copied().unwrap_or(u8::MAX);
            }
            let mut tail = (tails, tails);
            if self.has(flag::TAILS) {
                tail = load_span(bytes, self.tail_ends_at, index);
            }
            let has_tail = tail.1 > tails;
            if tail.0 != tails
                || tail.1 < tails
                || head_len > self.head_bytes
                || (has_tail && head_len < self.head_bytes)
            {
                return Err(Flaw::Damaged("key tails are malformed"));
            }
            tails = tail.1;
        }
        Ok(tails)
    }

    fn validate_values(&self, bytes: &[u8]) -> Result<(), Flaw> {
        let total = (self.values_end - self.values_at) as usize;
        let raw_mode = self.mode == ValueMode::Raw;
        if self.groups != 0 || (raw_mode && self.has(flag::RAWS)) {
            return Err(Flaw::Damaged("value columns are malformed"));
        }
        let longer = |stored: usize, raw: usize| !raw_mode && stored > raw;
        let (stored_len, raw_len) = (self.stored_len as usize, self.raw_len as usize);
        let mut at = 0;
        if !self.has(flag::ENDS) && !self.has(flag::RAWS) {
            // All lengths are equal, so one comparison decides.
            if longer(stored_len, raw_len) {
                return Err(Flaw::Damaged("value ends are out of order"));
            }
            at = self.count() * stored_len;
        } else {
            for index in 0..self.count() {
                let mut span = (at, at + stored_len);
                if self.has(flag::ENDS) {
                    span = load_span(bytes, self.ends_at, index);
                }
                let mut raw = raw_len;
                if self.has(flag::RAWS) {
                    raw = load16(bytes, self.raws_at, index);
                }
                if span.0 != at || span.1 < at || longer(span.1 - at, raw) {
                    return Err(Flaw::Damaged("value ends are out of order"));
                }
                at = span.1;
            }
        }
        if at != total {
            return Err(Flaw::Damaged("value ends do not match the page"));
        }
        Ok(())
    }

    fn validate_groups(&self, bytes: &[u8]) -> Result<(), Flaw> {
        let total = (self.values_end - self.values_at) as usize;
        let (mut entry, mut at) = (0, 0);
        for group in 0..usize::from(self.groups) {
            let entry_end = load16(bytes, self.groups_at, 2 * group);
            let end = load16(bytes, self.groups_at, 2 * group + 1);
            if entry_end <= entry || entry_end > self.count() || end < at || end > total {
                return Err(Flaw::Damaged("value groups are malformed"));
            }
            let raw: usize = (entry..entry_end)
                .map(|index| {
                    if self.has(flag::RAWS) {
                        load16(bytes, self.raws_at, index)
                    } else {
                        self.raw_len as usize
                    }
                })
                .sum();
            if end - at > raw || raw > GROUP_RAW_BYTES_MAX {
                return Err(Flaw::Damaged("value group lengths disagree"));
            }
            (entry, at) = (entry_end, end);
        }
        if entry != self.count() || at != total || self.has(flag::ENDS) {
            return Err(Flaw::Damaged("value groups do not match the page"));
        }
        Ok(())
    }
}

/// Maximum raw bytes of one group: bounds the cost of one get from a highly compressible page.
pub(crate) const GROUP_RAW_BYTES_MAX: usize = 64 << 10;
