//! The database handle, and [`Options::open`]. `try_write` has the writes that never wait.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cairndb_base::{Kind, Result};

use crate::api::access::{contains, get_into, get_value, multi_get, multi_get_each};
use crate::api::cursor::Cursor;
use crate::api::iter::Iter;
use crate::api::range::KeyRange;
use crate::api::snapshot::Snapshot;
use crate::api::value::Value;
use crate::engine::core::Core;
use crate::read::presence::Presence;
use crate::recovery::report::OpenReport;
use crate::scheduler::steps::Job;
use crate::state::batch::WriteBatch;
use crate::state::options::{Options, WriteOptions};

pub(crate) mod changes;
pub(crate) mod diff;
mod estimates;
mod follow;
mod fork;
pub(crate) mod physical;
#[cfg(feature = "stream")]
pub(crate) mod stream;
mod try_write;

/// Closes the engine when the last handle is dropped.
#[derive(Debug)]
struct Owner(Arc<Core>);

impl Drop for Owner {
    fn drop(&mut self) {
        // A caller that wants the error calls `Db::close`.
        let _ = self.0.close();
    }
}

/// A handle to an open database. Clones are cheap, share all state, and may be used from any
/// thread.
///
/// **Closing.** Dropping the last clone closes the database as [`Db::close`] does, but discards its
/// error. Call `close` to receive it.
///
/// **`fork`.** A handle must not be used in a child process: the child has to open the database
/// itself. Writes through the parent's handle return `Forked`. Reads through it may return
/// `Corruption`, because the parent continues to write.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// let db = cairndb::Db::open(&dir)?;
/// db.put(b"granite", b"grey")?;
/// assert_eq!(db.get(b"granite")?.as_deref(), Some(&b"grey"[..]));
/// db.delete(b"granite")?;
/// assert!(db.get(b"granite")?.is_none());
/// db.close()?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Db {
    owner: Arc<Owner>,
}

impl Options {
    /// Opens the database at `path` with these settings.
    ///
    /// If the database was not closed cleanly, the log is replayed first. The replay, and a
    /// conversion of a LevelDB database, may be [watched](crate::watch).
    ///
    /// After a clean close, a handle that is only used for reads does not write to the directory,
    /// with two exceptions: the close left more dead space than an idle database keeps, or reads
    /// search several runs so often that compacting them pays off. The threshold is 65,536 such
    /// lookups or one per 50 bytes of tables, whichever is more. Then the worker runs and closing
    /// may fail, as after writes. A read-only handle never writes.
    ///
    /// # Errors
    /// - `NotFound` if there is no database and `create_if_missing` is not set.
    /// - `InvalidArgument` if the directory holds something else (for example a LevelDB database),
    ///   if the comparator or the merge operator differs from the stored name, if the database
    ///   exists and `error_if_exists` is set, or if a setting is out of range: less than 256 KiB of
    ///   memory, more filter bits than [`FILTER_BITS_MAX`](crate::FILTER_BITS_MAX), or a name
    ///   longer than 255 bytes.
    /// - `Locked` if another handle has the database open.
    /// - `Corruption`, with file and offset; `FormatTooNew`; `NoSpace`; `Io`.
    ///
    /// If the open is refused, nothing on disk changes. If it fails halfway, for example on a full
    /// disk, it may leave files that the next open removes.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Db> {
        Ok(Db {
            owner: Arc::new(Owner(Core::open(self, path.as_ref())?)),
        })
    }
}

impl Db {
    /// Opens the database at `path` with default settings. Creates it if it is missing.
    ///
    /// # Errors
    /// Same as [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Db> {
        Options::new().create_if_missing(true).open(path)
    }

    #[inline]
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.owner.0
    }

    /// Returns the directory of the database, as given when it was opened.
    pub fn path(&self) -> &Path {
        &self.core().base.context.path
    }

    /// Returns the report of the open: whether the database was created or had been closed cleanly,
    /// whether the log was replayed or cut, and the skipped files. The first call examines the
    /// files that no manifest names, of which there are normally few.
    pub fn open_report(&self) -> &OpenReport {
        self.core().disk.log.open_report()
    }

    /// Sets `key` (at most 64 MiB) to `value` (at most 1 GiB), with the durability of the database.
    /// Both are bytes: pass `text.as_bytes()` or `b"..."`.
    ///
    /// # Errors
    /// - `InvalidArgument` if the key or the value is too long.
    /// - `Poisoned` after a failed sync or a panic in the comparator.
    /// - `NoSpace`, `Io`, `ReadOnly`, `Closed`, `Forked`.
    ///
    /// After an error the write is not visible through this handle. With `Poisoned` it is unknown
    /// whether the write is on disk. If the process dies while a write is being refused, the next
    /// open may find the complete write.
    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let core = self.core();
        core.base.context.with_directory(core.write_one(
            Kind::Put,
            key,
            value,
            core.base.settings.durability,
        ))
    }

    /// Removes `key`. Removing an absent key is not an error.
    ///
    /// # Errors
    /// Same as [`Db::put`].
    #[inline]
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        let core = self.core();
        core.base.context.with_directory(core.write_one(
            Kind::Delete,
            key,
            b"",
            core.base.settings.durability,
        ))
    }

    /// Adds `operand` to `key`; the database's merge operator folds it when `key` is read or
    /// compacted. Does not read the old value, so it also succeeds if the folded value becomes
    /// longer than 1 GiB; reads of the key fail from then on. See
    /// [`MergeOperator`](crate::MergeOperator).
    ///
    /// # Errors
    /// Same as [`Db::put`]; `InvalidArgument` if the database was opened without a merge operator;
    /// the error of [`MergeOperator::check`](crate::MergeOperator::check).
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        let core = self.core();
        core.base.context.with_directory(core.write_operand(
            key,
            operand,
            core.base.settings.durability,
        ))
    }

    /// Applies `batch` atomically, with the durability of the database.
    ///
    /// # Errors
    /// Same as [`Db::put`]; `InvalidArgument` if the encoded batch is longer than 2 GiB; the errors
    /// of [`Db::merge`] if the batch holds operands. After an error nothing is applied.
    pub fn write(&self, batch: &WriteBatch) -> Result<()> {
        self.write_with(batch, &WriteOptions::new())
    }

    /// Like [`Db::write`], but with the settings of `options`. Writing an empty batch at `Sync` is
    /// equivalent to [`Db::sync`].
    ///
    /// # Errors
    /// Same as [`Db::write`].
    pub fn write_with(&self, batch: &WriteBatch, options: &WriteOptions) -> Result<()> {
        let core = self.core();
        let durability = core.base.settings.durability_of(*options);
        core.base
            .context
            .with_directory(core.write_batch(batch, durability))
    }

    /// Like [`Db::put`], but with the settings of `options`.
    ///
    /// # Errors
    /// Same as [`Db::put`].
    pub fn put_with(&self, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        let core = self.core();
        let durability = core.base.settings.durability_of(*options);
        core.base
            .context
            .with_directory(core.write_one(Kind::Put, key, value, durability))
    }

    /// Like [`Db::delete`], but with the settings of `options`.
    ///
    /// # Errors
    /// Same as [`Db::put`].
    pub fn delete_with(&self, key: &[u8], options: &WriteOptions) -> Result<()> {
        let core = self.core();
        let durability = core.base.settings.durability_of(*options);
        core.base
            .context
            .with_directory(core.write_one(Kind::Delete, key, b"", durability))
    }

    /// Like [`Db::merge`], but with the settings of `options`.
    ///
    /// # Errors
    /// Same as [`Db::merge`].
    pub fn merge_with(&self, key: &[u8], operand: &[u8], options: &WriteOptions) -> Result<()> {
        let core = self.core();
        let durability = core.base.settings.durability_of(*options);
        core.base
            .context
            .with_directory(core.write_operand(key, operand, durability))
    }

    /// Returns the value of `key`, or `None` if there is none.
    ///
    /// The value is a copy, unless it is at least 64 KiB long and stored uncompressed in a mapped
    /// value file; then it is borrowed from that file (see [`Value`]).
    ///
    /// # Errors
    /// - `Corruption`, with file and offset; `Io`; `Closed`.
    /// - For a key with merge operands, an error that names the key: the error of the merge
    ///   operator; `InvalidArgument` if the database was opened without one, or if the operands or
    ///   the folded value exceed 1 GiB.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        get_value(self.core(), None, key, None)
    }

    /// Replaces the contents of `out` with the value of `key` and returns `true`. If there is no
    /// value, clears `out` and returns `false`. Allocates only if `out` must grow, or to fold merge
    /// operands.
    ///
    /// # Errors
    /// Same as [`Db::get`].
    #[inline]
    pub fn get_into(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        get_into(self.core(), None, key, None, out).map(Presence::is_there)
    }

    /// Returns the values of `keys`, all as of the same moment, in the order of `keys`. If a value
    /// cannot be read, its error is returned in its place; [`Db::multi_get`] fails instead.
    ///
    /// Up to sixteen lookups overlap their memory accesses, so this is faster than single gets in a
    /// database larger than the processor's caches. For large values see [`Db::get`].
    ///
    /// # Errors
    /// `Closed`. The errors of a single key are those of [`Db::get`]; they name the key.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// db.put(b"gneiss", b"banded")?;
    /// for found in db.multi_get_each(&[&b"gneiss"[..], b"opal"])? {
    ///     match found {
    ///         Ok(Some(value)) => println!("{value:?}"),
    ///         Ok(None) => println!("no such key"),
    ///         Err(error) => eprintln!("{error}"),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub fn multi_get_each<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Result<Option<Value>>>> {
        multi_get_each(self.core(), None, keys, None)
    }

    /// Returns the values of `keys`, all as of the same moment, in the order of `keys`, or the
    /// first error. Use [`Db::multi_get_each`] to receive the other values if one cannot be read.
    ///
    /// # Errors
    /// Same as [`Db::get`]; the error names the key.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        multi_get(self.core(), None, keys, None)
    }

    /// Returns whether `key` has a value. Does not read large values and does not fold merge
    /// operands.
    ///
    /// # Errors
    /// Same as [`Db::get`].
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        contains(self.core(), None, key, None)
    }

    /// Returns an unpositioned cursor over the current state of the database.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(self.core(), None, None)
    }

    /// Iterates over all entries in order, from either end. Copies each entry;
    /// [`Iter::lending`] and a [`Db::cursor`] borrow it.
    pub fn iter(&self) -> Iter {
        self.range(..)
    }

    /// Iterates over the entries whose keys are in `range`, in order, from either end.
    pub fn range(&self, range: impl KeyRange) -> Iter {
        Iter::over_range(self.cursor(), &range)
    }

    /// Iterates over the entries whose keys start with `prefix`, in order, from either end.
    ///
    /// With a custom comparator it yields the keys that start with `prefix` and follow `prefix`
    /// itself without a gap. If the order places such keys before the prefix, for example reverse
    /// order, it yields at most the prefix itself: use [`Db::range`] instead.
    pub fn prefix(&self, prefix: &[u8]) -> Iter {
        Iter::over_prefix(self.cursor(), prefix)
    }

    /// Takes a snapshot of everything written so far. While it lives, flushes and compactions keep
    /// the versions that it sees.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(Arc::clone(self.core()))
    }

    /// Writes all memtables to tables and makes them durable, including writes at
    /// [`Durability::None`](crate::Durability::None). May be [watched](crate::watch), from memtable
    /// to memtable.
    ///
    /// # Errors
    /// `NoSpace`, `Io`, `Poisoned`, `ReadOnly`, `Closed`, `Forked`.
    pub fn flush(&self) -> Result<()> {
        let core = self.core();
        core.base.context.with_directory(core.flush_all())
    }

    /// Makes every logged write so far durable, as a write at `Sync` would. Many writes at `Os`
    /// followed by this call cost a single sync. Does nothing if all logged writes are durable
    /// already.
    ///
    /// # Errors
    /// `Poisoned`, with the system's error as its source if this call's sync failed; `ReadOnly`,
    /// `Closed`, `Forked`.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = cairndb::Db::open(&dir)?;
    /// for n in 0..100_u32 {
    ///     db.put(&n.to_be_bytes(), b"in the log")?;
    /// }
    /// db.sync()?; // and now on the disk
    /// # Ok(()) }
    /// ```
    pub fn sync(&self) -> Result<()> {
        let core = self.core();
        core.base.context.with_directory(core.disk.sync_written())
    }

    /// Compacts everything that overlaps `range` into one sorted run, drops the versions that no
    /// snapshot sees, and makes the result durable. `compact_range(..)` also does the work of an
    /// idle database: it reclaims dead space in value files until at most a sixth of their bytes
    /// are dead, compresses the large values that shrink, and removes spare log segments.
    ///
    /// May be [watched](crate::watch): the total is the size of the tables.
    ///
    /// # Errors
    /// Same as [`Db::flush`]; `Corruption` if an input is damaged. After an error the inputs are
    /// kept.
    pub fn compact_range(&self, range: impl KeyRange) -> Result<()> {
        let core = self.core();
        core.base
            .context
            .with_directory(core.compact_range(range.key_bounds()))
    }

    /// Returns the property `name`: `leveldb.num-files-at-level<N>`, `leveldb.stats`,
    /// `leveldb.sstables`, `leveldb.approximate-memory-usage`, or, as JSON, `cairndb.followers`,
    /// `cairndb.mapping`, `cairndb.memory`, `cairndb.runs`, `cairndb.space`, `cairndb.stalls`,
    /// `cairndb.stats`. Returns `None` for other names. `docs/guide/properties.md` defines their
    /// fields, units and levels.
    pub fn property(&self, name: &str) -> Option<String> {
        self.core().property(name)
    }

    /// Waits until the background work due at the time of the call is done: full memtables are
    /// flushed, the tables are compacted as an idle database compacts them, dead space is
    /// reclaimed, and all of it is durable. Does not wait for work that later writes of other
    /// threads cause.
    ///
    /// The mutable memtable stays as it is; [`Db::flush`] writes it to a table. The wait may take
    /// as long as a compaction of the whole database; [`Db::wait_idle_for`] sets a limit, and both
    /// may be [watched](crate::watch).
    ///
    /// # Errors
    /// - `Poisoned`, `Closed`, `Forked`; the error that stopped the background work.
    /// - The `Corruption` or `Io` of a table that a compaction could not read. Compactions skip
    ///   such a table until `compact_range` or the next open finds it readable; everything else is
    ///   still written and compacted.
    pub fn wait_idle(&self) -> Result<()> {
        let core = self.core();
        core.base
            .context
            .with_directory(core.wait_idle(None).map(drop))
    }

    /// Like [`Db::wait_idle`], but waits about `limit` at most. Returns whether all of the work was
    /// done. A step that cannot be interrupted may exceed the limit: a sync, or copying about 64 MB
    /// of large values.
    ///
    /// # Errors
    /// Same as [`Db::wait_idle`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = cairndb::Db::open(&dir)?;
    /// db.put(b"granite", b"grey")?;
    /// if !db.wait_idle_for(Duration::from_secs(60))? {
    ///     eprintln!("still compacting after a minute");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn wait_idle_for(&self, limit: Duration) -> Result<bool> {
        let core = self.core();
        core.base
            .context
            .with_directory(core.wait_idle(Some(limit)))
    }

    /// Runs one background job on the calling thread. Returns whether there was anything to do; a
    /// read-only handle never has any. For environments without threads, and for tests.
    ///
    /// # Errors
    /// The errors of the job; `Forked`.
    pub fn step_background(&self, job: Job) -> Result<bool> {
        let core = self.core();
        core.base
            .context
            .with_directory(core.scheduler.runner.step(job))
    }

    /// Closes the database for every clone of this handle: flushes and makes everything durable, so
    /// that the next open has nothing to replay.
    ///
    /// Once `close` has begun, writes return `Closed`; once it has returned, all other calls do
    /// too, on any thread. When `close` returns on any clone, the directory is unlocked. Closing
    /// again does nothing and returns the result of the first close. Remaining snapshots, cursors
    /// and clones keep the memory that they read.
    ///
    /// # Errors
    /// The first failure; the handle is closed nevertheless. `Forked`, in which case nothing is
    /// closed. After a failure the next open recovers every write acknowledged at `Os` or `Sync`.
    /// Unlogged writes that were not yet in tables are lost.
    pub fn close(&self) -> Result<()> {
        let core = self.core();
        core.base.context.with_directory(core.close())
    }
}

impl IntoIterator for &Db {
    type Item = <Iter as Iterator>::Item;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}
