//! General lookup in a table: from a key through filter and fence to an entry.
//!
//! A [`Lookup`] handles every table and page, mapped or not. It touches, in order, the filter line,
//! the top of the fence in memory, one block of a fence page, and one data page. Lines are
//! prefetched as soon as their addresses are known and read as late as possible.

use std::cmp::Ordering;
use std::ops::Range;

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Result, SeqNo};
use cairndb_kernel::search;

use crate::table::index::address::share;
use crate::table::index::fence::{self, BLOCK_HEADS};
use crate::table::index::filter::LINE_BYTES;
use crate::table::index::key_search::KeySearch;
use crate::table::index::tie_search::TieSearch;
use crate::table::page::Page;
use crate::table::page::bits::low32;
use crate::table::read::open::{FoundVersion, Table};
use crate::table::read::reader::{PageReader, Unit};

/// A search for one key, which fetches pages with its reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookup<'t> {
    reader: PageReader<'t>,
}

/// Units (data pages or extents) that may hold a key: `below` units begin with a smaller head, and
/// those from `below` to `end` with the key's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CandidateUnits {
    pub(crate) below: u32,
    pub(crate) end: u32,
    /// Likely position of the key in the last unit before `end`, in 4096ths.
    share: u32,
}

/// Position of the first entry at or after the sought one.
#[derive(Debug)]
pub(crate) struct EntryPosition<'t> {
    pub(crate) unit: Unit<'t>,
    pub(crate) index: usize,
}

/// Number of units of one head that are prefetched together in the search for a key. Units have the
/// same head if their keys share more than eight bytes after the table's prefix. Three rounds of
/// the search then wait only as long as one.
const UNITS_PREFETCHED: u32 = 8;
/// Maximum number of lines prefetched of a page whose keys are compared whole.
const COLUMN_LINES_MAX: usize = 32;
/// Range of lines of a page that usually decide how its first key compares: header and prefix.
const LINES_COMPARED: Range<usize> = 0..2;

impl<'t> Lookup<'t> {
    #[inline]
    pub(crate) fn new(table: &'t Table) -> Lookup<'t> {
        Lookup::with(PageReader::new(table))
    }

    /// Returns a lookup that fetches pages with this reader.
    #[inline]
    pub(crate) fn with(reader: PageReader<'t>) -> Lookup<'t> {
        Lookup { reader }
    }

    #[inline]
    fn table(&self) -> &'t Table {
        self.reader.table()
    }

    /// Prefetches the columns of a unit and the lines where the value likely is.
    #[inline]
    fn prefetch_unit(&self, unit: u32, share: u32) {
        let page = self.reader.mapping().and_then(|mapping| {
            let rest = mapping.get(unit as usize * PAGE_BYTES..)?;
            rest.first_chunk()
        });
        if let Some(page) = page {
            self.table().pages.prefetch_likely(page, share);
        }
    }

    /// Asks the system to read the page where `key` likely is, if that may have to come from the
    /// disk. Returns whether it asked.
    pub(crate) fn request(&self, key: &[u8]) -> Result<bool> {
        let (_, (unit, _)) = self.likely(key)?;
        self.request_unit(unit)
    }

    #[cold]
    fn request_unit(&self, unit: u32) -> Result<bool> {
        let (page, meta) = (self.reader.number_of(unit)?, &self.table().meta);
        let end = match unit + 1 {
            next if next < meta.units => self.reader.number_of(next)?,
            _ => meta.data_pages,
        };
        Ok(self.table().pages.request(page, end))
    }

    /// Returns whether the filter lets a key with this hash pass; always if there is no filter.
    #[inline]
    pub(crate) fn may_hold(&self, hash: u64) -> Result<bool> {
        let filter = &self.table().filter;
        let Some((page, at)) = filter.place_of(hash) else {
            return Ok(true);
        };
        let bytes = self.reader.filter_page(page)?;
        let line = bytes.get(at..at + LINE_BYTES).unwrap_or_default();
        Ok(filter.line_passes(line, hash))
    }

    /// Returns the units that may hold a key.
    #[inline]
    pub(crate) fn span_of(&self, key: &[u8]) -> Result<CandidateUnits> {
        let none_at = |unit| CandidateUnits {
            below: unit,
            end: unit,
            share: 0,
        };
        let table = self.table();
        if table.meta.key_pages > 0 {
            let units = KeySearch::new(&self.reader).units_of(key)?;
            return Ok(CandidateUnits {
                below: units.start,
                end: units.end,
                share: 0,
            });
        }
        let head = match table.meta.fence_head(key, &table.order) {
            Ok(head) => head,
            Err(Ordering::Less) => return Ok(none_at(0)),
            Err(_) => return Ok(none_at(table.meta.units)),
        };
        let Some(block) = table.meta.blocks_up_to(head).checked_sub(1) else {
            return Ok(none_at(0));
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

    /// Returns the number of units that begin with a smaller head.
    pub(crate) fn units_below(&self, head: u64) -> Result<u32> {
        let before = head.checked_sub(1);
        let blocks = before.map_or(0, |head| self.table().meta.blocks_up_to(head));
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
        let meta = &self.table().meta;
        let (page, start) = meta.place_of_block(block);
        let bytes = self.reader.fence_page(page - meta.fence_at())?;
        let first = block * BLOCK_HEADS;
        let count = (meta.units as usize - first).min(BLOCK_HEADS);
        let found = search(fence::block_of(&bytes, start, count), count);
        let last = fence::head_at(&bytes, (start + found).saturating_sub(1));
        let next = fence::head_at(&bytes, start + found);
        Ok((low32(first + found), last, next))
    }

    /// Fetches a unit whose keys are to be searched. In an order that is not bytewise, whole keys
    /// are compared, and these may be anywhere in the columns. All lines of the columns are
    /// therefore prefetched: loading them one by one took half of a get's time.
    fn unit_to_search(&self, unit: u32) -> Result<Unit<'t>> {
        let number = self.reader.number_of(unit)?;
        let table = self.table();
        if !table.order.is_bytewise() {
            let lines = table.pages.values_hint().div_ceil(LINE_BYTES);
            self.reader
                .prefetch_lines(number, &(0..lines.min(COLUMN_LINES_MAX)));
        }
        self.reader.unit_at(unit, number)
    }

    /// Returns the units that may hold a key, and prefetches the likeliest. With `asks`, its page
    /// is requested if it may have to come from the disk.
    #[inline]
    pub(crate) fn approach(&self, key: &[u8], asks: bool) -> Result<CandidateUnits> {
        let (span, (unit, share)) = self.likely(key)?;
        self.prefetch_unit(unit, share);
        if asks && self.table().pages.may_wait() {
            self.request_unit(unit)?;
        }
        Ok(span)
    }

    /// Returns the units that may hold a key, and the likeliest with the share of it before the
    /// key.
    #[inline]
    fn likely(&self, key: &[u8]) -> Result<(CandidateUnits, (u32, u32))> {
        let span = self.span_of(key)?;
        let tie = span.below..span.end;
        let mut likely = (tie.end.saturating_sub(1), span.share);
        let mapped = self.reader.mapping().is_some();
        if mapped && self.table().meta.tie_levels > 0 && tie.len() > 1 {
            let place = TieSearch::new(&self.reader).position(tie, key)?;
            likely = (place.same.end.saturating_sub(1), place.share);
        }
        Ok((span, likely))
    }

    /// Returns the first entry at or after (key, seq), which must be in `span` or right after it,
    /// or `None` after the last entry.
    pub(crate) fn find(
        &self,
        span: CandidateUnits,
        key: &[u8],
        seq: SeqNo,
    ) -> Result<Option<EntryPosition<'t>>> {
        let starts = self.units_not_behind(span, key, seq)?;
        if starts > 0 {
            let unit = self.unit_to_search(starts - 1)?;
            let slot = unit.view().search(key, seq, &self.table().order);
            if slot.index < unit.layout.count() {
                let index = slot.index;
                return Ok(Some(EntryPosition { unit, index }));
            }
        }
        if starts >= self.table().meta.units {
            return Ok(None);
        }
        let unit = self.reader.unit(starts)?;
        Ok(Some(EntryPosition { unit, index: 0 }))
    }

    /// Like `find`, but for this key only.
    pub(crate) fn find_exact(
        &self,
        span: CandidateUnits,
        key: &[u8],
        seq: SeqNo,
    ) -> Result<Option<EntryPosition<'t>>> {
        let starts = self.units_not_behind(span, key, seq)?;
        if starts > 0 {
            let unit = self.unit_to_search(starts - 1)?;
            let slot = unit.view().search(key, seq, &self.table().order);
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
        let unit = self.reader.unit(starts)?;
        let order = unit.view().compare_key(0, key, &self.table().order);
        Ok((order == Ordering::Equal).then_some(EntryPosition { unit, index: 0 }))
    }

    /// Returns the units of a span whose first keys must be compared with `key`. If there are none,
    /// returns an empty range after the units that are less than the key.
    pub(crate) fn narrow(&self, span: &CandidateUnits, key: &[u8]) -> Result<Range<u32>> {
        let tie = span.below..span.end;
        if self.table().meta.tie_levels == 0 || tie.len() < 2 {
            return Ok(tie);
        }
        TieSearch::new(&self.reader).narrow(tie, key)
    }

    /// Returns the number of units whose first entry is at or before (key, seq).
    fn units_not_behind(&self, span: CandidateUnits, key: &[u8], seq: SeqNo) -> Result<u32> {
        let Range {
            start: mut low,
            end: mut high,
        } = self.narrow(&span, key)?;
        while low < high {
            // The next rounds of the binary search may read these units, and wait for their lines
            // together.
            let (base, step) = (low, (high - low).div_ceil(UNITS_PREFETCHED));
            if high - low > 1 && self.reader.mapping().is_some() {
                // The first unit is only read if each one is.
                let first = if step > 1 { base + step } else { base };
                for unit in (first..high).step_by(step as usize) {
                    // If a damaged page must be read, the search below reports it.
                    let Ok(number) = self.reader.number_of(unit) else {
                        break;
                    };
                    self.reader.prefetch_lines(number, &LINES_COMPARED);
                }
            }
            let mut rounds = UNITS_PREFETCHED.ilog2();
            while low < high && rounds > 0 {
                let middle = base + (low - base + (high - low) / 2) / step * step;
                let middle = middle.max(low);
                let unit = self.reader.unit(middle)?;
                let order = unit.view().compare(0, key, seq, &self.table().order);
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

    /// Returns the newest version of `key` that `snapshot` sees, without asking the filter. Its
    /// value replaces the contents of `value`.
    #[inline(never)]
    pub(crate) fn get(
        &self,
        key: &[u8],
        snapshot: SeqNo,
        value: &mut Vec<u8>,
    ) -> Result<Option<FoundVersion>> {
        let Some(position) = self.find_exact(self.span_of(key)?, key, snapshot)? else {
            return Ok(None);
        };
        let unit = &position.unit;
        version_at(self.table(), unit.view(), unit.page, position.index, value).map(Some)
    }
}

/// Returns the version of the entry at `index` of page `number`, whose value replaces the contents
/// of `value`.
pub(crate) fn version_at(
    table: &Table,
    page: Page<'_, '_>,
    number: u32,
    index: usize,
    value: &mut Vec<u8>,
) -> Result<FoundVersion> {
    value.clear();
    page.values()
        .value_into(index, &table.meta.dictionary, value)
        .map_err(|flaw| table.pages.flaw(number, flaw))?;
    let mark = page.mark(index);
    let goes_on = page.goes_on(index, mark.kind, &table.order);
    Ok(FoundVersion::new(mark.seq, mark.kind, goes_on))
}
