//! Point lookup in one table: the newest version of a key that a snapshot sees.
//!
//! [`Table::get`] tries three ways, the cheapest first:
//!
//! 1. *Fast path* ([`FastPath`]): a filter line, a search of the fence's top in memory, a search of
//!    one fence block, a search of the candidate page's heads, one value. It serves mapped tables
//!    in bytewise order whose pages have been checked and are plain (`page/plain.rs`), which is
//!    nearly every get, and takes fewer than half of the general path's instructions, because it
//!    does not locate all columns of the page.
//! 2. *Known page* ([`CandidatePage::search`]): the fast path found the only page that can hold the
//!    key, but the page is not plain or its newest version is too new.
//! 3. *General path* (`get_general`): [`Lookup`], which handles every table and page.
//!
//! Invariants:
//! 1. If the fast path answers, the general path would give the same answer. The model test asks
//!    for every key more than once: the first get checks the page, the later ones take the fast
//!    path.
//! 2. A candidate page without the key answers for the whole table only if no other page can hold
//!    it.

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Result, SeqNo};
use cairndb_kernel::{codec, prefetch, prefetch_span, search};

use crate::table::index::address::share;
use crate::table::index::fence::{self, BLOCK_HEADS};
use crate::table::index::filter::LINE_BYTES;
use crate::table::index::tie_search::TieSearch;
use crate::table::page::Page;
use crate::table::page::bits::{head_of, low32};
use crate::table::page::layout::{Layout, ValueMode};
use crate::table::page::plain::{PageBytes, PlainColumns};
use crate::table::read::filter_predictor;
use crate::table::read::lookup::{Lookup, version_at};
use crate::table::read::open::{FoundVersion, Table};
use crate::table::read::reader::PageReader;

/// Length from which values are prefetched whole, once their position is known.
const LONG_VALUE_BYTES: usize = 256;

/// A data page that may hold the key of a lookup, and has been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CandidatePage<'t> {
    pub(crate) page: &'t PageBytes,
    pub(crate) number: u32,
    /// No other page can hold the key. If unset, this is the likeliest page, and the only one if
    /// the key sorts between two of its entries.
    pub(crate) certain: bool,
}

/// Result of the fast path.
#[derive(Debug)]
pub(crate) enum FastGet<'t> {
    /// The newest visible version of the key, or `None` if the table has none.
    Answer(Option<FoundVersion>),
    /// The page where the key is, if the table has it; only the general page search can decide.
    Page(CandidatePage<'t>),
    /// No result: the general path has to search.
    Fallback,
}

impl Table {
    /// Returns the newest version of `key` that `snapshot` sees. `hash` is `hash64(key)`.
    ///
    /// The value replaces the contents of `value`. If there is no version, `value` may hold
    /// arbitrary bytes afterwards.
    ///
    /// # Errors
    /// `Corruption` if a page on the way is damaged; the errors of the file.
    #[inline]
    pub fn get(
        &self,
        key: &[u8],
        hash: u64,
        snapshot: SeqNo,
        value: &mut Vec<u8>,
    ) -> Result<Option<FoundVersion>> {
        if let Some(fast) = FastPath::of(self) {
            match fast.get(key, hash, snapshot, value)? {
                FastGet::Answer(found) => return Ok(found),
                FastGet::Page(candidate) => {
                    let outcome = candidate.search(self, key, snapshot, value)?;
                    if let FastGet::Answer(found) = outcome {
                        return Ok(found);
                    }
                }
                FastGet::Fallback => {}
            }
        }
        self.get_general(key, hash, snapshot, value)
    }

    /// Implements [`Table::get`] where the fast path has no answer.
    #[inline(never)]
    fn get_general(
        &self,
        key: &[u8],
        hash: u64,
        snapshot: SeqNo,
        value: &mut Vec<u8>,
    ) -> Result<Option<FoundVersion>> {
        let lookup = Lookup::new(self);
        if !lookup.may_hold(hash)? {
            return Ok(None);
        }
        lookup.get(key, snapshot, value)
    }

    /// Prefetches the filter line that a get reads first, so that a get from several tables can
    /// overlap their loads. If it may have to come from the disk, asks for it.
    #[inline]
    pub fn prefetch_filter(&self, hash: u64) {
        if let Some(fast) = FastPath::of(self) {
            fast.prefetch_filter(hash);
        }
        if self.pages.may_wait()
            && let Some((page, _)) = self.filter.place_of(hash)
        {
            self.pages.request(page, page + 1);
        }
    }

    /// Asks the filter and, if it lets the key pass, prefetches the lines that a get will read
    /// next, or asks for their page if that may have to come from the disk. Reading filter and
    /// fence may wait.
    ///
    /// Gets of several keys overlap their loads by calling [`Table::prefetch_filter`] for each,
    /// then this for each, then the gets. Errors are left to the gets.
    #[inline]
    pub fn prefetch_page(&self, key: &[u8], hash: u64) -> Prefetched {
        if let Some(fast) = FastPath::of(self) {
            let passes = fast.filter_passes(hash);
            if passes == Some(false) {
                return Prefetched::Refused;
            }
            let known = passes.is_some() && fast.candidate_page(key).is_some();
            if known || !self.pages.may_wait() {
                return Prefetched::Near;
            }
        }
        self.request_page(key, hash)
    }

    #[cold]
    fn request_page(&self, key: &[u8], hash: u64) -> Prefetched {
        let lookup = Lookup::new(self);
        if !lookup.may_hold(hash).unwrap_or(true) {
            return Prefetched::Refused;
        }
        match lookup.request(key) {
            Ok(true) => Prefetched::Asked,
            _ => Prefetched::Near,
        }
    }
}

/// What [`Table::prefetch_page`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefetched {
    /// The filter has not let the key pass.
    Refused,
    /// The page is likely in memory.
    Near,
    /// The page has to be read, which has begun.
    Asked,
}

/// The fast path of one operation on a mapped table, in the order of its steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastPath<'t> {
    table: &'t Table,
    mapping: &'t [u8],
}

impl<'t> FastPath<'t> {
    /// Returns the fast path of a table, or `None` if it is not mapped.
    #[inline]
    pub(crate) fn of(table: &'t Table) -> Option<FastPath<'t>> {
        let mapping = table.pages.mapping()?;
        Some(FastPath { table, mapping })
    }

    /// Prefetches the line of the filter that a get reads first.
    #[inline]
    fn prefetch_filter(self, hash: u64) {
        if let Some((page, at)) = self.table.filter.place_of(hash) {
            prefetch(self.mapping, page as usize * PAGE_BYTES + at);
        }
    }

    /// Runs the fast path of [`Table::get`].
    #[inline]
    pub(crate) fn get(
        self,
        key: &[u8],
        hash: u64,
        snapshot: SeqNo,
        value: &mut Vec<u8>,
    ) -> Result<FastGet<'t>> {
        // If the key is likely to be present, wait for filter line and page together. Otherwise the
        // page's lines would be fetched in vain.
        let first = filter_predictor::likely().then(|| {
            self.prefetch_filter(hash);
            self.candidate_page(key)
        });
        match self.filter_passes(hash) {
            Some(true) => filter_predictor::note_pass(),
            Some(false) => {
                filter_predictor::note_refusal();
                return Ok(FastGet::Answer(None));
            }
            None => return Ok(FastGet::Fallback),
        }
        let candidate = first.unwrap_or_else(|| self.candidate_page(key));
        self.get_in(candidate, key, snapshot, value)
    }

    /// Returns whether the filter lets a key with this hash pass, or `None` if its page has not
    /// been checked yet.
    #[inline]
    fn filter_passes(self, hash: u64) -> Option<bool> {
        let (table, mapping) = (self.table, self.mapping);
        let Some((page, at)) = table.filter.place_of(hash) else {
            return Some(true);
        };
        if !table.pages.is_checked(page) {
            return None;
        }
        let at = page as usize * PAGE_BYTES + at;
        let line = mapping.get(at..at + LINE_BYTES)?;
        Some(table.filter.line_passes(line, hash))
    }

    /// Prefetches and returns the page that can hold `key`: the only one if the fence alone
    /// decides, the likeliest one if several pages share the key's head.
    #[inline]
    pub(crate) fn candidate_page(self, key: &[u8]) -> Option<CandidatePage<'t>> {
        let (table, meta) = (self.table, &self.table.meta);
        // These tables have units that are not single pages, or that are not found by their heads.
        if meta.numbered || !table.order.is_bytewise() {
            return None;
        }
        // A key without the table's prefix has an arbitrary head and leads to an arbitrary page;
        // the key sorts before or after all of that page's entries.
        let head = head_of(key, meta.prefix as usize, 8);
        let block = meta.blocks_up_to(head).checked_sub(1)?;
        let (fence_page, start) = meta.place_of_block(block);
        if !table.pages.is_checked(fence_page) {
            return None;
        }
        let first = block * BLOCK_HEADS;
        let count = (meta.units as usize).saturating_sub(first).min(BLOCK_HEADS);
        let fence = self.mapping.get(fence_page as usize * PAGE_BYTES..)?;
        let heads = fence::block_of(fence, start, count);
        let below = search::upper_bound(heads, 8, heads.len() / 8, head);
        let (heads, _) = heads.as_chunks::<8>();
        let head_at = |index: usize| heads.get(index).map(|head| u64::from_le_bytes(*head));
        let low = head_at(below.wrapping_sub(1))?;
        let number = low32(first + below - 1);
        if low == head {
            // The key may be in earlier pages, too.
            let alone = head_at(below.wrapping_sub(2)).is_some_and(|before| before != head);
            return if alone {
                self.candidate_at(number, 0, false)
            } else {
                self.candidate_in_tie(key, head, number + 1)
            };
        }
        let next = head_at(below).unwrap_or_default();
        self.candidate_at(number, share(low, head, next), true)
    }

    /// Returns the likeliest of the pages before `end` that share the head of `key`, by their tie
    /// heads.
    #[inline(never)]
    fn candidate_in_tie(self, key: &[u8], head: u64, end: u32) -> Option<CandidatePage<'t>> {
        if self.table.meta.tie_levels == 0 {
            return None;
        }
        let reader = PageReader::new(self.table);
        let start = Lookup::with(reader).units_below(head).ok()?;
        let place = TieSearch::new(&reader).position(start..end, key).ok()?;
        if place.same.end == start {
            return None;
        }
        self.candidate_at(place.same.end - 1, place.share, false)
    }

    /// Prefetches a page where a key is likely to be; returns it if it has been checked.
    #[inline]
    fn candidate_at(self, number: u32, share: u32, certain: bool) -> Option<CandidatePage<'t>> {
        let pages = &self.table.pages;
        let rest = self.mapping.get(number as usize * PAGE_BYTES..)?;
        let page = rest.first_chunk()?;
        pages.prefetch_likely(page, share);
        let candidate = CandidatePage {
            page,
            number,
            certain,
        };
        pages.is_checked(number).then_some(candidate)
    }

    /// Searches the candidate page of `key`, which the filter has let pass.
    #[inline]
    fn get_in(
        self,
        candidate: Option<CandidatePage<'t>>,
        key: &[u8],
        snapshot: SeqNo,
        value: &mut Vec<u8>,
    ) -> Result<FastGet<'t>> {
        let Some(candidate) = candidate else {
            return Ok(FastGet::Fallback);
        };
        let Some(columns) = PlainColumns::of(candidate.page) else {
            return Ok(FastGet::Page(candidate));
        };
        let (index, exact) = columns.search(candidate.page, key);
        if !exact || !candidate.is_newest(index) {
            return Ok(candidate.without(index, columns.count));
        }
        // This is the newest version of the key. If it is too new, an older one may follow.
        let mark = columns.mark(candidate.page, index);
        if mark.seq > snapshot {
            return Ok(FastGet::Page(candidate));
        }
        candidate.plain_value(self.table, &columns, index, value)?;
        let found = FoundVersion::new(mark.seq, mark.kind, false);
        Ok(FastGet::Answer(Some(found)))
    }
}

impl CandidatePage<'_> {
    /// Returns whether no earlier page can have newer versions of the key of the entry at `index`.
    #[inline]
    fn is_newest(&self, index: usize) -> bool {
        self.certain || index > 0
    }

    /// Returns the result if the page does not have the key: `index` of `count` is its first entry
    /// after it.
    #[inline]
    fn without<'t>(&self, index: usize, count: usize) -> FastGet<'t> {
        if self.certain || (index > 0 && index < count) {
            FastGet::Answer(None)
        } else {
            FastGet::Fallback
        }
    }

    /// Replaces the contents of `value` with the value of an entry of a plain page.
    #[inline]
    pub(crate) fn plain_value(
        &self,
        table: &Table,
        columns: &PlainColumns,
        index: usize,
        value: &mut Vec<u8>,
    ) -> Result<()> {
        let page = self.page;
        let (start, end, raw_len) = columns.value_of(page, index);
        let stored = page.get(start..end).unwrap_or_default();
        if stored.len() > LONG_VALUE_BYTES {
            // At most a part of a long value was prefetched. Decoding would wait for one line after
            // the other.
            let within = stored.as_ptr().addr() % LINE_BYTES;
            prefetch_span(stored.as_ptr().wrapping_sub(within), within + stored.len());
        }
        value.clear();
        if raw_len == stored.len() {
            value.extend_from_slice(stored);
            return Ok(());
        }
        let decoded = if columns.mode == ValueMode::Each as u8 {
            codec::decode(stored, raw_len, value)
        } else {
            let dictionary = &table.meta.dictionary;
            codec::decode_with(dictionary, page, start..end, raw_len, value)
        };
        let damage = || table.pages.damage(self.number, "value does not decode");
        decoded.ok_or_else(damage)
    }

    /// Searches the page, whatever its sort. Returns an answer, or reports that the page does not
    /// give one.
    #[inline(never)]
    fn search<'t>(
        &self,
        table: &'t Table,
        key: &[u8],
        snapshot: SeqNo,
        value: &mut Vec<u8>,
    ) -> Result<FastGet<'t>> {
        let bytes = self.page.as_slice();
        let layout = Layout::parse(bytes).map_err(|flaw| table.pages.flaw(self.number, flaw))?;
        let layout = &layout;
        let page = Page { bytes, layout };
        let place = page.search(key, snapshot, &table.order);
        if place.exact && self.is_newest(place.index) {
            let found = version_at(table, page, self.number, place.index, value)?;
            return Ok(FastGet::Answer(Some(found)));
        }
        Ok(self.without(place.index, page.count()))
    }
}
