//! Pointers to values, and the record header that follows from a pointer.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{get_u32, get_u64};
use cairndb_base::limits::VALUE_BYTES_MAX;
use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_kernel::codec::raw_len_max;

use crate::checksum::{crc32c_append, seed};
use crate::value_file::blocks::stored_min;

/// Size of an encoded [`Pointer`] in bytes.
pub const POINTER_BYTES: usize = 32;
/// Size of a record header in bytes; the stored value follows.
pub const RECORD_HEADER_BYTES: usize = 24;
/// The value is stored raw.
pub const CODEC_RAW: u8 = 0;
/// The value is stored in blocks, most of them encoded. Higher codecs are unknown to this version.
pub const CODEC_BLOCKS: u8 = 1;
/// Maximum number of bytes that one byte of an encoded block can represent.
const RAW_BYTES_A_BYTE_MAX: u64 = raw_len_max(1) as u64;
/// The first record's offset, after the file's header.
pub(crate) const FIRST_RECORD_AT: u64 = 64;
/// Alignment of records in bytes.
pub(crate) const ALIGN: u64 = 8;

/// Returns the length of a whole record, padding included.
pub const fn record_bytes(stored_len: u32) -> u64 {
    (RECORD_HEADER_BYTES as u64)
        .saturating_add(stored_len as u64)
        .next_multiple_of(ALIGN)
}

/// Position of a value in a value file, and the checksum that its record must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pointer {
    /// The value file.
    pub file: FileNumber,
    /// Offset of the record.
    pub offset: u64,
    /// Number of stored bytes of the value.
    pub len: u32,
    /// Number of bytes of the value.
    pub raw_len: u32,
    /// The record's checksum.
    pub crc: u32,
    /// Codec in which the value is stored.
    pub codec: u8,
}

impl Pointer {
    /// Returns the pointer as stored in a batch or table.
    pub fn encode(&self) -> [u8; POINTER_BYTES] {
        let mut out = [0; POINTER_BYTES];
        let fields: [&[u8]; 6] = [
            &self.file.0.to_le_bytes(),
            &self.offset.to_le_bytes(),
            &self.len.to_le_bytes(),
            &self.raw_len.to_le_bytes(),
            &self.crc.to_le_bytes(),
            &[self.codec],
        ];
        fill(&mut out, &fields);
        out
    }

    /// Decodes a pointer.
    ///
    /// # Errors
    /// `Corruption` if it is malformed, `FormatTooNew` if it names a codec that this version lacks.
    /// The caller adds the position of the pointer.
    pub fn decode(bytes: &[u8]) -> Result<Pointer> {
        let read = || {
            Some(Pointer {
                file: FileNumber(get_u64(bytes, 0)?),
                offset: get_u64(bytes, 8)?,
                len: get_u32(bytes, 16)?,
                raw_len: get_u32(bytes, 20)?,
                crc: get_u32(bytes, 24)?,
                codec: *bytes.get(28)?,
            })
        };
        let rest_is_zero = bytes.get(29..) == Some(&[0, 0, 0]);
        let pointer = read().filter(|_| rest_is_zero).ok_or_else(|| {
            Error::corruption("value pointer is malformed")
                .expected(format_args!("{POINTER_BYTES} bytes, the last three zero"))
                .found(format_args!("{} bytes", bytes.len()))
        })?;
        pointer.check()?;
        Ok(pointer)
    }

    /// Checks what must hold for every pointer, decoded or made.
    pub(crate) fn check(&self) -> Result<()> {
        let lengths_fit = match self.codec {
            CODEC_RAW => self.len == self.raw_len,
            CODEC_BLOCKS => {
                // Bounds what a pointer can make readers allocate: a block has at most 64 KiB, and
                // a byte stands for at most 255.
                let (stored, raw) = (u64::from(self.len), u64::from(self.raw_len));
                stored < raw
                    && stored_min(raw) <= stored
                    && raw <= stored.saturating_mul(RAW_BYTES_A_BYTE_MAX)
            }
            newer => {
                return Err(Error::new(
                    ErrorKind::FormatTooNew,
                    "value is stored in a codec that a newer version wrote; open it with that version",
                )
                .expected(format_args!("{CODEC_RAW} or {CODEC_BLOCKS}"))
                .found(newer));
            }
        };
        let placed = self.offset >= FIRST_RECORD_AT && self.offset.is_multiple_of(ALIGN);
        let fits = u64::from(self.raw_len) <= VALUE_BYTES_MAX as u64 && lengths_fit;
        if placed && fits && self.end().is_some() {
            return Ok(());
        }
        Err(Error::corruption("value pointer is out of range")
            .expected("an aligned offset after the header, and lengths that its codec can have")
            .found(format_args!(
                "offset {}, stored {}, raw {}",
                self.offset, self.len, self.raw_len
            )))
    }

    /// Returns whether the value is stored raw.
    pub fn is_raw(&self) -> bool {
        self.codec == CODEC_RAW
    }

    /// Returns the end of the record, padding included, or `None` past 2^64.
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(record_bytes(self.len))
    }

    /// Returns the offset of the stored value; in range for every checked pointer.
    pub(crate) fn value_at(&self) -> u64 {
        self.offset.saturating_add(RECORD_HEADER_BYTES as u64)
    }

    /// Returns the record's header, which precedes the value.
    pub(crate) fn record_header(&self, key_hash: u64) -> [u8; RECORD_HEADER_BYTES] {
        let mut out = [0; RECORD_HEADER_BYTES];
        let fields: [&[u8]; 6] = [
            &self.crc.to_le_bytes(),
            &self.len.to_le_bytes(),
            &self.raw_len.to_le_bytes(),
            &[self.codec],
            &[0; 3],
            &key_hash.to_le_bytes(),
        ];
        fill(&mut out, &fields);
        out
    }

    /// Returns the checksum of a record with these fields, except `self.crc`, and these stored
    /// bytes.
    pub(crate) fn checksum<'a>(
        &self,
        key_hash: u64,
        stored: impl IntoIterator<Item = &'a [u8]>,
    ) -> u32 {
        let header = self.record_header(key_hash);
        let tail = header.get(4..).unwrap_or_default();
        let before = crc32c_append(seed(self.file.0, self.offset), tail);
        stored.into_iter().fold(before, crc32c_append)
    }
}

/// Writes `fields` consecutively from the start of `out`.
pub(crate) fn fill(out: &mut [u8], fields: &[&[u8]]) {
    let bytes = fields.iter().copied().flatten();
    for (slot, byte) in out.iter_mut().zip(bytes) {
        *slot = *byte;
    }
}
