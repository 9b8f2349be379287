//! The log of a database that another process writes, read up to the published position.
//!
//! Nothing is read in place: bytes are copied out of the file, and every record of the copy must be
//! valid. A segment that was recycled meanwhile has another salt, so none of its records is.

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_env::{Dir, ReadFile};
use cairndb_format::log::{HEADER_BYTES, Record, SegmentHeader, SegmentReader, Step};
use cairndb_format::manifest::SegmentRecord;
use cairndb_format::name;
use cairndb_shared::LogPosition;

/// A segment that has been read up to some record.
#[derive(Debug)]
struct Segment {
    name: String,
    file: Arc<dyn ReadFile>,
    header: SegmentHeader,
    /// Offset of the next record.
    at: u64,
}

/// The place up to which the log has been read.
#[derive(Debug, Default)]
pub(super) struct LogTail {
    segment: Option<Segment>,
    /// The bytes read last.
    bytes: Vec<u8>,
}

#[cold]
fn changed(name: &str, offset: u64) -> Error {
    Error::corruption("a log segment lacks records that its writer published")
        .file(name.to_owned())
        .offset(offset)
}

impl Segment {
    fn open(dir: &dyn Dir, record: &SegmentRecord) -> Result<Segment> {
        let name = name::log(FileNumber(record.file));
        let file = dir.open_read(&name).map_err(|error| match error.kind() {
            // It was recycled and removed, which the manifest states by now.
            ErrorKind::NotFound => error.with_kind(ErrorKind::Corruption),
            _ => error,
        })?;
        let mut sector = [0; HEADER_BYTES];
        file.read_at(0, &mut sector)?;
        let header = SegmentHeader::decode(&sector).map_err(|error| error.file(name.clone()))?;
        if (header.segment, header.salt) != (record.segment, record.salt) {
            return Err(changed(&name, 0));
        }
        Ok(Segment {
            name,
            file,
            header,
            at: HEADER_BYTES as u64,
        })
    }

    /// Passes the records up to `end` to `apply`.
    fn read(
        &mut self,
        end: u64,
        bytes: &mut Vec<u8>,
        mut apply: impl FnMut(&Record<'_>) -> Result<()>,
    ) -> Result<()> {
        let len = end
            .checked_sub(self.at)
            .and_then(|len| usize::try_from(len).ok());
        let len = len.ok_or_else(|| changed(&self.name, self.at))?;
        bytes.clear();
        let reserved = bytes.try_reserve_exact(len);
        reserved.map_err(|_| Error::new(ErrorKind::Io, "no memory to read the log"))?;
        bytes.resize(len, 0);
        self.file.read_at(self.at, bytes)?;
        let mut reader = SegmentReader::of_part(bytes, self.at, &self.header);
        while self.at < end {
            let Step::Record(record) = reader.advance() else {
                return Err(changed(&self.name, self.at));
            };
            apply(&record).map_err(|error| match error.file_name() {
                Some(_) => error,
                None => error.file(self.name.clone()).offset(record.offset),
            })?;
            self.at = record.end;
        }
        Ok(())
    }
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
                segment.read(position.offset(), &mut self.bytes, apply)
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
                _ => Segment::open(dir, record)?,
            };
            let segment = self.segment.insert(segment);
            let end = match numbers.peek() {
                None => position.offset(),
                // The next segment states where this one ends.
                Some(next) => {
                    let next = Segment::open(dir, next)?.header;
                    if next.previous_segment != record.segment {
                        return Err(changed(&segment.name, segment.at));
                    }
                    next.previous_end
                }
            };
            segment.read(end, &mut self.bytes, &mut apply)?;
        }
        Ok(())
    }
}
