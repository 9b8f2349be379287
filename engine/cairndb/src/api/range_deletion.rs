//! Deletion of ranges of keys, in constant time.

use std::ops::Bound;

use cairndb_base::Result;

use crate::api::bounds::successor;
use crate::api::db::Db;
use crate::api::keyspace::Keyspace;
use crate::api::range::KeyRange;
use crate::state::batch::WriteBatch;
use crate::state::options::WriteOptions;

/// A range of keys to be deleted.
pub(crate) struct Ends {
    pub(crate) from: Vec<u8>,
    /// First key that is kept; empty if there is none.
    pub(crate) to: Vec<u8>,
    /// Whether only bytewise order has such a range.
    pub(crate) bytewise: bool,
}

impl Ends {
    pub(crate) fn of(range: &impl KeyRange) -> Ends {
        let after = |key: &[u8]| [key, &[0]].concat();
        let (from, to) = range.key_bounds();
        let bytewise = matches!(from, Bound::Excluded(_))
            || matches!(to, Bound::Included(_) | Bound::Excluded(b""));
        let from = match from {
            Bound::Unbounded => Vec::new(),
            Bound::Included(key) => key.to_vec(),
            Bound::Excluded(key) => after(key),
        };
        let (from, to) = match to {
            Bound::Unbounded => (from, Vec::new()),
            Bound::Included(key) => (from, after(key)),
            // No key comes before the empty one, which as an end stands for none.
            Bound::Excluded(b"") => (vec![0], vec![0]),
            Bound::Excluded(key) => (from, key.to_vec()),
        };
        Ends { from, to, bytewise }
    }

    pub(crate) fn of_prefix(prefix: &[u8]) -> Ends {
        Ends {
            from: prefix.to_vec(),
            to: successor(prefix).unwrap_or_default(),
            bytewise: true,
        }
    }
}

impl WriteBatch {
    /// Removes all keys in `range`, including those that earlier writes of the batch put. A range
    /// whose end is not after its start has no key. Takes constant time, also when it is written:
    /// see [`Db::delete_range`].
    ///
    /// A bound that is excluded at the start or included at the end, and the empty key as an end,
    /// need bytewise order: [`Db::write`] otherwise returns `InvalidArgument`. With a comparator, a
    /// range without a start begins at the empty key.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// let mut batch = cairndb::WriteBatch::new();
    /// batch.put(b"job/1", b"done");
    /// batch.delete_range(b"job/"..b"job0");
    /// batch.put(b"job/2", b"new");
    /// db.write(&batch)?;
    /// assert_eq!(db.iter().try_count()?, 1);
    /// # Ok(()) }
    /// ```
    pub fn delete_range(&mut self, range: impl KeyRange) {
        add(self, None, &Ends::of(&range));
    }

    /// Removes all keys that start with `prefix`. Needs bytewise order, as some ranges do.
    pub fn delete_prefix(&mut self, prefix: &[u8]) {
        add(self, None, &Ends::of_prefix(prefix));
    }

    /// Like [`WriteBatch::delete_range`], in `keyspace`.
    pub fn delete_range_in(&mut self, keyspace: &Keyspace, range: impl KeyRange) {
        add(self, Some(keyspace), &Ends::of(&range));
    }

    /// Like [`WriteBatch::delete_prefix`], in `keyspace`.
    pub fn delete_prefix_in(&mut self, keyspace: &Keyspace, prefix: &[u8]) {
        add(self, Some(keyspace), &Ends::of_prefix(prefix));
    }
}

fn add(batch: &mut WriteBatch, keyspace: Option<&Keyspace>, ends: &Ends) {
    match keyspace.and_then(Keyspace::space) {
        None => batch.add_range(&ends.from, &ends.to, ends.bytewise),
        Some(space) => batch.add_range_in(space, (&ends.from, &ends.to), ends.bytewise),
    }
}

fn write_in(keyspace: &Keyspace, batch: &WriteBatch, options: WriteOptions) -> Result<()> {
    let core = keyspace.core();
    let durability = core.base.settings.durability_of(options);
    let written = core.write_batch(batch, durability);
    core.base.context.with_directory(written)
}

impl Db {
    /// Removes all keys in `range`: `a..b`, or `a..` to the end. Takes constant time, however many
    /// keys there are. A range whose end is not after its start has no key, and nothing is written.
    ///
    /// The space is freed in the background. Until then, a read of a key in the range costs about a
    /// tenth more, and a cursor passes the range in a few steps.
    ///
    /// A bound that is excluded at the start or included at the end, and the empty key as an end,
    /// need bytewise order. With a comparator, a range without a start begins at the empty key.
    ///
    /// # Errors
    /// Same as [`Db::put`]; `InvalidArgument` for a bound that the order does not have.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// for day in ["2026-11-28", "2026-11-29", "2026-11-30"] {
    ///     db.put(day.as_bytes(), b"log")?;
    /// }
    /// db.delete_range(.."2026-11-30")?;
    /// assert_eq!(db.iter().try_count()?, 1);
    /// # Ok(()) }
    /// ```
    pub fn delete_range(&self, range: impl KeyRange) -> Result<()> {
        self.delete_range_with(range, &WriteOptions::new())
    }

    /// Like [`Db::delete_range`], but with the settings of `options`.
    ///
    /// # Errors
    /// Same as [`Db::delete_range`].
    pub fn delete_range_with(&self, range: impl KeyRange, options: &WriteOptions) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.delete_range(range);
        self.write_with(&batch, options)
    }

    /// Removes all keys that start with `prefix`, like [`Db::delete_range`].
    ///
    /// # Errors
    /// Same as [`Db::delete_range`]; `InvalidArgument` with a comparator, whose order need not keep
    /// such keys together.
    pub fn delete_prefix(&self, prefix: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.delete_prefix(prefix);
        self.write(&batch)
    }
}

impl Keyspace {
    /// Like [`Db::delete_range`].
    ///
    /// # Errors
    /// Same as [`Db::delete_range`]; `Closed` if the keyspace was dropped.
    pub fn delete_range(&self, range: impl KeyRange) -> Result<()> {
        self.delete_range_with(range, &WriteOptions::new())
    }

    /// Like [`Db::delete_range_with`].
    ///
    /// # Errors
    /// Same as [`Keyspace::delete_range`].
    pub fn delete_range_with(&self, range: impl KeyRange, options: &WriteOptions) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.delete_range_in(self, range);
        write_in(self, &batch, *options)
    }

    /// Like [`Db::delete_prefix`].
    ///
    /// # Errors
    /// Same as [`Db::delete_prefix`]; `Closed` if the keyspace was dropped.
    pub fn delete_prefix(&self, prefix: &[u8]) -> Result<()> {
        let mut batch = WriteBatch::new();
        batch.delete_prefix_in(self, prefix);
        write_in(self, &batch, WriteOptions::new())
    }
}
