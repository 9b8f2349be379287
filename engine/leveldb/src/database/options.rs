//! How a database is opened, and what the opening met.

use cairndb_base::Error;

use crate::orders::Orders;
use crate::table::DECODED_BYTES_MAX;

/// What to do with a comparator whose name is unknown.
///
/// ```
/// use cairndb_leveldb::{ReadOptions, UnknownOrder};
/// let options = ReadOptions { unknown_order: UnknownOrder::Bytewise, ..ReadOptions::default() };
/// assert_ne!(options.unknown_order, UnknownOrder::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownOrder {
    /// Refuse the database; the error names the comparator.
    #[default]
    Refuse,
    /// Sort all entries bytewise in memory, which [`ReadOptions::memory_bytes_max`] bounds.
    /// Contents are right, their order is not the database's.
    Bytewise,
}

/// What to do with damage within a log, and with a missing log. The torn end of the newest log is
/// always dropped: a crash leaves it. [`ReadOptions`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Refuse the database; the error names file and offset.
    #[default]
    Strict,
    /// As `Strict`, but do without a log that the manifest names and that is missing, as LevelDB
    /// does, and list it in the [`Report`]. Its writes are lost.
    WithoutLog,
    /// Also leave out what is damaged, as LevelDB does unless it is set to be paranoid, and list it
    /// in the [`Report`].
    Skip,
}

/// How a database is opened.
///
/// ```
/// use cairndb_leveldb::{ReadOptions, Recovery};
/// let options = ReadOptions { recovery: Recovery::Skip, ..ReadOptions::default() };
/// assert_eq!(options.memory_bytes_max, 1 << 30);
/// ```
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The comparators that are known by name.
    pub orders: Orders,
    /// What to do with another one.
    pub unknown_order: UnknownOrder,
    /// What to do with damage within a log, and with a missing log.
    pub recovery: Recovery,
    /// Most bytes of memory for what is in logs: their batches, and 16 bytes for each entry.
    /// Default 1 GiB. LevelDB's logs are as long as its write buffer, 4 MiB unless set otherwise; a
    /// database whose logs need more is refused.
    pub memory_bytes_max: usize,
    /// Most bytes of one decoded block that deflate or Zstandard compressed, unless 32 times the
    /// stored bytes are more. Default 64 MiB.
    pub decoded_bytes_max: usize,
    /// Most tables whose index is kept in memory. Default 500.
    pub open_tables_max: usize,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions {
            orders: Orders::default(),
            unknown_order: UnknownOrder::default(),
            recovery: Recovery::default(),
            memory_bytes_max: 1 << 30,
            decoded_bytes_max: DECODED_BYTES_MAX,
            open_tables_max: 500,
        }
    }
}

/// Damages that a report lists; further ones are only counted.
const LISTED_MAX: usize = 1000;

/// What an opening met besides intact bytes.
///
/// ```
/// # use std::path::Path;
/// # use cairndb_env::{Background, Env, MemEnv};
/// # use cairndb_leveldb::{Database, NewDatabase, ReadOptions, WriteOptions};
/// # let dir = MemEnv::new(Background::Stepped).open_dir(Path::new("db"), true)?;
/// # NewDatabase::create(&dir, WriteOptions::default())?.finish()?;
/// let database = Database::open(&dir, &ReadOptions::default())?;
/// assert!(database.report().torn_log.is_none() && database.report().skipped.is_empty());
/// # Ok::<(), cairndb_leveldb::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The logs that were replayed, in order.
    pub logs: Vec<u64>,
    /// Where the manifest was torn by a crash.
    pub torn_manifest: Option<Error>,
    /// Where the newest log was torn by a crash.
    pub torn_log: Option<Error>,
    /// What [`ReadOptions::recovery`] has left out: at most 1,000 places.
    pub skipped: Vec<Error>,
    /// How many places were left out.
    pub skipped_count: u64,
}

impl Report {
    pub(crate) fn skip(&mut self, error: Error) {
        self.skipped_count += 1;
        if self.skipped.len() < LISTED_MAX {
            self.skipped.push(error);
        }
    }
}
