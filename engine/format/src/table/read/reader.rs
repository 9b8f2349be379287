//! Page reader: one operation's view of a table, which fetches its pages of every kind.
//!
//! A [`PageReader`] lives for one operation and holds the table's mapping as a plain slice, so that
//! the operation makes one virtual call in all. Each page that it returns has been checked for its
//! kind and position.

use std::ops::Range;

use cairndb_base::Result;
use cairndb_base::limits::PAGE_BYTES;
use cairndb_kernel::prefetch;

use crate::table::index::fence::{self, heads_per_page};
use crate::table::index::filter::LINE_BYTES;
use crate::table::index::key_pages::KeyPage;
use crate::table::index::tie_build;
use crate::table::page::Page;
use crate::table::page::bits::low32;
use crate::table::page::extent::pages_of;
use crate::table::page::layout::Layout;
use crate::table::read::open::Table;
use crate::table::read::source::PageRef;

/// One operation's view of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageReader<'t> {
    table: &'t Table,
    mapping: Option<&'t [u8]>,
    /// Whether to check data pages even if they have been checked before.
    recheck: bool,
}

/// A fetched unit: its bytes, their layout, and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Unit<'t> {
    pub(crate) bytes: PageRef<'t>,
    pub(crate) layout: Layout,
    pub(crate) number: u32,
    pub(crate) page: u32,
}

impl Unit<'_> {
    #[inline]
    pub(crate) fn view(&self) -> Page<'_, '_> {
        Page {
            bytes: &self.bytes,
            layout: &self.layout,
        }
    }
}

impl<'t> PageReader<'t> {
    #[inline]
    pub(crate) fn new(table: &'t Table) -> PageReader<'t> {
        PageReader {
            table,
            mapping: table.pages.mapping(),
            recheck: false,
        }
    }

    /// Sets whether every data page is checked again.
    pub(crate) fn rechecking(self, recheck: bool) -> PageReader<'t> {
        PageReader { recheck, ..self }
    }

    /// Returns the table that the reader reads.
    #[inline]
    pub(crate) fn table(&self) -> &'t Table {
        self.table
    }

    /// Returns the mapping of the table, if it is mapped.
    #[inline]
    pub(crate) fn mapping(&self) -> Option<&'t [u8]> {
        self.mapping
    }

    /// Prefetches some lines of a page that will be read soon.
    #[inline]
    pub(crate) fn prefetch_lines(&self, page: u32, lines: &Range<usize>) {
        let Some(mapping) = self.mapping else {
            return;
        };
        let start = page as usize * PAGE_BYTES;
        if let Some(bytes) = mapping.get(start..start + PAGE_BYTES) {
            for line in lines.clone() {
                prefetch(bytes, line * LINE_BYTES);
            }
        }
    }

    /// Returns a filter page, by its number in the file.
    pub(crate) fn filter_page(&self, page: u32) -> Result<PageRef<'t>> {
        let table = self.table;
        let validate = |bytes: &[u8]| table.meta.validate_filter(bytes, page);
        table.pages.get(self.mapping, page, 1, validate)
    }

    /// Returns a page of the fence, counted from its first.
    #[inline]
    pub(crate) fn fence_page(&self, index: u32) -> Result<PageRef<'t>> {
        let table = self.table;
        let number = table.meta.fence_at() + index;
        table.pages.get(self.mapping, number, 1, |bytes| {
            fence::validate(bytes, &table.meta.fence_place(index))
        })
    }

    /// Returns page `index` of a level of the tie heads.
    pub(crate) fn ties_page(&self, level: u32, index: u32) -> Result<PageRef<'t>> {
        let table = self.table;
        let number = table.meta.ties_at(level) + index;
        table.pages.get(self.mapping, number, 1, |bytes| {
            tie_build::validate(bytes, level, index, table.meta.units)
        })
    }

    /// Returns a key page, counted from the first.
    pub(crate) fn key_page(&self, index: u32) -> Result<PageRef<'t>> {
        let table = self.table;
        let number = table.meta.keys_at() + index;
        table.pages.get(self.mapping, number, 1, |bytes| {
            KeyPage { bytes }.validate(table.meta.units)
        })
    }

    /// Fetches every page of filter, fence, tie heads and first keys.
    pub(crate) fn check_index(&self) -> Result<()> {
        let meta = &self.table.meta;
        for page in meta.data_pages..meta.fence_at() {
            self.filter_page(page)?;
        }
        (0..meta.fence_pages()).try_for_each(|index| self.fence_page(index).map(drop))?;
        (0..meta.tie_levels).try_for_each(|level| {
            let pages = 0..tie_build::pages_of_level(meta.units);
            pages
                .into_iter()
                .try_for_each(|index| self.ties_page(level, index).map(drop))
        })?;
        (0..meta.key_pages).try_for_each(|index| self.key_page(index).map(drop))
    }

    /// Returns the page at which a unit begins.
    #[inline]
    pub(crate) fn number_of(&self, unit: u32) -> Result<u32> {
        if !self.table.meta.numbered {
            return Ok(unit);
        }
        let per_page = low32(heads_per_page(true));
        let bytes = self.fence_page(unit / per_page)?;
        Ok(fence::number_at(&bytes, (unit % per_page) as usize))
    }

    /// Fetches a unit.
    #[inline]
    pub(crate) fn unit(&self, unit: u32) -> Result<Unit<'t>> {
        let page = self.number_of(unit)?;
        self.unit_at(unit, page)
    }

    /// Fetches the unit that begins at `page`.
    #[inline]
    pub(crate) fn unit_at(&self, number: u32, page: u32) -> Result<Unit<'t>> {
        let table = self.table;
        let mut count = 1;
        if table.meta.numbered {
            count = self.pages_of_unit(page)?;
        }
        let validate = |bytes: &[u8]| {
            let layout = Layout::parse(bytes)?;
            table.pages.set_values_hint(layout.values_at);
            layout.validate(bytes, &table.order)
        };
        let bytes = table.pages.get(self.mapping, page, count, validate)?;
        if self.recheck {
            table.pages.check(page, &bytes, validate)?;
        }
        let layout = Layout::parse(&bytes).map_err(|flaw| table.pages.flaw(page, flaw))?;
        Ok(Unit {
            bytes,
            layout,
            number,
            page,
        })
    }

    /// Returns the number of pages of the unit at `page`, bounded by the data pages of the table.
    pub(crate) fn pages_of_unit(&self, page: u32) -> Result<u32> {
        let pages = pages_of(&self.table.pages.peek(self.mapping, page)?);
        let room = self.table.meta.data_pages.saturating_sub(page);
        match u32::try_from(pages) {
            Ok(pages) if pages <= room => Ok(pages),
            _ => Err(self
                .table
                .pages
                .damage(page, "extent reaches past the data pages")),
        }
    }
}
