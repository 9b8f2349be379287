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
