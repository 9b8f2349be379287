//! Addresses inside a table: from a key or hash to pages, offsets and heads, without reading a
//! page.

use std::cmp::Ordering;

use cairndb_base::Order;
use cairndb_base::head::behind_prefix;
use cairndb_kernel::search;

use crate::table::index::fence::{BLOCK_HEADS, FencePlace, heads_per_page};
use crate::table::index::filter::{LINE_BYTES, LINES_PER_PAGE, fold, line_may_hold, line_of};
use crate::table::meta::Meta;
use crate::table::page::bits::{head_of, load, low32};
use crate::table::page::layout::{Flaw, page_kind};

/// The filter of an open table: where its lines are, and how they are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableFilter {
    first_page: u32,
    /// Number of lines of the filter; 0 if it must not be used.
    lines: u32,
    probes: u32,
}

impl TableFilter {
    /// Returns the filter of a table in this order.
    pub(crate) fn new(meta: &Meta, order: &Order) -> TableFilter {
        // Equal keys may have different hashes now than when the filter was made.
        let lines = if order.can_hash() {
            meta.filter_lines
        } else {
            0
        };
        TableFilter {
            first_page: meta.data_pages,
            lines,
            probes: meta.filter_probes,
        }
    }

    /// Returns the page and offset of the line of a hash, or `None` if there is no filter.
    #[inline]
    pub(crate) fn place_of(&self, hash: u64) -> Option<(u32, usize)> {
        if self.lines == 0 {
            return None;
        }
        let line = line_of(fold(hash), self.lines);
        let per_page = low32(LINES_PER_PAGE);
        let page = self.first_page + line / per_page;
        Some((page, (1 + line % per_page) as usize * LINE_BYTES))
    }

    /// Returns whether the line of a hash lets it pass.
    #[inline]
    pub(crate) fn line_passes(&self, line: &[u8], hash: u64) -> bool {
        line_may_hold(line, fold(hash), self.probes)
    }
}

impl Meta {
    /// Checks a filter page before its first use.
    pub(crate) fn validate_filter(&self, bytes: &[u8], page: u32) -> Result<(), Flaw> {
        let index = u64::from(page - self.data_pages);
        let field = |at, width| load(bytes, at, width, 0);
        if field(4, 1) != u64::from(page_kind::FILTER) {
            return Err(Flaw::Damaged("page is not a filter page"));
        }
        if field(8, 4) != index || field(12, 4) != u64::from(self.filter_lines) {
            return Err(Flaw::Damaged("filter page is not the one expected here"));
        }
        Ok(())
    }

    /// Returns the fence head of a key; if the key lacks the table's common prefix, whether it
    /// sorts before or after.
    #[inline]
    pub(crate) fn fence_head(&self, key: &[u8], order: &Order) -> Result<u64, Ordering> {
        let prefix = (self.summary.smallest)
            .get(..self.prefix as usize)
            .unwrap_or_default();
        if behind_prefix(key, prefix).is_none() {
            return Err(key.cmp(prefix));
        }
        Ok(if order.is_bytewise() {
            head_of(key, prefix.len(), 8)
        } else {
            0
        })
    }

    /// Returns the number of fence blocks whose first head is not greater than `head`.
    #[inline]
    pub(crate) fn blocks_up_to(&self, head: u64) -> usize {
        let count = self.top.len() / 8;
        let next = head.checked_add(1);
        next.map_or(count, |next| {
            search::lower_bound_u64_le(&self.top, count, next)
        })
    }

    /// Returns the page of a fence block, and the index of its first head there.
    #[inline]
    pub(crate) fn place_of_block(&self, block: usize) -> (u32, usize) {
        let per_page = heads_per_page(self.numbered) / BLOCK_HEADS;
        let page = self.fence_at() + low32(block / per_page);
        (page, block % per_page * BLOCK_HEADS)
    }

    /// Returns the required contents of fence page `index`.
    pub(crate) fn fence_place(&self, index: u32) -> FencePlace {
        let per_page = heads_per_page(self.numbered);
        let first = index as usize * per_page;
        FencePlace {
            first: low32(first),
            count: (self.units as usize).saturating_sub(first).min(per_page),
            data_pages: self.data_pages,
            numbered: self.numbered,
        }
    }
}

/// Returns how far `head` lies between the heads `low` and `high` of two neighbouring pages, in
/// 4096ths.
///
/// The result is only a guess for prefetching. Decimal digits are not spread evenly over their
/// bytes, so heads that differ only in the low halves of bytes are compared as decimal numbers.
#[inline]
pub(crate) fn share(low: u64, head: u64, high: u64) -> u32 {
    const UPPER_HALVES: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    let digits = ((low ^ high) | (low ^ head)) & UPPER_HALVES == 0;
    let (low, head, high) = if digits {
        (decimal(low), decimal(head), decimal(high))
    } else {
        (low >> 12, head >> 12, high >> 12)
    };
    let (part, whole) = (head.saturating_sub(low), high.saturating_sub(low));
    if part >= whole {
        return 0;
    }
    (((part << 12) / whole) & 0xfff) as u32
}

/// Returns the decimal number in the lower halves of the bytes, the first byte first.
#[inline]
fn decimal(head: u64) -> u64 {
    let digits = head & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (digits >> 8 & 0x00ff_00ff_00ff_00ff) * 10 + (digits & 0x00ff_00ff_00ff_00ff);
    let fours = (pairs >> 16 & 0xffff_0000_ffff) * 100 + (pairs & 0xffff_0000_ffff);
    (fours >> 32) * 10_000 + (fours & 0xffff_ffff)
}
