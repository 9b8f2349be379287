//! Manifest header: the first 64 bytes.
//!
//! The header is also a record that LevelDB's log reader accepts: a version edit that names a
//! comparator unknown to LevelDB. Programs that know only LevelDB's manifest refuse the database
//! with that name in their message, before they touch anything.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{get_u32, get_u64};
use cairndb_base::{Error, ErrorKind, FileNumber, MANIFEST_MARK, Result};

use crate::checksum::{crc32c, seed};

/// Size of a manifest header in bytes; the base follows.
pub const HEADER_BYTES: usize = 64;

/// LevelDB's record: length of the payload, type "full", then in the payload the tag "comparator"
/// and the length of its name, which takes the rest of the header.
const OUTER: [u8; 5] = [57, 0, 1, 1, 55];
const VERSION: u32 = 2;
/// The earliest version that is read.
const VERSION_MIN: u32 = 1;
/// Start of the bytes that LevelDB's checksum covers: type and payload.
const COVERED_FROM: usize = 6;

/// Contents of a manifest header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestHeader {
    /// The manifest's own number.
    pub number: FileNumber,
    /// Random number for each manifest.
    pub salt: u64,
    /// End of the base: the file was durable up to here before `CURRENT` named it.
    pub base_end: u64,
}

/// Returns whether a file that begins with `bytes` is marked as a manifest.
pub(crate) fn is_marked(bytes: &[u8]) -> bool {
    let names = bytes.get(4..).unwrap_or_default();
    let text = names.strip_prefix(&OUTER).unwrap_or_default();
    text.starts_with(MANIFEST_MARK)
}

impl ManifestHeader {
    /// Returns the header's bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        self.encode_with(VERSION, 0)
    }

    /// Encodes the header with `features`, bits that readers must know to open the database; none
    /// exist yet.
    pub(crate) fn encode_with(&self, version: u32, features: u64) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        let numbers = [self.number.0, self.salt, self.base_end, features];
        let bytes = [0; 4]
            .into_iter()
            .chain(OUTER)
            .chain(*MANIFEST_MARK)
            .chain(version.to_le_bytes())
            .chain(numbers.into_iter().flat_map(u64::to_le_bytes));
        for (slot, byte) in out.iter_mut().zip(bytes) {
            *slot = byte;
        }
        let crc = checksum(&out).to_le_bytes();
        for (slot, byte) in out.iter_mut().zip(crc) {
            *slot = byte;
        }
        out
    }

    /// Decodes the header of manifest `number`.
    ///
    /// # Errors
    /// `Corruption` if `bytes` is not a manifest header or names another manifest; `FormatTooNew`
    /// if it requires a newer version.
    pub fn decode(bytes: &[u8], number: FileNumber) -> Result<ManifestHeader> {
        let damaged = |what: &'static str| Error::corruption(what).offset(0);
        let header = bytes
            .get(..HEADER_BYTES)
            .ok_or_else(|| damaged("manifest is shorter than its header"))?;
        if !is_marked(header) {
            return Err(damaged("file is not a manifest of this database"));
        }
        let found = get_u32(header, 0).unwrap_or_default();
        if found != checksum(header) {
            return Err(damaged("manifest header checksum does not match")
                .expected(checksum(header))
                .found(found));
        }
        let version = get_u32(header, 28).unwrap_or_default();
        let field = |at| get_u64(header, at).unwrap_or_default();
        if !(VERSION_MIN..=VERSION).contains(&version) || field(56) != 0 {
            return Err(Error::new(
                ErrorKind::FormatTooNew,
                "database has a newer format; open it with the version that wrote it",
            )
            .offset(0)
            .expected(format_args!(
                "version {VERSION_MIN} to {VERSION}, features 0"
            ))
            .found(format_args!("version {version}, features {:#x}", field(56))));
        }
        if field(32) != number.0 {
            return Err(damaged("manifest header names another file")
                .expected(number)
                .found(field(32)));
        }
        Ok(ManifestHeader {
            number,
            salt: field(40),
            base_end: field(48),
        })
    }

    /// Returns the initial checksum state of this manifest's records.
    pub(crate) fn seed(&self) -> u32 {
        seed(self.number.0, self.salt)
    }
}

/// Returns the CRC-32C of everything from the record type on, masked as in LevelDB.
fn checksum(header: &[u8]) -> u32 {
    let crc = crc32c(header.get(COVERED_FROM..HEADER_BYTES).unwrap_or_default());
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}
