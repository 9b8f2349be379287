//! `SegmentFile`: reads a segment that another thread or process may be appending to.
//!
//! Nothing is read in place: bytes are copied out of the file, and every record of the copy must be
//! valid. A segment that was recycled meanwhile has another salt, so none of its records is.

use std::ops::Range;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_env::{Dir, ReadFile, WritableFile};
use cairndb_files::create_unused;
use cairndb_format::log::{HEADER_BYTES, Record, SegmentHeader, SegmentReader, Step};
use cairndb_format::manifest::SegmentRecord;
use cairndb_format::name;

/// Number of bytes that are copied at a time.
const COPY_BYTES: usize = 256 << 10;

/// A segment that is open for reading.
#[derive(Debug)]
pub(crate) struct SegmentFile {
    pub(crate) name: String,
    file: Arc<dyn ReadFile>,
    pub(crate) header: SegmentHeader,
}

#[cold]
pub(crate) fn changed(name: &str, offset: u64) -> Error {
    Error::corruption("a log segment lacks records that its writer published")
        .file(name.to_owned())
        .offset(offset)
}

impl SegmentFile {
    /// Opens a segment that the manifest names.
    ///
    /// # Errors
    /// `Corruption` if the file is missing or holds another segment; `Io`.
    pub(crate) fn open(dir: &dyn Dir, record: &SegmentRecord) -> Result<SegmentFile> {
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
        Ok(SegmentFile { name, file, header })
    }

    /// Replaces `bytes` with those of a range of offsets.
    ///
    /// # Errors
    /// `Corruption` if the range ends before it starts; `Io`.
    pub(crate) fn load(&self, range: Range<u64>, bytes: &mut Vec<u8>) -> Result<()> {
        let len = range.end.checked_sub(range.start);
        let len = len.and_then(|len| usize::try_from(len).ok());
        let len = len.ok_or_else(|| changed(&self.name, range.start))?;
        bytes.clear();
        let reserved = bytes.try_reserve_exact(len);
        reserved.map_err(|_| Error::new(ErrorKind::Io, "no memory to read the log"))?;
        bytes.resize(len, 0);
        self.file.read_at(range.start, bytes)
    }

    /// Returns the record at offset `at` of `bytes`, which begin at offset `base`.
    ///
    /// # Errors
    /// `Corruption` if there is none.
    pub(crate) fn record<'b>(&self, bytes: &'b [u8], base: u64, at: u64) -> Result<Record<'b>> {
        let skipped = usize::try_from(at - base).unwrap_or(usize::MAX);
        let rest = bytes.get(skipped..).unwrap_or_default();
        match SegmentReader::of_part(rest, at, &self.header).advance() {
            Step::Record(record) => Ok(record),
            _ => Err(changed(&self.name, at)),
        }
    }

    /// Passes the records of a range to `apply`. Returns the offset after the last one.
    ///
    /// # Errors
    /// `Corruption` if they are not there; those of `apply`; `Io`.
    pub(crate) fn read(
        &self,
        range: Range<u64>,
        bytes: &mut Vec<u8>,
        mut apply: impl FnMut(&Record<'_>) -> Result<()>,
    ) -> Result<u64> {
        let (base, mut at) = (range.start, range.start);
        self.load(range.clone(), bytes)?;
        while at < range.end {
            let record = self.record(bytes, base, at)?;
            apply(&record).map_err(|error| match error.file_name() {
                Some(_) => error,
                None => error.file(self.name.clone()).offset(record.offset),
            })?;
            at = record.end;
        }
        Ok(at)
    }
}

/// Writes the records of a segment up to `end` to a file that `number` numbers. Returns its record,
/// and the file, which is not durable yet.
///
/// # Errors
/// Those of reading and writing files.
pub(crate) fn copy_segment(
    dir: &dyn Dir,
    record: &SegmentRecord,
    end: u64,
    number: impl FnMut() -> u64,
) -> Result<(SegmentRecord, Box<dyn WritableFile>)> {
    let from = dir.open_read(&name::log(FileNumber(record.file)))?;
    let created = create_unused(number, |number| dir.create(&name::log(number)));
    let (FileNumber(file), mut to) = created?;
    let mut bytes = vec![0; COPY_BYTES];
    let mut copy = || {
        while to.size() < end {
            let left = usize::try_from(end - to.size()).unwrap_or(COPY_BYTES);
            let part = &mut bytes[..left.min(COPY_BYTES)];
            from.read_at(to.size(), part)?;
            to.append(part)?;
        }
        Ok(())
    };
    copy().inspect_err(|_: &Error| {
        // Part of a copy would take the space that may be missing.
        let _ = dir.unlink(&name::log(FileNumber(file)));
    })?;
    let copy = SegmentRecord {
        file,
        bytes: end,
        ..*record
    };
    Ok((copy, to))
}
