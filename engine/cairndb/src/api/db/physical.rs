//! What a backup takes of a database: its directory, its files and, from the feed, its log.

use std::sync::Arc;

use cairndb_base::Result;
use cairndb_env::Dir;

use crate::api::db::Db;
use crate::engine::live_files::LiveFiles;

/// Returns the open directory of a database, from which files are copied.
pub fn directory(db: &Db) -> Arc<dyn Dir> {
    Arc::clone(&db.core().base.dir)
}

impl LiveFiles {
    /// Returns the files that hold what is durable in tables, to be copied while the database is
    /// written. They stay until this is dropped. What was written since is in the log:
    /// [`Db::changes`] after their place, with
    /// [`as_logged`](crate::ChangesOptions::as_logged).
    ///
    /// In a follower without a process that writes, one that comes may remove files: then their
    /// copy fails with `NotFound`, and the call is repeated.
    ///
    /// # Errors
    /// `Closed`; in a follower, those of [`Db::refresh`].
    pub fn of(db: &Db) -> Result<LiveFiles> {
        let core = db.core();
        core.base.health.check_read()?;
        match &core.follower {
            None => Ok(LiveFiles::own(&core.base, &core.disk)),
            Some(follower) => {
                let files = LiveFiles::followed(&core.base, follower);
                core.base.context.with_directory(files)
            }
        }
    }
}
