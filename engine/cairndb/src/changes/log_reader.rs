//! `LogReader`: steps through the records of the log, whether their segments are live or kept.
//!
//! Records are read from the files, as followers do: it costs a copy, and the writer nothing. A
//! segment that moves to another file while it is read is read again there. Numbers of segments
//! begin again once nobody needs the log, so a segment is known by its number and salt.

use std::collections::BTreeMap;

use cairndb_base::{Error, FileNumber, Result, SeqNo};
use cairndb_env::Dir;
use cairndb_format::log::{HEADER_BYTES, Record};
use cairndb_format::manifest::SegmentRecord;
use cairndb_format::name;

use crate::log::segment_file::SegmentFile;

/// The segments that can be read, by number, each with the end of its records so far.
pub(super) type Readable = BTreeMap<u64, (SegmentRecord, u64)>;

/// A position in the log.
#[derive(Debug, Default)]
pub(super) struct LogReader {
    segment: Option<SegmentFile>,
    /// Number of its file.
    file: u64,
    /// Records of the segment.
    bytes: Vec<u8>,
    /// Offset of the first of them, of the next record, and after the last one.
    base: u64,
    at: u64,
    end: u64,
}

impl LogReader {
    fn enter(&mut self, dir: &dyn Dir, record: &SegmentRecord) -> Result<()> {
        self.segment = None;
        (self.base, self.at, self.end) = (HEADER_BYTES as u64, HEADER_BYTES as u64, 0);
        self.open(dir, record)
    }

    fn open(&mut self, dir: &dyn Dir, record: &SegmentRecord) -> Result<()> {
        self.segment = Some(SegmentFile::open(dir, record)?);
        self.file = record.file;
        Ok(())
    }

    /// Makes the next record available, from the first one after `seq` on. Returns whether there is
    /// one. `readable` returns what can be read now.
    ///
    /// # Errors
    /// `Corruption`, `Io`; those of `readable`.
    pub(super) fn fill(
        &mut self,
        dir: &dyn Dir,
        seq: SeqNo,
        readable: impl Fn() -> Result<Readable>,
    ) -> Result<bool> {
        if self.segment.is_some() && self.at < self.end {
            return Ok(true);
        }
        let mut now = readable()?;
        loop {
            let found = self.load(dir, seq, &now);
            let after = readable()?;
            if is_unmoved(&now, &after) {
                return found;
            }
            // Another segment may have been written to the file that was read.
            self.end = self.at;
            now = after;
        }
    }

    fn load(&mut self, dir: &dyn Dir, seq: SeqNo, readable: &Readable) -> Result<bool> {
        if !self.is_in(readable) {
            // The first segment that may hold a record after `seq`.
            let mut records = readable.values().map(|(record, _)| record);
            let first = records.clone().rfind(|record| record.start_seq <= seq + 1);
            match first.or_else(|| records.next()) {
                Some(record) => self.enter(dir, record)?,
                None => return Ok(false),
            }
        }
        loop {
            let Some(number) = self.segment.as_ref().map(|it| it.header.segment) else {
                return Ok(false);
            };
            if let Some((record, end)) = readable.get(&number)
                && self.at < *end
            {
                if self.file != record.file {
                    self.open(dir, record)?;
                }
                if let Some(segment) = &self.segment {
                    segment.load(self.at..*end, &mut self.bytes)?;
                }
                (self.base, self.end) = (self.at, *end);
                return Ok(true);
            }
            let Some((_, (next, _))) = readable.range(number + 1..).next() else {
                return Ok(false);
            };
            self.enter(dir, next)?;
            let before = self
                .segment
                .as_ref()
                .map_or(0, |it| it.header.previous_segment);
            if before != 0 && before != number {
                return Err(
                    Error::corruption("the log lacks a segment that is still needed")
                        .file(name::log(FileNumber(self.file)))
                        .expected(format_args!("after segment {before}"))
                        .found(number),
                );
            }
        }
    }

    /// Returns whether the segment that was read last is among those that can be read.
    fn is_in(&self, readable: &Readable) -> bool {
        self.segment.as_ref().is_some_and(|segment| {
            let found = readable.get(&segment.header.segment);
            found.is_some_and(|(record, _)| record.salt == segment.header.salt)
        })
    }

    /// Returns the record that [`LogReader::fill`] has made available.
    ///
    /// # Errors
    /// `Corruption`.
    pub(super) fn record(&self) -> Result<Option<Record<'_>>> {
        match &self.segment {
            Some(segment) if self.at < self.end => {
                segment.record(&self.bytes, self.base, self.at).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Passes the record that ends at `end`.
    pub(super) fn pass(&mut self, end: u64) {
        self.at = end;
    }

    /// Returns the name of the segment's file.
    pub(super) fn file(&self) -> Option<&str> {
        self.segment.as_ref().map(|segment| &*segment.name)
    }
}

/// Returns whether no segment was moved to another file in between.
fn is_unmoved(before: &Readable, after: &Readable) -> bool {
    let mut before = before.iter();
    before.all(|(number, (record, _))| {
        let found = after.get(number);
        found.is_none_or(|(now, _)| (now.file, now.salt) == (record.file, record.salt))
    })
}
