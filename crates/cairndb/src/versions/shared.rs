//! `Shared`: state that every component of an open database uses and none replaces: environment,
//! directory, settings, counters.

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
use crate::state::files::opener::TableOpener;
use crate::state::health::Health;
use crate::state::options::{Durability, WriteOptions};
use crate::state::snapshots::Snapshots;
use crate::state::stats::Stats;
use crate::state::version::Version;
use crate::versions::edits::edit_of;

/// State that every component of an open database uses and none replaces.
pub(crate) struct Shared {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) dir: Arc<dyn Dir>,
    /// Process that opened the database.
    pub(crate) origin: Origin,
    pub(crate) settings: Settings,
    pub(crate) context: Arc<ReadContext>,
    pub(crate) health: Arc<Health>,
    pub(crate) stats: Stats,
    pub(crate) snapshots: Snapshots,
    pub(crate) opener: Arc<TableOpener>,
    /// Merge operator with which the database was last used, even if this handle has none.
    pub(crate) stored_operator: Option<String>,
    /// Next file number. A number is never used twice.
    pub(crate) next_file: AtomicU64,
}

impl Shared {
    /// Returns the edit that builds `version` from an empty one.
    pub(crate) fn snapshot_edit(&self, version: &Version, last_seq: u64) -> VersionEdit {
        let stored_operator = self.stored_operator.as_deref();
        VersionEdit {
            next_file: Some(self.next_file.load(Ordering::Relaxed)),
            last_seq: Some(last_seq),
            ..edit_of(version, &self.context, stored_operator)
        }
    }

    /// Returns whether the moment `end` has passed.
    pub(crate) fn is_over(&self, end: Option<u64>) -> bool {
        end.is_some_and(|end| self.env.now_ns() >= end)
    }

    /// Returns the length of a value file, but at most 256 MiB: the base for fractions of a value
    /// file.
    pub(crate) fn regular_length(&self) -> u64 {
        self.settings.value_file.min(REGULAR_BYTES_MAX)
    }

    /// Returns the number of bytes of dead values that a busy database may have for whatever
    /// reason: the memory budget, but at least 64 MiB, and at most two value files.
    pub(crate) fn value_slack(&self) -> u64 {
        let files = self.regular_length().saturating_mul(2);
        self.settings.waste_unit().min(files)
    }

    pub(crate) fn stepped(&self) -> bool {
        self.env.background() == Background::Stepped
    }

    /// Returns a file number that was never used.
    pub(crate) fn new_file(&self) -> u64 {
        // Relaxed: only uniqueness matters.
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// Refuses a write in a forked child. Checked before taking a lock that a thread of the parent
    /// may have held at the fork, and before storing anything in the log, which both processes map.
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

    /// Returns whether tables store values compressed.
    pub(crate) fn encodes(&self) -> bool {
        self.settings.output.compression == Compression::Adaptive
    }

    /// Returns the number of bytes of large values that the mutable memtable of an idle database
    /// may point to.
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

/// Maximum length used as the base for fractions of a value file, which may be longer.
const REGULAR_BYTES_MAX: u64 = 256 << 20;

/// Fraction of a value file at which an idle database flushes the memtable that points to it.
const VALUES_WHEN_IDLE_SHARE: u64 = 16;

/// Number of log bytes, besides the current segment, above which an idle database flushes the
/// memtable that keeps them. With less than 16 MB of memory, segments are shorter than this, and a
/// memtable that extends from one into the next is not worth a table.
pub(crate) const LOG_WHEN_IDLE: u64 = 2 << 20;

/// Converts a duration to the environment's clock.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Settings that are fixed when the database is opened.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) budget: Budget,
    pub(crate) durability: Durability,
    pub(crate) output: OutputSettings,
    pub(crate) read_only: bool,
    /// Length at which a value file is closed.
    pub(crate) value_file: u64,
}

impl Settings {
    /// Returns the durability of a write with `options`.
    pub(crate) fn durability_of(&self, options: WriteOptions) -> Durability {
        options.durability.unwrap_or(self.durability)
    }

    /// Returns the unit in which the limits on disk space under load are stated: the memory budget,
    /// or 64 MiB if that is more.
    pub(crate) fn waste_unit(&self) -> u64 {
        (self.budget.total as u64).max(WASTE_UNIT_MIN)
    }

    /// Returns the number of bytes of large values that a memtable may point to. Only after its
    /// flush is it known which of them are dead.
    pub(crate) fn memtable_values_max(&self) -> u64 {
        (self.value_file / 4).clamp(MEMTABLE_VALUES_MIN, MEMTABLE_VALUES_MAX)
    }
}

/// Unit of the limits on disk space, if the memory budget is smaller.
const WASTE_UNIT_MIN: u64 = 64 << 20;

/// Bounds of [`Settings::memtable_values_max`], for short and for long value files.
const MEMTABLE_VALUES_MIN: u64 = 1 << 20;
const MEMTABLE_VALUES_MAX: u64 = 32 << 20;
