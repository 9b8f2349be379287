//! Settings of a database and of single writes.
//!
//! There are few settings. Components (environment, comparator, merge operator) are injected
//! alongside them. Everything that can be derived from the memory budget is derived; see
//! `budget.rs`.

use std::fmt::Debug;
use std::sync::Arc;

use cairndb_base::comparator::BYTEWISE_NAME;
use cairndb_base::{Comparator, Order};
use cairndb_env::{Env, RealEnv};
use cairndb_format::manifest::KeyspaceRecord;
use cairndb_format::table::Compression as TableCompression;

use crate::state::fold_limits::FoldLimits;
use crate::state::following::Following;
use crate::state::keyspaces::registered::Registered;
use crate::state::merge_operator::MergeOperator;

mod follow;

/// Guarantee that a write survives a failure, chosen per write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// The write is not logged and survives only once a later `flush` has returned. The fastest
    /// level, for data that can be recreated.
    None,
    /// The write is passed to the operating system before the call returns, so it survives the
    /// death of the process (`SIGKILL` included). After a power failure a suffix of the newest
    /// writes may be missing, never a hole. The default; LevelDB's `sync = false`.
    #[default]
    Os,
    /// When the call returns, the write and every logged write before it survive a power failure.
    /// Writes that arrive during the sync wait for it, regardless of their level. A write at `Os`
    /// followed by [`Db::sync`](crate::Db::sync) gives the same guarantee without blocking other
    /// writers.
    Sync,
}

/// Compression of values: values below 8 KiB when their table is written, longer ones in value
/// files while the database is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// Stored uncompressed; reads need no decoding.
    None,
    /// LZ4-class compression at the finest granularity that preserves the compression ratio. The
    /// default.
    #[default]
    Fast,
}

impl Compression {
    /// Returns the number that stands for it in the manifest.
    pub(crate) fn number(self) -> u8 {
        match self {
            Compression::None => 0,
            Compression::Fast => 1,
        }
    }

    /// Returns the compression with this number, if this version knows it.
    pub(crate) fn of_number(number: u8) -> Option<Compression> {
        match number {
            0 => Some(Compression::None),
            1 => Some(Compression::Fast),
            _ => None,
        }
    }

    pub(crate) fn table(self) -> TableCompression {
        match self {
            Compression::None => TableCompression::None,
            Compression::Fast => TableCompression::Adaptive,
        }
    }
}

/// Treatment of a damaged log when a database that was not closed cleanly is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RecoveryMode {
    /// A torn tail that no sync covered is cut off and reported. Damage to synced data is an error,
    /// and nothing on disk is changed. The default.
    #[default]
    Strict,
    /// Keeps everything before the first damaged record, even if later records were synced, and
    /// reports the cut.
    PointInTime,
}

/// Settings and components of a database.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// let db = cairndb::Options::new().memory_budget(64 << 20).create_if_missing(true).open(&dir)?;
/// db.put(b"cairn", b"a stack of stones")?;
/// # Ok(()) }
/// ```
#[expect(
    clippy::struct_excessive_bools,
    reason = "settings are independent of each other"
)]
#[derive(Clone, Debug)]
#[must_use = "settings do nothing until a database is opened with them"]
pub struct Options {
    pub(crate) env: Option<Arc<dyn Env>>,
    pub(crate) order: Order,
    pub(crate) merge_operator: Option<Arc<dyn MergeOperator>>,
    pub(crate) memory_budget: usize,
    pub(crate) durability: Durability,
    pub(crate) compression: Compression,
    pub(crate) create_if_missing: bool,
    pub(crate) error_if_exists: bool,
    pub(crate) read_only: bool,
    pub(crate) following: Following,
    pub(crate) recovery: RecoveryMode,
    pub(crate) mapped: Option<bool>,
    pub(crate) verify_always: bool,
    pub(crate) filter_bits_per_key: u32,
    pub(crate) value_file_bytes: u64,
    pub(crate) fold_limits: FoldLimits,
    /// What keyspaces may name.
    pub(crate) registered: Registered,
    #[cfg(feature = "leveldb")]
    pub(crate) upgrade: Upgrade,
}

/// What an open does with a LevelDB database.
#[cfg(feature = "leveldb")]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Upgrade {
    /// Whether the database is converted.
    pub(crate) leveldb: bool,
    /// Whether a log that its manifest names may be missing.
    pub(crate) without_log: bool,
}

/// Maximum length at which a value file is closed: large enough to keep the number of files low,
/// small enough that a file occasionally becomes entirely dead. While there are few value files,
/// they are closed at 64 MiB.
pub const VALUE_FILE_BYTES_DEFAULT: u64 = 256 << 20;
/// Filter bits per key: about one absent key in a hundred passes the filter.
pub const FILTER_BITS_DEFAULT: u32 = 10;
/// Maximum number of filter bits per key. A lookup tests at most 16 of them, as many as with 24
/// bits per key. A filter distinguishes keys by 32 bits of their hash, so in a table of N keys, N
/// of 2^32 absent keys pass regardless of the setting: with a million keys, one in 4,300.
pub const FILTER_BITS_MAX: u32 = 100;
/// 64 MiB: room for some hundred thousand entries of 16 + 100 bytes between flushes, and small
/// compared with any program that embeds a store.
pub const MEMORY_BUDGET_DEFAULT: usize = 64 << 20;
/// Minimum budget: one memtable, one flush and one compaction must fit.
pub const MEMORY_BUDGET_MIN: usize = 256 << 10;

impl Default for Options {
    fn default() -> Options {
        Options {
            env: None,
            order: Order::Bytewise,
            merge_operator: None,
            memory_budget: MEMORY_BUDGET_DEFAULT,
            durability: Durability::Os,
            compression: Compression::Fast,
            create_if_missing: false,
            error_if_exists: false,
            read_only: false,
            following: Following::default(),
            recovery: RecoveryMode::Strict,
            mapped: None,
            verify_always: false,
            filter_bits_per_key: FILTER_BITS_DEFAULT,
            value_file_bytes: VALUE_FILE_BYTES_DEFAULT,
            fold_limits: FoldLimits::default(),
            registered: Registered::default(),
            #[cfg(feature = "leveldb")]
            upgrade: Upgrade::default(),
        }
    }
}

impl Options {
    /// Returns the defaults: 64 MiB, `Os` durability, compression, bytewise order. A missing
    /// database is an error.
    pub fn new() -> Options {
        Options::default()
    }

    /// Sets the number of bytes of anonymous memory for memtables, page cache, flushes and
    /// compactions: at least 256 KiB; 64 MiB by default ([`MEMORY_BUDGET_DEFAULT`]). For LevelDB
    /// users: write buffer and cache combined.
    ///
    /// The budget does not bound memtables that open cursors and iterators pin (`pinned` in the
    /// property `cairndb.memory`), values and batches passed to or returned from calls, operands of
    /// one key and the value they fold to (at most 1 GiB each in a read, about 64 MiB of operands
    /// in a flush, 256 MiB in a compaction), and the log that a read-only open reads after a crash.
    ///
    /// The budget also determines how much disk space the log takes before its contents are durable
    /// in tables, and so how much is replayed after a crash: twice the budget, but at least 64 MiB
    /// and at most 256 MiB.
    pub fn memory_budget(mut self, bytes: usize) -> Options {
        self.memory_budget = bytes;
        self
    }

    /// Sets the durability of writes that do not set their own. [`Durability::Os`] by default:
    /// nothing is lost if the process dies, and no write waits for the disk.
    pub fn durability(mut self, durability: Durability) -> Options {
        self.durability = durability;
        self
    }

    /// Sets the compression of values written from now on; existing values stay readable.
    /// [`Compression::Fast`] by default; values that do not shrink are stored uncompressed.
    pub fn compression(mut self, compression: Compression) -> Options {
        self.compression = compression;
        self
    }

    /// Creates the database (and the last component of its path) if it is missing. A read-only open
    /// creates nothing. `false` by default, so that a wrong path is an error rather than an empty
    /// database; [`Db::open`](crate::Db::open) sets it.
    pub fn create_if_missing(mut self, create: bool) -> Options {
        self.create_if_missing = create;
        self
    }

    /// Fails if the database exists. `false` by default: most programs open an existing database.
    pub fn error_if_exists(mut self, error: bool) -> Options {
        self.error_if_exists = error;
        self
    }

    /// Opens the database without changing a byte; writes fail with `ReadOnly`. Any number of
    /// handles and processes may read at the same time. While one of them is open, opening for
    /// writing fails with `Locked`; while a writer is open, so does opening for reading. A copy or
    /// checkpoint that was never opened for writing has no `LOCK` file yet, and its readers do not
    /// exclude a writer. `false` by default: most programs write.
    pub fn read_only(mut self, read_only: bool) -> Options {
        self.read_only = read_only;
        self
    }

    /// Orders keys by `comparator`. Its name is stored when the database is created; opening with
    /// another comparator is refused.
    pub fn comparator(mut self, comparator: Arc<dyn Comparator>) -> Options {
        self.order = Order::Custom(comparator);
        self
    }

    /// Folds merge operands with `operator`. Its name is stored with the first write of any kind
    /// after the database was opened with it; from then on, opening with another operator is
    /// refused. A database opened without an operator can read everything except keys with
    /// operands.
    pub fn merge_operator(mut self, operator: Arc<dyn MergeOperator>) -> Options {
        self.merge_operator = Some(operator);
        self
    }

    /// Registers a comparator that [keyspaces](KeyspaceOptions::comparator) may name. The
    /// database's own order is set with [`Options::comparator`].
    pub fn register_comparator(mut self, comparator: Arc<dyn Comparator>) -> Options {
        let name = comparator.name().to_owned();
        self.registered.comparators.insert(name, comparator);
        self
    }

    /// Registers a merge operator that [keyspaces](KeyspaceOptions::merge_operator) may name. Those
    /// of this crate, [`Add`](crate::Add), [`Append`](crate::Append) and [`Max`](crate::Max), are
    /// registered from the start.
    pub fn register_merge_operator(mut self, operator: Arc<dyn MergeOperator>) -> Options {
        let name = operator.name().to_owned();
        self.registered.operators.insert(name, operator);
        self
    }

    /// Sets the treatment of a damaged log. [`RecoveryMode::Strict`] by default: synced data is
    /// discarded only on request.
    pub fn recovery(mut self, mode: RecoveryMode) -> Options {
        self.recovery = mode;
        self
    }

    /// Replaces the operating system: in memory, or simulated for tests (crate `cairndb-sim`).
    pub fn env(mut self, env: Arc<dyn Env>) -> Options {
        self.env = Some(env);
        self
    }

    /// Returns the environment to use: the given one, or the operating system.
    pub(crate) fn environment(&self) -> Arc<dyn Env> {
        self.env.clone().unwrap_or_else(|| RealEnv::new())
    }

    /// Forces tables and value files to be read through a mapping (`true`), or with `pread` and,
    /// for tables, the page cache (`false`). By default they are mapped on known local file systems
    /// (ext2 to ext4, XFS, Btrfs, F2FS, ZFS, tmpfs, overlayfs, on Linux) while the data is smaller
    /// than half of the machine's memory. The log is mapped on ext2 to ext4 and XFS regardless of
    /// this setting.
    pub fn mapped(mut self, mapped: bool) -> Options {
        self.mapped = Some(mapped);
        self
    }

    /// Verifies the checksum of a page or large value each time it is read through its mapping or
    /// from its file, instead of once per open. A page in the page cache was verified when it was
    /// read into the cache. A value read with `pread` is always verified, and a mapped value that
    /// takes less than 4 KiB is occasionally verified again. `false` by default: spontaneous memory
    /// corruption is rare, and every read of a page would cost a checksum.
    pub fn verify_always(mut self, always: bool) -> Options {
        self.verify_always = always;
        self
    }

    /// Sets the number of filter bits per key: at most [`FILTER_BITS_MAX`]; 0 for no filter. With
    /// the default of 10, a filter costs 1.25 bytes per key, and about one absent key in a hundred
    /// passes.
    pub fn filter_bits_per_key(mut self, bits: u32) -> Options {
        self.filter_bits_per_key = bits;
        self
    }

    /// Sets the maximum length of value files, which hold the values of 8 KiB or more. A file that
    /// has reached `bytes`, or a quarter of the bytes in value files but at least 64 MiB, is
    /// closed, and the next value starts another. A closed file is removed once none of its values
    /// is live. When the database is idle and more than a sixth of the bytes in value files are
    /// dead, the live values of the files with the most dead bytes are copied elsewhere; so are
    /// values that compression shrinks.
    ///
    /// With shorter files, less is copied at a time, but there are more files. Each file costs an
    /// edit of the manifest and slows down every later edit. 256 MiB by default
    /// ([`VALUE_FILE_BYTES_DEFAULT`]). Any length is allowed; 0 creates a file for each value.
    pub fn value_file_bytes(mut self, bytes: u64) -> Options {
        self.value_file_bytes = bytes;
        self
    }

    /// Converts a LevelDB database in place before it is opened. LevelDB's files stay in
    /// `leveldb-original/`; see [`crate::leveldb::upgrade`], which also reports progress. Has no
    /// effect on other directories. `false` by default: a conversion takes time and space, and
    /// LevelDB cannot read its result. Needs the feature `leveldb`.
    #[cfg(feature = "leveldb")]
    pub fn upgrade_leveldb(mut self, upgrade: bool) -> Options {
        self.upgrade.leveldb = upgrade;
        self
    }

    /// Converts a LevelDB database although a log that its manifest names is missing. `false` by
    /// default, because every write in that log is lost. Needs the feature `leveldb`.
    #[cfg(feature = "leveldb")]
    pub fn upgrade_without_log(mut self, upgrade: bool) -> Options {
        self.upgrade.without_log = upgrade;
        self
    }

    /// Sets lower limits for tests, which cannot fold gigabytes: `value` replaces 1 GiB as the
    /// limit for a folded value and for the operands that a read folds; `job` replaces 64 MiB as
    /// the limit for the operands of one key that a flush or compaction holds.
    #[doc(hidden)]
    pub fn fold_limits(mut self, value: usize, job: usize) -> Options {
        self.fold_limits = FoldLimits::new(value, job);
        self
    }
}

/// Settings of one write.
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "settings do nothing until they are passed to a write"]
pub struct WriteOptions {
    pub(crate) durability: Option<Durability>,
}

impl WriteOptions {
    /// Returns options with the database's own durability.
    pub fn new() -> WriteOptions {
        WriteOptions::default()
    }

    /// Sets the durability of this write.
    pub fn durability(mut self, durability: Durability) -> WriteOptions {
        self.durability = Some(durability);
        self
    }
}

/// Settings of one keyspace, which are stored when it is created.
///
/// Comparator and merge operator are named here and registered with
/// [`Options::register_comparator`] and [`Options::register_merge_operator`] at every open.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// use cairndb::{KeyspaceOptions, MergeOperator};
/// let options = KeyspaceOptions::new().merge_operator(cairndb::Add.name()).value_bytes(8);
/// let visits = db.create_keyspace("visits", &options)?;
/// visits.merge(b"page", &1_u64.to_le_bytes())?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "settings do nothing until a keyspace is created with them"]
pub struct KeyspaceOptions {
    pub(crate) comparator: Option<String>,
    pub(crate) merge_operator: Option<String>,
    pub(crate) compression: Option<Compression>,
    pub(crate) value_bytes: Option<u64>,
}

impl KeyspaceOptions {
    /// Returns the options that a keyspace was created with.
    pub(crate) fn of(record: &KeyspaceRecord) -> KeyspaceOptions {
        KeyspaceOptions {
            comparator: record.comparator.clone(),
            merge_operator: record.merge_operator.clone(),
            compression: record.compression.and_then(Compression::of_number),
            value_bytes: record.value_bytes,
        }
    }

    /// Returns the defaults: bytewise order, no merge operator, the compression of the database.
    pub fn new() -> KeyspaceOptions {
        KeyspaceOptions::default()
    }

    /// Orders the keys by the registered comparator `name`. Bytewise order, the default, is much
    /// faster.
    pub fn comparator(mut self, name: impl Into<String>) -> KeyspaceOptions {
        self.comparator = Some(name.into()).filter(|name| name != BYTEWISE_NAME);
        self
    }

    /// Folds operands with the registered merge operator `name`.
    pub fn merge_operator(mut self, name: impl Into<String>) -> KeyspaceOptions {
        self.merge_operator = Some(name.into());
        self
    }

    /// Compresses values in this way, whatever the setting of the database.
    pub fn compression(mut self, compression: Compression) -> KeyspaceOptions {
        self.compression = Some(compression);
        self
    }

    /// Returns the name of the comparator; `None` of bytewise order.
    pub fn comparator_name(&self) -> Option<&str> {
        self.comparator.as_deref()
    }

    /// Returns the name of the merge operator.
    pub fn merge_operator_name(&self) -> Option<&str> {
        self.merge_operator.as_deref()
    }

    /// Returns the compression, unless it is the database's.
    pub fn own_compression(&self) -> Option<Compression> {
        self.compression
    }

    /// Returns the expected length of a value.
    pub fn expected_value_bytes(&self) -> Option<u64> {
        self.value_bytes
    }

    /// States about how long the values are. Tables choose their layout from their values, so
    /// keyspaces with values of very different lengths should not share tables: those whose
    /// expected lengths differ more than fourfold do not. By default it is unknown, and all
    /// keyspaces share tables.
    pub fn value_bytes(mut self, bytes: u64) -> KeyspaceOptions {
        self.value_bytes = Some(bytes);
        self
    }
}
