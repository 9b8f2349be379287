//! Version edits and their fields.

use cairndb_base::SeqNo;

/// One change of the database's files, applied as a whole.
///
/// Lists keep their order. An edit that changes nothing has no bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionEdit {
    /// The name of the key order; part of every base.
    pub comparator: Option<String>,
    /// The name of the merge operator, once one has been used.
    pub merge_operator: Option<String>,
    /// The smallest file number that was never used.
    pub next_file: Option<u64>,
    /// The last sequence number in the tables.
    pub last_seq: Option<SeqNo>,
    /// Tables added to the database.
    pub added_tables: Vec<TableRecord>,
    /// Numbers of tables removed from the database.
    pub removed_tables: Vec<u64>,
    /// (file, run): tables moved to another run.
    pub moved_tables: Vec<(u64, u64)>,
    /// All runs, newest first; replaces the previous list.
    pub runs: Option<Vec<u64>>,
    /// Log segments that may hold acknowledged writes from now on.
    pub added_segments: Vec<SegmentRecord>,
    /// Numbers of segments whose contents are in tables.
    pub retired_segments: Vec<u64>,
    /// Value files added to the database.
    pub added_values: Vec<u64>,
    /// Value files in which no value is left to encode.
    pub settled_values: Vec<u64>,
    /// (file, bytes): value files that are complete, with their length.
    pub value_sizes: Vec<(u64, u64)>,
    /// (file, bytes): increase of the dead bytes of a value file.
    pub value_dead: Vec<(u64, u64)>,
    /// Value files removed from the database.
    pub removed_values: Vec<u64>,
    /// The database was closed with everything synced; valid while this is the last edit.
    pub clean_close: Option<CleanClose>,
    /// Keyspaces added to the database.
    pub created_keyspaces: Vec<KeyspaceRecord>,
    /// Numbers of keyspaces removed from the database, which are never used again.
    pub dropped_keyspaces: Vec<u32>,
    /// Ranges of keys that were deleted, in the order of their sequence numbers. Each deletes the
    /// older entries of its range, whichever table they are in.
    pub deleted_ranges: Vec<DeletedRange>,
    /// All incarnations, oldest first; replaces the previous list.
    pub incarnations: Vec<Incarnation>,
    /// The segments that are kept only for readers of changes, oldest first; replaces the previous
    /// list.
    pub kept_segments: Option<Vec<KeptSegment>>,
    /// The leases of readers of changes; replaces the previous list.
    pub leases: Option<Vec<Lease>>,
    /// Creations and drops of keyspaces, at their sequence numbers, for readers of changes.
    pub keyspace_events: Vec<KeyspaceEvent>,
}

/// A segment whose contents are in tables, kept for readers of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptSegment {
    /// Segment number.
    pub segment: u64,
    /// Offset at which its records end.
    pub end: u64,
    /// Smallest number of a value file that its pointers may refer to; 0 if there is none.
    pub first_values: u64,
}

/// A named reader of changes, for which the log is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Name, 1 to 255 bytes.
    pub name: String,
    /// Sequence number up to which the reader needs nothing.
    pub seq: SeqNo,
    /// Maximum number of bytes that are kept.
    pub bytes_max: u64,
}

/// The creation or the drop of a keyspace, as a reader of changes sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyspaceEvent {
    /// Its sequence number, which no write has.
    pub seq: SeqNo,
    /// Number of the keyspace.
    pub number: u32,
    /// Whether it was created, or else dropped.
    pub created: bool,
    /// Time, in milliseconds since 1970.
    pub time_ms: u64,
    /// Name of the keyspace.
    pub name: String,
}

/// A part of a database's history within which a sequence number means one write.
///
/// Another begins when writes may have been lost, whose numbers are then used again: after a crash,
/// and in a copy of the database. It takes over everything up to some number.
///
/// ```
/// use cairndb_format::manifest::Incarnation;
///
/// let (first, second) = (Incarnation { number: 97, after: 0 }, Incarnation { number: 11, after:
/// 40 }); assert!(first.after <= second.after, "each takes over what the one before did, and
/// more");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Incarnation {
    /// Random number below 2^62, not 0.
    pub number: u64,
    /// Last sequence number that it took over.
    pub after: SeqNo,
}

/// The deletion of a range of keys, at one sequence number.
///
/// ```
/// use cairndb_format::manifest::DeletedRange;
///
/// let all_from_b = DeletedRange { section: 0, seq: 7, start: b"b".to_vec(), end: Vec::new() };
/// assert!(all_from_b.end.is_empty(), "it has no end");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletedRange {
    /// Section of the keys, as in a [`TableRecord`].
    pub section: u8,
    /// Sequence number of the deletion.
    pub seq: SeqNo,
    /// First key that is deleted.
    pub start: Vec<u8>,
    /// First key after it that is kept; empty if there is none.
    pub end: Vec<u8>,
}

impl VersionEdit {
    /// Returns the approximate bytes of the edit's tables: their keys and references, which have no
    /// other bound.
    pub fn table_bytes(&self) -> usize {
        self.added_tables
            .iter()
            .map(TableRecord::variable_bytes)
            .sum()
    }

    /// Splits the edit into several, each with at most `bytes` of tables or with a single table:
    /// all added tables come first, everything else in the last edit. Used for a base, which takes
    /// effect as a whole once CURRENT names it.
    pub fn divided(mut self, bytes: usize) -> Vec<VersionEdit> {
        let mut pieces = Vec::new();
        let mut piece = VersionEdit::default();
        let mut taken = 0;
        for table in std::mem::take(&mut self.added_tables) {
            let more = table.variable_bytes();
            if taken + more > bytes && !piece.added_tables.is_empty() {
                pieces.push(std::mem::take(&mut piece));
                taken = 0;
            }
            taken += more;
            piece.added_tables.push(table);
        }
        self.added_tables = piece.added_tables;
        pieces.push(self);
        pieces
    }
}

/// A table in the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableRecord {
    /// File number of the table.
    pub file: u64,
    /// Run that the table belongs to.
    pub run: u64,
    /// Section of the keys: 0 for the default keyspace, 1 for all others in bytewise order, 2 for
    /// all with a comparator.
    pub section: u8,
    /// Smallest key in the table, or a shorter one before it.
    pub smallest: Vec<u8>,
    /// Largest key in the table, or a shorter one after it.
    pub largest: Vec<u8>,
    /// Smallest sequence number in the table.
    pub seq_min: SeqNo,
    /// Largest sequence number in the table.
    pub seq_max: SeqNo,
    /// Number of entries.
    pub entries: u64,
    /// Number of deletions among the entries.
    pub deletes: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Bytes of keys and values before compression.
    pub raw_bytes: u64,
    /// Checksum of the table's meta page.
    pub checksum: u32,
    /// (value file, bytes of whole records) that the table's pointers keep alive, ascending by
    /// file.
    pub value_refs: Vec<(u64, u64)>,
    /// The table's values are stored raw for now, to be encoded when the database is idle.
    pub deferred: bool,
    /// At least one large value that the table points to is stored in a codec other than the first.
    pub large_encoded: bool,
    /// Entries that newer entries of the table hide, and that only snapshots can see.
    pub hidden: HiddenVersions,
    /// `smallest` or `largest` is not a key of the table.
    pub loose_bounds: bool,
    /// Every deletion of a range up to this sequence number has been applied to the entries whose
    /// number is stored as 0.
    pub ranges_applied: SeqNo,
    /// Entries with larger sequence numbers do not count, in a fork of a snapshot.
    pub seq_limit: Option<SeqNo>,
}

impl TableRecord {
    /// Returns the number of bytes of value files that the table's pointers keep alive.
    pub fn value_bytes(&self) -> u64 {
        let bytes = self.value_refs.iter().map(|(_, bytes)| *bytes);
        bytes.fold(0, u64::saturating_add)
    }
}

/// Entries of a table that a newer value or tombstone in the same table hides.
///
/// ```
/// use cairndb_format::manifest::HiddenVersions;
///
/// let hidden = HiddenVersions { entries: 2, bytes: 48, value_bytes: 0 };
/// assert_ne!(hidden, HiddenVersions::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HiddenVersions {
    /// Number of these entries.
    pub entries: u64,
    /// Bytes of their keys and values before compression.
    pub bytes: u64,
    /// Bytes of the records of value files that they point to.
    pub value_bytes: u64,
}

impl TableRecord {
    /// Returns the bytes of the table's keys and references, which have no other bound.
    pub fn variable_bytes(&self) -> usize {
        self.smallest.len() + self.largest.len() + 16 * self.value_refs.len()
    }
}

/// A log segment and the file that holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentRecord {
    /// Segment number.
    pub segment: u64,
    /// Number of the file; a recycled file holds several segments one after the other.
    pub file: u64,
    /// The salt its header must have.
    pub salt: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Smallest sequence number that the segment may contain.
    pub start_seq: SeqNo,
}

/// State recorded by a clean close.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanClose {
    /// The last sequence number of the database.
    pub last_seq: SeqNo,
    /// (segment, end): offset at which the records of each live segment end.
    pub log_ends: Vec<(u64, u64)>,
}

/// A keyspace other than the default one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyspaceRecord {
    /// Number at the start of its keys: from 2^31 on if it has a comparator, else below, never 0.
    pub number: u32,
    /// Name, 1 to 255 bytes.
    pub name: String,
    /// Name of its key order, unless that is bytewise.
    pub comparator: Option<String>,
    /// Name of its merge operator, once one has been used.
    pub merge_operator: Option<String>,
    /// Compression of its values, unless it is the database's.
    pub compression: Option<u8>,
    /// Expected size of a value.
    pub value_bytes: Option<u64>,
}
