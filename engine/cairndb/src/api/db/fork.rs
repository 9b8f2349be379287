//! Forks of a database and of its snapshots.

use std::path::Path;

use cairndb_base::Result;

use crate::api::db::Db;
use crate::api::snapshot::Snapshot;
use crate::engine::fork::ForkReport;

impl Db {
    /// Creates a database at `path`, which must be missing or empty, with everything written so
    /// far. It shares tables and value files with this one through hard links, so its cost is that
    /// of a [`Db::flush`] and a link for each file. From then on each of the two changes without
    /// the other. Use [`Snapshot::fork`] for an earlier moment.
    ///
    /// Files that cannot be linked are cloned or copied, as the report says: on another file
    /// system, on one without hard links, and at the maximum number of links (65,000 on ext4). May
    /// be [watched](crate::watch), from file to file.
    ///
    /// # Errors
    /// Same as [`Db::flush`]; `InvalidArgument` if the directory is not empty; `Locked` while
    /// another call makes it. The directory is made next to `path`, under its name with `.partial`
    /// appended, and renamed when it is whole. After an error or a crash the call can be repeated:
    /// it replaces what an interrupted one has left there.
    pub fn fork(&self, path: impl AsRef<Path>) -> Result<ForkReport> {
        let core = self.core();
        let forked = core.fork(path.as_ref(), None);
        core.base.context.with_directory(forked)
    }

    /// Like [`Db::fork`], without the report.
    ///
    /// # Errors
    /// Same as [`Db::fork`].
    pub fn checkpoint(&self, path: impl AsRef<Path>) -> Result<()> {
        self.fork(path).map(drop)
    }
}

impl Snapshot {
    /// Creates a database at `path` with everything that the snapshot shows, like
    /// [`Db::fork`](crate::Db::fork). It has the keyspaces that exist now.
    ///
    /// # Errors
    /// Same as [`Db::fork`](crate::Db::fork).
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = cairndb::Db::open(dir.path().join("db"))?;
    /// db.put(b"k", b"old")?;
    /// let before = db.snapshot();
    /// db.put(b"k", b"new")?;
    /// before.fork(dir.path().join("fork"))?;
    /// let fork = cairndb::Db::open(dir.path().join("fork"))?;
    /// assert_eq!(fork.get(b"k")?.as_deref(), Some(&b"old"[..]));
    /// # Ok(()) }
    /// ```
    pub fn fork(&self, path: impl AsRef<Path>) -> Result<ForkReport> {
        let forked = self.core().fork(path.as_ref(), Some(self.seq()));
        self.core().base.context.with_directory(forked)
    }
}
