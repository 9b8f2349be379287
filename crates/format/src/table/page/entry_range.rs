//! A stretch: neighbouring entries of a page of which a cursor has something ready.

use std::ops::Range;

/// Which entries they are; none at first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EntryRange {
    first: usize,
    count: usize,
}

impl EntryRange {
    /// A stretch of these entries.
    pub(crate) fn of(entries: &Range<usize>) -> EntryRange {
        EntryRange {
            first: entries.start,
            count: entries.len(),
        }
    }

    /// Whether an entry is one of them.
    #[inline]
    pub(crate) fn holds(self, index: usize) -> bool {
        self.place(index) < self.count
    }

    /// Where in the stretch an entry stands; some number beyond its end for one that is not in it.
    #[inline]
    pub(crate) fn place(self, index: usize) -> usize {
        index.wrapping_sub(self.first)
    }

    /// The entries.
    #[inline]
    pub(crate) fn entries(self) -> Range<usize> {
        self.first..self.first + self.count
    }

    /// Lets all of them go.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.count = 0;
    }
}
