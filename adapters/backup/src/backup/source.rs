//! `Source`: the database that is backed up, and the feed of what is written to it.

use std::sync::Arc;
use std::time::Duration;

use cairndb::physical::{LiveFiles, directory};
use cairndb::{Changes, ChangesOptions, Db, Place};
use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::Dir;

use crate::backup::options::BackupOptions;
use crate::catalog::Catalog;
use crate::repository::Repository;

/// Number of attempts to find files and a log that continues them.
const TRIES: u32 = 5;
/// How long a database that is written may take to have everything up to some moment in tables.
const FLUSHED_WITHIN: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(50);
/// How often the log is synced. More often costs the writer more, and the place has changes only
/// each second or so.
const SYNCED_EACH: Duration = Duration::from_millis(500);
/// How long another process may take to make durable what it has written.
const DURABLE_WITHIN: Duration = Duration::from_secs(3);

/// A database, and the feed of what is written to it.
#[derive(Debug)]
pub(super) struct Source {
    db: Db,
    pub(super) dir: Arc<dyn Dir>,
    feed: Changes,
    lease: String,
    log_bytes_max: u64,
    /// Whether the lease holds the log. It needs a process that writes.
    leased: bool,
}

impl Source {
    /// Opens the feed after what the place has. Returns whether it continues that.
    ///
    /// # Errors
    /// `InvalidArgument` if the place has backups of another database; those of [`Db::changes`].
    pub(super) fn open(
        db: &Db,
        repository: &Repository,
        catalog: &Catalog,
        options: &BackupOptions,
    ) -> Result<(Source, bool)> {
        let leased = db.has_writer().unwrap_or(true);
        match Source::open_with(db, repository, catalog, options, leased) {
            // A process has the database open that has not written yet, and records no leases.
            Err(error) if error.kind() == ErrorKind::Locked && leased => {
                Source::open_with(db, repository, catalog, options, false)
            }
            opened => opened,
        }
    }

    fn open_with(
        db: &Db,
        repository: &Repository,
        catalog: &Catalog,
        options: &BackupOptions,
        leased: bool,
    ) -> Result<(Source, bool)> {
        let lease = format!("backup-{}", repository.id());
        let opening = Opening {
            db,
            lease: leased.then_some(&*lease),
            log_bytes_max: options.log_bytes_max,
        };
        let last = catalog.last_place();
        let last = last.map(|(incarnation, seq)| Place { incarnation, seq });
        let resumed = last.map(|last| opening.feed(Some(last)));
        let (feed, continues) = match resumed {
            Some(Ok(feed)) => (feed, true),
            Some(Err(error)) if error.kind() == ErrorKind::InvalidArgument => {
                if !opening.is_of_family(catalog) {
                    let message = "the place has backups of another database; choose another place";
                    let error = Error::invalid(message).source_error(error);
                    return Err(error.directory(repository.place().url().as_ref()));
                }
                (opening.restart(repository)?, false)
            }
            Some(Err(error)) if error.kind() != ErrorKind::Revoked => return Err(error),
            // The first backup, or one that fell off.
            _ => (opening.restart(repository)?, false),
        };
        let source = Source {
            dir: directory(db),
            db: db.clone(),
            feed,
            log_bytes_max: options.log_bytes_max,
            lease,
            leased,
        };
        Ok((source, continues))
    }

    /// Asks for the lease once there is a process that records it.
    pub(super) fn keep_lease(&mut self) -> Result<()> {
        if self.leased || !self.db.has_writer().unwrap_or(false) {
            return Ok(());
        }
        let opening = Opening {
            db: &self.db,
            lease: Some(&self.lease),
            log_bytes_max: self.log_bytes_max,
        };
        match opening.feed(Some(self.feed.place())) {
            Ok(feed) => {
                (self.feed, self.leased) = (feed, true);
                Ok(())
            }
            // It has only just begun.
            Err(error) if error.kind() == ErrorKind::Locked => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(super) fn feed(&mut self) -> &mut Changes {
        &mut self.feed
    }

    /// Returns the place after the last change that was taken.
    pub(super) fn place(&self) -> Place {
        self.feed.place()
    }

    /// Records that the place has everything up to `place`.
    pub(super) fn acknowledge(&self, place: Place) -> Result<()> {
        if self.leased {
            self.feed.acknowledge(place)
        } else {
            Ok(())
        }
    }

    /// Returns the number of the last write, and how long it may take to become durable. Numbers of
    /// writes that are not logged may take until a flush.
    pub(super) fn newest(&self) -> Result<(u64, Duration)> {
        let newest = self.db.place()?.seq.max(self.db.sequence_number());
        let limit = match self.db.has_writer() {
            Ok(true) => DURABLE_WITHIN,
            _ => Duration::ZERO,
        };
        Ok((newest, limit))
    }

    /// Returns the files of the durable state.
    pub(super) fn live_files(&self) -> Result<LiveFiles> {
        LiveFiles::of(&self.db)
    }
}

/// How a feed is opened.
struct Opening<'o> {
    db: &'o Db,
    lease: Option<&'o str>,
    log_bytes_max: u64,
}

impl Opening<'_> {
    fn feed(&self, after: Option<Place>) -> Result<Changes> {
        let mut options = ChangesOptions::new().as_logged();
        options = options.sync_interval(SYNCED_EACH);
        options = options.bytes_max(self.log_bytes_max);
        if let Some(lease) = self.lease {
            options = options.lease(lease);
        }
        if let Some(after) = after {
            options = options.after(after);
        }
        self.db.changes(&options)
    }

    /// Returns whether the database continues some moment of the backups, as one that was restored
    /// from them does.
    fn is_of_family(&self, catalog: &Catalog) -> bool {
        let unleased = Opening {
            lease: None,
            ..*self
        };
        let places = catalog.last_places().into_iter();
        let mut places = places.map(|(incarnation, seq)| Place { incarnation, seq });
        places.any(|place| match unleased.feed(Some(place)) {
            Ok(_) => true,
            Err(error) => error.kind() == ErrorKind::Revoked,
        })
    }

    fn drop_lease(&self) -> Result<()> {
        match self.lease.map_or(Ok(()), |lease| self.db.drop_lease(lease)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Opens a feed that continues what is in tables.
    fn restart(&self, repository: &Repository) -> Result<Changes> {
        for _ in 0..TRIES {
            self.drop_lease()?;
            match self.feed(Some(LiveFiles::of(self.db)?.place())) {
                // What was in the log is in tables by now.
                Err(error) if error.kind() == ErrorKind::Revoked => {}
                feed => return feed,
            }
        }
        // Writes are so fast that tables move on meanwhile: soon they have what is written now.
        self.drop_lease()?;
        let feed = self.feed(None)?;
        let env = repository.env();
        let limit = u64::try_from(FLUSHED_WITHIN.as_nanos()).unwrap_or(u64::MAX);
        let end = env.now_ns().saturating_add(limit);
        while LiveFiles::of(self.db)?.place().seq < feed.place().seq {
            if env.now_ns() > end {
                let message = "the process that writes has not flushed in time; try again";
                return Err(Error::new(ErrorKind::Locked, message).directory(self.db.path()));
            }
            repository.pause(PAUSE);
        }
        Ok(feed)
    }
}
