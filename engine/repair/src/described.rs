//! What a manifest describes, as far as its edits are intact.
//!
//! Unlike recovery, this accepts edits that contradict each other: an edit between them may be
//! lost.

use std::collections::{BTreeMap, BTreeSet};

use cairndb_base::limits::COMPARED_KEYSPACE_MIN;
use cairndb_base::{FileNumber, Result, SeqNo};
use cairndb_env::Dir;
use cairndb_files::{NUMBER_MAX, check_seq};
use cairndb_format::manifest::{
    DeletedRange, FoundEdit, KeyspaceRecord, ManifestSalvage, SegmentRecord, TableRecord,
    VersionEdit,
};

/// Age of tables newer than every listed run. The log has the age 0.
pub(super) const NEWEST_TABLES: usize = 1;

/// The intact edits of a manifest, folded into one state.
#[derive(Clone, Debug, Default)]
pub(super) struct Described {
    /// Number of the manifest.
    pub(super) number: u64,
    pub(super) comparator: Option<String>,
    pub(super) merge_operator: Option<String>,
    /// Everything up to this sequence number is in tables.
    pub(super) last_seq: SeqNo,
    pub(super) tables: BTreeMap<u64, TableRecord>,
    /// Runs, newest first.
    pub(super) runs: Vec<u64>,
    pub(super) segments: BTreeMap<u64, SegmentRecord>,
    /// Keyspaces, by number.
    pub(super) keyspaces: BTreeMap<u32, KeyspaceRecord>,
    /// Numbers of dropped keyspaces.
    pub(super) dropped: BTreeSet<u32>,
    /// Deleted ranges, also those that hide nothing any more.
    pub(super) deleted_ranges: Vec<DeletedRange>,
    /// Tables that an edit removed.
    pub(super) removed: BTreeSet<u64>,
    /// Every number from here on was unused when the last edit was written.
    pub(super) next_file: u64,
    /// Whether the last edit is a clean close.
    pub(super) closed: bool,
    /// Damaged ranges of the file: lost edits.
    pub(super) gaps: Vec<(u64, u64)>,
    /// Whether there was a later manifest, which is not readable.
    pub(super) superseded: bool,
}

impl Described {
    /// Reads manifest `number`.
    ///
    /// # Errors
    /// `Corruption` if nothing in it is intact; `FormatTooNew`; `Io`.
    pub(super) fn read(dir: &dyn Dir, number: u64) -> Result<Described> {
        let mut salvage = ManifestSalvage::open(dir, FileNumber(number))?;
        let mut described = Described {
            number,
            ..Described::default()
        };
        let mut is_torn = false;
        while let Some(found) = salvage.advance()? {
            match found {
                FoundEdit::Edit(edit) => described.apply(*edit),
                FoundEdit::Gap { offset, end } => described.gaps.push((offset, end)),
                FoundEdit::Torn { .. } => is_torn = true,
            }
        }
        described.closed &= !is_torn;
        Ok(described)
    }

    fn apply(&mut self, edit: VersionEdit) {
        self.comparator = edit.comparator.or(self.comparator.take());
        self.merge_operator = edit.merge_operator.or(self.merge_operator.take());
        let reached = edit.last_seq.filter(|seq| check_seq(*seq).is_ok());
        self.last_seq = self.last_seq.max(reached.unwrap_or(0));
        self.closed = edit.clean_close.is_some();
        let next = edit.next_file.filter(|next| *next < NUMBER_MAX);
        self.next_file = self.next_file.max(next.unwrap_or(0));
        for file in edit.removed_tables {
            self.tables.remove(&file);
            self.removed.insert(file);
        }
        for (file, run) in edit.moved_tables {
            if let Some(table) = self.tables.get_mut(&file) {
                table.run = run;
            }
        }
        for table in edit.added_tables {
            if table.file < NUMBER_MAX {
                self.next_file = self.next_file.max(table.file + 1);
                self.tables.insert(table.file, table);
            }
        }
        if let Some(runs) = edit.runs {
            self.runs = runs;
        }
        for segment in edit.added_segments {
            if segment.file < NUMBER_MAX {
                self.next_file = self.next_file.max(segment.file + 1);
                self.segments.insert(segment.segment, segment);
            }
        }
        for segment in edit.retired_segments {
            self.segments.remove(&segment);
        }
        for number in edit.dropped_keyspaces {
            self.keyspaces.remove(&number);
            self.dropped.insert(number);
        }
        self.deleted_ranges.extend(edit.deleted_ranges);
        let created = edit.created_keyspaces.into_iter();
        self.keyspaces.extend(created.map(|it| (it.number, it)));
    }

    /// Returns whether edits are lost.
    pub(super) fn is_damaged(&self) -> bool {
        !self.gaps.is_empty() || self.superseded
    }

    /// Returns whether keyspace `number` was dropped. Numbers are given out in ascending order, and
    /// a base names only the largest of those that were dropped before.
    pub(super) fn is_dropped(&self, number: u32) -> bool {
        let is_used = |other: &u32| {
            let same = (*other < COMPARED_KEYSPACE_MIN) == (number < COMPARED_KEYSPACE_MIN);
            same && *other >= number
        };
        let mut used = self.keyspaces.keys().chain(&self.dropped);
        let ended = self.gaps.is_empty() && used.any(is_used);
        !self.keyspaces.contains_key(&number) && (ended || self.dropped.contains(&number))
    }

    /// Takes over what this manifest does not know from another one, whose edits may have been lost
    /// here: deleted ranges and keyspaces. A name that is in use is left out.
    pub(super) fn add_lost(&mut self, other: Described) {
        if self.is_damaged() {
            self.deleted_ranges.extend(other.deleted_ranges);
        }
        for (number, mut record) in other.keyspaces {
            if self.is_dropped(number) || self.keyspaces.contains_key(&number) {
                continue;
            }
            if self.keyspaces.values().any(|it| it.name == record.name) {
                record.name.clear();
            }
            self.keyspaces.insert(number, record);
        }
    }

    /// Returns numbers that only grow during the life of a database.
    pub(super) fn progress(&self) -> (SeqNo, u64) {
        (self.last_seq, self.next_file)
    }

    /// Returns the age of a run, at least 1: its place in the list, the newest first. A run that
    /// the list lacks is newer than all others: the edit that listed it is lost.
    pub(super) fn age_of(&self, run: u64) -> usize {
        let place = self.runs.iter().position(|listed| *listed == run);
        place.map_or(NEWEST_TABLES, |place| NEWEST_TABLES + 1 + place)
    }

    /// Returns the age of tables older than every run.
    pub(super) fn oldest_age(&self) -> usize {
        NEWEST_TABLES + 1 + self.runs.len()
    }
}
