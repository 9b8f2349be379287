//! `cairn log`: the segments of the log, record by record.
//!
//! Records after damage are found by their checksums. Whether missing bytes are damage follows the
//! rule of recovery: they are if a later record, or the header of the next segment, shows that they
//! had been written.

use std::sync::Arc;

use cairndb::env::ReadFile;
use cairndb::{Error, ErrorKind};
use cairndb_base::FileNumber;
use cairndb_format::batch;
use cairndb_format::log::{
    Found, HEADER_BYTES, Record, SEGMENT_BYTES_MAX, SegmentHeader, SegmentSalvage,
    find_later_synced,
};
use cairndb_format::manifest::SegmentRecord;
use cairndb_format::name::{self, FileKind};

use super::state::ManifestState;
use crate::failure::Result;
use crate::inspect::printer::Printer;
use crate::inspect::row::Row;
use crate::inspect::source::{ATTEMPTS_MAX, InspectedDir, not_a};

/// Prints all segments, or `file` with its entries.
pub(in crate::inspect) fn print(
    source: &InspectedDir,
    file: Option<&str>,
    printer: &mut Printer,
) -> Result<()> {
    if let Some(found) = file {
        if !matches!(FileKind::parse(found), Some(FileKind::Log(_))) {
            return Err(not_a(found, "log segment"));
        }
        source.named_file(found)?;
    }
    let state = ManifestState::read(source, printer)?;
    let mut files = Vec::new();
    for found in source.names()? {
        let is_log = matches!(FileKind::parse(&found), Some(FileKind::Log(_)));
        if is_log && file.is_none_or(|file| file == found) {
            files.push(LogFile::examine(source, found, &state)?);
        }
    }
    // In the order of the log; files that are no segment come last.
    files.sort_by_key(|log| log.header.map_or(u64::MAX, |header| header.segment));
    let entries = file.is_some() || printer.style().entries;
    for log in &files {
        log.print(source, &state, file.is_some(), entries, printer)?;
    }
    for segment in state.segments.values() {
        let found = name::log(FileNumber(segment.file));
        if file.is_none() && files.iter().all(|log| log.name != found) {
            let error = Error::corruption("a log segment that the manifest names is missing");
            printer.damage(0, error.file(found).offset(0))?;
        }
    }
    Ok(())
}

/// A file of the log.
struct LogFile {
    name: String,
    bytes: u64,
    header: Option<SegmentHeader>,
    /// What the manifest says of the segment, if it lists it.
    live: Option<SegmentRecord>,
    /// Damage of the header of a segment that the manifest lists.
    damage: Option<Error>,
}

impl LogFile {
    fn examine(source: &InspectedDir, found: String, state: &ManifestState) -> Result<LogFile> {
        let failure = source.failure();
        let file = source.named_file(&found)?;
        let sector = read(&file, HEADER_BYTES as u64).map_err(&failure)?;
        let mut log = LogFile {
            bytes: file.size(),
            header: None,
            live: None,
            damage: None,
            name: found,
        };
        let listed = state.segments.values();
        let mut listed = listed.filter(|record| name::log(FileNumber(record.file)) == log.name);
        match SegmentHeader::decode(&sector) {
            Ok(header) => {
                log.live = listed
                    .find(|it| it.segment == header.segment && it.salt == header.salt)
                    .copied();
                log.header = Some(header);
            }
            Err(error) if error.kind() == ErrorKind::FormatTooNew => {
                return Err(failure(error.file(log.name.clone())));
            }
            // A segment that the manifest lists but that was never begun has no header yet.
            Err(_) if sector.iter().all(|byte| *byte == 0) => {}
            Err(error) => {
                // The manifest has all that the records are bound to.
                log.live = listed.next_back().copied();
                log.header = log.live.map(|record| SegmentHeader {
                    segment: record.segment,
                    salt: record.salt,
                    start_seq: record.start_seq,
                    ..SegmentHeader::UNUSED
                });
                log.damage = log.live.map(|_| error.file(log.name.clone()));
            }
        }
        Ok(log)
    }

    fn print(
        &self,
        source: &InspectedDir,
        state: &ManifestState,
        is_named: bool,
        entries: bool,
        printer: &mut Printer,
    ) -> Result<()> {
        let row = Row::new("segment")
            .text("file", &*self.name)
            .number("bytes", self.bytes);
        let Some(header) = self.header.filter(|header| header.segment > 0) else {
            return printer.row(0, &row.text("state", "unused"));
        };
        let state_word = match self.live {
            Some(record) if state.kept.contains(&record.segment) => "kept",
            Some(_) => "live",
            None => "retired",
        };
        let row = row
            .text("state", state_word)
            .number("segment", header.segment)
            .number("start_seq", header.start_seq)
            .number("previous_segment", header.previous_segment)
            .number("previous_end", header.previous_end);
        printer.row(0, &row)?;
        if let Some(damage) = &self.damage {
            printer.damage(1, damage.clone())?;
        }
        if self.live.is_none() && !is_named {
            return Ok(());
        }
        let Some(bytes) = self.read(source, &header)? else {
            return printer.row(1, &Row::new("reused").text("file", &*self.name));
        };
        let end = self.print_records(&bytes, &header, entries, printer)?;
        if self.live.is_none() {
            return Ok(());
        }
        self.check_end(source, state, &header, end, printer)
    }

    /// Reads the segment. While a process writes, what looks damaged is read again until two reads
    /// agree. Returns `None` if the file is used for another segment by now.
    fn read(&self, source: &InspectedDir, header: &SegmentHeader) -> Result<Option<Vec<u8>>> {
        let mut gaps: Option<Vec<u64>> = None;
        for _ in 0..ATTEMPTS_MAX {
            let file = source.named_file(&self.name)?;
            let bytes = read(&file, SEGMENT_BYTES_MAX).map_err(source.failure())?;
            if !source.is_live {
                return Ok(Some(bytes));
            }
            let found = SegmentHeader::decode(&bytes).ok();
            if self.damage.is_none() && found != Some(*header) {
                return Ok(None);
            }
            let now = gaps_of(&bytes, header);
            if now
                .iter()
                .all(|gap| gaps.as_ref().is_some_and(|gaps| gaps.contains(gap)))
            {
                return Ok(Some(bytes));
            }
            gaps = Some(now);
        }
        let busy = Error::new(
            ErrorKind::Locked,
            "the log changes faster than it can be read",
        );
        Err(source.failure()(busy.file(self.name.clone())))
    }

    /// Prints the records. Returns the offset at which they end.
    fn print_records(
        &self,
        bytes: &[u8],
        header: &SegmentHeader,
        entries: bool,
        printer: &mut Printer,
    ) -> Result<u64> {
        let mut salvage = SegmentSalvage::new(bytes, header);
        while let Some(found) = salvage.advance() {
            match found {
                Found::Record(record) => self.print_record(&record, entries, printer)?,
                Found::Gap { offset, why, .. } => {
                    if find_later_synced(bytes, header, offset).is_some() {
                        let error = Error::corruption(why.to_string());
                        printer.damage(1, error.file(self.name.clone()).offset(offset))?;
                    } else {
                        let row = Row::new("torn").number("offset", offset);
                        let note = "an open ends the log here: no sync covered these bytes";
                        printer.row(1, &row.text("reason", note))?;
                    }
                }
            }
        }
        Ok(salvage.end().map_or(0, |end| end.offset))
    }

    fn print_record(
        &self,
        record: &Record<'_>,
        entries: bool,
        printer: &mut Printer,
    ) -> Result<()> {
        let placed = |error: Error| error.file(self.name.clone()).offset(record.offset);
        let row = Row::new("record")
            .number("offset", record.offset)
            .number("seq", record.seq)
            .number("entries", record.count().unwrap_or(0))
            .number("bytes", record.end - record.offset)
            .number("synced_to", record.synced);
        let row = match record.gap {
            0 => row,
            gap => row.number("unlogged_before", gap.into()),
        };
        printer.row(1, &row)?;
        let batch = match batch::iter(record.payload) {
            Ok(batch) => batch,
            Err(error) => return printer.damage(2, placed(error)),
        };
        for (seq, entry) in (record.seq..).zip(batch) {
            match entry {
                Ok(entry) if entries => {
                    printer.entry(seq, entry.kind, entry.key, entry.value)?;
                }
                Ok(_) => {}
                Err(error) => printer.damage(2, placed(error))?,
            }
        }
        Ok(())
    }

    /// Compares the end of the records with what the next segment, or a clean close, states.
    fn check_end(
        &self,
        source: &InspectedDir,
        state: &ManifestState,
        header: &SegmentHeader,
        end: u64,
        printer: &mut Printer,
    ) -> Result<()> {
        let closed = state.closed.iter().flat_map(|close| &close.log_ends);
        let closed = closed.filter(|(segment, _)| *segment == header.segment);
        let closed = closed.map(|(_, end)| *end).next();
        let next = state.segments.range(header.segment + 1..).next();
        let next = match next {
            Some((_, record)) => next_header(source, record)?,
            None => None,
        };
        let next = next.filter(|next| next.previous_segment == header.segment);
        let stated = closed.or(next.map(|next| next.previous_end));
        if stated.is_some_and(|stated| end < stated) {
            let error = Error::corruption("the records end before the end of the segment");
            return printer.damage(1, error.file(self.name.clone()).offset(end));
        }
        printer.row(1, &Row::new("end").number("offset", end))
    }
}

fn next_header(source: &InspectedDir, record: &SegmentRecord) -> Result<Option<SegmentHeader>> {
    let Some(file) = source.file(&name::log(FileNumber(record.file)))? else {
        return Ok(None);
    };
    let sector = read(&file, HEADER_BYTES as u64).map_err(source.failure())?;
    let header = SegmentHeader::decode(&sector).ok();
    Ok(header.filter(|it| it.segment == record.segment && it.salt == record.salt))
}

fn gaps_of(bytes: &[u8], header: &SegmentHeader) -> Vec<u64> {
    let mut salvage = SegmentSalvage::new(bytes, header);
    let mut gaps = Vec::new();
    while let Some(found) = salvage.advance() {
        if let Found::Gap { offset, .. } = found {
            gaps.push(offset);
        }
    }
    gaps
}

/// Reads at most `most` bytes from the beginning of a file.
fn read(file: &Arc<dyn ReadFile>, most: u64) -> cairndb::Result<Vec<u8>> {
    let len = usize::try_from(file.size().min(most)).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    let short = |_| Error::corruption("log segment is too large for this machine").offset(0);
    bytes.try_reserve_exact(len).map_err(short)?;
    bytes.resize(len, 0);
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}
