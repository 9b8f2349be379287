//! `Backup`: copies what a database writes to a place, while it is written.
//!
//! Changes come from the feed, as the log has them, and go into one record after another. A base
//! lists the files that hold the database at some moment, so that not everything has to be applied
//! again. Files are uploaded once, before the record that needs them.
//!
//! What is recorded is durable in the database. The feed's lease keeps the log until the place has
//! it. A record is created under the next number or not at all, so of two programs that write to
//! one place, one is refused.

mod base;
pub(crate) mod chain;
mod files;
mod history;
mod options;
mod source;

use std::collections::BTreeSet;
use std::time::Duration;

use cairndb::physical::Logged;
use cairndb::{ChangeKind, Db, Place};
use cairndb_base::Result;

use crate::backup::chain::{Appended, Chain};
use crate::backup::files::Files;
use crate::backup::history::History;
pub use crate::backup::options::{BackupOptions, BackupReport};
use crate::backup::source::Source;
use crate::catalog::Catalog;
use crate::moments::ms_of;
use crate::records::{Body, Piece, Prune, add_change};
use crate::repository::Repository;

/// Length at which a record with changes is ended.
const PIECE_BYTES: usize = 4 << 20;
/// How often the place is informed that there was nothing to record.
const INFORMED_EACH_MS: u64 = 10_000;

/// A backup of a database, which goes on from where the last one ended.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// use cairndb_backup::{Backup, BackupOptions, Repository, Restore, open_place};
///
/// let db = cairndb::Db::open(dir.path().join("db"))?;
/// db.put(b"basalt", b"black")?;
/// let at = dir.path().join("backups");
/// let env = cairndb::env::RealEnv::new();
/// let place = open_place(&at.to_string_lossy(), true)?;
/// let repository = Repository::open_or_create(env, place, None)?;
/// let mut backup = Backup::begin(&db, &repository, BackupOptions::new())?;
/// backup.catch_up()?;
/// backup.end()?;
///
/// Restore::new(&repository).run(&dir.path().join("restored"))?;
/// let restored = cairndb::Db::open(dir.path().join("restored"))?;
/// assert_eq!(restored.get(b"basalt")?.as_deref(), Some(&b"black"[..]));
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Backup<'a> {
    repository: &'a Repository,
    options: BackupOptions,
    source: Source,
    chain: Chain,
    files: Files,
    history: History,
    /// Changes that were taken from the feed and are not known to be recorded.
    pending: Option<Collected>,
    informed_ms: u64,
    report: BackupReport,
}

/// Changes that are on their way.
#[derive(Debug, Default)]
struct Collected {
    contents: Vec<u8>,
    piece: Piece,
    /// (file, end) of value files that the changes point into.
    values: Vec<(u64, u64)>,
}

impl<'a> Backup<'a> {
    /// Continues, or begins, the backup of `db`, a handle that writes or one that follows.
    ///
    /// # Errors
    /// - `Locked` if another program backs up to this place.
    /// - `InvalidArgument` if the place has backups of another database.
    /// - Those of [`Db::changes`], of the place, and of reading the database's files.
    pub fn begin(
        db: &Db,
        repository: &'a Repository,
        options: BackupOptions,
    ) -> Result<Backup<'a>> {
        let catalog = Catalog::read(repository)?;
        let chain = Chain::claim(repository, &catalog, options.takes_over)?;
        let (source, continues) = Source::open(db, repository, &catalog, &options)?;
        let mut files = Files::of(&catalog, continues);
        let mut history = History::of(&catalog, continues, source.place());
        // What was removed because it was damaged is uploaded again.
        history.needs_base |= files.forget_absent(repository)?;
        let mut backup = Backup {
            files,
            history,
            pending: None,
            informed_ms: 0,
            report: BackupReport::default(),
            repository,
            options,
            source,
            chain,
        };
        // Nothing was recorded yet.
        let place = catalog.last_place().unwrap_or_default();
        backup.inform_of(
            Place {
                incarnation: place.0,
                seq: place.1,
            },
            false,
        )?;
        Ok(backup)
    }

    /// Has `db`, a handle that writes, keep the log from what the place has on, without copying
    /// anything. A later backup through a handle that follows then has all of it, although no
    /// process writes meanwhile.
    ///
    /// # Errors
    /// Same as [`Backup::begin`].
    pub fn hold(db: &Db, repository: &Repository, options: &BackupOptions) -> Result<()> {
        let catalog = Catalog::read(repository)?;
        let (source, _) = Source::open(db, repository, &catalog, options)?;
        source.acknowledge(source.place())
    }

    /// Records everything that was written before the call, and a base if one is due.
    ///
    /// # Errors
    /// Those of the feed and of the place. The call can be repeated. `Locked` if another program
    /// has taken over the place.
    pub fn catch_up(&mut self) -> Result<()> {
        self.source.keep_lease()?;
        let (until, limit) = self.source.newest()?;
        if self.history.needs_base {
            self.record_base()?;
        }
        while self.history.place.seq < until {
            let before = self.history.place.seq;
            self.record_changes(limit)?;
            if self.history.place.seq == before {
                break;
            }
        }
        self.after_changes()
    }

    /// Waits for changes, at most for `limit`, and records them.
    ///
    /// # Errors
    /// Same as [`Backup::catch_up`].
    pub fn advance(&mut self, limit: Duration) -> Result<()> {
        self.source.keep_lease()?;
        if self.history.needs_base {
            self.record_base()?;
        }
        let mut limit = limit;
        while self.record_changes(limit)? {
            limit = Duration::ZERO;
        }
        self.after_changes()
    }

    fn after_changes(&mut self) -> Result<()> {
        if self.is_base_due()? {
            self.record_base()?;
        }
        self.inform_in_time()
    }

    /// Informs the place now and then: otherwise this program is taken for dead.
    fn inform_in_time(&mut self) -> Result<()> {
        let now = self.repository.env().wall_ms();
        if now.abs_diff(self.informed_ms) >= INFORMED_EACH_MS {
            self.inform_of(self.history.place, false)?;
        }
        Ok(())
    }

    /// Ends the backup: the next one need not wait.
    ///
    /// # Errors
    /// Those of the place.
    pub fn end(mut self) -> Result<BackupReport> {
        self.inform_of(self.history.place, true)?;
        Ok(self.report())
    }

    /// Returns what was done so far.
    pub fn report(&self) -> BackupReport {
        BackupReport {
            place: Some(self.history.place),
            ..self.report
        }
    }

    /// Records the next changes, which may take up to `limit` to come. Returns whether there may be
    /// more at once.
    fn record_changes(&mut self, limit: Duration) -> Result<bool> {
        if self.pending.is_none() {
            self.pending = self.collect(limit)?;
        }
        let Some(collected) = self.pending.take() else {
            return Ok(false);
        };
        match self.record_collected(&collected) {
            Ok(()) => Ok(collected.contents.len() >= PIECE_BYTES),
            Err(error) => {
                self.pending = Some(collected);
                Err(error)
            }
        }
    }

    fn record_collected(&mut self, collected: &Collected) -> Result<()> {
        let mut piece = collected.piece.clone();
        loop {
            let next = self.chain.next();
            let values = &collected.values;
            let (extents, bytes) =
                self.files
                    .upload_values(self.repository, &self.source.dir, next, values)?;
            self.report.count(bytes);
            piece.extents = extents;
            let body = Body::Changes(piece.clone());
            match self
                .chain
                .append(self.repository, body, &collected.contents)?
            {
                Appended::Done {
                    number,
                    bytes,
                    body,
                } => {
                    self.report.count(bytes);
                    if let Body::Changes(recorded) = body {
                        piece = recorded;
                    }
                    piece.number = number;
                    break;
                }
                // Uploaded again, under other names.
                Appended::Pruned(prune) => self.note_pruned(&prune),
            }
        }
        self.report.changes += piece.changes;
        self.files.add(&piece.extents);
        self.history.add(piece);
        self.source.acknowledge(self.history.place)
    }

    /// Takes changes from the feed.
    fn collect(&mut self, limit: Duration) -> Result<Option<Collected>> {
        let mut collected = Collected::default();
        let time_ms = &mut self.history.time_ms;
        let mut next = self.source.feed().next_within(limit)?;
        while let Some(change) = next {
            *time_ms = change.time.map_or(*time_ms, ms_of);
            match &change.kind {
                ChangeKind::Logged(logged) => {
                    add_change(change.place, *time_ms, logged, &mut collected.contents);
                    let piece = &mut collected.piece;
                    piece.changes += 1;
                    piece.to_ms = piece.to_ms.max(*time_ms);
                    if piece.from_ms == 0 || *time_ms < piece.from_ms {
                        piece.from_ms = *time_ms;
                    }
                    if let Logged::Batch { values, .. } = logged {
                        collected.values.extend_from_slice(values);
                    }
                }
                _ => collected.piece.unlogged = change.place.seq,
            }
            if collected.contents.len() >= PIECE_BYTES {
                break;
            }
            next = self.source.feed().try_next()?;
        }
        let (before, now) = (self.history.place, self.source.place());
        if now.seq == before.seq {
            return Ok(None);
        }
        collected.piece = Piece {
            timeline: self.history.timeline,
            incarnation: now.incarnation,
            after: before.seq,
            until: now.seq,
            bytes: collected.contents.len() as u64,
            ..collected.piece
        };
        Ok(Some(collected))
    }

    /// Another program has pruned the place.
    fn note_pruned(&mut self, prune: &Prune) {
        self.history.note_pruned(prune);
        let objects: BTreeSet<&str> = prune.objects.iter().map(String::as_str).collect();
        self.files.forget(|object| objects.contains(object));
    }

    /// Informs the place up to where it has everything.
    fn inform_of(&mut self, place: Place, ended: bool) -> Result<()> {
        self.informed_ms = self.repository.env().wall_ms();
        self.chain.inform(self.repository, place, ended)
    }
}
