//! The feed of changes of a database, and its leases.

#[cfg(feature = "stream")]
use std::sync::Arc;
use std::time::Duration;

use cairndb_base::{Error, ErrorKind, Result};
#[cfg(feature = "stream")]
use cairndb_env::Env;

use crate::api::db::Db;
use crate::api::snapshot::Snapshot;
use crate::changes::change::{Change, Place};
use crate::changes::feed::{Feed, Wanted};
use crate::log::history::History;
use crate::state::options::Durability;
use crate::versions::base::nanos;

/// Default for the number of bytes of the log that are kept for a consumer.
const BYTES_MAX_DEFAULT: u64 = 1 << 30;
/// Default for the interval at which the log is synced, and the maximum.
const INTERVAL_DEFAULT: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_secs(1);

/// How long a snapshot of a follower may take to become durable: the writer syncs within a second
/// after it has noticed the consumer.
const DURABLE_WITHIN: Duration = Duration::from_secs(10);

/// Where a consumer of changes begins, and what is kept for it.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// use cairndb::ChangesOptions;
/// let options = ChangesOptions::new().lease("search-index").bytes_max(4 << 30);
/// let changes = db.changes(&options)?;
/// assert_eq!(db.leases()?[0].name, "search-index");
/// # drop(changes);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing until they are used"]
pub struct ChangesOptions {
    wanted: Wanted,
}

impl Default for ChangesOptions {
    fn default() -> ChangesOptions {
        ChangesOptions {
            wanted: Wanted {
                after: None,
                lease: None,
                bytes_max: BYTES_MAX_DEFAULT,
                durability: Durability::Sync,
                interval_ns: nanos(INTERVAL_DEFAULT),
                as_logged: false,
            },
        }
    }
}

impl ChangesOptions {
    /// Returns the defaults: changes from now on, once they are durable.
    pub fn new() -> ChangesOptions {
        ChangesOptions::default()
    }

    /// Begins after `place`, which an earlier change or feed had. Default: what the lease has
    /// not acknowledged or, without a lease, now.
    pub fn after(mut self, place: Place) -> ChangesOptions {
        self.wanted.after = Some(place);
        self
    }

    /// Holds the log under a name, 1 to 255 bytes, from what the consumer has acknowledged on
    /// ([`Changes::acknowledge`]), also while it does not run and the database is closed. Default:
    /// the log is held while the consumer runs.
    pub fn lease(mut self, name: impl Into<String>) -> ChangesOptions {
        self.wanted.lease = Some(name.into());
        self
    }

    /// Sets how many bytes of log and of values that only changes refer to are kept for the
    /// consumer at most; what the database itself needs does not count. Past that, it falls off: it
    /// gets `Revoked`, and begins again with a snapshot. A lease that exists keeps its limit.
    /// Default: 1 GiB.
    pub fn bytes_max(mut self, bytes: u64) -> ChangesOptions {
        self.wanted.bytes_max = bytes;
        self
    }

    /// Sets when a change is delivered: `Sync`, the default, once no loss of power takes it back;
    /// `Os` as soon as readers see it. What is written at `None` is not logged and cannot be
    /// delivered, so [`Db::changes`] refuses this.
    pub fn durability(mut self, durability: Durability) -> ChangesOptions {
        self.wanted.durability = durability;
        self
    }

    /// Delivers batches and events of keyspaces as they are on disk
    /// ([`ChangeKind::Logged`](crate::ChangeKind::Logged)), for backups.
    pub fn as_logged(mut self) -> ChangesOptions {
        self.wanted.as_logged = true;
        self
    }

    /// Sets the interval at which the log is synced while the consumer runs, from the first write
    /// on: at most a second. Default: 100 ms.
    pub fn sync_interval(mut self, interval: Duration) -> ChangesOptions {
        self.wanted.interval_ns = nanos(interval.clamp(Duration::from_micros(1), INTERVAL_MAX));
        self
    }
}

/// A lease; see [`ChangesOptions::lease`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseState {
    /// Its name.
    pub name: String,
    /// Up to where the consumer has acknowledged.
    pub place: Place,
    /// Whether its limit was exceeded, so that nothing is held for it any more. It stays until it
    /// is dropped or begins again ([`Db::snapshot_and_changes`]): the consumer must learn of it.
    pub fell_off: bool,
}

/// The changes of a database, in order, each as a whole; see [`Db::changes`].
///
/// As an iterator it waits for the next change. It ends after an error; after `Closed`, for
/// example, there is nothing more.
pub struct Changes {
    feed: Feed,
    ended: bool,
}

impl std::fmt::Debug for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes")
            .field("place", &self.place())
            .finish_non_exhaustive()
    }
}

impl Changes {
    /// Returns the next change; `None` if there is none to deliver now.
    ///
    /// # Errors
    /// `Revoked` if the consumer fell off; `Corruption`, with file and offset; `Io`, `Closed`,
    /// `Poisoned`.
    pub fn try_next(&mut self) -> Result<Option<Change>> {
        self.feed.next()
    }

    /// Waits for the next change, at most for `limit`. May be [watched](crate::watch).
    ///
    /// # Errors
    /// Same as [`Changes::try_next`].
    pub fn next_within(&mut self, limit: Duration) -> Result<Option<Change>> {
        self.feed.wait(Some(limit))
    }

    #[cfg(feature = "stream")]
    pub(crate) fn env(&self) -> Arc<dyn Env> {
        self.feed.env()
    }

    /// Returns the place after the last change.
    pub fn place(&self) -> Place {
        self.feed.place()
    }

    /// Records that the consumer has stored what it made of the changes up to `place`: the lease
    /// holds only what follows. Without a lease, each change is done with when the next one is
    /// asked for.
    ///
    /// The lease is durable after some time, so store the place as well, with what was made of the
    /// changes. Costs a sync if log is freed, otherwise nothing.
    ///
    /// # Errors
    /// `InvalidArgument`, `Revoked` for a place that was not delivered, or if the consumer has
    /// fallen off; those of [`Db::flush`].
    pub fn acknowledge(&self, place: Place) -> Result<()> {
        self.feed.acknowledge(place)
    }
}

impl Iterator for Changes {
    type Item = Result<Change>;

    fn next(&mut self) -> Option<Result<Change>> {
        if self.ended {
            return None;
        }
        let next = self.feed.wait(None).transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl Db {
    /// Opens a feed of changes: every batch, whole and in order, the ranges that were deleted, and
    /// the keyspaces that were created and dropped. By default a change is delivered once it is
    /// durable. While a feed is open, what is written at `Os` is therefore synced within 100 ms;
    /// another thread does it, and copies what is kept of the log for a feed or lease. Where the
    /// disk keeps up, that costs the writer what such syncs do. Writes at `None` are not in the
    /// log: the feed reports how many there were.
    ///
    /// A consumer that stores the [place](Change::place) with what it made of the change can
    /// continue after it, in another process and after any crash. A follower has the feed, too; it
    /// moves its state on. If the log after the place is
    /// gone, or writes before it were lost, the call fails with `Revoked`: begin again with
    /// [`Db::snapshot_and_changes`].
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// use cairndb::{BatchEntry, ChangeKind, ChangesOptions};
    /// let mut changes = db.changes(&ChangesOptions::new())?;
    /// db.put(b"basalt", b"black")?;
    /// let change = changes.next().expect("it waits")?;
    /// let ChangeKind::Batch(entries) = &change.kind else { unreachable!() };
    /// let put = BatchEntry::Put { key: b"basalt", value: b"black" };
    /// assert_eq!(entries.iter().next(), Some((None, put)));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `Revoked` if changes after the place are gone, or writes before it were lost in a crash.
    /// - `InvalidArgument` if the place is of another database, or for an impossible lease.
    /// - `ReadOnly`; those of [`Db::sync`]. In a follower, those of [`Db::refresh`], and `Locked`
    ///   if there is a lease to record and no process that writes, or it does not answer.
    pub fn changes(&self, options: &ChangesOptions) -> Result<Changes> {
        let core = self.core();
        let opened = core.open_feed(options.wanted.clone());
        let feed = core.base.context.with_directory(opened)?;
        Ok(Changes { feed, ended: false })
    }

    /// Takes a snapshot, and opens a feed of what follows it. A lease of the options begins again
    /// at the snapshot, and a place is ignored. Flushes, so that the snapshot shows only what is
    /// durable.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(&dir)?;
    /// db.put(b"old", b"1")?;
    /// let (snapshot, changes) = db.snapshot_and_changes(&cairndb::ChangesOptions::new())?;
    /// // Copy the snapshot, store `changes.place()` with it, then apply the changes.
    /// assert_eq!(snapshot.iter().count(), 1);
    /// # drop(changes);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`Db::flush`]; `InvalidArgument` for an impossible lease.
    pub fn snapshot_and_changes(&self, options: &ChangesOptions) -> Result<(Snapshot, Changes)> {
        let core = self.core();
        if let Some(name) = &options.wanted.lease {
            core.drop_lease(name)?;
        }
        // From before the snapshot on, so that nothing between them is lost.
        let wanted = Wanted {
            after: None,
            ..options.wanted.clone()
        };
        let mut feed = core.base.context.with_directory(core.open_feed(wanted))?;
        let snapshot = self.snapshot();
        if core.follower.is_none() {
            self.flush()?;
        } else if !feed.wait_durable(snapshot.seq(), DURABLE_WITHIN)? {
            let message = "the process that writes has not made the snapshot durable; try again";
            return Err(Error::new(ErrorKind::Locked, message).directory(self.path()));
        }
        feed.skip_to(snapshot.seq())?;
        Ok((snapshot, Changes { feed, ended: false }))
    }

    /// Returns the place of everything written so far, from which [`Db::changes`] delivers what
    /// follows. Syncs the log.
    ///
    /// # Errors
    /// Those of [`Db::sync`]; in a follower, those of [`Db::refresh`].
    pub fn place(&self) -> Result<Place> {
        let core = self.core();
        if let Some(follower) = &core.follower {
            let now = core.base.context.with_directory(follower.log().now(None))?;
            let durable = follower.log().durable(&now.state);
            return Ok(Place {
                incarnation: now.state.lineage.present(),
                seq: durable.min(now.published()),
            });
        }
        self.sync()?;
        Ok(Place {
            incarnation: core.base.stored.lineage.present(),
            seq: core.disk.log.lock().synced.0,
        })
    }

    /// Returns the leases.
    ///
    /// # Errors
    /// In a follower, those of [`Db::refresh`]; otherwise none.
    pub fn leases(&self) -> Result<Vec<LeaseState>> {
        let core = self.core();
        let Some(follower) = &core.follower else {
            let incarnation = core.base.stored.lineage.present();
            return Ok(states(&core.disk.log.history, incarnation));
        };
        let now = core.base.context.with_directory(follower.log().now(None))?;
        Ok(states(&now.state.history, now.state.lineage.present()))
    }

    /// Drops a lease. What was held for it is freed.
    ///
    /// # Errors
    /// `NotFound` if there is none with this name; those of [`Db::flush`]. In a follower, `Locked`
    /// if no process writes the database, or it does not answer.
    pub fn drop_lease(&self, name: &str) -> Result<()> {
        let core = self.core();
        if core.base.context.with_directory(core.drop_lease(name))? {
            return Ok(());
        }
        let message = "there is no such lease";
        let error = Error::new(ErrorKind::NotFound, message).found(format_args!("{name:?}"));
        Err(error.directory(self.path()))
    }
}

fn states(history: &History, incarnation: u64) -> Vec<LeaseState> {
    let leases = history.leases().into_iter();
    let states = leases.filter_map(|lease| {
        Some(LeaseState {
            name: lease.name.clone()?,
            place: Place {
                incarnation,
                seq: lease.seq(),
            },
            fell_off: lease.has_fallen(),
        })
    });
    states.collect()
}
