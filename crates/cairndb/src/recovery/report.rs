//! The report of an opening: whether it created, replayed, cut or skipped anything.
//!
//! Public as [`OpenReport`](crate::OpenReport). Recovery fills it in; only the skipped files are
//! added later, when they are first asked for.

/// What opening found and did, as [`Db::open_report`](crate::Db::open_report) returns it.
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// let db = cairndb::Db::open(&dir)?; let report = db.open_report(); assert!(report.created); if
/// let Some(cut) = &report.log_cut { eprintln!("log cut in {} at offset {}: {}", cut.file,
/// cut.offset, cut.reason); }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// Whether this call created the database.
    pub created: bool,
    /// Whether the last handle closed the database. Then nothing was replayed.
    pub clean: bool,
    /// Number of log records replayed.
    pub replayed_records: u64,
    /// Number of entries in these records.
    pub replayed_entries: u64,
    /// Number of lost entries that had been written at
    /// [`Durability::None`](crate::Durability::None): sequence numbers that were used but neither
    /// logged nor flushed.
    pub unlogged_lost: u64,
    /// Where the log was cut, if it was. After a kill the log is usually cut although no record is
    /// lost, and the reason then states that: a recycled log file has old bytes after the new ones.
    pub log_cut: Option<LogCut>,
    /// Where the unsynced tail of the manifest was cut, if it was.
    pub manifest_cut: Option<ManifestCut>,
    /// Files in the directory that have a name of this format but do not belong to the database:
    /// links, pipes and folders, foreign files, and files that a crash left too short to be
    /// identified. They are never opened, followed, written or removed, and their numbers are not
    /// used. Determined when [`Db::open_report`](crate::Db::open_report) is first called, or at the
    /// first write.
    pub skipped: Vec<SkippedFile>,
}

/// A file that has a name of this format but does not belong to the database.
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
    /// Name of the file in the database's directory.
    pub file: String,
    /// Why the file is left alone, as a phrase for people.
    pub reason: String,
}

/// Where opening cut the log. Records after this offset were not replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogCut {
    /// Name of the segment's file in the database's directory.
    pub file: String,
    /// Number of bytes of the file that were kept.
    pub offset: u64,
    /// What was found at the offset, as a phrase for people.
    pub reason: String,
}

/// Where opening cut the manifest. Bytes after this offset were not read as edits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestCut {
    /// Name of the manifest's file in the database's directory.
    pub file: String,
    /// Number of bytes of the file that were kept.
    pub offset: u64,
}
