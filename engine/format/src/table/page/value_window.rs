//! Value window: decoded values of neighbouring entries of a page.
//!
//! Invariant: the values in the window are those of the page decoded last.

use std::ops::Range;

use cairndb_kernel::codec::Dictionary;

use crate::table::page::bits::low32;
use crate::table::page::entry_range::EntryRange;
use crate::table::page::layout::Flaw;
use crate::table::page::values::{PageValues, value_at};

/// Decoded values, and the buffers for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueWindow {
    bytes: Vec<u8>,
    /// Start of the first value in `bytes`, and end of each value.
    ends: Vec<u32>,
    /// The entries whose values are decoded.
    decoded: EntryRange,
}

impl ValueWindow {
    /// Returns whether the value of an entry is decoded.
    #[inline]
    pub(crate) fn holds(&self, index: usize) -> bool {
        self.decoded.holds(index)
    }

    /// Returns the entries whose values are decoded.
    #[inline]
    pub(crate) fn entries(&self) -> Range<usize> {
        self.decoded.entries()
    }

    /// Empties the window. The buffers stay.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.decoded.forget();
    }

    /// Replaces the window with some of a page's values, which must be whole groups if values are
    /// grouped. `dictionary` is the table's.
    pub(crate) fn decode(
        &mut self,
        values: PageValues<'_, '_>,
        entries: &Range<usize>,
        dictionary: &Dictionary,
    ) -> Result<(), Flaw> {
        self.forget();
        self.bytes.clear();
        self.ends.clear();
        if entries.len() == 1 {
            values.value_into(entries.start, dictionary, &mut self.bytes)?;
            self.ends.extend([0, low32(self.bytes.len())]);
        } else {
            values.several_into(entries, dictionary, &mut self.bytes, &mut self.ends)?;
        }
        assert_eq!(self.ends.len(), entries.len() + 1, "each value has an end");
        self.decoded = EntryRange::of(entries);
        Ok(())
    }

    /// Returns the value of an entry; empty if it is not decoded.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> &[u8] {
        value_at(&self.bytes, &self.ends, self.decoded.place(index))
    }

    /// Returns the number of heap bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>()
    }
}
