//! An open table: point gets, and the way from a key to a page.
//!
//! A get asks the filter (one line), the top of the fence in memory, one block of a fence page, and
//! one data page. The loads do not wait for each other where they need not: the filter line is
//! requested first and read last, and the page is requested as soon as its number is known.

use std::sync::Arc;

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Error, FileNumber, Kind, Order, Result, SeqNo};
use cairndb_env::ReadFile;
use cairndb_kernel::{prefetch, search};

use super::bits::{head_of, low32};
use super::fence::{self, BLOCK_HEADS, FencePlace, heads_per_page};
use super::filter::{LINE_BYTES, LINES_PER_PAGE, fold, line_may_hold, line_of};
use super::layout::{Flaw, Layout, page_kind};
use super::meta::Meta;
use super::page::Page;
use super::source::{PageAccess, PageRef, Pages, name_of};
use super::values::Stored;
use super::{TableCursor, TableSummary};

/// What a caller knows about a get.
#[derive(Clone, Copy, Debug, Default)]
pub struct GetHints {
    /// The key is likely here: look without asking the filter.
    pub skip_filter: bool,
}

/// The newest visible version of a key in one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<'t> {
    /// Its sequence number.
    pub seq: SeqNo,
    /// What it does to the key.
    pub kind: Kind,
    /// Its value.
    pub value: FoundValue<'t>,
}

/// Where the value of a [`Found`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundValue<'t> {
    /// In place, in the table's mapping.
    Mapped(&'t [u8]),
    /// The caller's scratch buffer holds it and nothing else.
    InScratch,
}

impl<'t> FoundValue<'t> {
    /// The bytes, given the scratch buffer that the get was given.
    pub fn bytes<'s>(&self, scratch: &'s [u8]) -> &'s [u8]
    where
        't: 's,
    {
        match self {
            FoundValue::Mapped(bytes) => bytes,
            FoundValue::InScratch => scratch,
        }
    }
}

/// A table open for reading.
#[derive(Debug)]
pub struct Table {
    pub(super) pages: Pages,
    pub(super) order: Order,
    pub(super) meta: Meta,
}

/// Units (data pages or extents) among which a key must be sought: `below` begin with a smaller
/// head, and those from `below` to `end` with the very head of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) below: u32,
    pub(super) end: u32,
}

/// A unit fetched: its bytes, their layout, and where it is.
#[derive(Clone, Debug)]
pub(super) struct Unit<'t> {
    pub(super) bytes: PageRef<'t>,
    pub(super) layout: Layout,
    pub(super) number: u32,
    pub(super) page: u32,
}

impl Unit<'_> {
    #[inline]
    pub(super) fn view(&self) -> Page<'_> {
        Page {
            bytes: &self.bytes,
            layout: self.layout,
        }
    }
}

/// An entry's place: the first not before the sought one.
#[derive(Debug)]
pub(super) struct Place<'t> {
    pub(super) unit: Unit<'t>,
    pub(super) index: usize,
}

impl Table {
    /// Opens a table whose meta block has the checksum `expected`, as the manifest keeps it.
    ///
    /// Reads the meta block and nothing else.
    ///
    /// # Errors
    /// `Corruption` when the file is not that table, `InvalidArgument` when it has another order,
    /// `FormatTooNew` when a later version wrote it; the errors of the file.
    pub fn open(
        file: Arc<dyn ReadFile>,
        number: FileNumber,
        order: &Order,
        access: PageAccess,
        expected: u32,
    ) -> Result<Table> {
        let pages = Pages::open(file, number, access)?;
        let last = pages.read_unchecked(pages.count() - 1, 1)?;
        let (first, count) =
            Meta::find(&last, pages.count()).map_err(|flaw| pages.flaw(pages.count() - 1, flaw))?;
        let block = pages.read_unchecked(first, count)?;
        pages.check(first, &block, |_| Ok(()))?;
        let checksum = block
            .first_chunk()
            .map_or(0, |chunk| u32::from_le_bytes(*chunk));
        if checksum != expected {
            return Err(pages
                .damage(first, "table is not the one the manifest names")
                .expected(format_args!("{expected:#010x}"))
                .found(format_args!("{checksum:#010x}")));
        }
        let mut meta =
            Meta::decode(&block, first, checksum).map_err(|flaw| pages.flaw(first, flaw))?;
        if meta.order != order.name() {
            return Err(Error::invalid("table has another order")
                .file(name_of(number))
                .expected(order.name())
                .found(&meta.order));
        }
        meta.summary.bytes = u64::from(pages.count()) * PAGE_BYTES as u64;
        Ok(Table {
            pages,
            order: order.clone(),
            meta,
        })
    }

    /// Checks every page at every use instead of once per open.
    #[must_use]
    pub fn verify_always(mut self, always: bool) -> Table {
        self.pages.set_check_always(always);
        self
    }

    /// The number of the file.
    pub fn file(&self) -> FileNumber {
        self.pages.file()
    }

    /// The first key.
    pub fn smallest(&self) -> &[u8] {
        &self.meta.summary.smallest
    }

    /// The last key.
    pub fn largest(&self) -> &[u8] {
        &self.meta.summary.largest
    }

    /// Number of entries.
    pub fn entries(&self) -> u64 {
        self.meta.summary.entries
    }

    /// What the table holds.
    pub fn summary(&self) -> &TableSummary {
        &self.meta.summary
    }

    /// Bytes of filter and fence pages, which are mapped or pass through the cache.
    pub fn index_bytes(&self) -> u64 {
        let pages = u64::from(self.meta.filter_pages()) + u64::from(self.meta.fence_pages());
        pages * PAGE_BYTES as u64
    }

    /// Heap bytes held while the table is open.
    pub fn memory_bytes(&self) -> usize {
        let summary = &self.meta.summary;
        size_of::<Table>()
            + self.pages.memory_bytes()
            + self.meta.top.len()
            + summary.smallest.len()
            + summary.largest.len()
            + summary.value_refs.len() * 16
    }

    /// Bytes of the file up to about where `key` would stand.
    ///
    /// # Errors
    /// Those of reading the fence.
    pub fn approximate_offset(&self, key: &[u8]) -> Result<u64> {
        let span = self.span_of(key)?;
        let page = if span.end == 0 {
            0
        } else if span.end >= self.meta.units {
            self.meta.data_pages
        } else {
            self.number_of(span.end)?
        };
        Ok(u64::from(page) * PAGE_BYTES as u64)
    }

    /// A cursor over the table, not yet anywhere.
    pub fn cursor(self: &Arc<Self>) -> TableCursor {
        TableCursor::new(Arc::clone(self))
    }

    /// Requests the memory that a get of `key` will read first, so that a get from several tables
    /// can overlap their loads.
    #[inline]
    pub fn prefetch(&self, key: &[u8], hash: u64) {
        let Some(mapping) = self.pages.mapping() else {
            return;
        };
        if let Some((page, at)) = self.filter_place(hash) {
            prefetch(mapping, page as usize * PAGE_BYTES + at);
        }
        if let Some((head, block)) = self.block_of(key) {
            let per_page = heads_per_page(self.meta.numbered) / BLOCK_HEADS;
            let page = self.meta.fence_at() as usize + block / per_page;
            let start = fence::FENCE_HEADER_BYTES + block % per_page * BLOCK_HEADS * 8;
            let _ = head;
            for line in 0..8 {
                prefetch(mapping, page * PAGE_BYTES + start + line * 64);
            }
        }
    }

    /// The newest version of `key` that `snapshot` sees. `hash` is `hash64(key)`.
    ///
    /// `scratch` is cleared and receives a value that is not stored raw in the mapping.
    ///
    /// # Errors
    /// `Corruption` when a page on the way is damaged; the errors of the file.
    #[inline]
    pub fn get<'t>(
        &'t self,
        key: &[u8],
        hash: u64,
        snapshot: SeqNo,
        hints: GetHints,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<Found<'t>>> {
        if !hints.skip_filter && !self.may_hold(hash)? {
            return Ok(None);
        }
        let span = self.span_of(key)?;
        let Some(place) = self.find_exact(span, key, snapshot)? else {
            return Ok(None);
        };
        self.found(&place, scratch).map(Some)
    }

    /// Whether the filter lets a key of this hash pass; always, where there is no filter.
    ///
    /// # Errors
    /// `Corruption` when the filter page is damaged; the errors of the file.
    #[inline]
    pub fn may_hold(&self, hash: u64) -> Result<bool> {
        let Some((page, at)) = self.filter_place(hash) else {
            return Ok(true);
        };
        let bytes = self
            .pages
            .get(page, 1, |bytes| self.validate_filter(bytes, page))?;
        let line = bytes.get(at..at + LINE_BYTES).unwrap_or_default();
        Ok(line_may_hold(line, fold(hash), self.meta.filter_probes))
    }

    /// Page and offset of the filter line of a hash.
    #[inline]
    pub(super) fn filter_place(&self, hash: u64) -> Option<(u32, usize)> {
        if self.meta.filter_lines == 0 {
            return None;
        }
        let line = line_of(fold(hash), self.meta.filter_lines);
        let per_page = low32(LINES_PER_PAGE);
        let page = self.meta.data_pages + line / per_page;
        Some((page, (1 + line % per_page) as usize * LINE_BYTES))
    }

    pub(super) fn validate_filter(&self, bytes: &[u8], page: u32) -> std::result::Result<(), Flaw> {
        let index = u64::from(page - self.meta.data_pages);
        let field = |at, width| super::bits::load(bytes, at, width, 0);
        if field(4, 1) != u64::from(page_kind::FILTER) {
            return Err(Flaw::Damaged("page is not a filter page"));
        }
        if field(8, 4) != index || field(12, 4) != u64::from(self.meta.filter_lines) {
            return Err(Flaw::Damaged("filter page is not the one expected here"));
        }
        Ok(())
    }

    /// The head of a key, and the number of fence blocks that do not begin behind it; `None` when
    /// it lies before every key or behind the common prefix of all.
    #[inline]
    fn block_of(&self, key: &[u8]) -> Option<(u64, usize)> {
        let suffix = self.suffix_of(key).ok()?;
        let head = self.head_of(suffix);
        let top = &self.meta.top;
        let blocks = search::upper_bound(top, 8, top.len() / 8, head);
        Some((head, blocks.checked_sub(1)?))
    }

    /// What follows the table's common prefix, or whether the key lies before it or behind.
    #[inline]
    pub(super) fn suffix_of<'k>(
        &self,
        key: &'k [u8],
    ) -> std::result::Result<&'k [u8], std::cmp::Ordering> {
        let prefix = self
            .meta
            .summary
            .smallest
            .get(..self.meta.prefix as usize)
            .unwrap_or_default();
        key.strip_prefix(prefix).ok_or_else(|| key.cmp(prefix))
    }

    #[inline]
    pub(super) fn head_of(&self, suffix: &[u8]) -> u64 {
        if self.order.is_bytewise() {
            head_of(suffix, 8)
        } else {
            0
        }
    }

    /// The units in which a key must be sought.
    #[inline]
    pub(super) fn span_of(&self, key: &[u8]) -> Result<Span> {
        let suffix = match self.suffix_of(key) {
            Ok(suffix) => suffix,
            Err(order) => {
                let all = if order.is_lt() { 0 } else { self.meta.units };
                return Ok(Span {
                    below: all,
                    end: all,
                });
            }
        };
        let head = self.head_of(suffix);
        let top = &self.meta.top;
        let blocks = search::upper_bound(top, 8, top.len() / 8, head);
        if blocks == 0 {
            return Ok(Span { below: 0, end: 0 });
        }
        let (end, last) = self.search_block(blocks - 1, |heads, count| {
            search::upper_bound(heads, 8, count, head)
        })?;
        if last != head {
            return Ok(Span { below: end, end });
        }
        let blocks = search::lower_bound(top, 8, top.len() / 8, head);
        if blocks == 0 {
            return Ok(Span { below: 0, end });
        }
        let (below, _) = self.search_block(blocks - 1, |heads, count| {
            search::lower_bound(heads, 8, count, head)
        })?;
        Ok(Span { below, end })
    }

    /// Searches one fence block; gives the number of units up to the place found, and the head of
    /// the last of them.
    #[inline]
    fn search_block(
        &self,
        block: usize,
        search: impl Fn(&[u8], usize) -> usize,
    ) -> Result<(u32, u64)> {
        let per_page = heads_per_page(self.meta.numbered) / BLOCK_HEADS;
        let bytes = self.fence_page(low32(block / per_page))?;
        let first = block * BLOCK_HEADS;
        let count = (self.meta.units as usize - first).min(BLOCK_HEADS);
        let start = block % per_page * BLOCK_HEADS;
        let found = search(fence::block_of(&bytes, start, count), count);
        let last = fence::head_at(&bytes, (start + found).saturating_sub(1));
        Ok((low32(first + found), last))
    }

    /// A page of the fence, counted from its first.
    #[inline]
    pub(super) fn fence_page(&self, index: u32) -> Result<PageRef<'_>> {
        let number = self.meta.fence_at() + index;
        self.pages.get(number, 1, |bytes| {
            fence::validate(bytes, &self.fence_place(index))
        })
    }

    pub(super) fn fence_place(&self, index: u32) -> FencePlace {
        let per_page = heads_per_page(self.meta.numbered);
        let first = index as usize * per_page;
        FencePlace {
            first: low32(first),
            count: (self.meta.units as usize)
                .saturating_sub(first)
                .min(per_page),
            data_pages: self.meta.data_pages,
            numbered: self.meta.numbered,
        }
    }

    /// The page at which a unit begins.
    #[inline]
    pub(super) fn number_of(&self, unit: u32) -> Result<u32> {
        if !self.meta.numbered {
            return Ok(unit);
        }
        let per_page = low32(heads_per_page(true));
        let bytes = self.fence_page(unit / per_page)?;
        Ok(fence::number_at(&bytes, (unit % per_page) as usize))
    }

    /// Fetches a unit.
    #[inline]
    pub(super) fn unit(&self, unit: u32) -> Result<Unit<'_>> {
        let page = self.number_of(unit)?;
        self.unit_at(unit, page)
    }

    /// Fetches the unit that begins at `page`.
    #[inline]
    pub(super) fn unit_at(&self, unit: u32, page: u32) -> Result<Unit<'_>> {
        let mut pages = 1;
        if self.meta.numbered {
            pages = self.pages_of_unit(page)?;
        }
        let bytes = self.pages.get(page, pages, |bytes| {
            Layout::parse(bytes)?.validate(bytes, &self.order)
        })?;
        let layout = Layout::parse(&bytes).map_err(|flaw| self.pages.flaw(page, flaw))?;
        Ok(Unit {
            bytes,
            layout,
            number: unit,
            page,
        })
    }

    /// Pages of the unit at `page`, bounded by the data pages of the table.
    pub(super) fn pages_of_unit(&self, page: u32) -> Result<u32> {
        let pages = Layout::pages_of(&self.pages.peek(page)?);
        let room = self.meta.data_pages.saturating_sub(page);
        match u32::try_from(pages) {
            Ok(pages) if pages <= room => Ok(pages),
            _ => Err(self
                .pages
                .damage(page, "extent reaches past the data pages")),
        }
    }

    /// The first entry not before (key, seq); `None` behind the last.
    pub(super) fn find(&self, key: &[u8], seq: SeqNo) -> Result<Option<Place<'_>>> {
        let span = self.span_of(key)?;
        let starts = self.units_not_behind(span, key, seq)?;
        if starts > 0 {
            let unit = self.unit(starts - 1)?;
            let slot = unit.view().search(key, seq, &self.order);
            if slot.index < unit.layout.count() {
                return Ok(Some(Place {
                    unit,
                    index: slot.index,
                }));
            }
        }
        if starts >= self.meta.units {
            return Ok(None);
        }
        let unit = self.unit(starts)?;
        Ok(Some(Place { unit, index: 0 }))
    }

    /// As `find`, for the very key only.
    #[inline]
    fn find_exact(&self, span: Span, key: &[u8], seq: SeqNo) -> Result<Option<Place<'_>>> {
        let mut starts = span.end;
        if span.below != span.end {
            starts = self.units_not_behind(span, key, seq)?;
        }
        if starts > 0 {
            let unit = self.unit(starts - 1)?;
            let slot = unit.view().search(key, seq, &self.order);
            if slot.exact {
                return Ok(Some(Place {
                    unit,
                    index: slot.index,
                }));
            }
            if slot.index < unit.layout.count() {
                return Ok(None);
            }
        }
        if starts >= span.end {
            return Ok(None);
        }
        let unit = self.unit(starts)?;
        let exact = unit.view().compare_key(0, key, &self.order).is_eq();
        Ok(exact.then_some(Place { unit, index: 0 }))
    }

    /// Number of units whose first entry is not behind (key, seq).
    fn units_not_behind(&self, span: Span, key: &[u8], seq: SeqNo) -> Result<u32> {
        let (mut low, mut high) = (span.below, span.end);
        while low < high {
            let middle = low + (high - low) / 2;
            let unit = self.unit(middle)?;
            if unit.view().compare(0, key, seq, &self.order).is_le() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    #[inline]
    fn found<'t>(&self, place: &Place<'t>, scratch: &mut Vec<u8>) -> Result<Found<'t>> {
        let view = place.unit.view();
        let mark = view.mark(place.index);
        let found = |value| Found {
            seq: mark.seq,
            kind: mark.kind,
            value,
        };
        if let PageRef::Mapped(bytes) = place.unit.bytes {
            let layout = place.unit.layout;
            if let Stored::Raw(bytes) = (Page { bytes, layout }).stored(place.index) {
                return Ok(found(FoundValue::Mapped(bytes)));
            }
        }
        scratch.clear();
        view.value_into(place.index, scratch)
            .map_err(|flaw| self.pages.flaw(place.unit.page, flaw))?;
        Ok(found(FoundValue::InScratch))
    }
}
