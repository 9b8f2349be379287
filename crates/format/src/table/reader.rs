//! What a caller asks of an open table: gets, and where keys lie in the file.

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Result, SeqNo};

use super::EntryMark;
use super::lookup::{Lookup, Place};
use super::open::{Found, GetHints, Table};
use super::spot::{Spot, Straight};
use super::straight::Columns;

impl Table {
    /// Bytes of the file up to about where `key` would stand.
    ///
    /// # Errors
    /// Those of reading the fence, and what tells units apart where it does not: perhaps a data page.
    pub fn approximate_offset(&self, key: &[u8]) -> Result<u64> {
        let lookup = Lookup::new(self);
        let span = lookup.span_of(key)?;
        let end = lookup.narrow(&span, key)?.end;
        let page = if end == 0 {
            0
        } else if end >= self.meta.units {
            self.meta.data_pages
        } else {
            lookup.number_of(end)?
        };
        Ok(u64::from(page) * PAGE_BYTES as u64)
    }

    /// Requests the line of the filter that a get reads first, so that a get from several tables can
    /// overlap their loads.
    #[inline]
    pub fn request_filter(&self, hash: u64) {
        Lookup::new(self).request_filter(hash);
    }

    /// Requests the lines that a get of `key` will wait for, if the filter, which is asked here, lets it pass; whether it
    /// does. So that gets of several keys can overlap their loads: for each [`Table::request_filter`], for each this,
    /// then the gets. `false` also of tables and pages that are not read in place.
    #[inline]
    pub fn request_page(&self, key: &[u8], hash: u64) -> bool {
        let mapping = self.pages.mapping();
        mapping.is_some_and(|mapping| self.request_straight(mapping, key, hash))
    }

    /// Begins a seek to `key`: requests the lines that it will wait for, so that the caller has something else to do until
    /// they are there. Requests nothing of tables and pages that are not read in place.
    #[inline]
    pub fn approach(&self, key: &[u8]) -> Approach<'_> {
        let mapping = self.pages.mapping();
        let spot = mapping.and_then(|mapping| self.spot(mapping, key));
        Approach { table: self, spot }
    }

    /// Checks the pages of a mapped table that every read begins with, filter and fence, so that no
    /// reader has to. About 2 % of the table, 4 at most.
    ///
    /// # Errors
    /// `Corruption` when one is damaged.
    pub fn check_index(&self) -> Result<()> {
        if self.is_mapped() {
            Lookup::new(self).check_index()?;
        }
        Ok(())
    }

    /// Checks every page of a mapped table, as its first reader would: 0.2 us each, while they are in a near cache.
    ///
    /// # Errors
    /// `Corruption` when one is damaged.
    pub fn check_pages(&self) -> Result<()> {
        if !self.is_mapped() {
            return Ok(());
        }
        self.check_index()?;
        let lookup = Lookup::new(self);
        (0..self.meta.units).try_for_each(|unit| lookup.unit(unit).map(drop))
    }

    /// The newest version of `key` that `snapshot` sees. `hash` is `hash64(key)`.
    ///
    /// Its value replaces what `value` holds; where there is none, `value` may hold anything afterwards.
    ///
    /// # Errors
    /// `Corruption` when a page on the way is damaged; the errors of the file.
    #[inline]
    pub fn get(
        &self,
        key: &[u8],
        hash: u64,
        snapshot: SeqNo,
        hints: GetHints,
        value: &mut Vec<u8>,
    ) -> Result<Option<Found>> {
        if let Some(mapping) = self.pages.mapping() {
            let asked = (!hints.skip_filter).then_some(hash);
            match self.straight_get(mapping, key, asked, snapshot, value)? {
                Straight::Answer(found) => return Ok(found),
                Straight::Page(spot) => {
                    let lookup = Lookup::new(self);
                    if let Straight::Answer(found) = lookup.get_in(spot, key, snapshot, value)? {
                        return Ok(found);
                    }
                }
                Straight::Unknown => {}
            }
        }
        self.get_any_way(key, hash, snapshot, hints, value)
    }

    /// As [`Table::get`], where the straight way does not lead to an answer.
    #[inline(never)]
    fn get_any_way(
        &self,
        key: &[u8],
        hash: u64,
        snapshot: SeqNo,
        hints: GetHints,
        value: &mut Vec<u8>,
    ) -> Result<Option<Found>> {
        let lookup = Lookup::new(self);
        if !hints.skip_filter && !lookup.may_hold(hash)? {
            return Ok(None);
        }
        lookup.get(key, snapshot, value)
    }
}

/// A seek that has been begun.
///
/// ```no_run
/// # fn nearest(tables: &[cairndb_format::table::Table], key: &[u8]) -> cairndb_base::Result<()> {
/// let begun: Vec<_> = tables.iter().map(|table| table.approach(key)).collect();
/// let (mut found, mut value) = (Vec::new(), Vec::new());
/// for approach in begun {
///     let mark = approach.seek(key, u64::MAX, &mut found, &mut value, |_| true)?;
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Approach<'t> {
    table: &'t Table,
    /// The page it leads to, if the straight way is known.
    spot: Option<Spot<'t>>,
}

impl Approach<'_> {
    /// The first entry not before (`key`, `snapshot`), versions of a key standing newest first; `None` behind
    /// the last. `key` is that of the approach. The entry's key replaces what `found` holds, and its value what `value` does, if
    /// `wants` says so of the key.
    ///
    /// Costs what [`Table::get`] does, without the value a third less; a cursor, which keeps the page, twice that.
    ///
    /// # Errors
    /// As [`Table::get`].
    pub fn seek(
        self,
        key: &[u8],
        snapshot: SeqNo,
        found: &mut Vec<u8>,
        value: &mut Vec<u8>,
        wants: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<EntryMark>> {
        let table = self.table;
        let lookup = Lookup::new(table);
        if let Some(spot) = self.spot
            && let Some((columns, index)) = Columns::sought(&spot, key, snapshot, found)
        {
            if wants(found) {
                table.straight_value(&spot, &columns, index, value)?;
            }
            return Ok(Some(columns.mark(spot.page, index)));
        }
        let mut place = None;
        if let Some(spot) = self.spot {
            place = lookup.place_in(spot, key, snapshot)?;
        }
        if place.is_none() {
            place = lookup.find(lookup.approach(key)?, key, snapshot)?;
        }
        let Some(Place { unit, index }) = place else {
            return Ok(None);
        };
        let page = unit.view();
        found.clear();
        page.key_into(index, found);
        if wants(found) {
            value.clear();
            page.value_into(index, &table.meta.dictionary, value)
                .map_err(|flaw| table.pages.flaw(unit.page, flaw))?;
        }
        Ok(Some(page.mark(index)))
    }
}
