//! Version edits and their fields.

use cairndb_base::SeqNo;

/// One change of the database's files, applied as a whole.
///
/// Lists keep their order. An edit that changes nothing has no bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionEdit {
    /// The name of the key order; part of every base.
    pub comparator: Option<String>,
    /// The name of the merge operator, once one was used.
    pub merge_operator: Option<String>,
    /// The smallest file number that was never used.
    pub next_file: Option<u64>,
    /// The last sequence number in the tables.
    pub last_seq: Option<SeqNo>,
    /// Tables added to the database.
    pub added_tables: Vec<TableRecord>,
    /// Numbers of tables removed from it.
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
}

impl VersionEdit {
    /// Approximate bytes of its tables: their keys and references, which have no other bound.
    pub fn table_bytes(&self) -> usize {
        self.added_tables
            .iter()
            .map(TableRecord::variable_bytes)
            .sum()
    }

    /// Splits the edit into several, each with tables of `bytes` or with one table: all added
    /// tables first, everything else in the last. For a base, which takes effect as a whole once
    /// CURRENT names it.
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
    /// Its file number.
    pub file: u64,
    /// The run it belongs to.
    pub run: u64,
    /// Its smallest key.
    pub smallest: Vec<u8>,
    /// Its largest key.
    pub largest: Vec<u8>,
    /// Its smallest sequence number.
    pub seq_min: SeqNo,
    /// Its largest sequence number.
    pub seq_max: SeqNo,
    /// Number of entries.
    pub entries: u64,
    /// Number of them that are deletions.
    pub deletes: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Keys and values before compression.
    pub raw_bytes: u64,
    /// Checksum of the table's meta page.
    pub checksum: u32,
    /// (value file, bytes of whole records) that its pointers keep alive, ascending by file.
    pub value_refs: Vec<(u64, u64)>,
    /// Its values are stored raw for now, to be encoded when the database is idle.
    pub deferred: bool,
    /// Some large value that it points to is stored in a codec other than the first.
    pub large_encoded: bool,
}

impl TableRecord {
    /// Bytes of its keys and references, which have no other bound.
    pub fn variable_bytes(&self) -> usize {
        self.smallest.len() + self.largest.len() + 16 * self.value_refs.len()
    }
}

/// A log segment and the file that holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentRecord {
    /// Segment number.
    pub segment: u64,
    /// The file; recycled files hold several segments one after the other.
    pub file: u64,
    /// The salt its header must have.
    pub salt: u64,
    /// Length of the file.
    pub bytes: u64,
    /// Sequence numbers in it begin here.
    pub start_seq: SeqNo,
}

/// State recorded by a clean close.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanClose {
    /// The last sequence number of the database.
    pub last_seq: SeqNo,
    /// (segment, end): where the records of each live segment end.
    pub log_ends: Vec<(u64, u64)>,
}
