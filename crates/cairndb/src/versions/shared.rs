//! What every part of one open database needs and none changes: environment, directory, settings.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::{Background, Dir, Env, Origin, forked};
use cairndb_format::manifest::VersionEdit;
use cairndb_format::table::Compression;
use std::fmt;
use std::time::Duration;

use crate::jobs::output::OutputSettings;
use crate::state::budget::Budget;
use crate::state::context::ReadContext;
use crate::state::health::Health;
use crate::state::opener::TableOpener;
use crate::state::options::{Durability, WriteOptions};
use crate::state::snapshots::Snapshots;
use crate::state::stats::Stats;
use crate::state::version::Version;
use crate::versions::edits::edit_of;

/// What every part of one open database needs and none changes: environment, directory, settings.
pub(crate) struct Shared {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) dir: Arc<dyn Dir>,
    /// The process that opened the database.
    pub(crate) origin: Origin,
    pub(crate) settings: Settings,
    pub(crate) context: Arc<ReadContext>,
    pub(crate) health: Arc<Health>,
    pub(crate) stats: Stats,
    pub(crate) snapshots: Snapshots,
    pub(crate) opener: Arc<TableOpener>,
    /// The merge operator that the database was used with before, whether this handle has it or not.
    pub(crate) stored_operator: Option<String>,
    /// The next file number; one is never used twice.
    pub(crate) next_file: AtomicU64,
}

impl Shared {
    /// The edit that makes `version` from nothing.
    pub(crate) fn snapshot_edit(&self, version: &Version, last_seq: u64) -> VersionEdit {
        let stored_operator = self.stored_operator.as_deref();
        VersionEdit {
            next_file: Some(self.next_file.load(Ordering::Relaxed)),
            last_seq: Some(last_seq),
            ..edit_of(version, &self.context, stored_operator)
        }
    }

    /// Whether the moment `end` on the environment's clock has passed.
    pub(crate) fn is_over(&self, end: Option<u64>) -> bool {
        end.is_some_and(|end| self.env.now_ns() >= end)
    }

    /// The regular length of a value file, where a share of it is meant.
    pub(crate) fn regular_length(&self) -> u64 {
        self.settings.value_file.min(REGULAR_BYTES_MAX)
    }

    pub(crate) fn stepped(&self) -> bool {
        self.env.background() == Background::Stepped
    }

    /// A file number never used before.
    pub(crate) fn new_file(&self) -> u64 {
        // Relaxed: only uniqueness matters.
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// Refuses what a forked child writes, before it waits for a lock that a thread of the parent may have
    /// held at the fork, and before it stores anything into the log that both have mapped.
    #[inline]
    pub(crate) fn check_here(&self) -> Result<()> {
        if self.origin.is_here() {
            Ok(())
        } else {
            Err(forked())
        }
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_here()?;
        if self.settings.read_only {
            return Err(Error::new(
                ErrorKind::ReadOnly,
                "the database was opened read-only; open it for writing",
            ));
        }
        self.health.check_write()
    }

    /// Whether tables are written with values encoded.
    pub(crate) fn encodes(&self) -> bool {
        self.settings.output.compression == Compression::Adaptive
    }

    /// Large values that the mutable memtable of an idle database may point to.
    pub(crate) fn values_when_idle_max(&self) -> u64 {
        (self.regular_length() / VALUES_WHEN_IDLE_SHARE).max(1)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("dir", &self.dir.path())
            .finish_non_exhaustive()
    }
}

/// Value files longer than this count as no longer, where a share of one is meant.
const REGULAR_BYTES_MAX: u64 = 256 << 20;

/// An idle database flushes a memtable that points to so large a share of a value file.
const VALUES_WHEN_IDLE_SHARE: u64 = 16;

/// An idle database flushes a memtable that keeps more of the log than this beside the segment that
/// is written. With less memory than 16 MB segments are shorter than this, and a memtable that
/// crosses from one into the next is no reason to write a table.
pub(crate) const LOG_WHEN_IDLE: u64 = 2 << 20;

/// A duration on the environment's clock.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Settings that stay as they were at opening.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) budget: Budget,
    pub(crate) durability: Durability,
    pub(crate) output: OutputSettings,
    pub(crate) read_only: bool,
    /// Value files are closed when they reach this length.
    pub(crate) value_file: u64,
}

impl Settings {
    /// The durability that a write with these options has.
    pub(crate) fn durability_of(&self, options: WriteOptions) -> Durability {
        options.durability.unwrap_or(self.durability)
    }

    /// Large values that a part may have pointers to: which of them are dead is known once tables have the pointers.
    pub(crate) fn memtable_values_max(&self) -> u64 {
        (self.value_file / 4).clamp(MEMTABLE_VALUES_MIN, MEMTABLE_VALUES_MAX)
    }
}

/// However short value files are, and however long.
const MEMTABLE_VALUES_MIN: u64 = 1 << 20;
const MEMTABLE_VALUES_MAX: u64 = 64 << 20;
