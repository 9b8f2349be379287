//! Estimates of a range: bytes on disk and keys, from the indexes of tables.

use std::ops::Bound;

use cairndb_base::Result;

use crate::api::db::Db;
use crate::api::range::KeyRange;

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
    /// `Corruption`, `Io`, `Closed`.
    pub fn approximate_size(&self, range: impl KeyRange) -> Result<u64> {
        let (from, to) = ends(&range);
        let core = self.core();
        core.base
            .context
            .with_directory(core.approximate_size(from, to))
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
    /// `Corruption`, with file and offset; `Io`; `Closed`.
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
        let (from, to) = ends(&range);
        let core = self.core();
        let estimate = core.estimate_count(from, to);
        core.base.context.with_directory(estimate)
    }
}
