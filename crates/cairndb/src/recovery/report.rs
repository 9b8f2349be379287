//! What an opening tells of itself: whether it created, replayed, cut.
//!
//! Public as [`OpenReport`](crate::OpenReport); recovery fills it in, nothing changes it afterwards.

/// What opening found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// The database was created by this call.
    pub created: bool,
    /// The last handle closed the database; nothing was replayed.
    pub clean: bool,
    /// Log records replayed.
    pub replayed_records: u64,
    /// Entries in them.
    pub replayed_entries: u64,
    /// Sequence numbers that unlogged (`None`) writes had used and that are gone.
    pub unlogged_lost: u64,
    /// Where the log was cut, if it was. After a kill there is usually one at which nothing shows that a
    /// record was lost, and then says so: a recycled log keeps its old bytes behind the new ones.
    pub log_cut: Option<LogCut>,
    /// Where the manifest's un-synced tail was cut, if it was.
    pub manifest_cut: Option<ManifestCut>,
    /// Files in the directory that have a name of this format and are not the database's: links,
    /// pipes and folders, files of somebody else, and what a crash left so short that nothing says
    /// whose it is. They are never opened, followed, written or removed, and their numbers are not
    /// used. Found when [`Db::open_report`](crate::Db::open_report) is first called, or at the
    /// first write.
    pub skipped: Vec<SkippedFile>,
}

/// A file that has a name of this format and is not the database's.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let dir = tempfile::tempdir()?;
/// cairndb::Db::open(&dir)?.close()?;
/// std::fs::write(dir.path().join("20261127.log"), "09:00 up and running")?;
/// let db = cairndb::Db::open(&dir)?;
/// for skipped in &db.open_report().skipped {
///     println!("left alone: {} ({})", skipped.file, skipped.reason);
/// }
/// # assert_eq!(db.open_report().skipped.len(), 1);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedFile {
    /// Its name in the database's directory.
    pub file: String,
    /// Why it is left alone, as a phrase for people.
    pub reason: String,
}

/// Where an opening cut the log: what stands behind it was not replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogCut {
    /// The segment's file in the database's directory.
    pub file: String,
    /// Bytes of it that were kept.
    pub offset: u64,
    /// What was found there, as a phrase for people.
    pub reason: String,
}

/// Where an opening cut the manifest: what stands behind it was not taken for an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestCut {
    /// The manifest's file in the database's directory.
    pub file: String,
    /// Bytes of it that were kept.
    pub offset: u64,
}
