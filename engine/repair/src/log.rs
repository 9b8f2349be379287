//! Reads the log: every intact record, also those after damage.

pub(super) mod runs;
pub(super) mod segments;

use cairndb_base::{Error, ErrorKind, Kind, Result, SeqNo, watch};
use cairndb_env::Dir;
use cairndb_format::batch;
use cairndb_format::log::{Found, Record, SegmentReader, SegmentSalvage, Step};
use cairndb_format::manifest::DeletedRange;

use crate::findings::Findings;
use crate::keyspaces::Keyspaces;
use crate::log::runs::Runs;
use crate::log::segments::Planned;
use crate::report::{DoubtKind, KeySpan};
use crate::survey::{opened, read_all};

/// What is known of the records that were read.
#[derive(Debug, Default)]
pub(super) struct LogExtent {
    /// First number that the first record accounts for; `None` without a record.
    pub(super) first: Option<SeqNo>,
    /// Number of the last entry.
    pub(super) last: SeqNo,
    /// The ranges that they delete.
    pub(super) ranges: Vec<DeletedRange>,
}

/// The log of a source, and where its entries go.
pub(super) struct LogReader<'a> {
    dir: &'a dyn Dir,
    segments: &'a [Planned],
    /// Tables hold everything up to this sequence number.
    durable_seq: SeqNo,
    runs: &'a mut Runs,
    findings: &'a mut Findings,
    /// First sequence number that the first record accounts for.
    first: Option<SeqNo>,
    /// Sequence number after the last record; `None` before the first.
    due: Option<SeqNo>,
    /// Whether a loss since the last record explains missing sequence numbers.
    explained: bool,
    ranges: Vec<DeletedRange>,
}

impl<'a> LogReader<'a> {
    pub(super) fn new(
        dir: &'a dyn Dir,
        segments: &'a [Planned],
        durable_seq: SeqNo,
        runs: &'a mut Runs,
        findings: &'a mut Findings,
    ) -> LogReader<'a> {
        LogReader {
            dir,
            segments,
            durable_seq,
            runs,
            findings,
            first: None,
            due: None,
            explained: false,
            ranges: Vec::new(),
        }
    }

    /// Reads all segments.
    ///
    /// # Errors
    /// `FormatTooNew`; the errors of writing runs.
    pub(super) fn read(mut self) -> Result<LogExtent> {
        for index in 0..self.segments.len() {
            self.read_segment(index)?;
        }
        if let Some(last) = self.segments.iter().rev().find(|segment| segment.found) {
            let reason = format!(
                "the database was not closed: whether its log had more records after the last one \
                 in {} or a later segment cannot be determined",
                last.file
            );
            self.findings
                .doubt(DoubtKind::LogEnd, KeySpan::all(), reason);
        }
        Ok(LogExtent {
            first: self.first,
            last: self.due.map_or(0, |due| due.saturating_sub(1)),
            ranges: self.ranges,
        })
    }

    fn bytes_of(&mut self, index: usize) -> Option<Vec<u8>> {
        let segment = &self.segments[index];
        let read = opened(self.dir, &segment.file).and_then(|file| {
            let short = || Error::corruption("the segment does not fit into memory");
            read_all(&*file, segment.bytes).ok_or_else(short)
        });
        if let Err(error) = &read {
            self.lose(&segment.file, 0, segment.bytes, error.message());
        }
        read.ok()
    }

    fn read_segment(&mut self, index: usize) -> Result<()> {
        let segments = self.segments;
        let segment = &segments[index];
        if !segment.found {
            self.explained = true;
            return Ok(());
        }
        let Some(bytes) = self.bytes_of(index) else {
            return Ok(());
        };
        let next = segments
            .get(index + 1)
            .filter(|next| next.intact && next.header.previous_segment == segment.header.segment);
        let next_end = next.map(|next| next.header.previous_end);
        // Looked up once, and only if a record lies past the end that the next header names.
        let mut first_after = None;
        let mut salvage = SegmentSalvage::new(&bytes, &segment.header);
        let mut any = false;
        while let Some(found) = salvage.advance() {
            watch::check()?;
            match found {
                Found::Record(record) => {
                    let past = next_end.is_some_and(|end| record.offset >= end);
                    if past {
                        let first = *first_after
                            .get_or_insert_with(|| first_from(self.dir, segments, index + 1));
                        if first.is_some_and(|first| first <= before(&record)) {
                            return Ok(());
                        }
                    }
                    any = true;
                    self.take(&segment.file, &record)?;
                }
                Found::Gap { offset, end, why } => {
                    self.lose(&segment.file, offset, end - offset, &why.to_string());
                }
            }
        }
        let end = salvage.end().map_or(0, |end| end.offset);
        let why = salvage.end().and_then(|end| end.why);
        if let Some(due) = next_end.filter(|due| end < *due) {
            let why = why.map_or_else(
                || "the segment ends early".to_owned(),
                |why| why.to_string(),
            );
            self.lose(&segment.file, end, due - end, &why);
        } else if !segment.intact && !any && index + 1 < segments.len() {
            let message = "the segment's header is damaged, and it holds no readable record";
            self.lose(&segment.file, 0, bytes.len() as u64, message);
        }
        Ok(())
    }

    fn lose(&mut self, file: &str, offset: u64, bytes: u64, reason: &str) {
        self.explained = true;
        self.findings.lose_records(file, offset, bytes, reason);
    }

    /// Takes the entries of a record that tables do not hold.
    fn take(&mut self, file: &str, record: &Record<'_>) -> Result<()> {
        let first = before(record);
        if self.due.is_some_and(|due| first > due) && !self.explained {
            let reason = "sequence numbers are missing before this record";
            self.lose(file, record.offset, 0, reason);
        }
        self.explained = false;
        self.first.get_or_insert(first);
        self.findings.report.kept.log_records += 1;
        let place = |error: Error| error.file(file.to_owned()).offset(record.offset);
        let count = match batch::validate(record.payload) {
            Ok(validated) => validated.count,
            Err(error) => {
                self.lose(
                    file,
                    record.offset,
                    record.end - record.offset,
                    error.message(),
                );
                return Ok(());
            }
        };
        let mut seq = record.seq;
        for entry in batch::iter(record.payload).map_err(place)? {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if error.kind() == ErrorKind::FormatTooNew => return Err(place(error)),
                Err(_) => break,
            };
            if entry.kind == Kind::TimeMark {
                seq = seq.saturating_add(1);
                continue;
            }
            let section = Keyspaces::section_of(entry.in_keyspace, entry.key);
            let keyspaces = self.runs.keyspaces();
            if entry.kind == Kind::RangeDelete {
                // The manifest should have those up to `durable_seq`, but may have lost some.
                self.ranges.push(DeletedRange {
                    section,
                    seq,
                    start: entry.key.to_vec(),
                    end: entry.value.to_vec(),
                });
                self.findings.report.kept.log_entries += u64::from(seq > self.durable_seq);
            } else if seq > self.durable_seq
                && self.findings.admits(keyspaces, section, entry.key, file)
            {
                self.runs
                    .add(section, entry.key, seq, entry.kind, entry.value)?;
                self.findings.report.kept.log_entries += 1;
            }
            seq = seq.saturating_add(1);
        }
        let after = record.seq.saturating_add(count);
        self.due = Some(self.due.map_or(after, |due| due.max(after)));
        Ok(())
    }
}

/// Returns the first sequence number that a record accounts for, including the unlogged ones before
/// it.
fn before(record: &Record<'_>) -> SeqNo {
    record.seq.saturating_sub(u64::from(record.gap))
}

/// Returns the first sequence number that the first record from segment `index` on accounts for.
fn first_from(dir: &dyn Dir, segments: &[Planned], index: usize) -> Option<SeqNo> {
    for segment in segments.get(index..)? {
        let file = opened(dir, &segment.file).ok()?;
        let bytes = read_all(&*file, segment.bytes)?;
        if let Step::Record(first) = SegmentReader::new(&bytes, &segment.header).advance() {
            return Some(before(&first));
        }
    }
    None
}
