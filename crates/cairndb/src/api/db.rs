//! The database handle.

use std::ops::Bound;
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

/// Closes the engine when the last handle goes.
#[derive(Debug)]
struct Owner(Arc<Core>);

impl Drop for Owner {
    fn drop(&mut self) {
        // Errors are for `Db::close`; whoever drops the handle has said not to care.
        let _ = self.0.close();
    }
}

/// An open database. Cheap to clone; clones share everything and may be used from any thread, but not from
/// another process: a child made by `fork` must open the database anew. What it writes through its parent's
/// handle is refused as `Forked`, and what it reads may be `Corruption`, for the parent goes on writing.
///
/// Dropping the last clone closes the database as [`Db::close`] does, but its errors are lost: call `close` to be
/// told.
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
    /// After a clean close a handle that only reads writes nothing, unless the close left more dead
    /// space than an idle database keeps, or its reads have to look into several runs: after 65,536
    /// such looks, or one for each 50 bytes of tables where that is more, the worker begins, and
    /// does what it would do behind writes; closing may then fail as behind writes. A read-only one
    /// never writes.
    ///
    /// # Errors
    /// `NotFound` when there is none and none is to be created; `InvalidArgument` when the
    /// directory holds something else (LevelDB's database too), the comparator or merge operator differ, the
    /// database exists and `error_if_exists` is set, or a setting is out of its range (memory below 256 KiB,
    /// more filter bits than [`FILTER_BITS_MAX`](crate::FILTER_BITS_MAX), names above 255 bytes); `Locked` when
    /// another handle has it; `Corruption` with file and offset; `FormatTooNew`; `NoSpace`; `Io`.
    /// A refused opening changes nothing on disk; one that fails in the middle, on a full disk say, may leave
    /// files behind that the next one removes.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Db> {
        Ok(Db {
            owner: Arc::new(Owner(Core::open(self, path.as_ref())?)),
        })
    }
}

impl Db {
    /// Opens the database at `path` with default settings, creating it if missing.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Db> {
        Options::new().create_if_missing(true).open(path)
    }

    #[inline]
    fn core(&self) -> &Arc<Core> {
        &self.owner.0
    }

    /// The directory of the database, as it was given when it was opened.
    pub fn path(&self) -> &Path {
        &self.core().shared.context.path
    }

    /// What opening found: created, clean, replayed, cut, skipped. The first call looks at the
    /// files that no manifest names, of which there are few.
    pub fn open_report(&self) -> &OpenReport {
        self.core().open_report()
    }

    /// Sets `key` to `value` at the database's durability. Both are bytes: of a text `text.as_bytes()`, or `b"..."`.
    ///
    /// # Errors
    /// `InvalidArgument` above the limits (keys 64 MiB, values 1 GiB), `NoSpace`, `Poisoned`,
    /// `ReadOnly`, `Closed`, `Forked`, `Io`. After an error this handle has not applied the write, but with
    /// `Poisoned` nobody knows what the disk has, and a write refused as the process died may be
    /// found, whole, by the next opening.
    #[inline]
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let core = self.core();
        core.shared.context.with_directory(core.write_one(
            Kind::Put,
            key,
            value,
            core.shared.settings.durability,
        ))
    }

    /// Removes `key`; removing what is not there is no error.
    ///
    /// # Errors
    /// As [`Db::put`].
    #[inline]
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        let core = self.core();
        core.shared.context.with_directory(core.write_one(
            Kind::Delete,
            key,
            b"",
            core.shared.settings.durability,
        ))
    }

    /// Applies `operand` to `key` with the database's merge operator, without reading: nothing says
    /// here that the value becomes longer than 1 GiB, and reads of the key are refused then (see
    /// [`MergeOperator`](crate::MergeOperator)).
    ///
    /// # Errors
    /// As [`Db::put`]; `InvalidArgument` when the database was opened without an operator; that of
    /// [`MergeOperator::check`](crate::MergeOperator::check).
    pub fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        let core = self.core();
        core.shared.context.with_directory(core.write_operand(
            key,
            operand,
            core.shared.settings.durability,
        ))
    }

    /// Applies a batch atomically.
    ///
    /// # Errors
    /// As [`Db::put`], and `InvalidArgument` for a batch above 2 GiB as encoded; as [`Db::merge`] where it holds
    /// operands. One error refuses all of it.
    pub fn write(&self, batch: &WriteBatch) -> Result<()> {
        self.write_with(batch, &WriteOptions::new())
    }

    /// Applies a batch atomically with its own settings. An empty one at `Sync` does what [`Db::sync`] does.
    ///
    /// # Errors
    /// As [`Db::write`].
    pub fn write_with(&self, batch: &WriteBatch, options: &WriteOptions) -> Result<()> {
        let core = self.core();
        let durability = core.shared.settings.durability_of(*options);
        core.shared
            .context
            .with_directory(core.write_batch(batch, durability))
    }

    /// [`Db::put`] with its own settings.
    ///
    /// # Errors
    /// As [`Db::put`].
    pub fn put_with(&self, key: &[u8], value: &[u8], options: &WriteOptions) -> Result<()> {
        let core = self.core();
        let durability = core.shared.settings.durability_of(*options);
        core.shared
            .context
            .with_directory(core.write_one(Kind::Put, key, value, durability))
    }

    /// [`Db::delete`] with its own settings.
    ///
    /// # Errors
    /// As [`Db::put`].
    pub fn delete_with(&self, key: &[u8], options: &WriteOptions) -> Result<()> {
        let core = self.core();
        let durability = core.shared.settings.durability_of(*options);
        core.shared
            .context
            .with_directory(core.write_one(Kind::Delete, key, b"", durability))
    }

    /// [`Db::merge`] with its own settings.
    ///
    /// # Errors
    /// As [`Db::merge`].
    pub fn merge_with(&self, key: &[u8], operand: &[u8], options: &WriteOptions) -> Result<()> {
        let core = self.core();
        let durability = core.shared.settings.durability_of(*options);
        core.shared
            .context
            .with_directory(core.write_operand(key, operand, durability))
    }

    /// The value of `key`. One of 64 KiB or more that is stored as it is, in a value file that is mapped, is not copied: see
    /// [`Value`].
    ///
    /// # Errors
    /// `Corruption` with file and offset, `Io`, `Closed`. Of a key with merge operands, which the
    /// error names: that of its merge operator; `InvalidArgument` when the database was opened
    /// without one, and where they are more, or make a longer value, than 1 GiB.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        get_value(self.core(), key, None)
    }

    /// Replaces `out` by the value of `key`; `false` (and an empty `out`) when there is none.
    /// Allocates only when `out` must grow; a value folded of operands is the operator's allocation.
    ///
    /// # Errors
    /// As [`Db::get`].
    #[inline]
    pub fn get_into(&self, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        get_into(self.core(), key, None, out).map(Presence::is_there)
    }

    /// The values of `keys`, all at one moment, in the order asked, and an error in the place of a
    /// key whose value cannot be read: use this form where one unreadable key must not cost the
    /// others. From a database larger than the processor's caches some sixteen keys wait for memory
    /// together: a sixth less time than as many gets take. Large values are as of [`Db::get`].
    ///
    /// # Errors
    /// `Closed`. Of a single key: as [`Db::get`], and the error names the key.
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
        multi_get_each(self.core(), keys, None)
    }

    /// As [`Db::multi_get_each`], which returns the values of the other keys where one cannot be
    /// read; this form returns an error then, and no value.
    ///
    /// # Errors
    /// As [`Db::get`], of the first key that gives one; the error names the key.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        multi_get(self.core(), keys, None)
    }

    /// Whether `key` has a value. A large value is not read, and operands are not folded.
    ///
    /// # Errors
    /// As [`Db::get`].
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        contains(self.core(), key, None)
    }

    /// A cursor over the database as it is now, not yet placed.
    pub fn cursor(&self) -> Cursor {
        Cursor::new(self.core(), None)
    }

    /// All entries, in order, from both ends. Each is copied: [`Db::cursor`] is several times as fast.
    pub fn iter(&self) -> Iter {
        self.range(..)
    }

    /// The entries with keys in `range`, in order, from both ends.
    pub fn range(&self, range: impl KeyRange) -> Iter {
        Iter::over_range(self.cursor(), &self.core().shared.context.order, &range)
    }

    /// The entries whose keys begin with `prefix`; under a custom comparator, those of them that
    /// stand together from the prefix itself on. An order that puts the prefix behind them, as a reverse one does,
    /// finds the prefix alone: use [`Db::range`].
    pub fn prefix(&self, prefix: &[u8]) -> Iter {
        Iter::over_prefix(self.cursor(), &self.core().shared.context.order, prefix)
    }

    /// A snapshot of everything written so far. While it lives, merges keep what it sees.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(Arc::clone(self.core()))
    }

    /// Writes everything to tables and makes it durable, unlogged writes included.
    ///
    /// # Errors
    /// `NoSpace`, `Io`, `Poisoned`, `ReadOnly`, `Closed`, `Forked`.
    pub fn flush(&self) -> Result<()> {
        let core = self.core();
        core.shared.context.with_directory(core.flush_all())
    }

    /// Makes every logged write so far durable, as a `Sync` write would: to write at `Os` and call this now
    /// and then costs one sync for all of them. Where everything logged is durable already, it does nothing.
    ///
    /// # Errors
    /// `Poisoned`, with the system's error as source where it is this call's sync that fails; `ReadOnly`, `Closed`,
    /// `Forked`.
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
        core.shared.context.with_directory(core.sync_written())
    }

    /// Merges everything that shares keys with `range` into one sorted run, drops what no snapshot
    /// sees, and makes the result durable. `compact_range(..)` compacts everything, gives back dead space in
    /// value files until a sixth of them is dead at most, and encodes large values that shrink, as a database at rest
    /// does by itself.
    ///
    /// # Errors
    /// As [`Db::flush`], and `Corruption` when an input is damaged; inputs then stay in place.
    pub fn compact_range(&self, range: impl KeyRange) -> Result<()> {
        let core = self.core();
        core.shared
            .context
            .with_directory(core.compact_range(range.key_bounds()))
    }

    /// A property: `leveldb.num-files-at-level<N>`, `leveldb.stats`, `leveldb.sstables`,
    /// `leveldb.approximate-memory-usage`, and as JSON `cairndb.memory`, `cairndb.stalls`,
    /// `cairndb.stats`. `None` for other names. `docs/guide/properties.md` tells each field's unit and
    /// meaning, and which levels there are.
    pub fn property(&self, name: &str) -> Option<String> {
        self.core().property(name)
    }

    /// About how many bytes on disk hold keys in `range`, large values included; memtables are not
    /// counted.
    ///
    /// # Errors
    /// `Corruption`, `Io`, `Closed`.
    pub fn approximate_size(&self, range: impl KeyRange) -> Result<u64> {
        let (from, to) = range.key_bounds();
        let from = match from {
            Bound::Included(key) | Bound::Excluded(key) => Some(key),
            Bound::Unbounded => None,
        };
        let to = match to {
            Bound::Included(key) | Bound::Excluded(key) => Some(key),
            Bound::Unbounded => None,
        };
        let core = self.core();
        core.shared
            .context
            .with_directory(core.approximate_size(from, to))
    }

    /// Makes `path`, which must be missing or empty, a database of its own with everything written
    /// so far. Tables are shared by hard links where the file system can.
    ///
    /// # Errors
    /// As [`Db::flush`]; `InvalidArgument` when the directory is not empty. What was linked before a
    /// failure is removed again, so that the call can be repeated; where the last sync is what failed, a
    /// database stands there that loss of power may take.
    pub fn checkpoint(&self, path: impl AsRef<Path>) -> Result<()> {
        let core = self.core();
        core.shared
            .context
            .with_directory(core.checkpoint(path.as_ref()))
    }

    /// Waits until the background work that is there at the call is done: full memtables are
    /// flushed, their tables and those that were there are merged as an idle database merges them,
    /// dead space is given back, and all of it is durable. Work that other threads' writes make
    /// meanwhile is not waited for.
    ///
    /// What is in the mutable memtable stays there: [`Db::flush`] writes that to a table. The wait
    /// may be as long as merging all of the database takes; [`Db::wait_idle_for`] bounds it.
    ///
    /// # Errors
    /// `Poisoned`, `Closed`, `Forked`; the error that background work stopped at; the `Corruption` or `Io` of a table that a merge could not
    /// read and merges have left alone since, until `compact_range` or a reopening finds it readable. What is not
    /// damaged goes on being written and merged.
    pub fn wait_idle(&self) -> Result<()> {
        let core = self.core();
        core.shared
            .context
            .with_directory(core.wait_idle(None).map(drop))
    }

    /// As [`Db::wait_idle`], but for no longer than about `limit`; whether all of the work was
    /// done. The time may be exceeded by what cannot be interrupted: a sync, or a piece of some 64
    /// MB of large values.
    ///
    /// # Errors
    /// As [`Db::wait_idle`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = cairndb::Db::open(&dir)?;
    /// db.put(b"granite", b"grey")?;
    /// if !db.wait_idle_for(Duration::from_secs(60))? {
    ///     eprintln!("still merging after a minute");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn wait_idle_for(&self, limit: Duration) -> Result<bool> {
        let core = self.core();
        core.shared
            .context
            .with_directory(core.wait_idle(Some(limit)))
    }

    /// Runs one background job here, for environments without threads and for tests; whether there was anything to do,
    /// which in a read-only handle there never is.
    ///
    /// # Errors
    /// The job's; `Forked`.
    pub fn step_background(&self, job: Job) -> Result<bool> {
        let core = self.core();
        core.shared.context.with_directory(core.step(job))
    }

    /// Closes the database for every clone of this handle: flushes, makes everything durable, so
    /// that the next opening has nothing to do. Other calls, from other threads too, then give
    /// `Closed`, writes already while this one runs. When it returns, by whichever clone it was
    /// called, the directory is free. Closing again does nothing and gives what the first call gave. Snapshots, cursors
    /// and clones that are kept keep the memory they read.
    ///
    /// # Errors
    /// The first failure; the handle has ended all the same. `Forked`, which ends nothing. What was
    /// acknowledged at `Os` or `Sync` is found by the next opening; of unlogged writes what was not yet in
    /// tables is lost.
    pub fn close(&self) -> Result<()> {
        let core = self.core();
        core.shared.context.with_directory(core.close())
    }
}

impl IntoIterator for &Db {
    type Item = <Iter as Iterator>::Item;
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}
