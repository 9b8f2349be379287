//! General lookup in a table: from a key through filter and fence to an entry.
//!
//! A [`Lookup`] lives for one operation and holds the table's mapping as a plain slice, so that the
//! operation makes one virtual call in all. It touches, in order, the filter line, the top of the
//! fence in memory, one block of a fence page, and one data page. Lines are prefetched as soon as
//! their addresses are known and read as late as possible.

use std::cmp::Ordering;
use std::ops::Range;

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Result, SeqNo};
use cairndb_kernel::{prefetch, search};

use crate::table::index::address::share;
use crate::table::index::fence::{self, BLOCK_HEADS, heads_per_page};
use crate::table::index::filter::{LINE_BYTES, fold, line_may_hold};
use crate::table::page::Page;
use crate::table::page::bits::low32;
use crate::table::page::extent::pages_of;
use crate::table::page::layout::Layout;
use crate::table::read::open::Table;
use crate::table::read::source::PageRef;

/// One operation's view of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookup<'t> {
    pub(crate) table: &'t Table,
    pub(crate) mapping: Option<&'t [u8]>,
    /// Check data pages even if they have been checked before.
    pub(crate) recheck: bool,
}

/// Units (data pages or extents) that may hold a key: `below` units begin with a smaller head, and
/// those from `below` to `end` with the key's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CandidateUnits {
    pub(crate) below: u32,
    pub(crate) end: u32,
    /// How far into the last unit before `end` the key likely lies, in 4096ths.
    share: u32,
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

/// Position of the first entry at or after the sought one.
#[derive(Debug)]
pub(crate) struct EntryPosition<'t> {
    pub(crate) unit: Unit<'t>,
    pub(crate) index: usize,
}

/// Units of one head that are prefetched together in the search for a key: keys that share more
/// than eight bytes after the table's prefix. Three rounds of the search then wait as long as one.
const UNITS_PREFETCHED: u32 = 8;
/// Most lines prefetched of a page whose keys are compared whole.
const COLUMN_LINES_MAX: usize = 32;
/// Lines of a page that usually decide how its first key compares: header and prefix.
const LINES_COMPARED: Range<usize> = 0..2;

/// Lines of the page after next that a scan prefetches, in three portions: when it enters a page,
/// before it decodes its values, and after that (the last two only if values are decoded together).
/// All 64 lines at once wait for each other; one line with each decoded value gained nothing; with
/// the first portion alone, scans over more than the caches hold were slower, especially backwards.
pub(crate) const LINES_AHEAD: [Range<usize>; 3] = [0..16, 16..40, 40..LINES_OF_PAGE];
const LINES_OF_PAGE: usize = PAGE_BYTES / LINE_BYTES;

impl<'t> Lookup<'t> {
    #[inline]
    pub(crate) fn new(table: &'t Table) -> Lookup<'t> {
        Lookup {
            table,
            mapping: table.pages.mapping(),
            recheck: false,
        }
    }

    /// The same, but every data page is checked again.
    pub(crate) fn rechecking(self, recheck: bool) -> Lookup<'t> {
        Lookup { recheck, ..self }
    }

    /// Prefetches the columns of a unit and the lines where the value likely is.
    #[inline]
    fn prefetch_unit(&self, unit: u32, share: u32) {
        let page = self.mapping.and_then(|mapping| {
            let rest = mapping.get(unit as usize * PAGE_BYTES..)?;
            rest.first_chunk()
        });
        if let Some(page) = page {
            self.table.prefetch_lines(page, share);
        }
    }

    /// Prefetches some lines of a page that a scan reads next.
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

    /// Whether the filter lets a key with this hash pass; always if there is no filter.
    #[inline]
    pub(crate) fn may_hold(&self, hash: u64) -> Result<bool> {
        let table = self.table;
        let fast = |mapping| table.fast_filter(mapping, hash);
        if let Some(passes) = self.mapping.and_then(fast) {
            return Ok(passes);
        }
        let Some((page, at)) = table.filter_place(hash) else {
            return Ok(true);
        };
        let bytes = self.filter_page(page)?;
        let line = bytes.get(at..at + LINE_BYTES).unwrap_or_default();
        Ok(line_may_hold(line, fold(hash), table.meta.filter_probes))
    }

    pub(crate) fn filter_page(&self, page: u32) -> Result<PageRef<'t>> {
        let table = self.table;
        let validate = |bytes: &[u8]| table.validate_filter(bytes, page);
        table.pages.get(self.mapping, page, 1, validate)
    }

    /// Prefetches the filter line that a get reads first.
    #[inline]
    pub(crate) fn prefetch_filter(&self, hash: u64) {
        if let (Some(mapping), Some((page, at))) = (self.mapping, self.table.filter_place(hash)) {
            prefetch(mapping, page as usize * PAGE_BYTES + at);
        }
    }

    /// The units that may hold a key.
    #[inline]
    pub(crate) fn span_of(&self, key: &[u8]) -> Result<CandidateUnits> {
        let table = self.table;
        if table.meta.key_pages > 0 {
            let units = self.span_of_key(key)?;
            return Ok(CandidateUnits {
                below: units.start,
                end: units.end,
                share: 0,
            });
        }
        let suffix = match table.suffix_of(key) {
            Ok(suffix) => suffix,
            Err(order) => {
                let all = if order.is_lt() { 0 } else { table.meta.units };
                return Ok(CandidateUnits {
                    below: all,
                    end: all,
                    share: 0,
                });
            }
        };
        let head = table.head_of(suffix, key);
        let Some(block) = table.blocks_up_to(head).checked_sub(1) else {
            return Ok(CandidateUnits {
                below: 0,
                end: 0,
                share: 0,
            });
        };
        let (end, last, next) = self.search_block(block, |heads, count| {
            search::upper_bound(heads, 8, count, head)
        })?;
        let below = if last == head {
            self.units_below(head)?
        } else {
            end
        };
        Ok(CandidateUnits {
            below,
            end,
            share: share(last, head, next),
        })
    }

    /// Number of units that begin with a smaller head.
    pub(crate) fn units_below(&self, head: u64) -> Result<u32> {
        let before = head.checked_sub(1);
        let blocks = before.map_or(0, |head| self.table.blocks_up_to(head));
        let Some(block) = blocks.checked_sub(1) else {
            return Ok(0);
        };
        let (below, ..) = self.search_block(block, |heads, count| {
            search::lower_bound(heads, 8, count, head)
        })?;
        Ok(below)
    }

    /// Searches one fence block. Returns the number of units up to the position found, the head of
    /// the last of them, and the head after it, or 0 at the end of a page.
    #[inline]
    fn search_block(
        &self,
        block: usize,
        search: impl Fn(&[u8], usize) -> usize,
    ) -> Result<(u32, u64, u64)> {
        let (page, start) = self.table.place_of_block(block);
        let bytes = self.fence_page(page - self.table.meta.fence_at())?;
        let first = block * BLOCK_HEADS;
        let count = (self.table.meta.units as usize - first).min(BLOCK_HEADS);
        let found = search(fence::block_of(&bytes, start, count), count);
        let last = fence::head_at(&bytes, (start + found).saturating_sub(1));
        let next = fence::head_at(&bytes, start + found);
        Ok((low32(first + found), last, next))
    }

    /// A page of the fence, counted from its first.
    #[inline]
    pub(crate) fn fence_page(&self, index: u32) -> Result<PageRef<'t>> {
        let table = self.table;
        let number = table.meta.fence_at() + index;
        table.pages.get(self.mapping, number, 1, |bytes| {
            fence::validate(bytes, &table.fence_place(index))
        })
    }

    /// The page at which a unit begins.
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

    /// Fetches a unit whose keys are to be searched. In an order that is not bytewise whole keys
    /// are compared, wherever in the columns they are, so all lines of the columns are prefetched:
    /// loading them one by one took half of a get's time.
    fn unit_to_search(&self, unit: u32) -> Result<Unit<'t>> {
        let number = self.number_of(unit)?;
        if !self.table.order.is_bytewise() {
            let lines = self.table.pages.values_hint().div_ceil(LINE_BYTES);
            self.prefetch_lines(number, &(0..lines.min(COLUMN_LINES_MAX)));
        }
        self.unit_at(unit, number)
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

    /// Pages of the unit at `page`, bounded by the data pages of the table.
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

    /// The units that may hold a key; prefetches the likeliest.
    #[inline]
    pub(crate) fn approach(&self, key: &[u8]) -> Result<CandidateUnits> {
        let span = self.span_of(key)?;
        let tie = span.below..span.end;
        let mut likely = (tie.end.saturating_sub(1), span.share);
        if self.mapping.is_some() && self.table.meta.tie_levels > 0 && tie.len() > 1 {
            let place = self.position_in_tie(tie, key)?;
            likely = (place.same.end.saturating_sub(1), place.share);
        }
        self.prefetch_unit(likely.0, likely.1);
        Ok(span)
    }

    /// The first entry at or after (key, seq), which must be in `span` or right after it; `None`
    /// after the last entry.
    pub(crate) fn find(
        &self,
        span: CandidateUnits,
        key: &[u8],
        seq: SeqNo,
    ) -> Result<Option<EntryPosition<'t>>> {
        let starts = self.units_not_behind(span, key, seq)?;
        if starts > 0 {
            let unit = self.unit_to_search(starts - 1)?;
            let slot = unit.view().search(key, seq, &self.table.order);
            if slot.index < unit.layout.count() {
                let index = slot.index;
                return Ok(Some(EntryPosition { unit, index }));
            }
        }
        if starts >= self.table.meta.units {
            return Ok(None);
        }
        let unit = self.unit(starts)?;
        Ok(Some(EntryPosition { unit, index: 0 }))
    }

    /// As `find`, but for this key only.
    pub(crate) fn find_exact(
        &self,
        span: CandidateUnits,
        key: &[u8],
        seq: SeqNo,
    ) -> Result<Option<EntryPosition<'t>>> {
        let starts = self.units_not_behind(span, key, seq)?;
        if starts > 0 {
            let unit = self.unit_to_search(starts - 1)?;
            let slot = unit.view().search(key, seq, &self.table.order);
            if slot.exact {
                let index = slot.index;
                return Ok(Some(EntryPosition { unit, index }));
            }
            if slot.index < unit.layout.count() {
                return Ok(None);
            }
        }
        if starts >= span.end {
            return Ok(None);
        }
        let unit = self.unit(starts)?;
        let order = unit.view().compare_key(0, key, &self.table.order);
        Ok((order == Ordering::Equal).then_some(EntryPosition { unit, index: 0 }))
    }

    /// Number of units whose first entry is at or before (key, seq).
    fn units_not_behind(&self, span: CandidateUnits, key: &[u8], seq: SeqNo) -> Result<u32> {
        let Range {
            start: mut low,
            end: mut high,
        } = self.narrow(&span, key)?;
        while low < high {
            // The next rounds of the binary search may read these units, and wait for their lines
            // together.
            let (base, step) = (low, (high - low).div_ceil(UNITS_PREFETCHED));
            if high - low > 1 && self.mapping.is_some() {
                // The first unit is only read if each one is.
                let first = if step > 1 { base + step } else { base };
                for unit in (first..high).step_by(step as usize) {
                    // If a damaged page must be read, the search below reports it.
                    let Ok(number) = self.number_of(unit) else {
                        break;
                    };
                    self.prefetch_lines(number, &LINES_COMPARED);
                }
            }
            let mut rounds = UNITS_PREFETCHED.ilog2();
            while low < high && rounds > 0 {
                let middle = base + (low - base + (high - low) / 2) / step * step;
                let middle = middle.max(low);
                let unit = self.unit(middle)?;
                let order = unit.view().compare(0, key, seq, &self.table.order);
                if order.is_le() {
                    low = middle + 1;
                } else {
                    high = middle;
                }
                rounds -= 1;
            }
        }
        Ok(low)
    }
}
