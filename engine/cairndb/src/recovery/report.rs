//! The report of an open: whether anything was created, replayed, cut or skipped.
//!
//! Public as [`OpenReport`](crate::OpenReport). Recovery fills it in, except for the skipped files,
//! which are added when they are first requested.

/// Report of an open, returned by [`Db::open_report`](crate::Db::open_report).
///
/// ```
/// # fn main() -> cairndb::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// let db = cairndb::Db::open(&dir)?;
/// let report = db.open_report();
/// assert!(report.created);
/// if let Some(cut) = &report.log_cut {
///     eprintln!("log cut in {} at offset {}: {}", cut.file, cut.offset, cut.reason);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// Whether this open created the database.
    pub created: bool,
    /// Whether the database had been closed cleanly, in which case nothing was replayed.
    pub clean: bool,
    /// Number of log records replayed.
    pub replayed_records: u64,
    /// Number of entries in these records.
    pub replayed_entries: u64,
    /// Number of lost entries that had been written at
    /// [`Durability::None`](crate::Durability::None): sequence numbers that were used but neither
    /// logged nor flushed.
    pub unlogged_lost: u64,
    /// Position at which the log was cut, if it was. After a kill, the log is usually cut although
    /// no record is lost, because a recycled log file has old bytes after the new ones; the reason
    /// then states this.
    pub log_cut: Option<LogCut>,
    /// Position at which the unsynced tail of the manifest was cut, if it was.
    pub manifest_cut: Option<ManifestCut>,
    /// Files in the directory whose names follow this format but that do not belong to the
    /// database: links, pipes, directories, foreign files, and files that a crash left too short to
    /// identify. They are never opened, followed, written or removed, and their numbers are not
    /// used. Determined when [`Db::open_report`](crate::Db::open_report) is first called, or at the
    /// first write.
    pub skipped: Vec<SkippedFile>,
}

/// A file whose name follows this format but that does not belong to the database.
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
    /// Reason for skipping the file, as a human-readable phrase.
    pub reason: String,
}

/// Position at which the log was cut. Records after this offset were not replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogCut {
    /// Name of the segment's file in the database's directory.
    pub file: String,
    /// Number of bytes of the file that were kept.
    pub offset: u64,
    /// Reason for the cut, as a human-readable phrase.
    pub reason: String,
}

/// Position at which the manifest was cut. Bytes after this offset were not read as edits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ManifestCut {
    /// Name of the manifest's file in the database's directory.
    pub file: String,
    /// Number of bytes of the file that were kept.
    pub offset: u64,
}
