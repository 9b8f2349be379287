//! Seek without a cursor: the nearest entry at or after a key, and the offset of a key in the file.
//!
//! A merging iterator over many tables needs one entry of each when it seeks. [`Table::approach`]
//! prefetches the page of each table, so that the misses overlap, and [`Approach::seek`] then reads
//! the entry, on the fast path of `get.rs` if the page is plain.

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Result, SEQ_MAX, SeqNo};

use crate::table::EntryMark;
use crate::table::page::layout::Layout;
use crate::table::page::plain::PlainColumns;
use crate::table::read::get::{CandidatePage, FastPath};
use crate::table::read::lookup::{EntryPosition, Lookup};
use crate::table::read::open::Table;
use crate::table::read::reader::{PageReader, Unit};
use crate::table::read::source::PageRef;

/// A seek in progress.
///
/// ```no_run
/// # fn nearest(tables: &[cairndb_format::table::Table], key: &[u8]) -> cairndb_base::Result<()> {
/// let begun: Vec<_> = tables.iter().map(|table| table.approach(key, true)).collect();
/// let (mut found, mut value) = (Vec::new(), Vec::new());
/// for approach in begun {
///     let mark = approach.seek(key, u64::MAX, &mut found, &mut value, |_| true)?;
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Approach<'t> {
    table: &'t Table,
    /// Candidate page of the seek, if the fast path finds one.
    candidate: Option<CandidatePage<'t>>,
}

impl Table {
    /// Begins a seek to `key`: prefetches the lines that it will read, so that the caller can do
    /// other work until they arrive. With `asks`, their page is requested if it may have to come
    /// from the disk: for a seek in several tables, which then wait together.
    #[inline]
    pub fn approach(&self, key: &[u8], asks: bool) -> Approach<'_> {
        let candidate = FastPath::of(self).and_then(|fast| fast.candidate_page(key));
        if asks && candidate.is_none() && self.pages.may_wait() {
            // An error is left to the seek.
            let _ = Lookup::new(self).request(key);
        }
        Approach {
            table: self,
            candidate,
        }
    }

    /// Returns the number of bytes in the file before the approximate position of `key`.
    ///
    /// # Errors
    /// The errors of reading the fence and, where the fence does not decide, tie heads, key pages
    /// or a data page.
    pub fn approximate_offset(&self, key: &[u8]) -> Result<u64> {
        let reader = PageReader::new(self);
        let lookup = Lookup::with(reader);
        let span = lookup.span_of(key)?;
        let end = lookup.narrow(&span, key)?.end;
        let page = if end == 0 {
            0
        } else if end >= self.meta.units {
            self.meta.data_pages
        } else {
            reader.number_of(end)?
        };
        Ok(u64::from(page) * PAGE_BYTES as u64)
    }
}

/// Number of units of a range whose entries are counted if there are more: their mean stands for
/// the rest. Units hold a similar number of bytes, so counts differ only as much as lengths of
/// entries.
const UNITS_SAMPLED: u32 = 64;

impl Table {
    /// Returns about how many entries have keys in `[from, to)`, where `None` is no bound. Exact if
    /// at most sixteen pages lie in between; otherwise as accurate as sixteen pages are typical.
    ///
    /// # Errors
    /// Same as [`Table::get`].
    pub fn estimate_entries(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<u64> {
        if from.is_none() && to.is_none() {
            return Ok(self.meta.summary.entries);
        }
        let reader = PageReader::new(self);
        let lookup = Lookup::with(reader);
        let place_of = |key: Option<&[u8]>, otherwise: u32| -> Result<(u32, usize)> {
            let Some(key) = key else {
                return Ok((otherwise, 0));
            };
            let found = lookup.find(lookup.span_of(key)?, key, SEQ_MAX)?;
            let found = found.map(|position| (position.unit.number, position.index));
            Ok(found.unwrap_or((self.meta.units, 0)))
        };
        let (start, end) = (place_of(from, 0)?, place_of(to, self.meta.units)?);
        if start >= end {
            return Ok(0);
        }
        let before = |place: (u32, usize)| (place.1 as u64, u64::from(place.0));
        let ((skipped, first), (part, last)) = (before(start), before(end));
        let count = last - first;
        let sampled = count.min(u64::from(UNITS_SAMPLED));
        let mut counted = 0;
        for index in 0..sampled {
            // The unit in the middle of each of `sampled` equal parts.
            let unit = first + (2 * index + 1) * count / (2 * sampled);
            let unit = u32::try_from(unit).unwrap_or(self.meta.units);
            counted += reader.unit(unit)?.layout.count() as u64;
        }
        let whole = counted.saturating_mul(count).checked_div(sampled);
        let whole = whole.unwrap_or(0);
        Ok((whole + part).saturating_sub(skipped))
    }
}

impl Approach<'_> {
    /// Returns the first entry at or after (`key`, `snapshot`), versions of a key ordered newest
    /// first; `None` after the last entry. `key` must be the one given to [`Table::approach`]. The
    /// entry's key replaces the contents of `found`. Its value replaces the contents of `value` if
    /// `wants` returns `true` for the key.
    ///
    /// Costs as much as [`Table::get`], a third less without the value. A cursor, which keeps the
    /// page, costs twice as much.
    ///
    /// # Errors
    /// Same as [`Table::get`].
    pub fn seek(
        self,
        key: &[u8],
        snapshot: SeqNo,
        found: &mut Vec<u8>,
        value: &mut Vec<u8>,
        wants: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<EntryMark>> {
        let table = self.table;
        if let Some(candidate) = self.candidate
            && let Some((columns, index)) = PlainColumns::seek(candidate.page, key, snapshot, found)
        {
            if wants(found) {
                candidate.plain_value(table, &columns, index, value)?;
            }
            return Ok(Some(columns.mark(candidate.page, index)));
        }
        let mut position = None;
        if let Some(candidate) = self.candidate {
            position = find_in_page(table, candidate, key, snapshot)?;
        }
        if position.is_none() {
            let lookup = Lookup::new(table);
            position = lookup.find(lookup.approach(key, false)?, key, snapshot)?;
        }
        let Some(EntryPosition { unit, index }) = position else {
            return Ok(None);
        };
        let page = unit.view();
        found.clear();
        page.key_into(index, found);
        if wants(found) {
            value.clear();
            page.values()
                .value_into(index, &table.meta.dictionary, value)
                .map_err(|flaw| table.pages.flaw(unit.page, flaw))?;
        }
        Ok(Some(page.mark(index)))
    }
}

/// Returns the first entry at or after (`key`, `snapshot`) in a candidate page of any sort, or
/// `None` if it does not lie between two entries of the page.
fn find_in_page<'t>(
    table: &Table,
    candidate: CandidatePage<'t>,
    key: &[u8],
    snapshot: SeqNo,
) -> Result<Option<EntryPosition<'t>>> {
    let layout = Layout::parse(candidate.page);
    let unit = Unit {
        bytes: PageRef::Mapped(candidate.page),
        layout: layout.map_err(|flaw| table.pages.flaw(candidate.number, flaw))?,
        number: candidate.number,
        page: candidate.number,
    };
    let index = unit.view().search(key, snapshot, &table.order).index;
    let between = 0 < index && index < unit.layout.count();
    Ok(between.then_some(EntryPosition { unit, index }))
}
