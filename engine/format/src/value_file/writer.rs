//! Value file writer.

use std::sync::Arc;

use cairndb_base::limits::VALUE_BYTES_MAX;
use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_env::{Dir, FileSync, WritableFile};

use crate::name;
use crate::value_file::header;
use crate::value_file::pointer::{ALIGN, CODEC_BLOCKS, CODEC_RAW, Pointer, record_bytes};

/// The only writer of a value file.
///
/// The writer does not sync by itself. After a failed append the file's end is unknown: every later
/// append is refused, and earlier pointers stay valid.
#[derive(Debug)]
pub struct ValueWriter {
    file: Box<dyn WritableFile>,
    number: FileNumber,
    size: u64,
    failed: bool,
}

impl ValueWriter {
    /// Creates value file `number` in `dir` and writes its header.
    ///
    /// # Errors
    /// `Io` or `NoSpace`.
    pub fn create(dir: &dyn Dir, number: FileNumber) -> Result<ValueWriter> {
        ValueWriter::new(dir.create(&name::value(number))?, number)
    }

    /// Takes an empty file and writes the header.
    ///
    /// # Errors
    /// `Io` or `NoSpace`.
    ///
    /// # Panics
    /// Panics if the file is not empty.
    pub fn new(mut file: Box<dyn WritableFile>, number: FileNumber) -> Result<ValueWriter> {
        assert_eq!(file.size(), 0, "a value file is written from its start");
        file.append(&header::encode(number))?;
        let size = header::HEADER_BYTES as u64;
        Ok(ValueWriter {
            file,
            number,
            size,
            failed: false,
        })
    }

    /// Appends the concatenation of `parts` as the value for the key with this hash and returns its
    /// pointer.
    ///
    /// Header, parts and padding go to the file in one [`WritableFile::append_parts`]; the value is
    /// not copied here.
    ///
    /// # Errors
    /// `InvalidArgument` for a value beyond the limit, `Io` or `NoSpace` from the file, and `Io`
    /// for every append after such a failure.
    pub fn append(&mut self, key_hash: u64, parts: &[&[u8]]) -> Result<Pointer> {
        let raw_len = parts
            .iter()
            .fold(0usize, |sum, part| sum.saturating_add(part.len()));
        self.append_record(key_hash, parts, raw_len, CODEC_RAW)
    }

    /// Appends a value of `raw_len` bytes that a [`ValueEncoder`] has `encoded`, for the key with
    /// this hash, and returns its pointer.
    ///
    /// # Errors
    /// Same as [`ValueWriter::append`].
    ///
    /// # Panics
    /// Panics if the encoded form is not shorter.
    ///
    /// [`ValueEncoder`]: crate::value_file::ValueEncoder
    pub fn append_encoded(
        &mut self,
        key_hash: u64,
        encoded: &[u8],
        raw_len: usize,
    ) -> Result<Pointer> {
        assert!(encoded.len() < raw_len, "an encoded value is shorter");
        self.append_record(key_hash, &[encoded], raw_len, CODEC_BLOCKS)
    }

    fn append_record(
        &mut self,
        key_hash: u64,
        parts: &[&[u8]],
        raw_len: usize,
        codec: u8,
    ) -> Result<Pointer> {
        if self.failed {
            return Err(Error::new(
                ErrorKind::Io,
                "an earlier append to this value file failed; start another file",
            )
            .file(name::value(self.number))
            .offset(self.size));
        }
        let len = parts
            .iter()
            .fold(0usize, |sum, part| sum.saturating_add(part.len()));
        let lengths = u32::try_from(len).ok().zip(u32::try_from(raw_len).ok());
        let lengths = lengths.filter(|_| len.max(raw_len) <= VALUE_BYTES_MAX);
        let (stored, raw_len) = lengths.ok_or_else(|| {
            Error::invalid("value is too large")
                .expected(format_args!("at most {VALUE_BYTES_MAX} bytes"))
                .found(raw_len)
        })?;
        let mut pointer = Pointer {
            file: self.number,
            offset: self.size,
            len: stored,
            raw_len,
            crc: 0,
            codec,
        };
        pointer.crc = pointer.checksum(key_hash, parts.iter().copied());
        self.write(&pointer, key_hash, parts)?;
        Ok(pointer)
    }

    fn write(&mut self, pointer: &Pointer, key_hash: u64, parts: &[&[u8]]) -> Result<()> {
        let header = pointer.record_header(key_hash);
        let padding = record_bytes(pointer.len) - (header.len() as u64 + u64::from(pointer.len));
        let padding = &[0u8; 7][..usize::try_from(padding).expect("below 8")];
        let mut all: Vec<&[u8]> = Vec::with_capacity(parts.len() + 2);
        all.push(&header);
        all.extend_from_slice(parts);
        all.push(padding);
        let written = self.file.append_parts(&all);
        self.failed = written.is_err();
        written?;
        self.size += record_bytes(pointer.len);
        debug_assert!(self.size.is_multiple_of(ALIGN) && self.size == self.file.size());
        Ok(())
    }

    /// Returns the number of bytes written so far, header and padding included.
    pub fn bytes(&self) -> u64 {
        self.size
    }

    /// Returns the file's number.
    pub fn number(&self) -> FileNumber {
        self.number
    }

    /// Makes every appended value durable.
    ///
    /// # Errors
    /// `Io`; never retried.
    pub fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }

    /// Returns a handle that syncs this file from another thread.
    pub fn syncer(&self) -> Arc<dyn FileSync> {
        self.file.syncer()
    }
}
