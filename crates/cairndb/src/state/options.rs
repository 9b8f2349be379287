//! Settings of a database and of single writes.
//!
//! Settings are few and plain; components (environment, comparator, merge operator) are injected
//! beside them. Whatever can be derived from the memory budget is derived, see `budget.rs`.

use std::fmt::Debug;
use std::sync::Arc;

use cairndb_base::{Comparator, Order};
use cairndb_env::Env;
use cairndb_format::table::Compression as TableCompression;

use crate::state::fold_limits::FoldLimits;
use crate::state::merge_operator::MergeOperator;

/// How long a write must survive, chosen per write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// Not logged: survives only once a `flush` has returned. The fastest, for data that can be
    /// made again.
    None,
    /// Handed to the operating system before the call returns: survives the death of the process
    /// (`SIGKILL` included). After a power loss some suffix of the newest writes may be gone,
    /// never a hole. The default, and what LevelDB calls `sync = false`.
    #[default]
    Os,
    /// When the call returns, the write and every logged write before it survive a power loss. Those that come while
    /// its sync is on the way wait for it, whatever their level; a write at `Os` with [`Db::sync`](crate::Db::sync)
    /// behind it promises the same and holds up nobody.
    Sync,
}

/// How values are compressed: those below 8 KiB in tables, as these are written, longer ones in value files, at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// Stored as they are; reads need no decoding.
    None,
    /// LZ4-class, at the finest granularity that keeps the ratio: the default.
    #[default]
    Fast,
}

impl Compression {
    pub(crate) fn table(self) -> TableCompression {
        match self {
            Compression::None => TableCompression::None,
            Compression::Fast => TableCompression::Adaptive,
        }
    }
}

/// What opening does when the log of a database that was not closed cleanly is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RecoveryMode {
    /// A torn tail that no sync ever covered is cut off and reported; damage in anything a sync
    /// had covered is an error, and nothing on disk is changed. The default.
    #[default]
    Strict,
    /// Keeps everything before the first damaged record, whatever had been synced behind it, and
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
    pub(crate) recovery: RecoveryMode,
    pub(crate) mapped: Option<bool>,
    pub(crate) verify_always: bool,
    pub(crate) filter_bits_per_key: u32,
    pub(crate) value_file_bytes: u64,
    pub(crate) fold_limits: FoldLimits,
}

/// Length at which a value file is closed: large enough that files are few, small enough that one in which
/// all is dead comes about.
pub const VALUE_FILE_BYTES_DEFAULT: u64 = 256 << 20;
/// Filter bits a key: one absent key in a hundred gets through.
pub const FILTER_BITS_DEFAULT: u32 = 10;
/// Most filter bits a key, of which a look asks for 16 at most, as many as with 24. A filter tells keys apart by 32 bits of
/// their hash, so that in a table of N keys N absent keys in 2^32 get through however many there are: of a million
/// keys one in 4,300.
pub const FILTER_BITS_MAX: u32 = 100;
/// 64 MiB: enough for some hundred thousand entries of 16 + 100 bytes between flushes, small beside any
/// program that embeds a store.
pub const MEMORY_BUDGET_DEFAULT: usize = 64 << 20;
/// Smallest budget: one memtable part, one flush and one merge must fit.
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
            recovery: RecoveryMode::Strict,
            mapped: None,
            verify_always: false,
            filter_bits_per_key: FILTER_BITS_DEFAULT,
            value_file_bytes: VALUE_FILE_BYTES_DEFAULT,
            fold_limits: FoldLimits::default(),
        }
    }
}

impl Options {
    /// The defaults: 64 MiB, `Os` durability, compression on, bytewise order; a missing database
    /// is an error.
    pub fn new() -> Options {
        Options::default()
    }

    /// Bytes of anonymous memory for memtables, page cache, flushes and merges. At least 256 KiB.
    /// 64 MiB by default, [`MEMORY_BUDGET_DEFAULT`]. LevelDB users: write buffer and cache
    /// together. Not bounded by it: memtable parts that open cursors and iterators still show
    /// (`pinned` in the property `cairndb.memory`), values and batches on their way, operands of
    /// one key and the value that they make (1 GiB each at most where they are read, about 64 MiB
    /// of operands in a flush, 256 in a merge), and the log that a read-only opening after a crash
    /// reads.
    ///
    /// It decides how much room the log takes on disk before what it holds is durable in tables, and how
    /// much an opening after a crash has to replay: twice the budget, at least 64 MiB and at most 256.
    pub fn memory_budget(mut self, bytes: usize) -> Options {
        self.memory_budget = bytes;
        self
    }

    /// The durability of writes that do not name their own. [`Durability::Os`] by default: a process that
    /// dies loses nothing, and no write waits for the disk.
    pub fn durability(mut self, durability: Durability) -> Options {
        self.durability = durability;
        self
    }

    /// How values are compressed from now on; what there is already stays readable. [`Compression::Fast`] by
    /// default: values that do not shrink are stored as they are.
    pub fn compression(mut self, compression: Compression) -> Options {
        self.compression = compression;
        self
    }

    /// Creates the database (and the last component of its path) when missing. A read-only opening creates
    /// nothing. `false` by default, so that a wrong path is an error and not an empty database;
    /// [`Db::open`](crate::Db::open) sets it.
    pub fn create_if_missing(mut self, create: bool) -> Options {
        self.create_if_missing = create;
        self
    }

    /// Fails when the database exists. `false` by default: most programs open what they left.
    pub fn error_if_exists(mut self, error: bool) -> Options {
        self.error_if_exists = error;
        self
    }

    /// Opens without changing one byte; writes fail with `ReadOnly`. Any number of handles and
    /// processes may read at a time; while one of them does, and while a writer has the database,
    /// the other kind of opening is `Locked`. A copy or checkpoint that was never opened for writing
    /// has no LOCK yet, and a reader of it keeps no writer out. `false` by default: most programs write.
    pub fn read_only(mut self, read_only: bool) -> Options {
        self.read_only = read_only;
        self
    }

    /// Orders keys by `comparator`. Its name is stored when the database is made; opening with another is refused.
    pub fn comparator(mut self, comparator: Arc<dyn Comparator>) -> Options {
        self.order = Order::Custom(comparator);
        self
    }

    /// Folds merge operands with `operator`. Its name is stored with the first write that follows an opening with it,
    /// whatever is written, and opening with another is refused from then on. Opened with none, keys with operands
    /// cannot be read, and everything else can.
    pub fn merge_operator(mut self, operator: Arc<dyn MergeOperator>) -> Options {
        self.merge_operator = Some(operator);
        self
    }

    /// What to do about a damaged log. [`RecoveryMode::Strict`] by default: what was synced is not given up
    /// unasked.
    pub fn recovery(mut self, mode: RecoveryMode) -> Options {
        self.recovery = mode;
        self
    }

    /// Runs in another environment than the operating system: in memory, or simulated.
    pub fn env(mut self, env: Arc<dyn Env>) -> Options {
        self.env = Some(env);
        self
    }

    /// Forces tables and value files to be read through a mapping (`true`) or with `pread`, tables with the page cache
    /// (`false`). By default they are mapped on the local file systems that are known (ext2 to 4, XFS, Btrfs,
    /// F2FS, ZFS, tmpfs, overlayfs, on Linux) while the data is below half of the machine's memory. The log
    /// is mapped on ext2 to 4 and XFS whatever is said here.
    pub fn mapped(mut self, mapped: bool) -> Options {
        self.mapped = Some(mapped);
        self
    }

    /// Verifies the checksum of a page, or of a large value, each time it is read from its mapping, or from its file,
    /// instead of once per open. A page in the page cache was verified when it came there; a value that is read from
    /// its file always is, one that is stored in less than 4 KiB now and then again. `false` by default: memory that
    /// changes by itself is rare, and each look costs some 0.2 us a page.
    pub fn verify_always(mut self, always: bool) -> Options {
        self.verify_always = always;
        self
    }

    /// Filter bits per key, 0 for no filter. The default of 10 costs 1.25 bytes a key and lets
    /// about one absent key in a hundred through. At most [`FILTER_BITS_MAX`].
    pub fn filter_bits_per_key(mut self, bits: u32) -> Options {
        self.filter_bits_per_key = bits;
        self
    }

    /// Values of 8 KiB and more go to value files. A file that has reached `bytes` is closed, and the next
    /// value begins another. A closed file is removed once none of its values is alive. At rest, while more than a
    /// sixth of what value files hold is dead, the live values of those that hold the most of it are copied
    /// elsewhere; so are values that shrink.
    ///
    /// Shorter files mean less to copy at a time, but more files, each of which is an edit of the manifest and
    /// makes each later edit take longer. 256 MiB by default, [`VALUE_FILE_BYTES_DEFAULT`]; any length will do, 0 makes a
    /// file for each value.
    pub fn value_file_bytes(mut self, bytes: u64) -> Options {
        self.value_file_bytes = bytes;
        self
    }

    /// For tests, which cannot fold gigabytes: `value` instead of 1 GiB for a folded value and the
    /// operands that a read folds, `job` instead of 64 MiB for the operands of one key that a flush
    /// or merge holds.
    #[doc(hidden)]
    pub fn fold_limits(mut self, value: usize, job: usize) -> Options {
        self.fold_limits = FoldLimits::new(value, job);
        self
    }
}

/// Settings of one write.
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "settings do nothing until a write is given them"]
pub struct WriteOptions {
    pub(crate) durability: Option<Durability>,
}

impl WriteOptions {
    /// The database's own durability.
    pub fn new() -> WriteOptions {
        WriteOptions::default()
    }

    /// This write's durability.
    pub fn durability(mut self, durability: Durability) -> WriteOptions {
        self.durability = Some(durability);
        self
    }
}
