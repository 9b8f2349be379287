//! Scan of a whole value file, for `verify` and salvage.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{get_u32, get_u64};
use cairndb_base::{Error, FileNumber, Result};
use cairndb_env::ReadFile;

use crate::name;
use crate::value_file::blocks;
use crate::value_file::header::{self, HEADER_BYTES};
use crate::value_file::pointer::{CODEC_RAW, Pointer, RECORD_HEADER_BYTES};

/// A record found by a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// The pointer to the record.
    pub pointer: Pointer,
    /// The hash of the key that the record was written for.
    pub key_hash: u64,
}

/// A scan over all records of one value file. Detects every changed byte, padding included.
#[derive(Debug)]
pub struct ValueScan<'a> {
    file: &'a dyn ReadFile,
    number: FileNumber,
    at: u64,
    end: u64,
}

impl<'a> ValueScan<'a> {
    /// Returns a scan that starts at the first record.
    ///
    /// # Errors
    /// `Corruption` if `file` is not value file `number`; `FormatTooNew`; `Io`.
    pub fn new(file: &'a dyn ReadFile, number: FileNumber) -> Result<ValueScan<'a>> {
        let mut bytes = [0; HEADER_BYTES];
        let mut read = || {
            if file.size() < HEADER_BYTES as u64 {
                return Err(Error::corruption("value file is shorter than its header")
                    .expected(HEADER_BYTES)
                    .found(file.size()));
            }
            file.read_at(0, &mut bytes)?;
            header::check(&bytes, number)
        };
        read().map_err(|error| error.file(name::value(number)).offset(0))?;
        Ok(ValueScan {
            file,
            number,
            at: HEADER_BYTES as u64,
            end: file.size(),
        })
    }

    /// Ends the scan at `end`, where a record must end, instead of at the end of the file.
    #[must_use]
    pub fn until(mut self, end: u64) -> ValueScan<'a> {
        self.end = end.min(self.end);
        self
    }

    /// Returns the next record, whose value replaces the contents of `out`, or `None` at the end of
    /// the file.
    ///
    /// # Errors
    /// `Corruption` with file and offset; the scan cannot continue. A file that was being written
    /// at a crash may end in such a record.
    pub fn advance(&mut self, out: &mut Vec<u8>) -> Result<Option<Scanned>> {
        if self.at == self.end {
            return Ok(None);
        }
        let offset = self.at;
        self.read_record(out).map(Some).map_err(|error| {
            out.clear();
            error.file(name::value(self.number)).offset(offset)
        })
    }

    fn read_record(&mut self, out: &mut Vec<u8>) -> Result<Scanned> {
        let short = || Error::corruption("value file ends within a record");
        let left = self.end.saturating_sub(self.at);
        if left < RECORD_HEADER_BYTES as u64 {
            return Err(short().found(format_args!("{left} bytes")));
        }
        let mut bytes = [0; RECORD_HEADER_BYTES];
        self.file.read_at(self.at, &mut bytes)?;
        let (pointer, key_hash) = self.parse(&bytes).ok_or_else(short)?;
        pointer.check()?;
        let end = pointer
            .end()
            .filter(|end| *end <= self.end)
            .ok_or_else(|| {
                short()
                    .expected(format_args!("{} stored bytes", pointer.len))
                    .found(left)
            })?;
        let padded =
            usize::try_from(end.saturating_sub(pointer.value_at())).map_err(|_| short())?;
        let len = usize::try_from(pointer.len).map_err(|_| short())?;
        out.resize(padded, 0);
        self.file.read_at(pointer.value_at(), out)?;
        let padding_is_zero = out.iter().skip(len).all(|byte| *byte == 0);
        out.truncate(len);
        let header_as_written = pointer.record_header(key_hash) == bytes;
        let found = pointer.checksum(key_hash, [&out[..]]);
        if found != pointer.crc || !padding_is_zero || !header_as_written {
            return Err(
                Error::corruption("value record checksum or padding does not match")
                    .expected(pointer.crc)
                    .found(found),
            );
        }
        if pointer.codec != CODEC_RAW {
            let malformed = || Error::corruption("encoded value is malformed");
            let raw_len = usize::try_from(pointer.raw_len).map_err(|_| malformed())?;
            let stored = std::mem::replace(out, vec![0; raw_len]);
            blocks::decode(&stored, out).ok_or_else(malformed)?;
        }
        self.at = end;
        Ok(Scanned { pointer, key_hash })
    }

    fn parse(&self, header: &[u8]) -> Option<(Pointer, u64)> {
        let pointer = Pointer {
            file: self.number,
            offset: self.at,
            crc: get_u32(header, 0)?,
            len: get_u32(header, 4)?,
            raw_len: get_u32(header, 8)?,
            codec: *header.get(12)?,
        };
        Some((pointer, get_u64(header, 16)?))
    }
}
