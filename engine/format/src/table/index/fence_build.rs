//! Builds the fence index of a table, and its tie heads or key pages, while data pages are written.
//!
//! Invariant: heads are taken from the units' first keys after the prefix that the table's bounds
//! share, which is only known once the last key is.

use cairndb_base::limits::PAGE_BYTES;

use crate::table::index::fence::{
    BLOCK_HEADS, FENCE_HEADER_BYTES, HEADS_PER_PAGE, NUMBERS_AT, heads_per_page,
};
use crate::table::index::first_keys::FirstKeys;
use crate::table::index::key_pages::KeyPages;
use crate::table::index::tie_build;
use crate::table::page::bits::{common_prefix, head_of, low8, low16, low32};
use crate::table::page::layout::page_kind;

/// Collects first keys while pages are written.
#[derive(Debug, Default)]
pub(crate) struct FenceBuilder {
    /// First keys of all units, for the bytewise order.
    keys: FirstKeys,
    /// First keys of all units, for any other order.
    listed: KeyPages,
    /// The first page of each unit.
    pages: Vec<u32>,
    smallest: Vec<u8>,
    bytewise: bool,
}

impl FenceBuilder {
    pub(crate) fn new(bytewise: bool) -> FenceBuilder {
        FenceBuilder {
            bytewise,
            ..FenceBuilder::default()
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.pages.capacity() * size_of::<u32>()
            + self.keys.memory_bytes()
            + self.listed.memory_bytes()
            + self.smallest.capacity()
    }

    pub(crate) fn units(&self) -> usize {
        self.pages.len()
    }

    pub(crate) fn smallest(&self) -> &[u8] {
        if self.bytewise {
            self.keys.smallest()
        } else {
            &self.smallest
        }
    }

    /// Records that data page `page` starts with `key`.
    pub(crate) fn add(&mut self, key: &[u8], page: u32) {
        if self.bytewise {
            self.keys.add(key);
        } else {
            if self.pages.is_empty() {
                self.smallest = key.to_vec();
            }
            self.listed.add(key);
        }
        self.pages.push(page);
    }

    /// Returns the fence pages, followed by those of the tie heads or first keys, if any (with zero
    /// checksums), the length of the prefix that the bounds share, and the first head of every
    /// block. Page numbers are written only if units and data pages differ in number.
    pub(crate) fn finish(&mut self, bounds: [&[u8]; 2], data_pages: u32) -> FinishedFence {
        let numbered = data_pages as usize != self.units();
        let mut heads = vec![0; self.units()];
        let (mut prefix, mut levels) = (0, Vec::new());
        if self.bytewise {
            prefix = common_prefix(bounds[0], bounds[1]);
            let mut slots = heads.iter_mut();
            self.keys.walk(|key| {
                let slot = slots.next().expect("each unit has a first key");
                *slot = head_of(key.start, prefix, 8);
            });
            levels = tie_build::levels_of(&self.keys, &heads, prefix);
        }
        let mut pages = Vec::new();
        for (index, chunk) in heads.chunks(heads_per_page(numbered)).enumerate() {
            let first = index * heads_per_page(numbered);
            let page = push_page(&mut pages, page_kind::FENCE, first, chunk);
            page[5] = u8::from(numbered);
            if numbered {
                let (slots, _) = page[NUMBERS_AT..].as_chunks_mut::<4>();
                for (slot, number) in slots.iter_mut().zip(&self.pages[first..][..chunk.len()]) {
                    *slot = number.to_le_bytes();
                }
            }
        }
        for (level, ties) in levels.iter().enumerate() {
            for (index, chunk) in ties.chunks(HEADS_PER_PAGE).enumerate() {
                let first = index * HEADS_PER_PAGE;
                let page = push_page(&mut pages, page_kind::TIES, first, chunk);
                page[5] = low8(level);
            }
        }
        let listed = self.listed.finish();
        pages.extend_from_slice(&listed);
        FinishedFence {
            key_pages: low32(listed.len() / PAGE_BYTES),
            pages,
            numbered,
            tie_levels: low32(levels.len()),
            prefix,
            top: heads
                .iter()
                .step_by(BLOCK_HEADS)
                .flat_map(|head| head.to_le_bytes())
                .collect(),
        }
    }
}

/// Appends a page of heads that starts at unit `first`.
fn push_page<'p>(pages: &'p mut Vec<u8>, kind: u8, first: usize, heads: &[u64]) -> &'p mut [u8] {
    let start = pages.len();
    pages.resize(start + PAGE_BYTES, 0);
    let page = &mut pages[start..];
    page[4] = kind;
    page[6..8].copy_from_slice(&low16(heads.len()).to_le_bytes());
    page[8..12].copy_from_slice(&low32(first).to_le_bytes());
    let (slots, _) = page[FENCE_HEADER_BYTES..].as_chunks_mut::<8>();
    for (slot, head) in slots.iter_mut().zip(heads) {
        *slot = head.to_le_bytes();
    }
    page
}

/// A fence ready to be written.
#[derive(Debug)]
pub(crate) struct FinishedFence {
    pub(crate) pages: Vec<u8>,
    pub(crate) numbered: bool,
    /// Number of levels of tie heads.
    pub(crate) tie_levels: u32,
    pub(crate) key_pages: u32,
    pub(crate) prefix: usize,
    /// The first head of every block, little-endian.
    pub(crate) top: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::index::fence::{FencePlace, head_at, number_at, validate};

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
        let finished = fence.finish([keys[0].as_bytes(), largest], 3000);
        assert_eq!(finished.prefix, "stone/0".len());
        for (index, key) in keys.iter().enumerate() {
            let (page, slot) = (index / 504, index % 504);
            let bytes = &finished.pages[page * PAGE_BYTES..][..PAGE_BYTES];
            let head = head_of(key.as_bytes(), finished.prefix, 8);
            assert_eq!(head_at(bytes, slot), head, "page {index}");
        }
        assert_eq!(finished.top.len(), 8 * 3000usize.div_ceil(BLOCK_HEADS));
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
        assert!(!fence.finish([b"a", b"c"], 1).numbered);
        fence.add(b"b", 7);
        let finished = fence.finish([b"a", b"c"], 9);
        assert_eq!(number_at(&finished.pages, 0), 0);
        assert_eq!(number_at(&finished.pages, 1), 7);
    }
}
