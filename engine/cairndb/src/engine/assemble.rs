//! `Assembly`: makes a database of files and records of the log that were copied elsewhere.
//!
//! What it writes is what a crash just after the last record would have left, so the next open
//! recovers it as any other. Only the manifest says that another incarnation begins there.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, FileNumber, Kind, Result, SeqNo};
use cairndb_env::{Dir, Env};
use cairndb_files::{NUMBER_MAX, check_numbers, check_seq, out_of_range};
use cairndb_format::batch::{self, BatchWriter};
use cairndb_format::log::{HEADER_BYTES, RecordHead, SegmentHeader, encode_record, record_bytes};
use cairndb_format::manifest::{
    CleanClose, Incarnation, KeyspaceRecord, ManifestWriter, SegmentRecord, TableRecord,
    VersionEdit, install_current,
};
use cairndb_format::name;

use crate::changes::change::{Logged, Place};
use crate::state::lineage::Lineage;
use crate::state::sections::keyspace_of;

/// Length at which a segment is ended: recovery reads whole segments.
const SEGMENT_BYTES: usize = 16 << 20;
/// Maximum size of the tables in one edit.
const EDIT_BYTES: usize = 1 << 20;

/// A database in the making, in a directory that has its tables and value files.
pub struct Assembly<'a> {
    env: &'a dyn Env,
    dir: Arc<dyn Dir>,
    edit: VersionEdit,
    next_file: u64,
    /// The last sequence number so far.
    seq: SeqNo,
    /// The segment that is being filled.
    header: SegmentHeader,
    segment: Vec<u8>,
    record: Vec<u8>,
    only: Option<Only>,
    /// Whether something is left out.
    is_partial: bool,
}

/// The keyspaces that a database is to have.
#[derive(Clone, Debug, Default)]
pub struct Only {
    /// Names of keyspaces.
    pub keyspaces: BTreeSet<String>,
    /// Whether the default keyspace is to have entries.
    pub default: bool,
}

impl fmt::Debug for Assembly<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembly")
            .field("dir", &self.dir.path())
            .field("seq", &self.seq)
            .finish_non_exhaustive()
    }
}

impl<'a> Assembly<'a> {
    /// Begins with the files that an edit describes
    /// ([`LiveFiles::edit`](crate::physical::LiveFiles::edit)). With `only`, other keyspaces are
    /// left out.
    ///
    /// # Errors
    /// `Corruption`.
    pub fn new(
        env: &'a dyn Env,
        dir: &Arc<dyn Dir>,
        edit: &[u8],
        only: Option<Only>,
    ) -> Result<Assembly<'a>> {
        let mut edit = VersionEdit::decode(edit)?;
        check_numbers(&edit)?;
        if let Some(only) = &only {
            let records = edit.created_keyspaces.iter();
            let wanted = records.filter(|record| only.keyspaces.contains(&record.name));
            let wanted: BTreeSet<u32> = wanted.map(|record| record.number).collect();
            edit.added_tables.retain(|table| match table.section {
                0 => only.default,
                _ => may_have(table, &wanted),
            });
        }
        Ok(Assembly {
            env,
            dir: Arc::clone(dir),
            next_file: edit.next_file.unwrap_or(1),
            seq: edit.last_seq.unwrap_or(0),
            edit,
            header: SegmentHeader::UNUSED,
            segment: Vec::new(),
            record: Vec::new(),
            is_partial: only.is_some(),
            only,
        })
    }

    /// Returns the names and lengths of the tables that the directory must have.
    pub fn tables(&self) -> impl Iterator<Item = (String, u64)> {
        let tables = self.edit.added_tables.iter();
        tables.map(|table| (name::table(FileNumber(table.file)), table.bytes))
    }

    /// Adds a value file that the files so far do not need, but the log does.
    ///
    /// # Errors
    /// `Corruption` if no file can have this number.
    pub fn add_values(&mut self, file: u64) -> Result<()> {
        if file >= NUMBER_MAX {
            return Err(out_of_range(file));
        }
        if !self.edit.added_values.contains(&file) {
            self.edit.added_values.push(file);
            self.edit.added_values.sort_unstable();
        }
        self.next_file = self.next_file.max(file + 1);
        Ok(())
    }

    /// Records that the changes from now on are of the incarnation `number`, which takes over those
    /// up to `after`.
    pub fn begin_incarnation(&mut self, number: u64, after: SeqNo) {
        let known = &mut self.edit.incarnations;
        if number != 0 && !known.iter().any(|it| it.number == number) {
            let before = known.last().map_or(0, |last| last.after);
            let after = after.max(before);
            known.push(Incarnation { number, after });
        }
    }

    /// Adds the next change. Those that the files have are passed over.
    ///
    /// # Errors
    /// `Corruption` if it cannot follow, or be decoded; errors of writing.
    pub fn add(&mut self, change: &Logged) -> Result<()> {
        match change {
            Logged::Batch { first, payload, .. } => {
                check_seq(*first)?;
                let count = batch::count(payload)?;
                let last = first.saturating_add(count).saturating_sub(1);
                if last <= self.seq {
                    return Ok(());
                }
                self.append(*first, payload)?;
                self.seq = last;
                Ok(())
            }
            Logged::Edit(edit) => {
                let edit = VersionEdit::decode(edit)?;
                check_numbers(&edit)?;
                for created in edit.created_keyspaces {
                    let known = &mut self.edit.created_keyspaces;
                    if !known.iter().any(|it| it.number == created.number) {
                        known.push(created);
                    }
                }
                let dropped = edit.dropped_keyspaces;
                self.drop_keyspaces(&dropped);
                Ok(())
            }
        }
    }

    /// Drops keyspaces. Another of the same name may follow.
    fn drop_keyspaces(&mut self, dropped: &[u32]) {
        let is_left = |record: &KeyspaceRecord| !dropped.contains(&record.number);
        self.edit.created_keyspaces.retain(is_left);
        self.edit.dropped_keyspaces.extend(dropped);
    }

    /// Appends a record whose first entry is `first`.
    fn append(&mut self, first: SeqNo, payload: &[u8]) -> Result<()> {
        while first > self.seq + 1 + u64::from(u32::MAX) {
            // A record without entries takes as many numbers as one can.
            let skipped = self.seq + u64::from(u32::MAX);
            let empty = BatchWriter::new().to_payload();
            self.append_at(skipped + 1, u32::MAX, &empty)?;
            self.seq = skipped;
        }
        let gap = first.saturating_sub(self.seq + 1);
        let gap = u32::try_from(gap).map_err(|_| Error::corruption("a gap is too long"))?;
        self.append_at(first, gap, payload)
    }

    fn append_at(&mut self, seq: SeqNo, gap: u32, payload: &[u8]) -> Result<()> {
        let bytes = record_bytes(payload.len() as u64);
        let is_full = self.segment.len() as u64 + bytes > SEGMENT_BYTES as u64;
        if self.segment.is_empty() || is_full && self.segment.len() > HEADER_BYTES {
            self.end_segment()?;
            self.header = SegmentHeader {
                segment: self.header.segment + 1,
                salt: self.env.random_u64(),
                start_seq: seq - u64::from(gap),
                ..self.header
            };
            self.segment.extend_from_slice(&self.header.encode());
        }
        let offset = u32::try_from(self.segment.len());
        let offset = offset.map_err(|_| Error::corruption("a record does not fit a segment"))?;
        let head = RecordHead {
            offset,
            seq,
            // All of it is synced before anything refers to it.
            synced: offset,
            gap,
        };
        encode_record(self.header.binding(), &head, &[payload], &mut self.record);
        self.segment.extend_from_slice(&self.record);
        self.segment
            .resize(self.segment.len().next_multiple_of(8), 0);
        Ok(())
    }

    /// Writes the segment to a file.
    fn end_segment(&mut self) -> Result<()> {
        if self.segment.is_empty() {
            return Ok(());
        }
        let file = self.new_file();
        let mut written = self.dir.create(&name::log(FileNumber(file)))?;
        written.append(&self.segment)?;
        written.sync()?;
        let bytes = self.segment.len() as u64;
        self.edit.added_segments.push(SegmentRecord {
            segment: self.header.segment,
            file,
            salt: self.header.salt,
            bytes,
            start_seq: self.header.start_seq,
        });
        (self.header.previous_segment, self.header.previous_end) = (self.header.segment, bytes);
        self.segment.clear();
        Ok(())
    }

    /// Drops the keyspaces that are not wanted.
    ///
    /// # Errors
    /// `NotFound` if there is no keyspace of a wanted name.
    fn leave_out_others(&mut self) -> Result<()> {
        let Some(only) = self.only.take() else {
            return Ok(());
        };
        let records = self.edit.created_keyspaces.iter();
        let others = records.filter(|record| !only.keyspaces.contains(&record.name));
        let others: Vec<u32> = others.map(|record| record.number).collect();
        self.drop_keyspaces(&others);
        let mut missing = only.keyspaces.clone();
        for record in &self.edit.created_keyspaces {
            missing.remove(&record.name);
        }
        if let Some(missing) = missing.first() {
            let message = "there was no such keyspace at that moment";
            return Err(Error::new(ErrorKind::NotFound, message).found(missing));
        }
        if !only.default {
            let mut all = BatchWriter::new();
            all.add(Kind::RangeDelete, b"", b"");
            self.append(self.seq + 1, &all.to_payload())?;
            self.seq += 1;
        }
        Ok(())
    }

    fn new_file(&mut self) -> u64 {
        let file = self.next_file;
        self.next_file += 1;
        file
    }

    /// Writes what makes the directory a database that has everything up to `until`. Returns the
    /// place where its own history begins.
    ///
    /// # Errors
    /// `Corruption` if the files have later entries; errors of writing.
    pub fn finish(mut self, until: SeqNo) -> Result<Place> {
        if until < self.seq {
            return Err(Error::corruption("the files have later entries")
                .expected(until)
                .found(self.seq));
        }
        self.leave_out_others()?;
        let until = until.max(self.seq);
        let has_log = until > self.seq || self.header.segment > 0 || !self.segment.is_empty();
        if until > self.seq {
            // Numbers at the end of the log that no entry has would be given out again: the
            // deletion of an empty range takes the last one.
            let mut nothing = BatchWriter::new();
            nothing.add(Kind::RangeDelete, b"0", b"0");
            self.append(until, &nothing.to_payload())?;
        }
        self.end_segment()?;
        let mut incarnations = std::mem::take(&mut self.edit.incarnations);
        if self.is_partial {
            // What continues the whole database must not continue this one.
            incarnations.clear();
        }
        let lineage = Lineage::new(incarnations);
        let lineage = lineage.continued(self.env.random_u64(), until);
        self.edit.incarnations = lineage.incarnations().to_vec();
        self.edit.clean_close = (!has_log).then(|| CleanClose {
            last_seq: until,
            log_ends: Vec::new(),
        });
        let number = FileNumber(self.new_file());
        self.edit.next_file = Some(self.next_file);
        describe(self.env, &*self.dir, number, self.edit, EDIT_BYTES)?;
        Ok(Place {
            incarnation: lineage.present(),
            seq: until,
        })
    }
}

/// Returns whether a table may have entries of some keyspaces.
fn may_have(table: &TableRecord, wanted: &BTreeSet<u32>) -> bool {
    let first = keyspace_of(&table.smallest);
    let last = keyspace_of(&table.largest).max(first);
    wanted.range(first..=last).next().is_some()
}

/// Writes the manifest and CURRENT that make the files of `dir`, which are durable, a database.
pub(super) fn describe(
    env: &dyn Env,
    dir: &dyn Dir,
    number: FileNumber,
    edit: VersionEdit,
    edit_bytes: usize,
) -> Result<()> {
    // The names of all other files come first.
    dir.sync()?;
    let manifest = dir.create(&name::manifest(number))?;
    let edits = edit.divided(edit_bytes);
    drop(ManifestWriter::new(
        manifest,
        number,
        env.random_u64(),
        &edits,
    )?);
    install_current(dir, number)
}
