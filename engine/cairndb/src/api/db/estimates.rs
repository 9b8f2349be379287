//! Estimates of a range: bytes on disk and keys, from the indexes of tables.

use std::ops::Bound;

use cairndb_base::Result;

use crate::api::db::Db;
use crate::api::keyspace::Keyspace;
use crate::api::range::KeyRange;
use crate::state::sections::Section;

/// Returns both ends of a range, without the difference whether they belong to it.
fn ends(range: &impl KeyRange) -> (Option<&[u8]>, Option<&[u8]>) {
    let key = |bound| match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    };
    let (from, to) = range.key_bounds();
    (key(from), key(to))
}

impl Db {
    /// Returns the approximate number of bytes on disk of the keys in `range`: accurate to about a
    /// page in tables, plus a share of the large values. Memtables are not counted.
    ///
    /// # Errors
    /// `Corruption`, `Io`, `Closed`; those of [`Db::refresh`] if the handle follows.
    pub fn approximate_size(&self, range: impl KeyRange) -> Result<u64> {
        let core = self.core();
        let size = core.before_read(None).and_then(|()| {
            let properties = core.properties();
            properties.approximate_size(Section::Default, ends(&range))
        });
        core.base.context.with_directory(size)
    }

    /// Returns about how many keys are in `range`, without a scan.
    ///
    /// After a compaction the result is usually within a few per cent: what is between the first
    /// and the last page of a table is estimated from 64 pages. Before it, a key that was written
    /// several times may be counted more than once, and of many keys in memory the number is
    /// estimated as if they were evenly distributed; with a custom comparator all keys of the
    /// memtable are counted then. Costs two lookups and at most 64 page reads for each table at an
    /// end of the range.
    ///
    /// # Errors
    /// `Corruption`, with file and offset; `Io`; `Closed`; those of [`Db::refresh`] if the handle
    /// follows.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// for n in 0..1000_u32 {
    ///     db.put(format!("user/{n:04}").as_bytes(), b"")?;
    /// }
    /// assert_eq!(db.estimate_count("user/0200".."user/0300")?, 100);
    /// assert_eq!(db.estimate_count(..)?, 1000);
    /// # Ok(()) }
    /// ```
    pub fn estimate_count(&self, range: impl KeyRange) -> Result<u64> {
        let core = self.core();
        let estimate = core.before_read(None).and_then(|()| {
            let properties = core.properties();
            properties.estimate_count(Section::Default, ends(&range))
        });
        core.base.context.with_directory(estimate)
    }
}

impl Keyspace {
    /// Like [`Db::approximate_size`], for keys of this keyspace.
    ///
    /// # Errors
    /// Same as [`Db::approximate_size`]; `Closed` if the keyspace was dropped.
    pub fn approximate_size(&self, range: impl KeyRange) -> Result<u64> {
        let core = self.core();
        let size = self.over(&range, |section, ends| {
            core.properties().approximate_size(section, ends)
        });
        core.base.context.with_directory(size)
    }

    /// Like [`Db::estimate_count`], for keys of this keyspace.
    ///
    /// # Errors
    /// Same as [`Db::estimate_count`]; `Closed` if the keyspace was dropped.
    pub fn estimate_count(&self, range: impl KeyRange) -> Result<u64> {
        let core = self.core();
        let estimate = self.over(&range, |section, ends| {
            core.properties().estimate_count(section, ends)
        });
        core.base.context.with_directory(estimate)
    }

    /// Passes the section and the stored form of a range to `estimate`.
    fn over(
        &self,
        range: &impl KeyRange,
        estimate: impl FnOnce(Section, (Option<&[u8]>, Option<&[u8]>)) -> Result<u64>,
    ) -> Result<u64> {
        self.core().before_read(None)?;
        let Some(state) = self.space() else {
            return estimate(Section::Default, ends(range));
        };
        state.check()?;
        let (from, to) = state.stored_range(range.key_bounds());
        estimate(state.section(), (Some(&from), Some(&to)))
    }
}
