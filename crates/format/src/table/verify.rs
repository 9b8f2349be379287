//! Reads a whole table and compares everything with everything.
//!
//! Pages are read from the file, past mapping and cache, so what is checked is what the medium
//! holds now. Beyond checksums: order of all entries, fence heads, filter lines, and the counts of
//! the meta block.

use cairndb_base::{Kind, Result, SeqNo, hash64};

use super::bits::low32;
use super::extent::pages_of;
use super::fence;
use super::filter::{LINE_BYTES, fold, line_may_hold};
use super::layout::{Layout, flag};
use super::open::Table;
use super::page::Page;
use super::tie_heads;

/// What the entries add up to.
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
        let fences = self.verify_fence()?;
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
        let ties = self.verify_ties()?;
        let (mut page, mut before) = (0, Vec::new());
        for (unit, (head, number)) in fences.iter().enumerate() {
            if *number != page {
                return Err(self.pages.damage(page, "data page is in no fence"));
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
            self.verify_head(&first, page, *head, unit)?;
            let alike = |other: Option<usize>| {
                let other = other.and_then(|other| fences.get(other));
                other.is_some_and(|(other, _)| other == head)
            };
            let neighbours = (alike(unit.checked_sub(1)), alike(unit.checked_add(1)));
            if !self.ties_are_right(&ties, unit, neighbours, &first, &before) {
                return Err(self
                    .pages
                    .damage(page, "tie head is not that of the page")
                    .found(format_args!("unit {unit}")));
            }
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

    /// Heads and page numbers of all units.
    fn verify_fence(&self) -> Result<Vec<(u64, u32)>> {
        let mut fences = Vec::with_capacity(self.meta.units as usize);
        for index in 0..self.meta.fence_pages() {
            let number = self.meta.fence_at() + index;
            let bytes = self.pages.read_unchecked(number, 1)?;
            let place = self.fence_place(index);
            self.pages
                .check(number, &bytes, |bytes| fence::validate(bytes, &place))?;
            for slot in 0..place.count {
                let page = if place.numbered {
                    fence::number_at(&bytes, slot)
                } else {
                    low32(fences.len())
                };
                fences.push((fence::head_at(&bytes, slot), page));
            }
        }
        let (tops, _) = self.meta.top.as_chunks::<8>();
        let heads = fences.iter().step_by(fence::BLOCK_HEADS);
        if tops.len() != heads.len()
            || tops
                .iter()
                .zip(heads)
                .any(|(top, (head, _))| u64::from_le_bytes(*top) != *head)
        {
            let meta_at = self.meta.block_at();
            return Err(self
                .pages
                .damage(meta_at, "meta block disagrees with the fence"));
        }
        Ok(fences)
    }

    /// The filter pages, one behind the other.
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
        view.several_into(&all, dictionary, values, ends)
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
                return damage("page does not continue as it says");
            }
            if !self.passes(filter, &totals.key) {
                return damage("filter has lost a key");
            }
            totals.value.clear();
            view.value_into(index, &self.meta.dictionary, &mut totals.value)
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

    fn verify_head(&self, key: &[u8], page: u32, head: u64, unit: usize) -> Result<()> {
        match self.suffix_of(key) {
            Ok(suffix) if self.head_of(suffix, key) == head => Ok(()),
            _ => Err(self
                .pages
                .damage(page, "fence head is not that of the page")
                .found(format_args!("unit {unit}"))),
        }
    }

    /// Whether the tie heads of a unit that begins with `key`, and the one before it with `before`, are right. `neighbours` says
    /// whether it has the head of the unit before it, and of that behind it.
    fn ties_are_right(
        &self,
        levels: &[Vec<u64>],
        unit: usize,
        neighbours: (bool, bool),
        key: &[u8],
        before: &[u8],
    ) -> bool {
        let (mut with_before, mut with_after) = neighbours;
        let mut at = self.meta.head_end();
        for level in levels {
            let tie = level[unit];
            let of_before = with_before.then(|| level[unit - 1]);
            let of_after = with_after.then(|| level[unit + 1]);
            let alike = tie_heads::alike(tie);
            let told = tie != tie_heads::UNTOLD;
            let right = if !with_before && !with_after {
                tie == 0
            } else if told {
                let common = at + alike;
                let has_common = |key: &[u8]| alike == 0 || key.len() >= common;
                tie == tie_heads::tie_head(key, at, alike)
                    && has_common(key)
                    && of_before.is_none_or(|other| {
                        tie_heads::alike(other) == alike
                            && (alike == 0 || before.get(..common) == key.get(..common))
                    })
            } else {
                of_before.is_none_or(|other| other == tie)
            };
            if !right {
                return false;
            }
            with_before = told && of_before == Some(tie);
            with_after = told && of_after == Some(tie);
            at = tie_heads::end_of(at, alike);
        }
        true
    }

    /// Tie heads of all units, level by level.
    fn verify_ties(&self) -> Result<Vec<Vec<u64>>> {
        let units = self.meta.units;
        let mut levels = Vec::new();
        for level in 0..self.meta.tie_levels {
            let mut ties = Vec::new();
            for index in 0..tie_heads::pages_of_level(units) {
                let number = self.meta.ties_at(level) + index;
                let bytes = self.pages.read_unchecked(number, 1)?;
                self.pages.check(number, &bytes, |bytes| {
                    tie_heads::validate(bytes, level, index, units)
                })?;
                let slots = 0..tie_heads::units_of(index, units).len();
                ties.extend(slots.map(|slot| fence::head_at(&bytes, slot)));
            }
            levels.push(ties);
        }
        Ok(levels)
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
