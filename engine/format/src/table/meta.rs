//! The meta block: the last pages of a table, which record where everything else is.
//!
//! One checksum covers the whole block. The manifest stores it, so a reader can verify that it has
//! the file that the manifest names. The last 16 bytes of the file point to the block's first page.

use std::sync::Arc;

use cairndb_base::Order;
use cairndb_base::coding::{get_bytes, get_u32, get_u64, get_varint, put_bytes, put_varint};
use cairndb_base::comparator::{BYTEWISE_NAME, KEYSPACES_NAME};
use cairndb_base::head::HEAD_BYTES;
use cairndb_base::limits::{PAGE_BYTES, STORED_KEY_BYTES_MAX};

use cairndb_kernel::codec::{DICTIONARY_BYTES_MAX, Dictionary};

use crate::table::index::fence::{BLOCK_HEADS, heads_per_page};
use crate::table::index::filter::{LINES_PER_PAGE, PROBES_MAX};
use crate::table::index::tie_build;
use crate::table::page::bits::low32;
use crate::table::page::layout::{Flaw, page_kind};
use crate::table::{SECTION_MAX, TableSummary};

/// First bytes of the block after checksum and kind, and last bytes of the file.
pub(crate) const MAGIC: [u8; 8] = *b"CAIRNTBL";
/// The format version this code writes and reads.
const VERSION: u32 = 1;
/// Bit of the feature word: pages of tie heads follow the fence.
const FEATURE_TIES: u32 = 1;
/// Bit of the feature word: pages of first keys follow the fence, in an order that is not bytewise.
const FEATURE_KEYS: u32 = 2;
/// Bit of the feature word: the bounds are not the first and the last key.
const FEATURE_LOOSE_BOUNDS: u32 = 4;
/// All bits of the feature word that this version knows.
const FEATURES: u32 = FEATURE_TIES | FEATURE_KEYS | FEATURE_LOOSE_BOUNDS;
/// Length of the block's fixed start.
const FIXED_BYTES: usize = 32;
/// Length of the trailer at the end of the file.
pub(crate) const TRAILER_BYTES: usize = 16;

/// Positions of a table's parts, and a summary of its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) order: String,
    pub(crate) data_pages: u32,
    /// Number of data pages and extents, an extent counted once.
    pub(crate) units: u32,
    pub(crate) filter_lines: u32,
    pub(crate) filter_probes: u32,
    pub(crate) numbered: bool,
    /// Number of levels of tie heads.
    pub(crate) tie_levels: u32,
    /// Number of pages of first keys.
    pub(crate) key_pages: u32,
    pub(crate) prefix: u32,
    pub(crate) summary: TableSummary,
    /// First head of every fence block, little-endian.
    pub(crate) top: Vec<u8>,
    /// The dictionary of pages with mode `Dictionary`; empty if there are none.
    pub(crate) dictionary: Arc<Dictionary>,
}

/// Returns whether a file that ends with `bytes` is marked as a table.
fn is_marked(bytes: &[u8]) -> bool {
    bytes.ends_with(&MAGIC)
}

impl Meta {
    pub(crate) fn filter_pages(&self) -> u32 {
        self.filter_lines.div_ceil(low32(LINES_PER_PAGE))
    }

    pub(crate) fn fence_pages(&self) -> u32 {
        self.units.div_ceil(low32(heads_per_page(self.numbered)))
    }

    /// Returns the first page of the fence.
    pub(crate) fn fence_at(&self) -> u32 {
        self.data_pages + self.filter_pages()
    }

    /// Returns the first page of a level of tie heads.
    pub(crate) fn ties_at(&self, level: u32) -> u32 {
        self.fence_at() + self.fence_pages() + level * tie_build::pages_of_level(self.units)
    }

    /// Returns the first page of first keys.
    pub(crate) fn keys_at(&self) -> u32 {
        self.ties_at(self.tie_levels)
    }

    /// Returns the number of index pages: filter, fence, tie heads and first keys.
    pub(crate) fn index_pages(&self) -> u64 {
        let ties = u64::from(self.tie_levels) * u64::from(tie_build::pages_of_level(self.units));
        let keys = u64::from(self.key_pages);
        u64::from(self.filter_pages()) + u64::from(self.fence_pages()) + ties + keys
    }

    /// Returns the end of a key's fence head.
    #[inline]
    pub(crate) fn head_end(&self) -> usize {
        self.prefix as usize + HEAD_BYTES
    }

    /// Returns the first page of the block itself.
    pub(crate) fn block_at(&self) -> u32 {
        self.keys_at() + self.key_pages
    }

    fn features(&self) -> u32 {
        let ties = if self.tie_levels > 0 { FEATURE_TIES } else { 0 };
        let keys = if self.key_pages > 0 { FEATURE_KEYS } else { 0 };
        let loose = if self.summary.loose_bounds {
            FEATURE_LOOSE_BOUNDS
        } else {
            0
        };
        ties | keys | loose
    }

    /// Returns the block, padded to whole pages, with a zero checksum.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![0u8; FIXED_BYTES];
        out[4] = page_kind::META;
        out[8..16].copy_from_slice(&MAGIC);
        out[16..20].copy_from_slice(&VERSION.to_le_bytes());
        out[20..24].copy_from_slice(&self.features().to_le_bytes());
        let summary = &self.summary;
        out[28] = summary.section;
        for number in [
            self.data_pages,
            self.units,
            self.filter_lines,
            self.filter_probes,
            u32::from(self.numbered),
            self.prefix,
        ] {
            put_varint(&mut out, u64::from(number));
        }
        for number in [
            summary.entries,
            summary.deletes,
            summary.raw_bytes,
            summary.seq_min,
            summary.seq_max,
        ] {
            put_varint(&mut out, number);
        }
        put_bytes(&mut out, self.order.as_bytes());
        put_bytes(&mut out, &summary.smallest);
        put_bytes(&mut out, &summary.largest);
        put_varint(&mut out, summary.value_refs.len() as u64);
        for (file, bytes) in &summary.value_refs {
            put_varint(&mut out, *file);
            put_varint(&mut out, *bytes);
        }
        put_bytes(&mut out, &self.top);
        put_bytes(&mut out, self.dictionary.bytes());
        for number in [self.tie_levels, self.key_pages] {
            if number > 0 {
                put_varint(&mut out, number.into());
            }
        }
        let used = low32(out.len());
        out[24..28].copy_from_slice(&used.to_le_bytes());
        out.resize((out.len() + TRAILER_BYTES).next_multiple_of(PAGE_BYTES), 0);
        let pages = low32(out.len() / PAGE_BYTES);
        let first = self.block_at();
        let trailer = out.len() - TRAILER_BYTES;
        out[trailer..trailer + 4].copy_from_slice(&first.to_le_bytes());
        out[trailer + 4..trailer + 8].copy_from_slice(&pages.to_le_bytes());
        out[trailer + 8..].copy_from_slice(&MAGIC);
        out
    }

    /// Returns the first page and number of pages of the block, from the last page of a file of
    /// `pages` pages.
    pub(crate) fn find(last_page: &[u8], pages: u32) -> Result<(u32, u32), Flaw> {
        let at = PAGE_BYTES - TRAILER_BYTES;
        let (Some(first), Some(count)) = (get_u32(last_page, at), get_u32(last_page, at + 4))
        else {
            return Err(Flaw::Damaged("table is cut short"));
        };
        if !is_marked(last_page) {
            return Err(Flaw::Damaged("table has no table trailer"));
        }
        if count == 0 || first.checked_add(count) != Some(pages) {
            return Err(Flaw::Damaged(
                "table trailer does not match the file's length",
            ));
        }
        Ok((first, count))
    }

    /// Checks that a block that starts with this page takes `count` pages.
    pub(crate) fn spans(first_page: &[u8], count: u32) -> Result<(), Flaw> {
        let used = get_u32(first_page, 24).unwrap_or(0) as usize;
        if (used + TRAILER_BYTES).div_ceil(PAGE_BYTES) != count as usize {
            return Err(Flaw::Damaged(
                "meta block length does not match the trailer",
            ));
        }
        Ok(())
    }

    /// Decodes a block whose checksum matches. `first` is its first page.
    pub(crate) fn decode(block: &[u8], first: u32, checksum: u32) -> Result<Meta, Flaw> {
        if block.get(4) != Some(&page_kind::META) || block.get(8..16) != Some(&MAGIC[..]) {
            return Err(Flaw::Damaged("meta block is malformed"));
        }
        // The feature word after the version: a later version sets a bit for each feature that
        // readers must know.
        let features = get_u32(block, 20).unwrap_or(u32::MAX);
        if get_u32(block, 16) != Some(VERSION) || features & !FEATURES != 0 {
            return Err(Flaw::TooNew("table version"));
        }
        let section = get_u32(block, 28).and_then(|section| u8::try_from(section).ok());
        let Some(section) = section.filter(|section| *section <= SECTION_MAX) else {
            return Err(Flaw::TooNew("section"));
        };
        let meta = Meta::decode_fields(block, checksum, features, section)
            .ok_or(Flaw::Damaged("meta block is malformed"))?;
        if !meta.is_consistent(first) {
            return Err(Flaw::Damaged("meta block is inconsistent"));
        }
        Ok(meta)
    }

    fn decode_fields(block: &[u8], checksum: u32, features: u32, section: u8) -> Option<Meta> {
        let used = get_u32(block, 24)? as usize;
        let bytes = block.get(..used)?;
        let mut at = FIXED_BYTES;
        let mut numbers = [0u32; 6];
        for number in &mut numbers {
            *number = u32::try_from(get_varint(bytes, &mut at)?).ok()?;
        }
        let mut counts = [0u64; 5];
        for count in &mut counts {
            *count = get_varint(bytes, &mut at)?;
        }
        let order = std::str::from_utf8(get_bytes(bytes, &mut at)?).ok()?;
        let smallest = get_bytes(bytes, &mut at)?.to_vec();
        let largest = get_bytes(bytes, &mut at)?.to_vec();
        let value_refs = get_value_refs(bytes, &mut at)?;
        let top = get_bytes(bytes, &mut at)?.to_vec();
        let dictionary = get_dictionary(bytes, &mut at)?;
        let mut feature = |bit| get_feature(bytes, &mut at, features & bit != 0);
        let (tie_levels, key_pages) = (feature(FEATURE_TIES)?, feature(FEATURE_KEYS)?);
        let [
            data_pages,
            units,
            filter_lines,
            filter_probes,
            numbered,
            prefix,
        ] = numbers;
        let [entries, deletes, raw_bytes, seq_min, seq_max] = counts;
        if at != used || numbered > 1 {
            return None;
        }
        Some(Meta {
            order: order.to_owned(),
            data_pages,
            units,
            filter_lines,
            filter_probes,
            numbered: numbered == 1,
            tie_levels,
            key_pages,
            prefix,
            summary: TableSummary {
                section,
                smallest,
                largest,
                seq_min,
                seq_max,
                entries,
                deletes,
                bytes: block.len() as u64,
                raw_bytes,
                checksum,
                value_refs,
                loose_bounds: features & FEATURE_LOOSE_BOUNDS != 0,
            },
            top,
            dictionary: Arc::new(dictionary),
        })
    }

    fn is_consistent(&self, first: u32) -> bool {
        let summary = &self.summary;
        let prefix = self.prefix as usize;
        let blocks = (self.units as usize).div_ceil(BLOCK_HEADS);
        u64::from(self.data_pages) + self.index_pages() == u64::from(first)
            && self.units > 0
            && self.units <= self.data_pages
            && (self.numbered || self.units == self.data_pages)
            && self.top.len() == 8 * blocks
            && self.filter_probes <= PROBES_MAX
            && summary.entries >= u64::from(self.units)
            && summary.deletes <= summary.entries
            && summary.seq_min <= summary.seq_max
            && summary.smallest.len() <= STORED_KEY_BYTES_MAX
            && summary.largest.len() <= STORED_KEY_BYTES_MAX
            && summary.smallest.get(..prefix).is_some()
            && summary.smallest.get(..prefix) == summary.largest.get(..prefix)
            && self.tie_levels <= tie_build::LEVELS_MAX
            && self.key_pages <= self.units
            && self.tops_in_order()
            && match summary.section {
                0 => true,
                1 => self.order == BYTEWISE_NAME,
                _ => self.order == KEYSPACES_NAME,
            }
    }

    /// Returns whether the index is of the kind that this order requires: heads or keys.
    pub(crate) fn fits(&self, order: &Order) -> bool {
        if order.is_bytewise() {
            self.key_pages == 0
        } else {
            self.tie_levels == 0 && self.prefix == 0
        }
    }

    fn tops_in_order(&self) -> bool {
        let heads = self.top.chunks_exact(8).map(|head| get_u64(head, 0));
        heads.is_sorted()
    }
}

/// Returns the nonzero number that a feature adds to the fields, or 0 without the feature.
fn get_feature(bytes: &[u8], at: &mut usize, is_there: bool) -> Option<u32> {
    if !is_there {
        return Some(0);
    }
    let number = u32::try_from(get_varint(bytes, at)?).ok()?;
    (number > 0).then_some(number)
}

fn get_value_refs(bytes: &[u8], at: &mut usize) -> Option<Vec<(u64, u64)>> {
    let count = get_varint(bytes, at)?;
    (0..count)
        .map(|_| Some((get_varint(bytes, at)?, get_varint(bytes, at)?)))
        .collect()
}

fn get_dictionary(bytes: &[u8], at: &mut usize) -> Option<Dictionary> {
    let bytes = get_bytes(bytes, at)?;
    (bytes.len() <= DICTIONARY_BYTES_MAX).then(|| Dictionary::new(bytes))
}
