//! Values of a cursor's page: decodes one, its group, a range, or all.
//!
//! A scan reads all values, so they are decoded in one loop with the first. Raw values of a page
//! that can be borrowed are copied in that loop: accessing each in place cost a scan more than
//! copying it, even at 2000 bytes. The processor prefetches for a copy in either direction.

use std::ops::Range;

use cairndb_base::Result;
use cairndb_kernel::prefetch_span;

use super::{TableCursor, Way};
use crate::table::page::layout::ValueMode;
use crate::table::page::values::Stored;
use crate::table::read::lookup::LINES_AHEAD;

/// More raw bytes than this are decoded value by value.
const DECODE_ALL_BYTES_MAX: usize = 32 << 10;

/// Stored bytes of a range that are prefetched; once they are read, the processor prefetches the
/// rest itself.
const PREFETCHED_BYTES_MAX: usize = 1 << 10;

impl TableCursor {
    /// The entries whose values are decoded together with the current one.
    ///
    /// In a scan, those whose keys are decoded, or the whole page. A compaction also goes through
    /// whole pages, but has a cursor for each run, and a page of values for each would be a tenth
    /// of the smallest memory budget; there only groups are decoded whole.
    fn decodes_with(&self) -> Range<usize> {
        let page = self.view();
        let groups = self.layout.mode == ValueMode::Groups;
        let several = if self.way == Way::Streaming && (groups || !self.rechecking) {
            0..self.count
        } else if self.keys.holds(self.index) && !groups && !self.rechecking {
            self.keys.entries()
        } else {
            return page.values().grouped_with(self.index);
        };
        if page.values().raw_total(&several) <= DECODE_ALL_BYTES_MAX {
            several
        } else {
            page.values().grouped_with(self.index)
        }
    }

    /// Prefetches lines of the page that a scan enters next.
    #[inline]
    fn prefetch_next_page(&self, lines: &Range<usize>) {
        let next = if self.backward {
            self.page.checked_sub(1)
        } else {
            self.page.checked_add(1)
        };
        if let Some(next) = next {
            self.reader().prefetch_lines(next, lines);
        }
    }

    /// Prefetches lines of the stored values of some entries of the page, from the end where a scan
    /// begins.
    pub(super) fn prefetch_values(&self, entries: &Range<usize>, forward: bool) {
        let page = self.view();
        if self.layout.mode != ValueMode::Groups
            && let Some(values) = page.bytes.get(page.values().stored_span_of(entries))
        {
            let len = values.len().min(PREFETCHED_BYTES_MAX);
            let from = if forward { 0 } else { values.len() - len };
            prefetch_span(values[from..].as_ptr(), len);
        }
    }

    /// Decodes the current value, unless it can be read in place.
    #[inline(never)]
    pub(super) fn decode(&mut self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let in_place = matches!(self.view().values().stored(self.index), Stored::Raw(_));
        if in_place && !self.has_plain_page() {
            return Ok(());
        }
        let entries = self.decodes_with();
        // Nothing is gained by copying a value that will not be borrowed.
        if in_place && entries.len() == 1 {
            return Ok(());
        }
        let scans = entries.len() == self.count && self.way == Way::Streaming;
        let mut values = std::mem::take(&mut self.values);
        if scans {
            self.prefetch_next_page(&LINES_AHEAD[1]);
        }
        let (page, dictionary) = (self.view(), &self.table.meta.dictionary);
        let outcome = values.decode(page.values(), &entries, dictionary);
        if scans {
            self.prefetch_next_page(&LINES_AHEAD[2]);
        }
        self.values = values;
        outcome.map_err(|flaw| self.table.pages.flaw(self.page, flaw))
    }
}
