//! The files that a manifest describes: its edits, added up.
//!
//! Edits that contradict each other are accepted, because one between them may be lost.

use std::collections::{BTreeMap, BTreeSet};

use cairndb::Error;
use cairndb_base::FileNumber;
use cairndb_format::manifest::{CleanClose, SegmentRecord, TableRecord, VersionEdit};

use super::edits::{Edits, Step};
use crate::failure::Result;
use crate::inspect::printer::Printer;
use crate::inspect::source::InspectedDir;

/// What the intact edits of a manifest describe.
#[derive(Debug, Default)]
pub(super) struct ManifestState {
    /// The manifest; `None` if no edit could be read.
    pub(super) manifest: Option<FileNumber>,
    pub(super) comparator: Option<String>,
    pub(super) tables: BTreeMap<u64, TableRecord>,
    /// All runs, newest first.
    pub(super) runs: Vec<u64>,
    pub(super) segments: BTreeMap<u64, SegmentRecord>,
    /// Numbers of those that only readers of changes need.
    pub(super) kept: BTreeSet<u64>,
    pub(super) last_seq: u64,
    pub(super) closed: Option<CleanClose>,
}

impl ManifestState {
    /// Reads the manifest in use. Damage of it is printed.
    pub(super) fn read(source: &InspectedDir, printer: &mut Printer) -> Result<ManifestState> {
        let read = |number| ManifestState::of(source, FileNumber(number));
        Ok(source.read_manifest(printer, read)?.unwrap_or_default())
    }

    /// Reads manifest `number`. Returns what its intact edits describe, and the damage.
    pub(super) fn of(
        source: &InspectedDir,
        number: FileNumber,
    ) -> Result<(ManifestState, Vec<Error>)> {
        let mut state = ManifestState::default();
        let mut damage = Vec::new();
        let failure = source.failure();
        let mut edits = Edits::open(&*source.dir, number).map_err(&failure)?;
        while let Some(step) = edits.advance().map_err(&failure)? {
            match step {
                Step::Edit(_, edit) => {
                    state.manifest = Some(number);
                    state.apply(*edit);
                }
                Step::Torn(_) => state.closed = None,
                Step::Damage(error) => damage.push(error),
            }
        }
        Ok((state, damage))
    }

    fn apply(&mut self, edit: VersionEdit) {
        self.comparator = edit.comparator.or(self.comparator.take());
        self.last_seq = self.last_seq.max(edit.last_seq.unwrap_or(0));
        self.closed = edit.clean_close;
        for number in &edit.removed_tables {
            self.tables.remove(number);
        }
        for table in edit.added_tables {
            self.tables.insert(table.file, table);
        }
        for (number, run) in edit.moved_tables {
            if let Some(table) = self.tables.get_mut(&number) {
                table.run = run;
            }
        }
        self.runs = edit.runs.unwrap_or_else(|| std::mem::take(&mut self.runs));
        for segment in edit.added_segments {
            self.segments.insert(segment.segment, segment);
        }
        for segment in edit.retired_segments {
            self.segments.remove(&segment);
        }
        if let Some(kept) = edit.kept_segments {
            self.kept = kept.into_iter().map(|kept| kept.segment).collect();
        }
    }
}
