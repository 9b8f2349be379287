//! Fence index: the head of every data page's first key, in pages of their own.
//!
//! A head here is the eight bytes after the prefix common to all keys of the table. Heads form
//! blocks of [`BLOCK_HEADS`]; the first head of every block is also in the meta block, in memory,
//! so a search reads this top level and then one block of a fence page. If several pages share a
//! head, the fence returns their whole range, and [tie heads](crate::table::index::tie_build) or
//! their first keys decide.
//!
//! Data pages are numbered from 0 without a gap, unless some entry needed an extent of several
//! pages; only then does a fence page hold the page number next to each head.

use cairndb_base::limits::PAGE_BYTES;

use crate::table::page::bits::{load, low32};
use crate::table::page::layout::{Flaw, page_kind};

/// Length of the header of a fence page.
pub(crate) const FENCE_HEADER_BYTES: usize = 64;
/// Number of heads per block; eight blocks fill a page that holds only heads.
pub(crate) const BLOCK_HEADS: usize = 63;
/// Number of blocks on a page without and with page numbers.
const BLOCKS: usize = 8;
const BLOCKS_NUMBERED: usize = 5;
/// Number of heads on a page without page numbers.
pub(crate) const HEADS_PER_PAGE: usize = BLOCK_HEADS * BLOCKS;
/// Offset of the page numbers.
pub(crate) const NUMBERS_AT: usize = FENCE_HEADER_BYTES + 8 * BLOCK_HEADS * BLOCKS_NUMBERED;

const _: () = assert!(FENCE_HEADER_BYTES + 8 * BLOCK_HEADS * BLOCKS == PAGE_BYTES);
const _: () = assert!(NUMBERS_AT + 4 * BLOCK_HEADS * BLOCKS_NUMBERED <= PAGE_BYTES);

/// Returns the number of heads on a fence page.
pub(crate) const fn heads_per_page(numbered: bool) -> usize {
    if numbered {
        BLOCK_HEADS * BLOCKS_NUMBERED
    } else {
        HEADS_PER_PAGE
    }
}

/// Returns the number of bytes that blocks of heads take at the start of a fence page's body.
#[inline]
pub(crate) fn block_of(bytes: &[u8], first: usize, count: usize) -> &[u8] {
    let start = FENCE_HEADER_BYTES + 8 * first;
    bytes.get(start..start + 8 * count).unwrap_or_default()
}

/// Returns a head of a fence page.
#[inline]
pub(crate) fn head_at(bytes: &[u8], index: usize) -> u64 {
    load(bytes, low32(FENCE_HEADER_BYTES), 8, index)
}

/// Returns a page number of a numbered fence page.
#[inline]
pub(crate) fn number_at(bytes: &[u8], index: usize) -> u32 {
    (load(bytes, low32(NUMBERS_AT), 4, index) & 0xffff_ffff) as u32
}

/// Required contents of a fence page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FencePlace {
    /// First unit that the page lists.
    pub(crate) first: u32,
    /// Number of units that the page lists.
    pub(crate) count: usize,
    /// Number of data pages of the table.
    pub(crate) data_pages: u32,
    pub(crate) numbered: bool,
}

/// Checks a fence page before its first use.
pub(crate) fn validate(bytes: &[u8], place: &FencePlace) -> Result<(), Flaw> {
    let header = load(bytes, 0, 8, 0);
    let (kind, numbered) = ((header >> 32) & 0xff, (header >> 40) & 0xff);
    let count = header >> 48;
    let first = load(bytes, 8, 4, 0);
    if kind != u64::from(page_kind::FENCE) || bytes.len() != PAGE_BYTES {
        return Err(Flaw::Damaged("page is not a fence page"));
    }
    if numbered != u64::from(place.numbered)
        || count != place.count as u64
        || first != u64::from(place.first)
    {
        return Err(Flaw::Damaged("fence page is not the one expected here"));
    }
    for index in 1..place.count {
        if head_at(bytes, index) < head_at(bytes, index - 1) {
            return Err(Flaw::Damaged("fence heads are out of order"));
        }
    }
    if place.numbered {
        for index in 0..place.count {
            let number = number_at(bytes, index);
            let after = index == 0 || number > number_at(bytes, index - 1);
            if !after || number >= place.data_pages {
                return Err(Flaw::Damaged("fence page numbers are out of order"));
            }
        }
    }
    Ok(())
}
