//! The live segments of a database that was not closed, read one at a time.
//!
//! What a log holds may be many times the memory budget of whoever opens it; one segment is in
//! memory at any time, and whoever goes over the log twice reads it twice.

use cairndb_base::{ErrorKind, FileNumber, Result};
use cairndb_env::Dir;
use cairndb_format::log::{HEADER_BYTES, SegmentHeader};
use cairndb_format::manifest::SegmentRecord;
use cairndb_format::name;

/// The segments that the manifest calls live, in their order.
pub(crate) struct LiveLog<'a> {
    dir: &'a dyn Dir,
    records: Vec<SegmentRecord>,
}

/// One of them as it stands on disk.
#[derive(Debug)]
pub(crate) struct OnDisk {
    pub(crate) name: String,
    /// `None` when the header is not this segment's.
    pub(crate) header: Option<SegmentHeader>,
    pub(crate) bytes: Vec<u8>,
    /// The file is shorter than it was made.
    pub(crate) short: bool,
}

impl<'a> LiveLog<'a> {
    pub(crate) fn new<'r>(
        dir: &'a dyn Dir,
        live: impl IntoIterator<Item = &'r SegmentRecord>,
    ) -> LiveLog<'a> {
        LiveLog {
            dir,
            records: live.into_iter().copied().collect(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// The file of segment `index`; empty behind the last.
    pub(crate) fn name(&self, index: usize) -> String {
        let record = self.records.get(index);
        record.map_or_else(String::new, |record| name::log(FileNumber(record.file)))
    }

    /// Reads segment `index`, all of it.
    pub(crate) fn read(&self, index: usize) -> Result<OnDisk> {
        let record = &self.records[index];
        let bytes = self.read_up_to(record, record.bytes)?;
        Ok(OnDisk {
            name: self.name(index),
            header: own_header(&bytes, record),
            short: (bytes.len() as u64) < record.bytes,
            bytes,
        })
    }

    /// Reads the header of segment `index`; `None` when there is none or it is not its own.
    pub(crate) fn header(&self, index: usize) -> Result<Option<SegmentHeader>> {
        let Some(record) = self.records.get(index) else {
            return Ok(None);
        };
        let sector = self.read_up_to(record, HEADER_BYTES as u64)?;
        Ok(own_header(&sector, record))
    }

    fn read_up_to(&self, record: &SegmentRecord, bytes_max: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.dir.open_read(&name::log(FileNumber(record.file))) {
            Ok(file) => {
                let size = file.size().min(record.bytes).min(bytes_max);
                bytes.resize(usize::try_from(size).unwrap_or(0), 0);
                file.read_at(0, &mut bytes)?;
            }
            // Its name was never synced; what is missing then decides the segments behind it.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(bytes)
    }
}

fn own_header(bytes: &[u8], record: &SegmentRecord) -> Option<SegmentHeader> {
    let header = SegmentHeader::decode(bytes).ok()?;
    (header.segment == record.segment && header.salt == record.salt).then_some(header)
}
