//! The fence: the first head of every data page, in pages of their own.
//!
//! A head here is made of the eight bytes behind the prefix common to all keys of the table. Heads
//! stand in blocks of [`BLOCK_HEADS`]; the first head of every block is also in the meta block, in
//! memory, so a search reads the top there and then one block of a fence page. Where several pages
//! share a head the fence gives the whole range of them and the reader looks at their first keys.
//!
//! Data pages are numbered from 0 without a gap, unless some entry needed an extent of several
//! pages; only then does a fence page hold the page number beside each head.

use cairndb_base::limits::PAGE_BYTES;

use super::bits::{common_prefix, head_bytes, head_of, load, low16, low32};
use super::layout::{Flaw, page_kind};

/// Length of the header of a fence page.
pub(super) const FENCE_HEADER_BYTES: usize = 64;
/// Heads to a block; eight blocks fill a page of heads alone.
pub(super) const BLOCK_HEADS: usize = 63;
/// Blocks of a page without and with page numbers.
const BLOCKS: usize = 8;
const BLOCKS_NUMBERED: usize = 5;
/// Where page numbers stand.
const NUMBERS_AT: usize = FENCE_HEADER_BYTES + 8 * BLOCK_HEADS * BLOCKS_NUMBERED;

const _: () = assert!(FENCE_HEADER_BYTES + 8 * BLOCK_HEADS * BLOCKS == PAGE_BYTES);
const _: () = assert!(NUMBERS_AT + 4 * BLOCK_HEADS * BLOCKS_NUMBERED <= PAGE_BYTES);

/// Heads of one fence page.
pub(super) const fn heads_per_page(numbered: bool) -> usize {
    if numbered {
        BLOCK_HEADS * BLOCKS_NUMBERED
    } else {
        BLOCK_HEADS * BLOCKS
    }
}

/// Bytes that blocks of heads take at the start of a fence page's body.
#[inline]
pub(super) fn block_of(bytes: &[u8], first: usize, count: usize) -> &[u8] {
    let start = FENCE_HEADER_BYTES + 8 * first;
    bytes.get(start..start + 8 * count).unwrap_or_default()
}

/// A head of a fence page.
#[inline]
pub(super) fn head_at(bytes: &[u8], index: usize) -> u64 {
    load(bytes, low32(FENCE_HEADER_BYTES), 8, index)
}

/// A page number of a numbered fence page.
#[inline]
pub(super) fn number_at(bytes: &[u8], index: usize) -> u32 {
    (load(bytes, low32(NUMBERS_AT), 4, index) & 0xffff_ffff) as u32
}

/// What a fence page must agree with.
#[derive(Clone, Copy, Debug)]
pub(super) struct FencePlace {
    /// The first unit it lists.
    pub(super) first: u32,
    /// Units it lists.
    pub(super) count: usize,
    /// Data pages of the table.
    pub(super) data_pages: u32,
    pub(super) numbered: bool,
}

/// Checks a fence page before its first use.
pub(super) fn validate(bytes: &[u8], place: &FencePlace) -> Result<(), Flaw> {
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

/// One data page as the builder remembers it.
#[derive(Clone, Copy, Debug)]
struct FenceEntry {
    /// Head behind `prefix` bytes, the prefix common to the table's keys up to this one.
    head: u64,
    prefix: u32,
    page: u32,
}

/// Collects the fence while pages are written.
///
/// The table's common prefix is known only at the end, but it can only shrink, and bytes that were
/// once common to all keys are those of the smallest key: eight bytes a page suffice.
#[derive(Debug, Default)]
pub(super) struct FenceBuilder {
    entries: Vec<FenceEntry>,
    smallest: Vec<u8>,
    prefix: usize,
    bytewise: bool,
}

impl FenceBuilder {
    pub(super) fn new(bytewise: bool) -> FenceBuilder {
        FenceBuilder {
            bytewise,
            ..FenceBuilder::default()
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<FenceEntry>() + self.smallest.capacity()
    }

    pub(super) fn units(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn smallest(&self) -> &[u8] {
        &self.smallest
    }

    /// Notes that data page `page` begins with `key`.
    pub(super) fn add(&mut self, key: &[u8], page: u32) {
        if self.entries.is_empty() {
            self.smallest = key.to_vec();
            self.prefix = if self.bytewise { key.len() } else { 0 };
        }
        let head = if self.bytewise {
            let known = &self.smallest[..self.prefix];
            if !key.starts_with(known) {
                self.prefix = common_prefix(known, key);
            }
            head_of(key, self.prefix, 8)
        } else {
            0
        };
        self.entries.push(FenceEntry {
            head,
            prefix: low32(self.prefix),
            page,
        });
    }

    /// The fence pages (checksums left zero), the prefix, and the first head of every block.
    /// Page numbers are written only where units and data pages differ in number.
    pub(super) fn finish(&self, largest: &[u8], data_pages: u32) -> FinishedFence {
        let numbered = data_pages as usize != self.entries.len();
        let prefix = common_prefix(&self.smallest[..self.prefix], largest);
        let heads: Vec<u64> = self
            .entries
            .iter()
            .map(|entry| self.head_behind(entry, prefix))
            .collect();
        let per_page = heads_per_page(numbered);
        let mut pages = Vec::new();
        for (index, chunk) in heads.chunks(per_page).enumerate() {
            let start = pages.len();
            let first = index * per_page;
            pages.resize(start + PAGE_BYTES, 0);
            let page: &mut [u8] = &mut pages[start..];
            page[4] = page_kind::FENCE;
            page[5] = u8::from(numbered);
            page[6..8].copy_from_slice(&low16(chunk.len()).to_le_bytes());
            page[8..12].copy_from_slice(&low32(first).to_le_bytes());
            let (slots, _) = page[FENCE_HEADER_BYTES..].as_chunks_mut::<8>();
            for (slot, head) in slots.iter_mut().zip(chunk) {
                *slot = head.to_le_bytes();
            }
            if numbered {
                let (slots, _) = page[NUMBERS_AT..].as_chunks_mut::<4>();
                for (slot, entry) in slots.iter_mut().zip(&self.entries[first..]).take(per_page) {
                    *slot = entry.page.to_le_bytes();
                }
            }
        }
        FinishedFence {
            pages,
            numbered,
            prefix,
            top: heads.iter().step_by(BLOCK_HEADS).copied().collect(),
        }
    }

    fn head_behind(&self, entry: &FenceEntry, prefix: usize) -> u64 {
        if !self.bytewise {
            return 0;
        }
        let between = self
            .smallest
            .get(prefix..entry.prefix as usize)
            .unwrap_or_default();
        if between.len() >= 8 {
            return head_of(between, 0, 8);
        }
        let mut bytes = [0u8; 8];
        let (front, back) = bytes.split_at_mut(between.len());
        front.copy_from_slice(between);
        let rest = head_bytes(entry.head, 8);
        let len = back.len();
        back.copy_from_slice(&rest[..len]);
        head_of(&bytes, 0, 8)
    }
}

/// A fence ready to be written.
#[derive(Debug)]
pub(super) struct FinishedFence {
    pub(super) pages: Vec<u8>,
    pub(super) numbered: bool,
    pub(super) prefix: usize,
    pub(super) top: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_survive_a_shrinking_prefix() {
        let keys: Vec<String> = (0..3000)
            .map(|n| format!("stone/{:07}/x", n * 37))
            .collect();
        let mut fence = FenceBuilder::new(true);
        for (page, key) in keys.iter().enumerate() {
            fence.add(key.as_bytes(), low32(page));
        }
        let largest = b"stone/0999999";
        let finished = fence.finish(largest, 3000);
        assert_eq!(finished.prefix, "stone/0".len());
        for (index, key) in keys.iter().enumerate() {
            let (page, slot) = (index / 504, index % 504);
            let bytes = &finished.pages[page * PAGE_BYTES..][..PAGE_BYTES];
            let head = head_of(key.as_bytes(), finished.prefix, 8);
            assert_eq!(head_at(bytes, slot), head, "page {index}");
        }
        assert_eq!(finished.top.len(), 3000usize.div_ceil(BLOCK_HEADS));
        let place = FencePlace {
            first: 504,
            count: 504,
            data_pages: 3000,
            numbered: false,
        };
        assert_eq!(
            validate(&finished.pages[PAGE_BYTES..][..PAGE_BYTES], &place),
            Ok(())
        );
        assert!(validate(&finished.pages[..PAGE_BYTES], &place).is_err());
    }

    #[test]
    fn page_numbers_appear_only_with_gaps() {
        let mut fence = FenceBuilder::new(true);
        fence.add(b"a", 0);
        assert!(!fence.finish(b"c", 1).numbered);
        fence.add(b"b", 7);
        let finished = fence.finish(b"c", 9);
        assert_eq!(number_at(&finished.pages, 0), 0);
        assert_eq!(number_at(&finished.pages, 1), 7);
    }
}
