//! `Core`: one open database, its components and the operations on it.
//!
//! Each component alone changes its own state and uses only components below it; see
//! `ARCHITECTURE.md`. [`crate::versions::state`] documents the lock order.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cairndb_base::{Kind, Result};

use crate::compaction::schedule::KeyRange;
use crate::durable::group_sync::GroupSync;
use crate::durable::log::Log;
use crate::engine::checkpoint::Checkpoints;
use crate::engine::close::Closer;
use crate::engine::properties::Properties;
use crate::recovery::report::OpenReport;
use crate::scheduler::manual::Manual;
use crate::scheduler::steps::{Job, Steps};
use crate::scheduler::threads::Scheduler;
use crate::scheduler::waiting::Waiting;
use crate::state::batch::WriteBatch;
use crate::state::options::Durability;
use crate::versions::shared::Shared;
use crate::versions::version_set::VersionSet;
use crate::write::writer::{Precondition, Writer};

/// One open database.
pub(crate) struct Core {
    pub(crate) shared: Arc<Shared>,
    pub(crate) versions: Arc<VersionSet>,
    pub(crate) log: Arc<Log>,
    pub(super) group_sync: Arc<GroupSync>,
    pub(crate) writer: Arc<Writer>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(super) steps: Arc<Steps>,
    pub(super) manual: Manual,
    pub(super) waiting: Waiting,
    pub(super) checkpoints: Checkpoints,
    pub(super) properties: Properties,
    pub(super) closer: Closer,
    /// For tests only.
    #[cfg(test)]
    pub(crate) parts: crate::engine::assemble::Parts,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("dir", &self.shared.dir.path())
            .finish_non_exhaustive()
    }
}

impl Core {
    /// Starts the threads with the first write.
    #[inline]
    fn begin_write(&self) -> Result<()> {
        if self.scheduler.is_started() {
            Ok(())
        } else {
            self.start_threads()
        }
    }

    #[cold]
    fn start_threads(&self) -> Result<()> {
        self.shared.check_writable()?;
        self.scheduler.start_threads()
    }

    /// Writes one entry.
    #[inline]
    pub(crate) fn write_one(
        &self,
        kind: Kind,
        key: &[u8],
        value: &[u8],
        durability: Durability,
    ) -> Result<()> {
        self.begin_write()?;
        self.writer.write_one(kind, key, value, durability)
    }

    /// Writes one entry. Returns `false` if it would have to wait.
    #[inline]
    pub(crate) fn try_write_one(
        &self,
        kind: Kind,
        key: &[u8],
        value: &[u8],
        durability: Durability,
    ) -> Result<bool> {
        if !self.scheduler.is_started() {
            return Ok(false);
        }
        self.writer.try_write_one(kind, key, value, durability)
    }

    /// Writes a batch atomically. Returns `false` if it would have to wait.
    pub(crate) fn try_write_batch(
        &self,
        batch: &WriteBatch,
        durability: Durability,
    ) -> Result<bool> {
        if !self.scheduler.is_started() {
            return Ok(false);
        }
        self.writer.try_write_batch(batch, durability)
    }

    /// Writes an operand that the merge operator accepts.
    pub(crate) fn write_operand(
        &self,
        key: &[u8],
        operand: &[u8],
        durability: Durability,
    ) -> Result<()> {
        self.begin_write()?;
        self.writer.write_operand(key, operand, durability)
    }

    /// Writes a batch atomically.
    #[inline]
    pub(crate) fn write_batch(&self, batch: &WriteBatch, durability: Durability) -> Result<()> {
        self.begin_write()?;
        self.writer.write_batch(batch, durability, None)
    }

    /// Writes a batch that is not empty atomically, if `precondition` holds at that moment.
    pub(crate) fn write_batch_if(
        &self,
        batch: &WriteBatch,
        durability: Durability,
        precondition: Precondition<'_>,
    ) -> Result<()> {
        self.begin_write()?;
        self.writer
            .write_batch(batch, durability, Some(precondition))
    }

    /// Deletes `key`, if `precondition` holds at that moment.
    pub(crate) fn delete_if(
        &self,
        key: &[u8],
        durability: Durability,
        precondition: Precondition<'_>,
    ) -> Result<()> {
        self.begin_write()?;
        self.writer.delete_if(key, durability, precondition)
    }

    /// Makes every logged write so far durable.
    pub(crate) fn sync_written(&self) -> Result<()> {
        self.group_sync.sync_written()
    }

    /// Waits for the syncs without which writes so far cannot be published.
    pub(crate) fn wait_published(&self) -> Result<()> {
        let commit = self.log.lock();
        if commit.awaiting_sync.is_empty() {
            return Ok(());
        }
        let last = commit.last_seq;
        self.group_sync.wait_published(commit, last)
    }

    /// Flushes and syncs everything written so far.
    pub(crate) fn flush_all(&self) -> Result<()> {
        self.writer.flush_all()
    }

    /// Compacts everything that overlaps `range`.
    pub(crate) fn compact_range(&self, range: KeyRange<'_>) -> Result<()> {
        self.manual.compact_range(range)
    }

    /// Waits for the background work that is currently pending, at most for `limit`.
    pub(crate) fn wait_idle(&self, limit: Option<Duration>) -> Result<bool> {
        self.waiting.wait_idle(limit)
    }

    /// Runs one job.
    pub(crate) fn step(&self, job: Job) -> Result<bool> {
        self.steps.step(job)
    }

    /// Creates a database with everything written so far at `path`.
    pub(crate) fn checkpoint(&self, path: &Path) -> Result<()> {
        self.checkpoints.checkpoint(path)
    }

    /// Returns the property `name`.
    pub(crate) fn property(&self, name: &str) -> Option<String> {
        self.properties.property(name)
    }

    /// Returns the number of bytes on disk that hold keys in `[from, to)`.
    pub(crate) fn approximate_size(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<u64> {
        self.properties.approximate_size(from, to)
    }

    /// Returns about how many keys are in `[from, to)`.
    pub(crate) fn estimate_count(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<u64> {
        self.properties.estimate_count((from, to))
    }

    /// Returns the report of the open.
    pub(crate) fn open_report(&self) -> &OpenReport {
        self.log.open_report()
    }

    /// Closes the handle.
    pub(crate) fn close(&self) -> Result<()> {
        self.closer.close()
    }
}
