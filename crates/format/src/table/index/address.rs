//! Addresses inside a table: from a key or hash to pages, offsets and heads, without reading a
//! page.

use std::cmp::Ordering;

use cairndb_base::head::behind_prefix;
use cairndb_kernel::search;

use crate::table::index::fence::{BLOCK_HEADS, FencePlace, heads_per_page};
use crate::table::index::filter::{LINE_BYTES, LINES_PER_PAGE, fold, line_of};
use crate::table::page::bits::{head_of, load, low32};
use crate::table::page::layout::{Flaw, page_kind};
use crate::table::read::open::Table;

impl Table {
    /// Page and offset of the filter line of a hash.
    #[inline]
    pub(crate) fn filter_place(&self, hash: u64) -> Option<(u32, usize)> {
        if self.filter_lines == 0 {
            return None;
        }
        let line = line_of(fold(hash), self.filter_lines);
        let per_page = low32(LINES_PER_PAGE);
        let page = self.meta.data_pages + line / per_page;
        Some((page, (1 + line % per_page) as usize * LINE_BYTES))
    }

    /// Checks a filter page before its first use.
    pub(crate) fn validate_filter(&self, bytes: &[u8], page: u32) -> Result<(), Flaw> {
        let index = u64::from(page - self.meta.data_pages);
        let field = |at, width| load(bytes, at, width, 0);
        if field(4, 1) != u64::from(page_kind::FILTER) {
            return Err(Flaw::Damaged("page is not a filter page"));
        }
        if field(8, 4) != index || field(12, 4) != u64::from(self.meta.filter_lines) {
            return Err(Flaw::Damaged("filter page is not the one expected here"));
        }
        Ok(())
    }

    /// The part of a key after the table's common prefix; if the key lacks the prefix, whether it
    /// sorts before or after.
    #[inline]
    pub(crate) fn suffix_of<'k>(&self, key: &'k [u8]) -> Result<&'k [u8], Ordering> {
        let prefix = self.prefix();
        behind_prefix(key, prefix).ok_or_else(|| key.cmp(prefix))
    }

    #[inline]
    fn prefix(&self) -> &[u8] {
        let smallest = &self.meta.summary.smallest;
        smallest
            .get(..self.meta.prefix as usize)
            .unwrap_or_default()
    }

    /// The fence head of a key whose suffix is `suffix`.
    #[inline]
    pub(crate) fn head_of(&self, suffix: &[u8], key: &[u8]) -> u64 {
        if self.order.is_bytewise() {
            head_of(key, key.len() - suffix.len(), 8)
        } else {
            0
        }
    }

    /// Whether all units are single pages, found by their heads.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.order.is_bytewise() && !self.meta.numbered
    }

    /// Number of fence blocks whose first head is not greater than `head`.
    #[inline]
    pub(crate) fn blocks_up_to(&self, head: u64) -> usize {
        let top = &self.meta.top;
        let count = top.len() / 8;
        let next = head.checked_add(1);
        next.map_or(count, |next| search::lower_bound_u64_le(top, count, next))
    }

    /// Page of a fence block, and the index of its first head there.
    #[inline]
    pub(crate) fn place_of_block(&self, block: usize) -> (u32, usize) {
        let per_page = heads_per_page(self.meta.numbered) / BLOCK_HEADS;
        let page = self.meta.fence_at() + low32(block / per_page);
        (page, block % per_page * BLOCK_HEADS)
    }

    /// What fence page `index` must contain.
    pub(crate) fn fence_place(&self, index: u32) -> FencePlace {
        let per_page = heads_per_page(self.meta.numbered);
        let first = index as usize * per_page;
        FencePlace {
            first: low32(first),
            count: (self.meta.units as usize)
                .saturating_sub(first)
                .min(per_page),
            data_pages: self.meta.data_pages,
            numbered: self.meta.numbered,
        }
    }
}

/// How far `head` lies between the heads `low` and `high` of two neighbouring pages, in 4096ths.
///
/// Only a guess of what to prefetch. Decimal digits are not spread evenly over their bytes, so
/// heads that differ only in the low halves of bytes are compared as decimal numbers.
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

/// The decimal number in the lower halves of the bytes, the first byte first.
#[inline]
fn decimal(head: u64) -> u64 {
    let digits = head & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (digits >> 8 & 0x00ff_00ff_00ff_00ff) * 10 + (digits & 0x00ff_00ff_00ff_00ff);
    let fours = (pairs >> 16 & 0xffff_0000_ffff) * 100 + (pairs & 0xffff_0000_ffff);
    (fours >> 32) * 10_000 + (fours & 0xffff_ffff)
}
