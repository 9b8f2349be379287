//! `Checkpoints`: copies of a database in another directory that share its files through hard
//! links.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{Error, FileNumber, Result, SeqNo, watch};
use cairndb_env::Dir;
use cairndb_files::make_directory;
use cairndb_format::manifest::{CleanClose, ManifestWriter, install_current};
use cairndb_format::missing::needed;
use cairndb_format::name;

use crate::state::version::Version;
use crate::versions::base::Base;
use crate::write::writer::Writer;

pub(super) struct Checkpoints<'c> {
    pub(super) base: &'c Base,
    pub(super) writer: &'c Writer,
}

impl Checkpoints<'_> {
    /// Creates a database with everything written so far at `path`, which must be missing or empty.
    ///
    /// # Errors
    /// Those of [`make_directory`], and of flushing, linking and syncing.
    pub(crate) fn checkpoint(&self, path: &Path) -> Result<()> {
        if self.base.settings.read_only {
            return Err(Error::new(
                cairndb_base::ErrorKind::ReadOnly,
                "a checkpoint flushes first; open the database for writing",
            ));
        }
        self.base.check_writable()?;
        make_directory(&*self.base.env, path, |target| self.copy_into(&**target))
    }

    /// Links and writes all files.
    fn copy_into(&self, target: &dyn Dir) -> Result<()> {
        self.writer.flush_all()?;
        // The version's handles keep its files from being unlinked in the meantime.
        let (version, last_seq) = {
            let state = self.base.versions.lock();
            (Arc::clone(&state.durable.version), state.durable.seq)
        };
        let tables = version.tables().map(|table| table.record.file);
        let tables = tables.map(|number| name::table(FileNumber(number)));
        let values = version.values.keys();
        let values = values.map(|number| name::value(FileNumber(*number)));
        for named in tables.chain(values) {
            self.base.health.check_read()?;
            watch::check()?;
            self.link_into(target, &named)?;
        }
        // A format error names no directory; this one concerns the target.
        self.describe(target, &version, last_seq)
            .map_err(|error| error.directory(target.path()))
    }

    /// Links or copies a file of this database into `target`.
    ///
    /// # Errors
    /// `Corruption` if the file is missing here; errors of linking.
    fn link_into(&self, target: &dyn Dir, named: &str) -> Result<()> {
        let linked = self.base.dir.link(named, target, named);
        // The target directory may be the one that no longer exists.
        if linked.is_ok() || self.base.dir.size_of(named)?.is_some() {
            return linked;
        }
        needed(named, linked)
    }

    /// Writes the manifest and CURRENT that make the linked files a database.
    fn describe(&self, target: &dyn Dir, version: &Version, last_seq: SeqNo) -> Result<()> {
        target.sync()?;
        let number = FileNumber(self.base.new_file());
        let mut edit = self.base.snapshot_edit(version, last_seq);
        edit.next_file = Some(self.base.next_file.load(Ordering::Relaxed));
        edit.clean_close = Some(CleanClose {
            last_seq,
            log_ends: Vec::new(),
        });
        let edits = edit.divided(self.base.settings.budget.edit);
        let manifest = target.create(&name::manifest(number))?;
        let salt = self.base.env.random_u64();
        drop(ManifestWriter::new(manifest, number, salt, &edits)?);
        install_current(target, number)
    }
}
