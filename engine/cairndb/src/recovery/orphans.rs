//! Removes files left by an interrupted open or a killed process.
//!
//! Such files are removed before the log is replayed, so that repeatedly interrupted opens do not
//! fill the disk, and once more if the replay fails. At that time the end of the manifest that
//! `CURRENT` names may not be durable yet. Therefore only tables and value files that no durable
//! state can name are removed: their number is above that manifest's, which older manifests never
//! reach, and no edit of that manifest has ever mentioned them. All other unneeded files wait until
//! the new manifest is durable.
//!
//! File numbers are never reused, but nothing durable records the numbers of the removed files.
//! Therefore the file with the highest number stays as a marker; a temporary file replaces it if
//! one can be created.

use std::collections::BTreeSet;

use cairndb_base::{FileNumber, Result};
use cairndb_env::Dir;
use cairndb_files::{Ownership, ownership};
use cairndb_format::manifest::{VersionEdit, prepare_current};
use cairndb_format::name::FileKind;

use crate::state::version::Version;

/// Files that a manifest has ever mentioned.
#[derive(Debug)]
pub(crate) struct ManifestFiles {
    manifest: FileNumber,
    files: BTreeSet<u64>,
}

impl ManifestFiles {
    /// Returns the set for manifest `manifest`, before any edit is read.
    pub(crate) fn new(manifest: FileNumber) -> ManifestFiles {
        ManifestFiles {
            manifest,
            files: BTreeSet::new(),
        }
    }

    /// Adds the files of `version`, because another manifest, which names them, may be in effect.
    pub(crate) fn add_files(&mut self, version: &Version) {
        let tables = version.tables().map(|table| table.record.file);
        self.files
            .extend(tables.chain(version.values.keys().copied()));
    }

    /// Records that `manifest`, which names only the files of `version`, is now in effect.
    pub(crate) fn replaced_by(&mut self, manifest: FileNumber, version: &Version) {
        self.files.clear();
        self.add_files(version);
        self.manifest = manifest;
    }

    /// Adds the files that one edit of the manifest names.
    pub(crate) fn add(&mut self, edit: &VersionEdit) {
        let tables = edit.added_tables.iter().map(|table| table.file);
        self.files
            .extend(tables.chain(edit.added_values.iter().copied()));
    }

    /// Removes the files that no durable state can name. Call it once the name `CURRENT` is
    /// durable.
    ///
    /// # Errors
    /// Errors of listing the directory. A file that cannot be removed stays until the sweep after a
    /// successful open.
    pub(crate) fn sweep_others(&self, dir: &dyn Dir) -> Result<()> {
        self.sweep(dir, &[])
    }

    /// Like [`ManifestFiles::sweep_others`], but after a failed attempt that created the value
    /// files `made`. These are known to be ours, even if they are too short to be identified.
    ///
    /// # Errors
    /// Same as [`ManifestFiles::sweep_others`].
    pub(crate) fn sweep_failed(&self, dir: &dyn Dir, made: &[u64]) -> Result<()> {
        self.sweep(dir, made)
    }

    fn sweep(&self, dir: &dyn Dir, made: &[u64]) -> Result<()> {
        let is_ours = |number: u64, kind: FileKind| {
            matches!(kind, FileKind::Value(_)) && made.contains(&number)
                || matches!(ownership(dir, &kind.to_string()), Ok(Ownership::Ours))
        };
        let mut found: Vec<(u64, FileKind)> = dir
            .list()?
            .iter()
            .filter_map(|name| FileKind::parse(name))
            .filter_map(|kind| match kind {
                FileKind::Table(number) | FileKind::Value(number) | FileKind::Temp(number) => {
                    Some((number.0, kind))
                }
                _ => None,
            })
            .filter(|(number, _)| *number > self.manifest.0 && !self.files.contains(number))
            .filter(|(number, kind)| is_ours(*number, *kind))
            .collect();
        found.sort_by_key(|(number, kind)| (*number, matches!(kind, FileKind::Temp(_))));
        let Some((highest, kind)) = found.last().copied() else {
            return Ok(());
        };
        let is_sign = matches!(kind, FileKind::Temp(_));
        if is_sign || prepare_current(dir, FileNumber(highest)).is_err() {
            found.pop();
        }
        for (_, kind) in found {
            let _ = dir.unlink(&kind.to_string());
        }
        Ok(())
    }
}
