//! Verification: reads a whole table and checks that its parts agree.
//!
//! Pages are read from the file, bypassing mapping and cache, so the check sees what the medium
//! holds now. Beyond checksums it checks the order of all entries, fence heads, filter lines, and
//! the counts of the meta block.

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Kind, Result, SeqNo, hash64, watch};

use crate::table::EntryMark;
use crate::table::index::filter::LINE_BYTES;
use crate::table::page::Page;
use crate::table::page::extent::pages_of;
use crate::table::page::layout::{Layout, flag};
use crate::table::read::open::Table;
use crate::table::read::verify_index::WholeIndex;

/// Verification of one table: what was read of its index, and what its data pages hold so far.
#[derive(Debug)]
struct Verification<'t> {
    table: &'t Table,
    index: WholeIndex,
    /// The filter pages, concatenated.
    filter: Vec<u8>,
    totals: Totals,
}

/// Sums over the entries, and the last of them.
#[derive(Debug)]
struct Totals {
    entries: u64,
    deletes: u64,
    raw_bytes: u64,
    seq_min: SeqNo,
    seq_max: SeqNo,
    last: Option<(Vec<u8>, SeqNo)>,
}

/// Decoded keys and values of a page.
#[derive(Debug, Default)]
struct Buffers {
    key: Vec<u8>,
    value: Vec<u8>,
    values: Vec<u8>,
    ends: Vec<u32>,
}

impl Table {
    /// Reads every page and checks it against its checksum and against the others.
    ///
    /// # Errors
    /// `Corruption` naming the first page found to be corrupt; the errors of the file.
    pub fn verify(&self) -> Result<()> {
        let mut verification = Verification {
            table: self,
            index: WholeIndex::read(self)?,
            filter: read_filter(self)?,
            totals: Totals::default(),
        };
        let data_pages = verification.check_units()?;
        verification.check_totals(data_pages)
    }
}

/// Returns the filter pages of a table, concatenated.
fn read_filter(table: &Table) -> Result<Vec<u8>> {
    let mut filter = Vec::new();
    for number in table.meta.data_pages..table.meta.fence_at() {
        let bytes = table.pages.read_unchecked(number, 1)?;
        table.pages.check(number, &bytes, |bytes| {
            table.meta.validate_filter(bytes, number)
        })?;
        filter.extend_from_slice(&bytes);
    }
    Ok(filter)
}

impl Verification<'_> {
    /// Checks all data pages and extents. Returns the number of pages that they take.
    fn check_units(&mut self) -> Result<u32> {
        let table = self.table;
        let mut buffers = Buffers::default();
        let (mut page, mut before) = (0, Vec::new());
        for unit in 0..self.index.units() {
            if self.index.page_of(unit) != page {
                let message = "data page is missing in the fence";
                return Err(table.pages.damage(page, message));
            }
            let first = table.pages.read_unchecked(page, 1)?;
            let pages = self.bounded_pages(page, &first)?;
            let bytes = table.pages.read_unchecked(page, pages)?;
            watch::advance(bytes.len() as u64)?;
            table.pages.check(page, &bytes, |bytes| {
                Layout::parse(bytes)?.validate(bytes, &table.order)
            })?;
            let layout = Layout::parse(&bytes).map_err(|flaw| table.pages.flaw(page, flaw))?;
            let view = Page {
                bytes: &bytes,
                layout: &layout,
            };
            self.check_entries(&view, page, &mut buffers)?;
            let mut first = Vec::new();
            view.key_into(0, &mut first);
            self.index.check_unit(table, unit, &first, &before)?;
            before = first;
            page += pages;
        }
        Ok(page)
    }

    fn bounded_pages(&self, page: u32, first: &[u8]) -> Result<u32> {
        let data_pages = self.table.meta.data_pages;
        match u32::try_from(pages_of(first)) {
            Ok(pages) if pages <= data_pages - page.min(data_pages) => Ok(pages),
            _ => {
                let message = "extent reaches past the data pages";
                Err(self.table.pages.damage(page, message))
            }
        }
    }

    /// Checks the entries of a unit, which begins at `page`, against those before it and against
    /// the filter.
    fn check_entries(
        &mut self,
        view: &Page<'_, '_>,
        page: u32,
        buffers: &mut Buffers,
    ) -> Result<()> {
        let table = self.table;
        let (values, dictionary) = (view.values(), &table.meta.dictionary);
        let damage = |message| Err(table.pages.damage(page, message));
        let flaw = |flaw| table.pages.flaw(page, flaw);
        buffers.values.clear();
        buffers.ends.clear();
        let all = 0..view.count();
        values
            .several_into(&all, dictionary, &mut buffers.values, &mut buffers.ends)
            .map_err(flaw)?;
        for index in all {
            buffers.key.clear();
            view.key_into(index, &mut buffers.key);
            let mark = view.mark(index);
            let (mut same_key, mut unknown) = (false, false);
            if let Some((key, seq)) = &self.totals.last {
                let order = table.order.compare(key, &buffers.key);
                same_key = order.is_eq();
                unknown = same_key && table.may_have_unknown() && *key != buffers.key;
                if order.is_gt() || (same_key && !unknown && mark.seq >= *seq) {
                    return damage("entries are out of order");
                }
            } else if !self.begins_with(&buffers.key) {
                return damage("first key is not the one in the meta block");
            }
            if index == 0 && !unknown && same_key != view.layout.has(flag::CONTINUED) {
                return damage("page's continuation flag is wrong");
            }
            if !self.passes(&buffers.key) {
                return damage("filter lacks a key");
            }
            buffers.value.clear();
            values
                .value_into(index, dictionary, &mut buffers.value)
                .map_err(flaw)?;
            let raw_bytes = buffers.key.len() + buffers.value.len();
            self.totals.add(&buffers.key, mark, raw_bytes);
        }
        Ok(())
    }

    /// Returns whether the filter that was read lets a key pass.
    fn passes(&self, key: &[u8]) -> bool {
        let (filter, hash) = (&self.table.filter, hash64(key));
        let Some((page, at)) = filter.place_of(hash) else {
            return true;
        };
        let page = (page - self.table.meta.data_pages) as usize;
        let at = page * PAGE_BYTES + at;
        let line = self.filter.get(at..at + LINE_BYTES).unwrap_or_default();
        filter.line_passes(line, hash)
    }

    /// Returns whether the table may begin with `key` according to its bounds.
    fn begins_with(&self, key: &[u8]) -> bool {
        let table = self.table;
        let loose = table.summary().loose_bounds;
        key == table.smallest() || (loose && table.order.compare(table.smallest(), key).is_lt())
    }

    /// Returns whether the table may end with `key` according to its bounds.
    fn ends_with(&self, key: &[u8]) -> bool {
        let table = self.table;
        let loose = table.summary().loose_bounds;
        key == table.largest() || (loose && table.order.compare(key, table.largest()).is_lt())
    }

    fn check_totals(&self, data_pages: u32) -> Result<()> {
        let (table, totals) = (self.table, &self.totals);
        let summary = table.summary();
        let largest = totals.last.as_ref().map(|(key, _)| &key[..]);
        if data_pages != table.meta.data_pages
            || totals.entries != summary.entries
            || totals.deletes != summary.deletes
            || totals.raw_bytes != summary.raw_bytes
            || totals.seq_min != summary.seq_min
            || totals.seq_max != summary.seq_max
            || !largest.is_some_and(|last| self.ends_with(last))
        {
            let message = "meta block disagrees with the entries";
            return Err(table.pages.damage(table.meta.block_at(), message));
        }
        Ok(())
    }
}

impl Default for Totals {
    fn default() -> Self {
        Totals {
            entries: 0,
            deletes: 0,
            raw_bytes: 0,
            seq_min: SeqNo::MAX,
            seq_max: 0,
            last: None,
        }
    }
}

impl Totals {
    /// Counts an entry, whose key and value have `raw_bytes`.
    fn add(&mut self, key: &[u8], mark: EntryMark, raw_bytes: usize) {
        self.entries += 1;
        self.deletes += u64::from(mark.kind == Kind::Delete);
        self.raw_bytes += raw_bytes as u64;
        self.seq_min = self.seq_min.min(mark.seq);
        self.seq_max = self.seq_max.max(mark.seq);
        let (mut last, _) = self.last.take().unwrap_or_default();
        last.clear();
        last.extend_from_slice(key);
        self.last = Some((last, mark.seq));
    }
}
