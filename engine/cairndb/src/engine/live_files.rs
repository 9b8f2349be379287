//! `LiveFiles`: the files that hold a database up to a moment, for a backup.
//!
//! They are those of the durable manifest. Tables never change; of a value file that is still being
//! filled, a prefix counts. The handles of the version keep all of them from being unlinked; in a
//! follower, its slot does.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{FileNumber, Result, SeqNo};
use cairndb_format::manifest::VersionEdit;
use cairndb_format::name;

use crate::changes::change::Place;
use crate::durable::disk::Disk;
use crate::follow::follower::Follower;
use crate::state::version::Version;
use crate::versions::base::Base;

/// The files that hold a database up to a moment.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = cairndb::Db::open(&dir)?;
/// use cairndb::physical::LiveFiles;
/// db.put(b"chert", b"brown")?;
/// db.flush()?;
/// let files = LiveFiles::of(&db)?;
/// assert_eq!(files.tables().count(), 1);
/// assert_eq!(files.place().seq, 1);
/// # Ok(()) }
/// ```
pub struct LiveFiles {
    version: Arc<Version>,
    edit: VersionEdit,
    incarnation: u64,
    seq: SeqNo,
    restorable: SeqNo,
}

impl fmt::Debug for LiveFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveFiles")
            .field("place", &self.place())
            .finish_non_exhaustive()
    }
}

impl LiveFiles {
    /// Returns the files of the durable state of a handle that writes.
    pub(crate) fn own(base: &Base, disk: &Disk) -> LiveFiles {
        // Held so that no keyspace is created or dropped.
        let commit = disk.log.lock();
        let (version, edit) = disk.log.manifests.durable_state();
        LiveFiles::new(version, edit, commit.last_seq, base)
    }

    /// Returns the files of the state that a follower has read.
    ///
    /// # Errors
    /// Those of [`Follower::refresh`].
    pub(crate) fn followed(base: &Base, follower: &Follower) -> Result<LiveFiles> {
        let (version, edit, last) = follower.durable_state()?;
        Ok(LiveFiles::new(version, edit, last, base))
    }

    fn new(version: Arc<Version>, edit: VersionEdit, last: SeqNo, base: &Base) -> LiveFiles {
        let newest = edit.added_tables.iter().map(|table| table.seq_max).max();
        let seq = edit.last_seq.unwrap_or(0);
        let incarnation = edit.incarnations.last();
        LiveFiles {
            incarnation: incarnation.map_or_else(|| base.stored.lineage.present(), |it| it.number),
            restorable: if edit.created_keyspaces.is_empty() && edit.dropped_keyspaces.is_empty() {
                seq.max(newest.unwrap_or(0))
            } else {
                // As of now: a keyspace may have been dropped whose entries the log still has.
                last.max(seq).max(newest.unwrap_or(0))
            },
            seq,
            version,
            edit,
        }
    }

    /// Returns the place up to which all writes are in these files.
    pub fn place(&self) -> Place {
        Place {
            incarnation: self.incarnation,
            seq: self.seq,
        }
    }

    /// Returns the first sequence number to which files and log can restore: a keyspace that was
    /// dropped before it is missing, and tables may have entries up to it.
    pub fn restorable(&self) -> SeqNo {
        self.restorable
    }

    /// Returns the name, the length and the checksum of each table. Two tables of a database that
    /// agree in these have the same contents; the checksum is that of the meta page.
    pub fn tables(&self) -> impl Iterator<Item = (String, u64, u32)> {
        let tables = self.edit.added_tables.iter();
        tables.map(|table| {
            let named = name::table(FileNumber(table.file));
            (named, table.bytes, table.checksum)
        })
    }

    /// Returns the number, name and length so far of each value file.
    pub fn values(&self) -> impl Iterator<Item = (u64, String, u64)> {
        let handles = self.version.values.iter();
        handles.map(|(number, handle)| {
            let bytes = handle.bytes.load(Ordering::Relaxed);
            (*number, name::value(FileNumber(*number)), bytes)
        })
    }

    /// Returns the number of entries in the tables.
    pub fn entries(&self) -> u64 {
        self.edit
            .added_tables
            .iter()
            .map(|table| table.entries)
            .sum()
    }

    /// Returns the edit of the manifest that describes the files, for
    /// [`assemble`](crate::physical::Assembly).
    pub fn edit(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.edit.encode(&mut bytes);
        bytes
    }
}
