//! Page walk: the page that a cursor is in, and the way from there to others.
//!
//! The page is held without a borrow: the cursor owns the table, and passes it to each call.

use std::ops::Range;
use std::sync::Arc;

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Error, Result, SeqNo};

use super::read_ahead::ReadAhead;
use crate::table::index::filter::LINE_BYTES;
use crate::table::page::Page;
use crate::table::page::layout::{Flaw, Layout};
use crate::table::read::lookup::{CandidateUnits, EntryPosition, Lookup};
use crate::table::read::open::Table;
use crate::table::read::reader::{PageReader, Unit};
use crate::table::read::source::PageRef;

/// Lines of the page after next that a scan prefetches, in three portions: when it enters a page,
/// before it decodes its values, and after that (the last two only if values are decoded together).
/// Rejected: all 64 lines at once, because they wait for each other; one line with each decoded
/// value, which gained nothing; only the first portion, because scans over more than the caches
/// hold were slower, especially backwards.
pub(super) const LINES_AHEAD: [Range<usize>; 3] = [0..16, 16..40, 40..LINES_OF_PAGE];
const LINES_OF_PAGE: usize = PAGE_BYTES / LINE_BYTES;

/// Bytes of the page, without a borrow.
#[derive(Clone, Debug)]
enum HeldBytes {
    Mapped { start: usize, end: usize },
    Owned(Arc<[u8]>),
}

impl HeldBytes {
    const NONE: HeldBytes = HeldBytes::Mapped { start: 0, end: 0 };
}

/// The page that a cursor is in, if any, and where the cursor came from.
#[derive(Clone, Debug)]
pub(super) struct PageWalk {
    bytes: HeldBytes,
    layout: Layout,
    /// Number of entries of the page; 0 if there is none.
    count: usize,
    number: u32,
    page: u32,
    /// Whether the scan goes backwards.
    backward: bool,
    /// Whether every page is checked when it is entered.
    rechecking: bool,
    read_ahead: ReadAhead,
}

impl PageWalk {
    pub(super) fn new() -> PageWalk {
        PageWalk {
            bytes: HeldBytes::NONE,
            layout: Layout::EMPTY,
            count: 0,
            number: 0,
            page: 0,
            backward: false,
            rechecking: false,
            read_ahead: ReadAhead::default(),
        }
    }

    /// Checks every page when it is entered, from now on.
    pub(super) fn recheck(&mut self) {
        self.rechecking = true;
    }

    /// Leaves the page. Returns whether there was one.
    #[inline]
    pub(super) fn leave(&mut self) -> bool {
        std::mem::take(&mut self.count) > 0
    }

    /// Leaves the page and releases its bytes.
    pub(super) fn release(&mut self) {
        self.leave();
        self.bytes = HeldBytes::NONE;
    }

    /// Leaves the page, and forgets the scan: the next page is another table's.
    pub(super) fn restart(&mut self) {
        self.release();
        self.read_ahead = ReadAhead::default();
    }

    /// Returns the number of heap bytes of the page.
    pub(super) fn memory_bytes(&self) -> usize {
        match &self.bytes {
            HeldBytes::Owned(bytes) => bytes.len(),
            HeldBytes::Mapped { .. } => 0,
        }
    }

    /// Returns the number of entries of the page; 0 if there is none.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the layout of the page; arbitrary if there is none.
    #[inline]
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the page; arbitrary, but safe, if there is none.
    #[inline]
    pub(super) fn view<'a>(&'a self, table: &'a Table) -> Page<'a, 'a> {
        let bytes = match &self.bytes {
            HeldBytes::Owned(bytes) => bytes,
            HeldBytes::Mapped { start, end } => table
                .pages
                .mapping()
                .and_then(|bytes| bytes.get(*start..*end))
                .unwrap_or_default(),
        };
        Page {
            bytes,
            layout: &self.layout,
        }
    }

    /// Returns the error for a flaw of the page.
    #[cold]
    pub(super) fn flaw(&self, table: &Table, flaw: Flaw) -> Error {
        table.pages.flaw(self.page, flaw)
    }

    /// Begins a seek to `key`: returns the units that may hold it, and prefetches the likeliest of
    /// them, which is requested as well with `asks`.
    pub(super) fn approach(&self, table: &Table, key: &[u8], asks: bool) -> Result<CandidateUnits> {
        Lookup::with(self.reader(table)).approach(key, asks)
    }

    /// Enters the page of the first entry at or after (key, seq), which must be in `span` or right
    /// after it. Returns the entry's index; `None` after the last entry.
    pub(super) fn enter_at(
        &mut self,
        table: &Table,
        span: CandidateUnits,
        key: &[u8],
        seq: SeqNo,
    ) -> Result<Option<usize>> {
        let found = Lookup::with(self.reader(table)).find(span, key, seq)?;
        Ok(found.map(|EntryPosition { unit, index }| {
            self.enter(unit);
            index
        }))
    }

    /// Enters the first page. Returns the index of its first entry.
    pub(super) fn enter_first(&mut self, table: &Table) -> Result<usize> {
        self.backward = false;
        let unit = self.reader(table).unit(0)?;
        self.enter(unit);
        Ok(0)
    }

    /// Enters the last page. Returns the index of its last entry.
    pub(super) fn enter_last(&mut self, table: &Table) -> Result<usize> {
        self.backward = true;
        let unit = self.reader(table).unit(table.meta.units - 1)?;
        self.enter(unit);
        Ok(self.count - 1)
    }

    /// Enters the page after the one left last. Returns the index of its first entry; `None` after
    /// the last page.
    pub(super) fn enter_next(&mut self, table: &Table) -> Result<Option<usize>> {
        self.backward = false;
        if self.number + 1 >= table.meta.units {
            return Ok(None);
        }
        let reader = self.reader(table);
        let pages = if self.layout.extent {
            reader.pages_of_unit(self.page)?
        } else {
            1
        };
        let next = self.page + pages;
        self.read_ahead.enter(&table.pages, next, false);
        reader.prefetch_lines(next + 1, &LINES_AHEAD[0]);
        let unit = reader.unit_at(self.number + 1, next)?;
        self.enter(unit);
        Ok(Some(0))
    }

    /// Enters the page before the one left last, like [`PageWalk::enter_next`]. Returns the index
    /// of its last entry.
    pub(super) fn enter_prev(&mut self, table: &Table) -> Result<Option<usize>> {
        self.backward = true;
        if self.number == 0 {
            return Ok(None);
        }
        if let Some(before) = self.page.checked_sub(1) {
            self.read_ahead.enter(&table.pages, before, true);
        }
        let reader = self.reader(table);
        if let Some(before) = self.page.checked_sub(2) {
            reader.prefetch_lines(before, &LINES_AHEAD[0]);
        }
        let unit = reader.unit(self.number - 1)?;
        self.enter(unit);
        Ok(Some(self.count - 1))
    }

    /// Prefetches lines of the page that a scan enters next.
    #[inline]
    pub(super) fn prefetch_next(&self, table: &Table, lines: &Range<usize>) {
        let next = if self.backward {
            self.page.checked_sub(1)
        } else {
            self.page.checked_add(1)
        };
        if let Some(next) = next {
            self.reader(table).prefetch_lines(next, lines);
        }
    }

    fn reader<'t>(&self, table: &'t Table) -> PageReader<'t> {
        PageReader::new(table).rechecking(self.rechecking)
    }

    #[inline]
    fn enter(&mut self, unit: Unit<'_>) {
        self.bytes = match unit.bytes {
            PageRef::Owned(bytes) => HeldBytes::Owned(bytes),
            PageRef::Mapped(bytes) => {
                let start = unit.page as usize * PAGE_BYTES;
                HeldBytes::Mapped {
                    start,
                    end: start + bytes.len(),
                }
            }
        };
        self.layout = unit.layout;
        self.count = self.layout.count();
        self.number = unit.number;
        self.page = unit.page;
    }
}
