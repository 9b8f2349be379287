//! Checkpoints: a second directory that shares the tables by hard links.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{Error, FileNumber, Result};
use cairndb_env::Dir;
use cairndb_format::manifest::{CleanClose, ManifestWriter, install_current};
use cairndb_format::name;

use crate::engine::core::Core;

impl Core {
    /// Makes `path`, which must be missing or empty, a database with everything written so far.
    ///
    /// # Errors
    /// `InvalidArgument` when the directory holds something; of flushing, linking, syncing.
    pub(crate) fn checkpoint(&self, path: &Path) -> Result<()> {
        if self.settings.read_only {
            return Err(Error::new(
                cairndb_base::ErrorKind::ReadOnly,
                "a checkpoint flushes first; open the database for writing",
            ));
        }
        self.check_writable()?;
        let target = self.env.open_dir(path, true)?;
        if let Some(found) = target.list()?.into_iter().next() {
            return Err(Error::invalid("a checkpoint needs an empty directory")
                .file(path.to_string_lossy())
                .found(found));
        }
        let mut made = Vec::new();
        let result = self.copy_into(&*target, &mut made);
        if result.is_err() && matches!(target.size_of(name::CURRENT), Ok(None)) {
            // Tried again it needs an empty directory. With CURRENT it is a database, all but for a sync; and
            // what this call has not made is another's, of a second checkpoint maybe.
            for named in made {
                let _ = target.unlink(&named);
            }
        }
        result
    }

    /// Links and writes everything, and notes what was made.
    fn copy_into(&self, target: &dyn Dir, made: &mut Vec<String>) -> Result<()> {
        self.flush_all()?;
        // The version's handles keep its files from being unlinked while they are linked.
        let (version, last_seq) = {
            let state = self.state.lock();
            (Arc::clone(&state.durable), state.durable_seq)
        };
        for table in version.tables() {
            self.health.check_read()?;
            let named = name::table(FileNumber(table.record.file));
            self.dir.link(&named, target, &named)?;
            made.push(named);
        }
        for number in version.values.keys() {
            let named = name::value(FileNumber(*number));
            self.dir.link(&named, target, &named)?;
            made.push(named);
        }
        target.sync()?;
        let number = FileNumber(self.new_file());
        let mut edit = self.snapshot_edit(&version, last_seq);
        edit.next_file = Some(self.next_file.load(Ordering::Relaxed));
        edit.clean_close = Some(CleanClose {
            last_seq,
            log_ends: Vec::new(),
        });
        let salt = self.env.random_u64();
        drop(ManifestWriter::create(
            target,
            number,
            salt,
            &edit.divided(self.settings.budget.edit),
        )?);
        install_current(target, number)
    }
}
