//! Verification: reads a whole table and checks that its parts agree.
//!
//! Pages are read from the file, bypassing mapping and cache, so the check sees what the medium
//! holds now. Beyond checksums it checks the order of all entries, fence heads, filter lines, and
//! the counts of the meta block.

use cairndb_base::{Kind, Result, SeqNo, hash64};

use crate::table::index::filter::{LINE_BYTES, fold, line_may_hold};
use crate::table::page::Page;
use crate::table::page::extent::pages_of;
use crate::table::page::layout::{Layout, flag};
use crate::table::read::open::Table;

/// Sums over the entries.
#[derive(Debug)]
struct Totals {
    entries: u64,
    deletes: u64,
    raw_bytes: u64,
    seq_min: SeqNo,
    seq_max: SeqNo,
    key: Vec<u8>,
    last: Option<(Vec<u8>, SeqNo)>,
    value: Vec<u8>,
    values: Vec<u8>,
    ends: Vec<u32>,
}

impl Table {
    /// Reads every page and checks it against its checksum and against the others.
    ///
    /// # Errors
    /// `Corruption` naming the first page found wrong; the errors of the file.
    pub fn verify(&self) -> Result<()> {
        let index = self.verify_index()?;
        let filter = self.verify_filter()?;
        let mut totals = Totals {
            entries: 0,
            deletes: 0,
            raw_bytes: 0,
            seq_min: SeqNo::MAX,
            seq_max: 0,
            key: Vec::new(),
            last: None,
            value: Vec::new(),
            values: Vec::new(),
            ends: Vec::new(),
        };
        let (mut page, mut before) = (0, Vec::new());
        for (unit, fence) in index.fences.iter().enumerate() {
            if fence.page != page {
                return Err(self.pages.damage(page, "data page is missing in the fence"));
            }
            let first = self.pages.read_unchecked(page, 1)?;
            let pages = self.bounded_pages(page, &first)?;
            let bytes = self.pages.read_unchecked(page, pages)?;
            self.pages.check(page, &bytes, |bytes| {
                Layout::parse(bytes)?.validate(bytes, &self.order)
            })?;
            let layout = Layout::parse(&bytes).map_err(|flaw| self.pages.flaw(page, flaw))?;
            let view = Page {
                bytes: &bytes,
                layout: &layout,
            };
            self.verify_page(&view, page, &mut totals, &filter)?;
            let mut first = Vec::new();
            view.key_into(0, &mut first);
            self.verify_unit(&index, unit, &first, &before)?;
            before = first;
            page += pages;
        }
        self.verify_totals(page, &totals)
    }

    fn bounded_pages(&self, page: u32, first: &[u8]) -> Result<u32> {
        match u32::try_from(pages_of(first)) {
            Ok(pages) if pages <= self.meta.data_pages - page.min(self.meta.data_pages) => {
                Ok(pages)
            }
            _ => Err(self
                .pages
                .damage(page, "extent reaches past the data pages")),
        }
    }

    /// The filter pages, concatenated.
    fn verify_filter(&self) -> Result<Vec<u8>> {
        let first = self.meta.data_pages;
        let mut filter = Vec::new();
        for number in first..first + self.meta.filter_pages() {
            let bytes = self.pages.read_unchecked(number, 1)?;
            self.pages
                .check(number, &bytes, |bytes| self.validate_filter(bytes, number))?;
            filter.extend_from_slice(&bytes);
        }
        Ok(filter)
    }

    fn verify_page(
        &self,
        view: &Page<'_, '_>,
        page: u32,
        totals: &mut Totals,
        filter: &[u8],
    ) -> Result<()> {
        let damage = |message| Err(self.pages.damage(page, message));
        totals.values.clear();
        totals.ends.clear();
        let all = 0..view.count();
        let (dictionary, values, ends) =
            (&self.meta.dictionary, &mut totals.values, &mut totals.ends);
        view.values()
            .several_into(&all, dictionary, values, ends)
            .map_err(|flaw| self.pages.flaw(page, flaw))?;
        for index in 0..view.count() {
            totals.key.clear();
            view.key_into(index, &mut totals.key);
            let mark = view.mark(index);
            let mut same_key = false;
            if let Some((key, seq)) = &totals.last {
                let order = self.order.compare(key, &totals.key);
                same_key = order.is_eq();
                if order.is_gt() || (same_key && mark.seq >= *seq) {
                    return damage("entries are out of order");
                }
            } else if totals.key != self.smallest() {
                return damage("first key is not the one in the meta block");
            }
            if index == 0 && same_key != view.layout.has(flag::CONTINUED) {
                return damage("page's continuation flag is wrong");
            }
            if !self.passes(filter, &totals.key) {
                return damage("filter lacks a key");
            }
            totals.value.clear();
            view.values()
                .value_into(index, &self.meta.dictionary, &mut totals.value)
                .map_err(|flaw| self.pages.flaw(page, flaw))?;
            totals.add(mark.seq, mark.kind);
        }
        Ok(())
    }

    fn passes(&self, filter: &[u8], key: &[u8]) -> bool {
        let hash = hash64(key);
        let Some((page, at)) = self.filter_place(hash) else {
            return true;
        };
        let page = (page - self.meta.data_pages) as usize;
        let at = page * cairndb_base::limits::PAGE_BYTES + at;
        let line = filter.get(at..at + LINE_BYTES).unwrap_or_default();
        line_may_hold(line, fold(hash), self.meta.filter_probes)
    }

    fn verify_totals(&self, pages: u32, totals: &Totals) -> Result<()> {
        let summary = self.summary();
        let largest = totals.last.as_ref().map(|(key, _)| &key[..]);
        let meta_at = self.meta.block_at();
        if pages != self.meta.data_pages
            || totals.entries != summary.entries
            || totals.deletes != summary.deletes
            || totals.raw_bytes != summary.raw_bytes
            || totals.seq_min != summary.seq_min
            || totals.seq_max != summary.seq_max
            || largest != Some(self.largest())
        {
            return Err(self
                .pages
                .damage(meta_at, "meta block disagrees with the entries"));
        }
        Ok(())
    }
}

impl Totals {
    /// Counts the entry whose key and value are in the buffers.
    fn add(&mut self, seq: SeqNo, kind: Kind) {
        self.entries += 1;
        self.deletes += u64::from(kind == Kind::Delete);
        self.raw_bytes += (self.key.len() + self.value.len()) as u64;
        self.seq_min = self.seq_min.min(seq);
        self.seq_max = self.seq_max.max(seq);
        let mut last = self.last.take().unwrap_or_default();
        last.0.clear();
        last.0.extend_from_slice(&self.key);
        self.last = Some((last.0, seq));
    }
}
