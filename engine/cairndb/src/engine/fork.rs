//! `Forks`: copies of a database in other directories that share its files through hard links.
//!
//! A fork is a separate database. It shares only files that neither database writes to: tables,
//! and value files that are closed for appending. It takes over the writes up to one moment, and
//! begins an incarnation.
//!
//! A fork of a snapshot shares tables that also have later entries. Its manifest limits them to the
//! moment of the snapshot, and the numbers of its own writes follow those of all tables.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{Error, ErrorKind, FileNumber, Result, SeqNo, watch};
use cairndb_env::{Dir, Linked};
use cairndb_files::make_directory;
use cairndb_format::manifest::{CleanClose, DeletedRange, VersionEdit};
use cairndb_format::missing::needed;
use cairndb_format::name;

use crate::durable::disk::Disk;
use crate::engine::assemble::describe;
use crate::state::sections::Sections;
use crate::state::version::Version;
use crate::versions::base::Base;
use crate::versions::edits::ranges_not_in;
use crate::write::writer::Writer;

/// How a fork has come to its files: tables and value files.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(dir.path().join("db"))?;
/// db.put(b"marble", b"white")?;
/// let report = db.fork(dir.path().join("fork"))?;
/// assert_eq!((report.shared, report.copied), (1, 0));
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkReport {
    /// Number of files that are shared through hard links.
    pub shared: u64,
    /// Number of files that could not be linked, and are clones that share blocks (reflinks).
    pub cloned: u64,
    /// Number of files that could be neither linked nor cloned, and were copied.
    pub copied: u64,
    /// Bytes of the copied files.
    pub copied_bytes: u64,
}

impl ForkReport {
    fn note(&mut self, linked: Linked, bytes: u64) {
        match linked {
            Linked::Shared => self.shared += 1,
            Linked::Cloned => self.cloned += 1,
            Linked::Copied => {
                self.copied += 1;
                self.copied_bytes += bytes;
            }
        }
    }
}

/// The state that a fork takes over.
struct Source {
    version: Arc<Version>,
    /// Its tables that may not be durable yet.
    unsynced: Vec<u64>,
    /// The last sequence number in its tables.
    last_seq: SeqNo,
    /// The last sequence number that the fork takes over.
    at: SeqNo,
    /// (file, bytes): dead bytes of value files.
    dead: Vec<(u64, u64)>,
    ranges: Vec<DeletedRange>,
    /// Value files to which this database still appends.
    filled: Vec<u64>,
}

pub(super) struct Forks<'c> {
    pub(super) base: &'c Base,
    pub(super) disk: &'c Disk,
    pub(super) writer: &'c Writer,
}

impl Forks<'_> {
    /// Creates a database at `path`, which must be missing or empty, with everything written up to
    /// the snapshot `at`, which the caller holds, or up to now.
    ///
    /// # Errors
    /// `InvalidArgument` if `path` is this database's directory; those of [`make_directory`],
    /// and of flushing, linking and syncing.
    pub(crate) fn fork(&self, path: &Path, at: Option<SeqNo>) -> Result<ForkReport> {
        if self.base.settings.read_only || self.base.settings.follows {
            return Err(Error::new(
                ErrorKind::ReadOnly,
                "a fork or checkpoint flushes first; open the database for writing",
            ));
        }
        self.base.check_writable()?;
        let absolute = |path: &Path| std::path::absolute(path).ok();
        let own = absolute(self.base.dir.path());
        if own.is_some() && own == absolute(path) {
            let message = "a database cannot be copied into itself; choose another directory";
            return Err(Error::invalid(message).path(path));
        }
        make_directory(&*self.base.env, path, |target| self.fill(&**target, at))
    }

    /// Links and writes all files.
    fn fill(&self, target: &dyn Dir, at: Option<SeqNo>) -> Result<ForkReport> {
        self.writer.flush_all()?;
        let source = self.source(at)?;
        self.sync(&source)?;
        let edit = self.edit(&source);
        let mut report = ForkReport::default();
        for table in &edit.added_tables {
            let named = name::table(FileNumber(table.file));
            report.note(self.link_into(target, &named, true)?, table.bytes);
        }
        for (number, handle) in &*source.version.values {
            let named = name::value(FileNumber(*number));
            let may_share = !source.filled.contains(number);
            let bytes = handle.bytes.load(Ordering::Relaxed);
            report.note(self.link_into(target, &named, may_share)?, bytes);
        }
        // A format error names no directory; this one concerns the target.
        self.describe(target, edit)
            .map_err(|error| error.directory(target.path()))?;
        Ok(report)
    }

    /// Returns the state to take over. Its handles keep the files from being unlinked.
    ///
    /// That is the newest version, whether durable or not: the deleted ranges that a snapshot sees
    /// are known only for this one.
    ///
    /// # Errors
    /// Those of a flush that has failed.
    fn source(&self, at: Option<SeqNo>) -> Result<Source> {
        // Held so that no value file is begun, and no part of a long batch is in tables.
        let commit = self.disk.log.lock();
        let filled = self.disk.value_files.close_all(&commit);
        let state = self.base.versions.lock();
        if state.holds_part() {
            return Err(self.disk.part_error());
        }
        let version = Arc::clone(&state.version);
        let durable = state.durable.version.tables();
        let durable: BTreeSet<u64> = durable.map(|table| table.record.file).collect();
        let tables = version.tables().map(|table| table.record.file);
        let ranges = match at {
            None => version.ranges.clone(),
            Some(at) => Sections::from_fn(|section| state.ranges[section].at(at).0),
        };
        Ok(Source {
            unsynced: tables.filter(|file| !durable.contains(file)).collect(),
            last_seq: state.flushed_seq,
            at: at.unwrap_or(state.flushed_seq),
            dead: state.durable.dead.iter().map(|(a, b)| (*a, *b)).collect(),
            ranges: ranges_not_in(&ranges, &Sections::default()),
            filled,
            version,
        })
    }

    /// Makes the files of the source durable.
    fn sync(&self, source: &Source) -> Result<()> {
        let value_files = &self.disk.value_files;
        let mut synced = value_files.values().sync();
        synced = synced.and_then(|_| value_files.moved().sync());
        let mut synced = synced.map(drop);
        for file in &source.unsynced {
            let named = name::table(FileNumber(*file));
            synced = synced.and_then(|()| self.base.dir.sync_file(&named));
        }
        synced.map_err(|error| self.base.poison(error))
    }

    /// Links a file of this database into `target`, or copies it if it must not be shared.
    ///
    /// # Errors
    /// `Corruption` if the file is missing here; errors of linking.
    fn link_into(&self, target: &dyn Dir, named: &str, may_share: bool) -> Result<Linked> {
        self.base.health.check_read()?;
        watch::check()?;
        let linked = if may_share {
            self.base.dir.link(named, target, named)
        } else {
            self.base.dir.copy(named, target, named)
        };
        // The target directory may be the one that no longer exists.
        if linked.is_ok() || self.base.dir.size_of(named)?.is_some() {
            return linked;
        }
        needed(named, linked)
    }

    /// Returns the edit that makes the files a database.
    fn edit(&self, source: &Source) -> VersionEdit {
        let lineage = &self.base.stored.lineage;
        let lineage = lineage.continued(self.base.env.random_u64(), source.at);
        let mut edit = VersionEdit {
            next_file: Some(self.base.next_file.load(Ordering::Relaxed)),
            value_dead: source.dead.clone(),
            deleted_ranges: source.ranges.clone(),
            clean_close: Some(CleanClose {
                last_seq: source.last_seq,
                log_ends: Vec::new(),
            }),
            incarnations: lineage.incarnations().to_vec(),
            ..self.base.snapshot_edit(&source.version, source.last_seq)
        };
        edit.added_tables.retain(|table| table.seq_min <= source.at);
        for table in &mut edit.added_tables {
            if table.seq_max > source.at {
                table.seq_limit = Some(table.seq_limit.unwrap_or(source.at).min(source.at));
            }
        }
        edit
    }

    /// Writes the manifest and CURRENT that make the linked files a database.
    fn describe(&self, target: &dyn Dir, edit: VersionEdit) -> Result<()> {
        let number = FileNumber(self.base.new_file());
        let edit = VersionEdit {
            next_file: Some(number.0 + 1),
            ..edit
        };
        let edit_bytes = self.base.settings.budget.edit;
        describe(&*self.base.env, target, number, edit, edit_bytes)
    }
}
