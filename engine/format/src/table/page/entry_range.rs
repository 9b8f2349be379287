//! Entry range: neighbouring entries of a page for which a cursor has decoded keys or values.

use std::ops::Range;

/// Range of entries; empty at first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EntryRange {
    first: usize,
    count: usize,
}

impl EntryRange {
    /// Returns a range of these entries.
    pub(crate) fn of(entries: &Range<usize>) -> EntryRange {
        EntryRange {
            first: entries.start,
            count: entries.len(),
        }
    }

    /// Returns whether an entry is in the range.
    #[inline]
    pub(crate) fn holds(self, index: usize) -> bool {
        self.place(index) < self.count
    }

    /// Returns the position of an entry in the range, or some number past its end if the entry is
    /// not in it.
    #[inline]
    pub(crate) fn place(self, index: usize) -> usize {
        index.wrapping_sub(self.first)
    }

    /// Returns the entries.
    #[inline]
    pub(crate) fn entries(self) -> Range<usize> {
        self.first..self.first + self.count
    }

    /// Empties the range.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.count = 0;
    }
}
