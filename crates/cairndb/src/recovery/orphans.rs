//! Files that an opening which did not come to its end has left, or a process that was killed.
//!
//! Before the log is replayed such files are removed, so that openings cut short again and again
//! do not fill the disk, and once more when replaying fails. At that time the manifest that
//! `CURRENT` names may not be durable to its end. So only tables and value files go that no durable
//! state can name: those with a number above that manifest's, which older ones never reach, and
//! that none of its edits has ever mentioned. All other files nobody needs wait until the new
//! manifest is durable.
//!
//! File numbers are never reused, but nothing durable records these: the file with the highest
//! number is kept as a marker, a temporary one where that can be made.

use std::collections::BTreeSet;

use cairndb_base::{FileNumber, Result};
use cairndb_env::Dir;
use cairndb_format::manifest::{VersionEdit, prepare_current};
use cairndb_format::name::FileKind;

use crate::recovery::leftovers::{Whose, whose};
use crate::state::version::Version;

/// What a manifest has ever mentioned.
#[derive(Debug)]
pub(crate) struct Mentioned {
    manifest: FileNumber,
    files: BTreeSet<u64>,
}

impl Mentioned {
    /// By manifest `manifest`, nothing so far.
    pub(crate) fn by(manifest: FileNumber) -> Mentioned {
        Mentioned {
            manifest,
            files: BTreeSet::new(),
        }
    }

    /// Another manifest may be in force, which names the files of `version`.
    pub(crate) fn add_files(&mut self, version: &Version) {
        let tables = version.tables().map(|table| table.record.file);
        self.files
            .extend(tables.chain(version.values.keys().copied()));
    }

    /// Manifest `manifest`, which names no more than `version`, has taken its place.
    pub(crate) fn replaced_by(&mut self, manifest: FileNumber, version: &Version) {
        self.files.clear();
        self.add_files(version);
        self.manifest = manifest;
    }

    /// Takes in one of its edits.
    pub(crate) fn add(&mut self, edit: &VersionEdit) {
        let tables = edit.added_tables.iter().map(|table| table.file);
        self.files
            .extend(tables.chain(edit.added_values.iter().copied()));
    }

    /// Removes what no durable state can name, once the name `CURRENT` is durable.
    ///
    /// # Errors
    /// Of listing the directory. A file that cannot be removed stays until the sweep behind a
    /// successful opening.
    pub(crate) fn sweep_others(&self, dir: &dyn Dir) -> Result<()> {
        self.sweep(dir, &[])
    }

    /// The same after an attempt that has failed and that has made the value files `made`: of those
    /// it knows that they are ours, however short they are.
    ///
    /// # Errors
    /// As [`Mentioned::sweep_others`].
    pub(crate) fn sweep_failed(&self, dir: &dyn Dir, made: &[u64]) -> Result<()> {
        self.sweep(dir, made)
    }

    fn sweep(&self, dir: &dyn Dir, made: &[u64]) -> Result<()> {
        let is_ours = |number: u64, kind: FileKind| {
            matches!(kind, FileKind::Value(_)) && made.contains(&number)
                || matches!(whose(dir, &kind.to_string()), Ok(Whose::Ours))
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
