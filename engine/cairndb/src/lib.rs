//! CairnDB: an embedded, ordered key-value store.
//!
//! Keys and values are byte strings. Keys are ordered bytewise or by a custom comparator. Writes go
//! through a memory-mapped log and a memtable into sorted tables that are compacted in the
//! background. Reads take no lock, except for the handle of a value file and, where tables are read
//! with `pread`, the page cache. Batches are atomic, snapshots are consistent, and every byte read
//! from disk is checksummed.
//!
//! ```
//! # fn main() -> cairndb::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! let db = cairndb::Db::open(&dir)?;
//! db.put(b"limestone", b"white")?;
//! db.put(b"slate", b"blue")?;
//! for entry in db.iter() {
//!     let (stone, colour) = entry?;
//!     println!("{:?} is {:?}", stone, colour);
//! }
//! db.close()?;
//! # Ok(()) }
//! ```
//!
//! Durability is chosen per database and per write; see [`Durability`]. There are few settings; see
//! [`Options`]. All other sizes are derived from the memory budget.

#![expect(
    clippy::needless_pass_by_value,
    reason = "ranges are passed by value, as is usual in Rust; jobs consume what they release"
)]

mod api;
mod changes;
mod compaction;
mod durable;
mod engine;
mod flush;
mod follow;
mod jobs;
mod log;
mod read;
mod recovery;
mod scheduler;
mod space;
mod state;
mod transaction;
mod value_gc;
mod versions;
mod write;

pub use cairndb_base::watch::{Progress, watch};
pub use cairndb_base::{Comparator, Error, ErrorKind, Result};
pub use cairndb_env as env;
pub use cairndb_repair::{
    Doubt, DoubtKind, HarmlessDamage, Kept, KeySpan, Loss, RepairReport, Unnamed,
};

pub use api::cursor::Cursor;
pub use api::db::Db;
pub use api::db::changes::{Changes, ChangesOptions, LeaseState};
pub use api::db::diff::{Diff, Difference, diff};
#[cfg(feature = "stream")]
pub use api::db::stream::ChangesStream;
pub use api::iter::{Iter, LendingIter};
pub use api::keyspace::Keyspace;
pub use api::offline::{VerifyReport, destroy, verify};
pub use api::range::KeyRange;
pub use api::range_cursor::RangeCursor;
pub use api::repair::{RepairOptions, repair};
pub use api::snapshot::Snapshot;
pub use api::value::Value;
pub use changes::change::{Change, ChangeKind, ChangedEntries, Place};
pub use engine::fork::ForkReport;
pub use recovery::report::{LogCut, ManifestCut, OpenReport, SkippedFile};
pub use scheduler::steps::Job;
pub use state::batch::{BatchEntry, WriteBatch};
pub use state::merge_operator::{Add, Append, Max, MergeOperator};
pub use state::options::{
    Compression, Durability, FILTER_BITS_DEFAULT, FILTER_BITS_MAX, KeyspaceOptions,
    MEMORY_BUDGET_DEFAULT, MEMORY_BUDGET_MIN, Options, RecoveryMode, VALUE_FILE_BYTES_DEFAULT,
    WriteOptions,
};
pub use transaction::cursor::TransactionCursor;
pub use transaction::handle::Transaction;
pub use transaction::iter::{TransactionIter, TransactionLendingIter};
pub use transaction::options::{Isolation, TransactionOptions};
pub use transaction::own_writes::Savepoint;

/// LevelDB's databases, converted in place. Needs the feature `leveldb`.
///
/// [`Options::upgrade_leveldb`] converts a database when it is opened. The functions here do the
/// same with a plan beforehand and progress reports. Comparators that LevelDB's users have, for
/// [`Options::comparator`]: [`IndexedDbOrder`](leveldb::IndexedDbOrder) and
/// [`ReverseOrder`](leveldb::ReverseOrder).
#[cfg(feature = "leveldb")]
pub mod leveldb {
    pub use crate::api::leveldb::{UpgradeOptions, plan, upgrade};
    pub use cairndb_base::Order;
    pub use cairndb_convert::{
        UpgradeOutcome, UpgradePlan, UpgradeProgress, UpgradeReport, UpgradeStep,
    };
    pub use cairndb_leveldb::{IndexedDbOrder, ReverseOrder};
}

/// The database as files and records of the log, for programs that copy both: a backup.
pub mod physical {
    pub use crate::api::db::physical::directory;
    pub use crate::changes::change::Logged;
    pub use crate::engine::assemble::{Assembly, Only};
    pub use crate::engine::live_files::LiveFiles;
}

/// Compiles and runs the code of the user documents as tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[doc = include_str!("../../../docs/guide/durability.md")]
    mod durability {}
    #[doc = include_str!("../../../docs/guide/after-damage.md")]
    mod after_damage {}
    #[doc = include_str!("../../../docs/guide/operating.md")]
    mod operating {}
    #[doc = include_str!("../../../docs/guide/from-leveldb.md")]
    mod from_leveldb {}
    #[doc = include_str!("../../../docs/guide/keyspaces.md")]
    mod keyspaces {}
    #[doc = include_str!("../../../docs/guide/transactions.md")]
    mod transactions {}
    #[doc = include_str!("../../../docs/guide/changes.md")]
    mod changes {}
    #[doc = include_str!("../../../docs/guide/followers.md")]
    mod followers {}
    #[doc = include_str!("../../../docs/guide/forks.md")]
    mod forks {}
}
