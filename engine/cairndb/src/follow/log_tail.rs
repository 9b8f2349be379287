//! The log of a database that another process writes, read up to the published position.

use std::collections::BTreeMap;

use cairndb_base::{FileNumber, Result};
use cairndb_env::Dir;
use cairndb_format::log::{HEADER_BYTES, Record};
use cairndb_format::manifest::SegmentRecord;
use cairndb_format::name;
use cairndb_shared::LogPosition;

use crate::log::segment_file::{SegmentFile, changed};

/// The place up to which the log has been read.
#[derive(Debug, Default)]
pub(super) struct LogTail {
    segment: Option<SegmentFile>,
    /// Offset of the next record.
    at: u64,
    /// The bytes read last.
    bytes: Vec<u8>,
}

impl LogTail {
    /// Returns whether everything up to the position can be read without the manifest.
    pub(super) fn continues_to(&self, position: LogPosition) -> bool {
        let segment = self.segment.as_ref();
        segment.is_some_and(|it| position.is_in(it.header.segment)) || position.word() == 0
    }

    /// Returns whether the segment that is being read is among `live` ones.
    pub(super) fn is_among(&self, live: &BTreeMap<u64, SegmentRecord>) -> bool {
        let segment = self.segment.as_ref();
        segment.is_some_and(|it| {
            let record = live.get(&it.header.segment);
            record.is_some_and(|record| record.salt == it.header.salt)
        })
    }

    /// Passes the records up to a position in the present segment to `apply`.
    ///
    /// # Errors
    /// `Corruption` if they are not there; those of `apply`; `Io`.
    pub(super) fn read_on(
        &mut self,
        position: LogPosition,
        apply: impl FnMut(&Record<'_>) -> Result<()>,
    ) -> Result<()> {
        match &mut self.segment {
            Some(segment) if position.is_in(segment.header.segment) => {
                self.at = segment.read(self.at..position.offset(), &mut self.bytes, apply)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Passes the records of the `live` segments up to the position to `apply`, from where the tail
    /// is, or from the first one if that is not among them.
    ///
    /// # Errors
    /// Same as [`LogTail::read_on`].
    pub(super) fn read_through(
        &mut self,
        dir: &dyn Dir,
        live: &BTreeMap<u64, SegmentRecord>,
        position: LogPosition,
        mut apply: impl FnMut(&Record<'_>) -> Result<()>,
    ) -> Result<()> {
        if !self.is_among(live) {
            self.segment = None;
        }
        let begun = self.segment.as_ref().map_or(0, |it| it.header.segment);
        // Where the last published record is not live, everything published is in tables.
        let last = live.keys().rfind(|number| position.is_in(**number));
        let Some(last) = last.copied() else {
            return Ok(());
        };
        if last < begun {
            return Err(changed(&name::log(FileNumber(live[&last].file)), 0));
        }
        let mut numbers = live
            .range(begun..=last)
            .map(|(_, record)| record)
            .peekable();
        while let Some(record) = numbers.next() {
            let segment = match self.segment.take() {
                Some(segment) if segment.header.segment == record.segment => segment,
                _ => {
                    self.at = HEADER_BYTES as u64;
                    SegmentFile::open(dir, record)?
                }
            };
            let segment = self.segment.insert(segment);
            let end = match numbers.peek() {
                None => position.offset(),
                // The next segment states where this one ends.
                Some(next) => {
                    let next = SegmentFile::open(dir, next)?.header;
                    if next.previous_segment != record.segment {
                        return Err(changed(&segment.name, self.at));
                    }
                    next.previous_end
                }
            };
            self.at = segment.read(self.at..end, &mut self.bytes, &mut apply)?;
        }
        Ok(())
    }
}
