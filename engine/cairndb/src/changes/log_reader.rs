//! `LogReader`: steps through the records of the log, whether their segments are live or kept.
//!
//! Records are read from the files, as followers do: it costs a copy, and the writer nothing.

use std::collections::BTreeMap;

use cairndb_base::{Result, SeqNo};
use cairndb_env::Dir;
use cairndb_format::log::{HEADER_BYTES, Record};
use cairndb_format::manifest::SegmentRecord;

use crate::log::segment_file::SegmentFile;

/// The segments that can be read, by number, each with the end of its records so far.
pub(super) type Readable = BTreeMap<u64, (SegmentRecord, u64)>;

/// A position in the log.
#[derive(Debug, Default)]
pub(super) struct LogReader {
    segment: Option<SegmentFile>,
    /// Records of the segment.
    bytes: Vec<u8>,
    /// Offset of the first of them, of the next record, and after the last one.
    base: u64,
    at: u64,
    end: u64,
}

impl LogReader {
    /// Moves to the first segment that may hold a record after `seq`.
    fn begin(&mut self, dir: &dyn Dir, readable: &Readable, seq: SeqNo) -> Result<bool> {
        let mut records = readable.values().map(|(record, _)| record);
        let first = records.clone().rfind(|record| record.start_seq <= seq + 1);
        match first.or_else(|| records.next()) {
            Some(record) => self.enter(dir, record).map(|()| true),
            None => Ok(false),
        }
    }

    fn enter(&mut self, dir: &dyn Dir, record: &SegmentRecord) -> Result<()> {
        self.segment = None;
        self.segment = Some(SegmentFile::open(dir, record)?);
        (self.base, self.at, self.end) = (HEADER_BYTES as u64, HEADER_BYTES as u64, 0);
        Ok(())
    }

    /// Makes the next record available, from the first one after `seq` on. Returns whether there is
    /// one.
    ///
    /// # Errors
    /// `Corruption`, `Io`.
    pub(super) fn fill(
        &mut self,
        dir: &dyn Dir,
        seq: SeqNo,
        readable: impl FnOnce() -> Readable,
    ) -> Result<bool> {
        if self.segment.is_some() && self.at < self.end {
            return Ok(true);
        }
        let readable = readable();
        if self.segment.is_none() && !self.begin(dir, &readable, seq)? {
            return Ok(false);
        }
        loop {
            let Some(segment) = &self.segment else {
                return Ok(false);
            };
            let number = segment.header.segment;
            let end = readable.get(&number).map_or(self.at, |(_, end)| *end);
            if self.at < end {
                segment.load(self.at..end, &mut self.bytes)?;
                (self.base, self.end) = (self.at, end);
                return Ok(true);
            }
            let Some((_, (next, _))) = readable.range(number + 1..).next() else {
                return Ok(false);
            };
            self.enter(dir, next)?;
        }
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
