//! Search in the [key pages](crate::table::index::key_pages) of a table whose order is not
//! bytewise.
//!
//! Invariant: with intact key pages, [`KeySearch::units_of`] returns exactly the units that begin
//! with the key. With damaged ones it returns some units of the table.

use std::cmp::Ordering;
use std::ops::Range;

use cairndb_base::Result;

use crate::table::index::key_pages::KeyPage;
use crate::table::page::bits::low32;
use crate::table::read::reader::PageReader;

/// A search in the key pages of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeySearch<'r, 't> {
    reader: &'r PageReader<'t>,
}

impl<'r, 't> KeySearch<'r, 't> {
    pub(crate) fn new(reader: &'r PageReader<'t>) -> KeySearch<'r, 't> {
        KeySearch { reader }
    }

    /// Returns the units that begin with `key`. If there are none, returns an empty range after the
    /// units that begin with a smaller key.
    pub(crate) fn units_of(self, key: &[u8]) -> Result<Range<u32>> {
        let mut some_begin_with_it = false;
        let below = self.units_until(|page, slot| {
            let order = self.compare_first(page, slot, key)?;
            some_begin_with_it |= order.is_eq();
            Ok(order.is_lt())
        })?;
        if !some_begin_with_it {
            return Ok(below..below);
        }
        let end = self.units_until(|page, slot| {
            let order = self.compare_first(page, slot, key)?;
            Ok(order.is_le())
        })?;
        Ok(below..end.max(below))
    }

    /// Compares the first key of a listed unit with `key`.
    fn compare_first(self, page: KeyPage<'_>, slot: usize, key: &[u8]) -> Result<Ordering> {
        let order = &self.reader.table().order;
        if let Some(first) = page.key(slot) {
            return Ok(order.compare(first, key));
        }
        let unit = self.reader.unit(page.first() + low32(slot))?;
        Ok(unit.view().compare_key(0, key, order))
    }

    /// Returns the number of leading units for which `is_before` is true. It must not be true again
    /// after a unit for which it is false.
    fn units_until(
        self,
        mut is_before: impl FnMut(KeyPage<'_>, usize) -> Result<bool>,
    ) -> Result<u32> {
        let (mut low, mut high) = (0, self.reader.table().meta.key_pages);
        while low < high {
            let middle = low + (high - low) / 2;
            let bytes = self.reader.key_page(middle)?;
            if is_before(KeyPage { bytes: &bytes }, 0)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some(last) = low.checked_sub(1) else {
            return Ok(0);
        };
        let bytes = self.reader.key_page(last)?;
        let page = KeyPage { bytes: &bytes };
        let (mut low, mut high) = (1, page.count());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(page, middle)? {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(page.first() + low32(low))
    }
}
