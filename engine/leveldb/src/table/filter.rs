//! Filter blocks: one filter for every 2 KiB of the table in which a data block begins.
//!
//! The filters come first, then the offset of each, the offset of that list, and the logarithm of
//! the 2 KiB.

#![cfg_attr(
    not(test),
    deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)
)]

use cairndb_base::coding::get_u32;
use cairndb_base::{Error, Result};

use super::bloom;

/// The logarithm of the bytes that share a filter.
const RANGE_LOG: u8 = 11;

/// What a metaindex entry of a filter begins with; the filter's name follows.
pub(crate) const PREFIX: &str = "filter.";

/// Builds the filter block of a table.
#[derive(Debug)]
pub(crate) struct FilterBuilder {
    bits_per_key: u32,
    filters: Vec<u8>,
    offsets: Vec<u32>,
    /// The keys since the last filter.
    keys: Vec<Vec<u8>>,
}

impl FilterBuilder {
    pub(crate) fn new(bits_per_key: u32) -> FilterBuilder {
        FilterBuilder {
            bits_per_key,
            filters: Vec::new(),
            offsets: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Notes that a data block begins at this offset.
    pub(crate) fn begin_block(&mut self, offset: u64) {
        let ranges = offset >> RANGE_LOG;
        debug_assert!(ranges >= self.offsets.len() as u64);
        while (self.offsets.len() as u64) < ranges {
            self.end_range();
        }
    }

    pub(crate) fn add(&mut self, key: &[u8]) {
        self.keys.push(key.to_vec());
    }

    fn end_range(&mut self) {
        self.offsets
            .push(u32::try_from(self.filters.len()).expect("filters of less than 4 GiB"));
        if !self.keys.is_empty() {
            bloom::append(&mut self.filters, &self.keys, self.bits_per_key);
            self.keys.clear();
        }
    }

    /// The contents of the block.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        if !self.keys.is_empty() {
            self.end_range();
        }
        let list = u32::try_from(self.filters.len()).expect("filters of less than 4 GiB");
        let mut bytes = self.filters;
        for offset in self.offsets.iter().chain([&list]) {
            bytes.extend_from_slice(&offset.to_le_bytes());
        }
        bytes.push(RANGE_LOG);
        bytes
    }
}

/// A filter block, read in place.
#[derive(Debug)]
pub(crate) struct FilterBlock<'a> {
    filters: &'a [u8],
    /// The offsets of the filters, and after them the end of the last.
    offsets: &'a [u8],
    range_log: u8,
}

impl<'a> FilterBlock<'a> {
    /// Takes the block apart.
    ///
    /// # Errors
    /// `Corruption` if its parts do not lie within it.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<FilterBlock<'a>> {
        let parts = || {
            let (range_log, rest) = bytes.split_last()?;
            let list_at = get_u32(rest, rest.len().checked_sub(4)?)?;
            let (filters, offsets) = rest.split_at_checked(usize::try_from(list_at).ok()?)?;
            let whole = offsets.len() % 4 == 0 && !offsets.is_empty();
            let range_log = *range_log;
            whole.then_some(FilterBlock {
                filters,
                offsets,
                range_log,
            })
        };
        parts().ok_or_else(|| {
            Error::corruption("the filter block is malformed")
                .expected("filters, a list of their offsets, and where it begins")
        })
    }

    /// Whether the data block at this offset may contain a key. What cannot be read may.
    pub(crate) fn may_contain(&self, offset: u64, key: &[u8]) -> bool {
        let number = offset.checked_shr(u32::from(self.range_log)).unwrap_or(0);
        let at = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_mul(4));
        let bounds = at.and_then(|at| {
            let start = usize::try_from(get_u32(self.offsets, at)?).ok()?;
            let end = usize::try_from(get_u32(self.offsets, at.checked_add(4)?)?).ok()?;
            Some((start, end))
        });
        let Some((start, end)) = bounds else {
            return true;
        };
        match self.filters.get(start..end) {
            Some(filter) => bloom::may_contain(filter, key),
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_range_has_a_filter_of_its_own() {
        let mut builder = FilterBuilder::new(10);
        let blocks: [(u64, [&[u8]; 2]); 3] = [
            (0, [b"ash", b"birch"]),
            (3000, [b"cherry", b"elm"]),
            (9000, [b"fir", b"gean"]),
        ];
        for (offset, keys) in blocks {
            builder.begin_block(offset);
            for key in keys {
                builder.add(key);
            }
        }
        let bytes = builder.finish();
        let filter = FilterBlock::decode(&bytes).unwrap();
        for (offset, keys) in blocks {
            assert!(keys.iter().all(|key| filter.may_contain(offset, key)));
        }
        assert!(!filter.may_contain(0, b"fir") && !filter.may_contain(9000, b"ash"));
        assert!(
            !filter.may_contain(5000, b"a"),
            "a range in which no block begins"
        );
        assert!(filter.may_contain(1 << 40, b"a"), "a range after the last");
    }

    #[test]
    fn an_empty_table_has_an_empty_filter_block() {
        let bytes = FilterBuilder::new(10).finish();
        assert_eq!(bytes, [0, 0, 0, 0, 11]);
        assert!(FilterBlock::decode(&bytes).unwrap().may_contain(0, b"a"));
        for len in 0..bytes.len() {
            assert!(FilterBlock::decode(&bytes[..len]).is_err());
        }
    }
}
