//! The live segments of a database that was not closed, read one at a time.
//!
//! The log may be many times larger than the memory budget of the handle that opens it. Therefore
//! only one segment is in memory at a time, and a second pass over the log reads it again.

use cairndb_base::{ErrorKind, FileNumber, Result};
use cairndb_env::Dir;
use cairndb_format::log::{HEADER_BYTES, SegmentHeader};
use cairndb_format::manifest::SegmentRecord;
use cairndb_format::name;

/// The segments that the manifest lists as live, in order.
pub(crate) struct LiveLog<'a> {
    dir: &'a dyn Dir,
    records: Vec<SegmentRecord>,
}

/// One segment as it is on disk.
#[derive(Debug)]
pub(crate) struct OnDisk {
    pub(crate) name: String,
    /// `None` if the header does not belong to this segment.
    pub(crate) header: Option<SegmentHeader>,
    pub(crate) bytes: Vec<u8>,
    /// Whether the file is shorter than when it was created.
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

    pub(crate) fn records(&self) -> &[SegmentRecord] {
        &self.records
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns the file name of segment `index`, or an empty string for an index after the last.
    pub(crate) fn name(&self, index: usize) -> String {
        let record = self.records.get(index);
        record.map_or_else(String::new, |record| name::log(FileNumber(record.file)))
    }

    /// Returns whether the file of segment `index` does not exist; `false` for an index after the
    /// last.
    pub(crate) fn is_missing(&self, index: usize) -> Result<bool> {
        Ok(index < self.len() && self.dir.size_of(&self.name(index))?.is_none())
    }

    /// Reads all of segment `index`.
    pub(crate) fn read(&self, index: usize) -> Result<OnDisk> {
        let record = &self.records[index];
        let bytes = self.read_up_to(record, record.bytes)?;
        Ok(OnDisk {
            name: self.name(index),
            header: own_header(&bytes, record)?,
            short: (bytes.len() as u64) < record.bytes,
            bytes,
        })
    }

    /// Reads the header of segment `index`. Returns `None` if there is no header or it does not
    /// belong to this segment.
    pub(crate) fn header(&self, index: usize) -> Result<Option<SegmentHeader>> {
        let Some(record) = self.records.get(index) else {
            return Ok(None);
        };
        let sector = self.read_up_to(record, HEADER_BYTES as u64)?;
        own_header(&sector, record)
    }

    fn read_up_to(&self, record: &SegmentRecord, bytes_max: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.dir.open_read(&name::log(FileNumber(record.file))) {
            Ok(file) => {
                let size = file.size().min(record.bytes).min(bytes_max);
                bytes.resize(usize::try_from(size).unwrap_or(0), 0);
                file.read_at(0, &mut bytes)?;
            }
            // The name was never synced. The following segments determine whether its absence is an
            // error.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(bytes)
    }
}

/// Decodes the header and returns it if it belongs to this segment. A recycled file may still have
/// the header of an earlier use.
///
/// # Errors
/// `FormatTooNew` if a newer version wrote this segment, which must not be cut off as if it were
/// empty. The header of an earlier use of the file is ignored.
fn own_header(bytes: &[u8], record: &SegmentRecord) -> Result<Option<SegmentHeader>> {
    match SegmentHeader::decode(bytes) {
        Ok(header) => {
            let own = header.segment == record.segment && header.salt == record.salt;
            Ok(own.then_some(header))
        }
        Err(error)
            if error.kind() == ErrorKind::FormatTooNew
                && SegmentHeader::identity(bytes) == Some((record.segment, record.salt)) =>
        {
            Err(error.file(name::log(FileNumber(record.file))))
        }
        Err(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use cairndb_env::{Background, Env, MemEnv};
    use cairndb_kernel::crc32c_append;

    use super::*;

    #[test]
    fn a_segment_of_a_newer_format_is_refused_and_not_cut_off() {
        let header = SegmentHeader {
            segment: 7,
            salt: 1,
            previous_segment: 0,
            previous_end: 0,
            start_seq: 1,
        };
        let mut sector = header.encode();
        sector[8] += 1;
        let crc = crc32c_append(crc32c_append(0, &sector[..12]), &sector[16..]);
        sector[12..16].copy_from_slice(&crc.to_le_bytes());
        let dir = MemEnv::new(Background::Stepped)
            .open_dir(Path::new("db"), true)
            .expect("MemEnv creates any directory");
        let mut file = dir
            .create(&name::log(FileNumber(9)))
            .expect("creating in memory succeeds");
        file.append(&sector).expect("appending in memory succeeds");
        let record = SegmentRecord {
            segment: 7,
            file: 9,
            salt: 1,
            bytes: 1 << 16,
            start_seq: 1,
        };
        let log = LiveLog::new(&*dir, [&record]);
        for error in [log.read(0).unwrap_err(), log.header(0).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::FormatTooNew);
            assert_eq!(error.file_name(), Some("000009.log"));
        }
        let later = SegmentRecord { salt: 2, ..record };
        let log = LiveLog::new(&*dir, [&later]);
        assert!(
            log.header(0)
                .expect("the header of an earlier use is not an error")
                .is_none()
        );
    }
}
