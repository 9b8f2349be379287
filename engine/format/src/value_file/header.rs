//! Value file header: the first 64 bytes.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{get_u32, get_u64};
use cairndb_base::{Error, ErrorKind, FileNumber, Result};

use crate::checksum::crc32c_append;
use crate::value_file::pointer::{FIRST_RECORD_AT, fill};

/// Size of the file header in bytes; the first record follows.
pub const HEADER_BYTES: usize = 64;
const _: () = assert!(HEADER_BYTES as u64 == FIRST_RECORD_AT);

const MAGIC: &[u8; 8] = b"CAIRNVAL";
const VERSION: u32 = 1;
const CRC_AT: usize = 12;

/// Returns the header of value file `number`.
pub(crate) fn encode(number: FileNumber) -> [u8; HEADER_BYTES] {
    encode_with(number, VERSION)
}

fn encode_with(number: FileNumber, version: u32) -> [u8; HEADER_BYTES] {
    let mut out = [0; HEADER_BYTES];
    let number = number.0.to_le_bytes();
    fill(&mut out, &[MAGIC, &version.to_le_bytes(), &[0; 4], &number]);
    let crc = checksum(&out).to_le_bytes();
    fill(&mut out, &[MAGIC, &version.to_le_bytes(), &crc, &number]);
    out
}

/// Returns the CRC of the whole header without the checksum's own four bytes.
fn checksum(header: &[u8]) -> u32 {
    let before = header.get(..CRC_AT).unwrap_or_default();
    let behind = header
        .get(CRC_AT.saturating_add(4)..HEADER_BYTES)
        .unwrap_or_default();
    crc32c_append(crc32c_append(0, before), behind)
}

/// Returns whether a file that begins with `bytes` is marked as a value file.
pub(crate) fn is_marked(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Returns the number of the value file that begins with `bytes`, if its header is intact.
pub fn number_of(bytes: &[u8]) -> Option<FileNumber> {
    let number = FileNumber(get_u64(bytes, 16)?);
    check(bytes, number).ok().map(|()| number)
}

/// Checks that `header` is that of value file `number`.
pub(crate) fn check(header: &[u8], number: FileNumber) -> Result<()> {
    let damaged = |what: &'static str| Error::corruption(what).offset(0);
    if !is_marked(header) || header.len() < HEADER_BYTES {
        return Err(damaged("file is not a value file"));
    }
    let found = get_u32(header, CRC_AT).unwrap_or_default();
    if found != checksum(header) {
        return Err(damaged("value file header checksum does not match")
            .expected(checksum(header))
            .found(found));
    }
    let version = get_u32(header, MAGIC.len()).unwrap_or_default();
    if version != VERSION {
        return Err(
            Error::new(ErrorKind::FormatTooNew, "value file has a newer format")
                .expected(VERSION)
                .found(version),
        );
    }
    if header.get(..HEADER_BYTES) != Some(&encode(number)[..]) {
        return Err(damaged("value file header names another file")
            .expected(number)
            .found(get_u64(header, 16).unwrap_or_default()));
    }
    Ok(())
}

#[cfg(test)]
pub(crate) fn encode_version(number: FileNumber, version: u32) -> [u8; HEADER_BYTES] {
    encode_with(number, version)
}
