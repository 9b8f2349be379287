//! Key pages: the first keys of all units, side by side, for a table whose order is not bytewise.
//!
//! Heads are useless under such an order, and every first key that a search compares in its data
//! page costs a wait for that page: five rounds of waiting in a table of sixteen thousand pages,
//! even though eight are prefetched together. Key pages hold the first keys within a few hundred
//! bytes of each other, and take half a percent of the table.
//!
//! Invariant: the key pages of a table list all of its units, in order and once each. Long keys are
//! left out, and compared in their data pages.

use cairndb_base::limits::PAGE_BYTES;

use crate::table::page::bits::{load, load_span, load16, low16, low32};
use crate::table::page::layout::{Flaw, page_kind};

/// Length of a key page's header, which is followed by the ends of the keys.
const HEADER_BYTES: usize = 16;
/// Maximum length of a listed key. Longer keys are left out, so that a builder's memory is bounded
/// by the number of its units.
const KEY_BYTES_MAX: usize = 64;
/// Minimum number of units in a table with key pages: in a smaller table, one round of a search
/// looks at all of them.
const UNITS_MIN: usize = 9;
/// A table has no key pages if more than one key in this many is left out: each of those costs a
/// wait for its page, whereas a search without key pages prefetches eight at a time. If all keys
/// had 70 bytes, key pages would slow searches down.
const KEPT_FOR_ONE_LEFT_OUT: usize = 4;
/// Flag in the end of a key that is left out.
const LEFT_OUT: u16 = 1 << 15;

/// Collects key pages.
#[derive(Debug, Default)]
pub(crate) struct KeyPages {
    pages: Vec<u8>,
    /// Ends of the keys on the page under construction.
    ends: Vec<u16>,
    keys: Vec<u8>,
    /// Number of units.
    units: usize,
    /// Number of units whose keys are left out.
    left_out: usize,
}

impl KeyPages {
    pub(crate) fn memory_bytes(&self) -> usize {
        self.pages.capacity() + self.ends.capacity() * size_of::<u16>() + self.keys.capacity()
    }

    /// Adds the first key of the next unit.
    pub(crate) fn add(&mut self, key: &[u8]) {
        let left_out = key.len() > KEY_BYTES_MAX;
        let kept = if left_out { &[] } else { key };
        let used = HEADER_BYTES + 2 * (self.ends.len() + 1) + self.keys.len() + kept.len();
        if used > PAGE_BYTES {
            self.end_page();
        }
        self.keys.extend_from_slice(kept);
        let end = low16(self.keys.len());
        self.ends.push(if left_out { end | LEFT_OUT } else { end });
        self.units += 1;
        self.left_out += usize::from(left_out);
    }

    fn end_page(&mut self) {
        let start = self.pages.len();
        self.pages.resize(start + PAGE_BYTES, 0);
        let page = &mut self.pages[start..];
        page[4] = page_kind::KEYS;
        page[6..8].copy_from_slice(&low16(self.ends.len()).to_le_bytes());
        let first = self.units - self.ends.len();
        page[8..12].copy_from_slice(&low32(first).to_le_bytes());
        let (ends, keys) = page[HEADER_BYTES..].split_at_mut(2 * self.ends.len());
        let (slots, _) = ends.as_chunks_mut();
        for (slot, end) in slots.iter_mut().zip(&self.ends) {
            *slot = end.to_le_bytes();
        }
        keys[..self.keys.len()].copy_from_slice(&self.keys);
        self.ends.clear();
        self.keys.clear();
    }

    /// Returns the pages, with zero checksums; none for a table with few units or long keys.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        if self.units < UNITS_MIN || self.left_out * KEPT_FOR_ONE_LEFT_OUT > self.units {
            return Vec::new();
        }
        if !self.ends.is_empty() {
            self.end_page();
        }
        std::mem::take(&mut self.pages)
    }
}

/// A key page that has been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyPage<'b> {
    pub(crate) bytes: &'b [u8],
}

impl<'b> KeyPage<'b> {
    /// Returns the number of units that the page lists.
    #[inline]
    pub(crate) fn count(self) -> usize {
        load16(self.bytes, 6, 0)
    }

    /// Returns the first unit that the page lists.
    #[inline]
    pub(crate) fn first(self) -> u32 {
        (load(self.bytes, 8, 4, 0) & 0xffff_ffff) as u32
    }

    /// Returns the first key of a listed unit, or `None` if it is left out.
    #[inline]
    pub(crate) fn key(self, slot: usize) -> Option<&'b [u8]> {
        let (start, end) = load_span(self.bytes, low32(HEADER_BYTES), slot);
        let left_out = usize::from(LEFT_OUT);
        if end & left_out != 0 {
            return None;
        }
        let at = HEADER_BYTES + 2 * self.count();
        self.bytes.get(at + (start & !left_out)..at + end)
    }

    /// Checks a key page of a table with `units` before its first use.
    pub(crate) fn validate(self, units: u32) -> Result<(), Flaw> {
        if self.bytes.len() != PAGE_BYTES || load(self.bytes, 4, 1, 0) != u64::from(page_kind::KEYS)
        {
            return Err(Flaw::Damaged("page is not a key page"));
        }
        let count = self.count();
        let room = (PAGE_BYTES - HEADER_BYTES).checked_sub(2 * count);
        let last = u64::from(self.first()) + count as u64;
        let Some(room) = room.filter(|_| count > 0 && last <= u64::from(units)) else {
            return Err(Flaw::Damaged("key page lists other units"));
        };
        let mut before = 0;
        for slot in 0..count {
            let end = load16(self.bytes, low32(HEADER_BYTES), slot) & !usize::from(LEFT_OUT);
            if end < before || end > room {
                return Err(Flaw::Damaged("keys of a key page are out of bounds"));
            }
            before = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::page::bits::low8;

    #[test]
    fn keys_are_listed_in_order_and_long_ones_left_out() {
        let keys: Vec<Vec<u8>> = (0..900_usize)
            .map(|number| vec![low8(number % 251); number * 7 % 80])
            .collect();
        let mut builder = KeyPages::default();
        for key in &keys {
            builder.add(key);
        }
        let pages = builder.finish();
        let mut next = 0;
        for bytes in pages.chunks(PAGE_BYTES) {
            let page = KeyPage { bytes };
            page.validate(900).unwrap();
            assert!(page.validate(next + 1).is_err() && page.first() == next);
            for slot in 0..page.count() {
                let key = &keys[next as usize];
                let kept = (key.len() <= KEY_BYTES_MAX).then_some(&key[..]);
                assert_eq!(page.key(slot), kept, "{next}");
                next += 1;
            }
        }
        assert_eq!(next, 900);
    }

    #[test]
    fn long_keys_have_none() {
        for (len, some) in [(KEY_BYTES_MAX, true), (KEY_BYTES_MAX + 1, false)] {
            let mut builder = KeyPages::default();
            for _ in 0..100 {
                builder.add(&vec![b'k'; len]);
            }
            assert_eq!(!builder.finish().is_empty(), some, "{len}");
        }
    }

    #[test]
    fn few_units_have_none() {
        let mut builder = KeyPages::default();
        for _ in 1..UNITS_MIN {
            builder.add(b"key");
        }
        assert!(builder.finish().is_empty());
    }
}
