//! `Core`: one open database, its owners and the operations on it.
//!
//! Each owner alone changes its own state and uses only owners below it; see
//! `ARCHITECTURE.md`. [`crate::versions::engine_state`] documents the lock order.

use std::fmt;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cairndb_base::{Error, Kind, PageCache, Result, SeqNo};
use cairndb_env::sync::Mutex;
use cairndb_mem::ChunkPool;

use crate::changes::feed::{Feed, Wanted};
use crate::changes::followed_log::FollowedLog;
use crate::changes::own_log::OwnLog;
use crate::compaction::schedule::KeyRange;
use crate::compaction::tables::Tables;
use crate::durable::disk::Disk;
use crate::engine::close::Closer;
use crate::engine::first_state::{Opened, foundation};
use crate::engine::fork::{ForkReport, Forks};
use crate::engine::keyspaces::KeyspaceManager;
use crate::engine::manual::Manual;
use crate::engine::properties::Properties;
use crate::engine::waiting::Waiting;
use crate::follow::follower::Follower;
use crate::log::commit::Commit;
use crate::read::moment::{At, Moment};
use crate::scheduler::runner::Runner;
use crate::scheduler::threads::Scheduler;
use crate::space::space_maker::SpaceMaker;
use crate::state::batch::WriteBatch;
use crate::state::keyspaces::KeyspaceState;
use crate::state::options::Durability;
use crate::state::sections::{Section, StoredKey};
use crate::versions::base::Base;
use crate::write::writer::{Precondition, Writer};

/// One open database.
pub(crate) struct Core {
    pub(crate) base: Arc<Base>,
    pub(crate) disk: Arc<Disk>,
    pub(super) tables: Arc<Tables>,
    pub(crate) space: Arc<SpaceMaker>,
    pub(crate) writer: Arc<Writer>,
    pub(crate) scheduler: Arc<Scheduler>,
    pub(super) cache: Arc<dyn PageCache>,
    /// What looks for writes of another process, in a follower.
    pub(crate) follower: Option<Arc<Follower>>,
    /// Held by the closing thread for the entire close. Contains the error of a failed close.
    pub(super) close_turn: Mutex<Option<Error>>,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("dir", &self.base.dir.path())
            .finish_non_exhaustive()
    }
}

impl Core {
    /// Makes the owners of a database, each of those before it.
    pub(super) fn new(opened: Opened) -> Core {
        let cache = Arc::clone(&opened.opener.cache);
        let pool = ChunkPool::new(opened.settings.budget.write_share);
        let (base, disk) = foundation(opened);
        let tables = Arc::new(Tables::new(&base, &disk));
        let space = Arc::new(SpaceMaker::new(&base, &disk, &tables));
        let writer = Arc::new(Writer::new(&base, &disk, &tables, &space, pool));
        let runner = Runner::new(&base, &disk, &tables, &space, &writer);
        Core {
            scheduler: Arc::new(Scheduler::new(runner)),
            base,
            disk,
            tables,
            space,
            writer,
            cache,
            follower: None,
            close_turn: Mutex::new(None),
        }
    }

    /// Prepares a read at `at`, or of the newest state: a follower looks for new writes.
    ///
    /// # Errors
    /// `Closed`; those of [`Follower::before_read`].
    #[inline]
    pub(crate) fn before_read(&self, at: At<'_>) -> Result<()> {
        if self.base.health.is_plain() {
            return Ok(());
        }
        self.begin_read(at)
    }

    #[cold]
    #[inline(never)]
    fn begin_read(&self, at: At<'_>) -> Result<()> {
        self.base.health.check_read()?;
        match (at, &self.follower) {
            (Some(moment), _) => moment.check(),
            (None, Some(follower)) => follower.before_read(),
            (None, None) => Ok(()),
        }
    }

    /// Takes a snapshot of everything published.
    pub(crate) fn acquire_moment(&self) -> Moment {
        let Some(follower) = &self.follower else {
            return Moment::of_seq(self.base.acquire_snapshot());
        };
        let looked = follower.before_read();
        let (seq, views) = self.base.acquire_views();
        Moment::of_views(seq, views, looked)
    }

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
        self.base.check_writable()?;
        self.scheduler.start_threads()
    }

    /// Writes one entry to the default keyspace.
    #[expect(
        clippy::inline_always,
        reason = "most of it folds away for a constant kind"
    )]
    #[inline(always)]
    pub(crate) fn write_one(
        &self,
        kind: Kind,
        key: &[u8],
        value: &[u8],
        durability: Durability,
    ) -> Result<()> {
        self.begin_write()?;
        let key = StoredKey::plain(key);
        self.writer.write_one(kind, key, value, durability, None)
    }

    /// Writes one entry to a keyspace.
    pub(crate) fn write_in(
        &self,
        keyspace: &KeyspaceState,
        kind: Kind,
        key: &[u8],
        value: &[u8],
        durability: Durability,
    ) -> Result<()> {
        keyspace.check()?;
        self.begin_write()?;
        if kind == Kind::Merge {
            keyspace.check_operand(value)?;
        }
        let exists = |_: &Commit| keyspace.check();
        keyspace.with_stored(key, |key| {
            self.writer
                .write_one(kind, key, value, durability, Some(&exists))
        })
    }

    /// Writes one entry to the default keyspace. Returns `false` if it would have to wait.
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
        let key = StoredKey::plain(key);
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

    /// Writes an operand that the merge operator of the default keyspace accepts.
    pub(crate) fn write_operand(
        &self,
        key: &[u8],
        operand: &[u8],
        durability: Durability,
    ) -> Result<()> {
        self.begin_write()?;
        self.base.context.check_operand(operand)?;
        self.write_one(Kind::Merge, key, operand, durability)
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

    /// Deletes `key` of the default keyspace, if `precondition` holds at that moment.
    pub(crate) fn delete_if(
        &self,
        key: &[u8],
        durability: Durability,
        precondition: Precondition<'_>,
    ) -> Result<()> {
        self.begin_write()?;
        let (kind, key) = (Kind::Delete, StoredKey::plain(key));
        self.writer
            .write_one(kind, key, b"", durability, Some(precondition))
    }

    /// Waits for the syncs without which writes so far cannot be published.
    pub(crate) fn wait_published(&self) -> Result<()> {
        let commit = self.disk.log.lock();
        if commit.awaiting_sync.is_empty() {
            return Ok(());
        }
        let last = commit.last_seq;
        self.disk.wait_published(commit, last)
    }

    /// Flushes and syncs everything written so far.
    pub(crate) fn flush_all(&self) -> Result<()> {
        self.writer.flush_all()
    }

    /// Compacts everything that overlaps `range` of the default keyspace. The range of all keys
    /// includes all keyspaces.
    pub(crate) fn compact_range(&self, range: KeyRange<'_>) -> Result<()> {
        self.manual().compact_range(Section::Default, range)
    }

    /// Compacts everything that overlaps `range` of a keyspace.
    pub(crate) fn compact_in(&self, keyspace: &KeyspaceState, range: KeyRange<'_>) -> Result<()> {
        keyspace.check()?;
        let (from, to) = keyspace.stored_range(range);
        let range = (Bound::Included(&*from), Bound::Included(&*to));
        self.manual().compact_range(keyspace.section(), range)
    }

    /// Returns the keyspaces, to create and to drop some.
    pub(crate) fn keyspaces(&self) -> KeyspaceManager<'_> {
        KeyspaceManager {
            base: &self.base,
            disk: &self.disk,
        }
    }

    /// Waits for the background work that is currently pending, at most for `limit`.
    pub(crate) fn wait_idle(&self, limit: Option<Duration>) -> Result<bool> {
        self.waiting().wait_idle(limit)
    }

    /// Creates a database at `path` with everything written up to the snapshot `at`, or so far.
    pub(crate) fn fork(&self, path: &Path, at: Option<SeqNo>) -> Result<ForkReport> {
        let forks = Forks {
            base: &self.base,
            disk: &self.disk,
            writer: &self.writer,
        };
        forks.fork(path, at)
    }

    /// Opens a feed of changes.
    pub(crate) fn open_feed(&self, wanted: Wanted) -> Result<Feed> {
        wanted.check()?;
        if let Some(follower) = &self.follower {
            let source = FollowedLog::open(&self.base, follower, &wanted)?;
            return Ok(Feed::new(Box::new(source), &wanted));
        }
        self.begin_write()?;
        let source = OwnLog::open(&self.base, &self.disk, &wanted)?;
        Ok(Feed::new(Box::new(source), &wanted))
    }

    /// Drops a lease. Returns whether there was one.
    pub(crate) fn drop_lease(&self, name: &str) -> Result<bool> {
        match &self.follower {
            Some(follower) => follower.log().drop_lease(name),
            None => self.disk.drop_lease(name),
        }
    }

    /// Returns the property `name`.
    pub(crate) fn property(&self, name: &str) -> Option<String> {
        self.properties().property(name)
    }

    /// Closes the handle.
    pub(crate) fn close(&self) -> Result<()> {
        self.closer().close()
    }

    fn manual(&self) -> Manual<'_> {
        Manual {
            base: &self.base,
            disk: &self.disk,
            tables: &self.tables,
            space: &self.space,
            writer: &self.writer,
            runner: &self.scheduler.runner,
        }
    }

    fn waiting(&self) -> Waiting<'_> {
        Waiting {
            base: &self.base,
            disk: &self.disk,
            tables: &self.tables,
            scheduler: &self.scheduler,
        }
    }

    pub(crate) fn properties(&self) -> Properties<'_> {
        Properties {
            base: &self.base,
            disk: &self.disk,
            cache: &*self.cache,
            pool: &self.writer.sealer.pool,
        }
    }

    fn closer(&self) -> Closer<'_> {
        Closer {
            base: &self.base,
            disk: &self.disk,
            tables: &self.tables,
            space: &self.space,
            writer: &self.writer,
            scheduler: &self.scheduler,
            close_turn: &self.close_turn,
        }
    }
}

#[cfg(test)]
mod tests;
