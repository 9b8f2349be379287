//! Values of a page, decoded one behind the other for whoever goes through them.
//!
//! Invariant: where values are said to be there, they are those of the page last decoded.

use std::ops::Range;

use cairndb_kernel::codec::Dictionary;

use crate::table::page::Page;
use crate::table::page::bits::low32;
use crate::table::page::entry_range::EntryRange;
use crate::table::page::layout::Flaw;
use crate::table::page::values::value_at;

/// Decoded values of neighbouring entries, and the room for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueWindow {
    bytes: Vec<u8>,
    /// Where the first begins in `bytes`, and where each ends.
    ends: Vec<u32>,
    /// The entries whose values are there.
    there: EntryRange,
}

impl ValueWindow {
    /// Whether the value of an entry is there.
    #[inline]
    pub(crate) fn holds(&self, index: usize) -> bool {
        self.there.holds(index)
    }

    /// The entries whose values are there.
    #[inline]
    pub(crate) fn entries(&self) -> Range<usize> {
        self.there.entries()
    }

    /// None is there any longer. The room stays.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.there.forget();
    }

    /// Decodes the values of some entries of `page`, whole groups where they are grouped, in place of those that are there.
    /// `dictionary` is that of the table.
    pub(crate) fn decode(
        &mut self,
        page: &Page<'_, '_>,
        entries: &Range<usize>,
        dictionary: &Dictionary,
    ) -> Result<(), Flaw> {
        self.forget();
        self.bytes.clear();
        self.ends.clear();
        if entries.len() == 1 {
            page.value_into(entries.start, dictionary, &mut self.bytes)?;
            self.ends.extend([0, low32(self.bytes.len())]);
        } else {
            page.several_into(entries, dictionary, &mut self.bytes, &mut self.ends)?;
        }
        assert_eq!(self.ends.len(), entries.len() + 1, "each value has an end");
        self.there = EntryRange::of(entries);
        Ok(())
    }

    /// The value of an entry; empty where it is not there.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        value_at(&self.bytes, &self.ends, self.there.place(index))
    }

    /// Heap bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>()
    }
}
