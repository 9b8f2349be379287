//! Checks the pages of a mapped table before they are read, so that no reader has to.

use cairndb_base::Result;

use crate::table::index::tie_build;
use crate::table::read::lookup::Lookup;
use crate::table::read::open::Table;

impl Table {
    /// Checks the pages of a mapped table that every read begins with, filter and fence: about 2 %
    /// of the table, at most 4 %.
    ///
    /// # Errors
    /// `Corruption` if one is damaged.
    pub fn check_index(&self) -> Result<()> {
        if self.is_mapped() {
            Lookup::new(self).check_index()?;
        }
        Ok(())
    }

    /// Checks every page of a mapped table, as its first reader would. Cheap while the pages are in
    /// a near cache.
    ///
    /// # Errors
    /// `Corruption` if one is damaged.
    pub fn check_pages(&self) -> Result<()> {
        if !self.is_mapped() {
            return Ok(());
        }
        self.check_index()?;
        let lookup = Lookup::new(self);
        (0..self.meta.units).try_for_each(|unit| lookup.unit(unit).map(drop))
    }
}

impl Lookup<'_> {
    /// Fetches every page of filter, fence, tie heads and first keys.
    fn check_index(&self) -> Result<()> {
        let meta = &self.table.meta;
        for page in meta.data_pages..meta.fence_at() {
            self.filter_page(page)?;
        }
        (0..meta.fence_pages()).try_for_each(|index| self.fence_page(index).map(drop))?;
        (0..meta.tie_levels).try_for_each(|level| {
            let pages = 0..tie_build::pages_of_level(meta.units);
            pages
                .into_iter()
                .try_for_each(|index| self.ties_page(level, index).map(drop))
        })?;
        (0..meta.key_pages).try_for_each(|index| self.key_page(index).map(drop))
    }
}
