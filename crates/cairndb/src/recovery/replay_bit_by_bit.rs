//! Replaying on a full disk: what one segment holds is made durable, and the segment removed,
//! before the next is read.
//!
//! A log takes up to 256 MiB, and its tables about as much; on a full disk there is no room for
//! both. So the last attempt of an opening writes a manifest after each segment: the tables so far,
//! and the segments that are left. A crash in between finds a database with a shorter log.
//! Otherwise there is one new manifest for all, since each takes four syncs.

use cairndb_base::{FileNumber, Result};
use cairndb_format::manifest::{ManifestWriter, VersionEdit, install_current};
use cairndb_format::name;

use crate::recovery::live_log::LiveLog;
use crate::recovery::replay::Replay;
use crate::state::new_files::create_unused;
use crate::versions::edits::edit_of;

impl Replay<'_> {
    /// Makes durable what was written out, and removes the first `done` segments, all of whose
    /// records are in tables.
    ///
    /// # Errors
    /// Of writing the manifest; the one before it stays in force, or both may be found after a
    /// crash.
    pub(super) fn retire(&mut self, log: &LiveLog<'_>, done: usize) -> Result<()> {
        self.sync_values()?;
        self.dir.sync()?;
        let recovered = &mut *self.recovered;
        let left = log.records().get(done..).unwrap_or_default();
        let stored_operator = recovered.merge_operator.as_deref();
        let edit = VersionEdit {
            last_seq: Some(recovered.last_seq),
            added_segments: left.to_vec(),
            value_dead: recovered.value_dead.iter().map(|(a, b)| (*a, *b)).collect(),
            ..edit_of(&recovered.version, self.context, stored_operator)
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
        // From here on a crash may find either manifest, and so may whoever sweeps after an error.
        self.mentioned.add_files(&recovered.version);
        install_current(dir, number)?;
        let old = std::mem::replace(&mut recovered.manifest, number.0);
        self.durable_seq = recovered.last_seq;
        self.mentioned.replaced_by(number, &recovered.version);
        // What cannot be removed now goes with the sweep after the opening.
        let _ = dir.unlink(&name::manifest(FileNumber(old)));
        for index in self.retired..done {
            let _ = dir.unlink(&log.name(index));
        }
        self.retired = done;
        Ok(())
    }
}
