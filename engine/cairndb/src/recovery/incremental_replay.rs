//! Replay on a full disk: makes the contents of each segment durable and removes the segment before
//! the next one is read.
//!
//! A log takes up to 256 MiB, and its tables need about as much. A full disk has no space for both.
//! Therefore the last recovery attempt writes a manifest after each segment, with the tables so far
//! and the remaining segments. A crash in between leaves a database with a shorter log. Other
//! attempts write one manifest at the end, because each costs four syncs.

use cairndb_base::{FileNumber, Result};
use cairndb_files::create_unused;
use cairndb_format::manifest::{ManifestWriter, VersionEdit, install_current};
use cairndb_format::name;

use crate::recovery::live_log::LiveLog;
use crate::recovery::replay::Replay;
use crate::state::sections::Section;
use crate::versions::edits::edit_of;

impl Replay<'_> {
    /// Makes the written tables durable and removes the first `done` segments, whose records are
    /// all in tables.
    ///
    /// # Errors
    /// Errors of writing the manifest. Then either the previous manifest stays in effect, or it is
    /// unknown which one does after a crash.
    pub(super) fn release_segments(&mut self, log: &LiveLog<'_>, done: usize) -> Result<()> {
        self.sync_values()?;
        self.dir.sync()?;
        self.recovered.history.give_up();
        let recovered = &mut *self.recovered;
        let left = log.records().get(done..).unwrap_or_default();
        let edit = VersionEdit {
            last_seq: Some(recovered.last_seq),
            added_segments: left.to_vec(),
            value_dead: recovered.value_dead.iter().map(|(a, b)| (*a, *b)).collect(),
            ..edit_of(
                &recovered.version,
                &self.contexts[Section::Default],
                &recovered.stored,
                self.keyspaces,
            )
        };
        let (dir, next) = (self.dir, &mut recovered.next_file);
        let salt = self.salt;
        let number = || {
            *next += 1;
            *next - 1
        };
        let edit_bytes_max = self.settings.budget.edit;
        let (number, _writer) = create_unused(number, |number| {
            let edit = VersionEdit {
                next_file: Some(number.0 + 1),
                ..edit.clone()
            };
            let base = edit.divided(edit_bytes_max);
            ManifestWriter::create(dir, number, salt.wrapping_add(number.0), &base)
        })?;
        // From here on, either manifest may be in effect after a crash, or when a sweep runs after
        // an error.
        self.manifest_files.add_files(&recovered.version);
        install_current(dir, number)?;
        let old = std::mem::replace(&mut recovered.manifest, number.0);
        self.durable_seq = recovered.last_seq;
        self.manifest_files.replaced_by(number, &recovered.version);
        // A file that cannot be removed now is removed by the sweep after the open.
        let _ = dir.unlink(&name::manifest(FileNumber(old)));
        for index in self.released..done {
            let _ = dir.unlink(&log.name(index));
        }
        self.released = done;
        Ok(())
    }
}
