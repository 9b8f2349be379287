//! The durable state of a database that another process writes, for a backup.

use std::sync::Arc;

use cairndb_base::{Result, SeqNo};
use cairndb_format::manifest::VersionEdit;

use super::Follower;
use crate::recovery::folded::Folded;
use crate::state::version::Version;
use crate::versions::edits::edit_of;

impl Follower {
    /// Returns the version that the manifest describes, the edit that builds it from an empty one,
    /// and the last sequence number, as of which the keyspaces are.
    ///
    /// # Errors
    /// Those of [`Follower::refresh`].
    pub(crate) fn durable_state(&self) -> Result<(Arc<Version>, VersionEdit, SeqNo)> {
        let now = self.log().now(None)?;
        let tail = self.tail.lock();
        let version = self.base.versions.version();
        let last = now.last().max(self.base.versions.published());
        // Events of keyspaces have no record, and what came since `now` is in the manifest.
        let last_of = |folded: &Folded| last.max(folded.last_seq).max(folded.log.newest_event());
        if let Some(manifest) = &tail.manifest {
            let edit = self.edit(&manifest.folded, &version);
            return Ok((version, edit, last_of(&manifest.folded)));
        }
        // Nobody removes files now. If a writer comes, the caller finds that one is missing.
        let mut folded = self.log().folded_now()?;
        folded.keyspaces.update(&self.base.keyspaces)?;
        let live = self.base.keyspaces.live();
        let mut version = folded.version_after(&version, &self.base.opener, &live)?;
        version.pin.clone_from(&self.base.versions.version().pin);
        let edit = self.edit(&folded, &version);
        Ok((Arc::new(version), edit, last_of(&folded)))
    }

    fn edit(&self, folded: &Folded, version: &Version) -> VersionEdit {
        let base = &self.base;
        let dead = folded.value_dead.iter();
        VersionEdit {
            next_file: Some(folded.next_file),
            last_seq: Some(folded.last_seq),
            value_dead: dead.map(|(file, dead)| (*file, *dead)).collect(),
            ..edit_of(version, &base.context, &folded.stored, &base.keyspaces)
        }
    }
}
