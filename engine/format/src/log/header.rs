//! Segment header: the first sector of a segment.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{get_u32, get_u64};
use cairndb_base::{Error, ErrorKind, Result, SeqNo};

use crate::checksum::{crc32c_append, seed};
use crate::log::record::Binding;

/// Size of a segment header: one sector, so that a crash leaves it either old or new.
pub const HEADER_BYTES: usize = 512;

const MAGIC: &[u8; 8] = b"CAIRNLOG";
const VERSION: u32 = 1;
const CRC_AT: usize = 12;

/// Contents of a segment header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Segment number; segments are numbered from 1 in log order.
    pub segment: u64,
    /// Random number for each segment; makes stale records invalid.
    pub salt: u64,
    /// Number of the previous segment, or 0 if there is none.
    pub previous_segment: u64,
    /// Offset at which the records of the previous segment end.
    pub previous_end: u64,
    /// The smallest sequence number that this segment may contain.
    pub start_seq: SeqNo,
}

/// Returns whether a file that begins with `bytes` is marked as a log segment.
pub(crate) fn is_marked(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

impl SegmentHeader {
    /// The header of a file that is not a segment yet. No segment has the number 0.
    pub const UNUSED: SegmentHeader = SegmentHeader {
        segment: 0,
        salt: 0,
        previous_segment: 0,
        previous_end: 0,
        start_seq: 0,
    };

    /// Returns the whole sector, ready to be written at offset 0.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        self.encode_version(VERSION)
    }

    pub(crate) fn encode_version(&self, version: u32) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        let fields = [
            self.segment,
            self.salt,
            self.previous_segment,
            self.previous_end,
            self.start_seq,
        ];
        let bytes = MAGIC
            .iter()
            .copied()
            .chain(version.to_le_bytes())
            .chain([0; 4])
            .chain(fields.into_iter().flat_map(u64::to_le_bytes));
        for (slot, byte) in out.iter_mut().zip(bytes) {
            *slot = byte;
        }
        let crc = checksum(&out).to_le_bytes();
        for (slot, byte) in out.iter_mut().skip(CRC_AT).zip(crc) {
            *slot = byte;
        }
        out
    }

    /// Decodes the header at the start of `segment`.
    ///
    /// # Errors
    /// `Corruption` if there is none, `FormatTooNew` if a newer version wrote it. The caller adds
    /// the file, and compares number and salt with the expected ones.
    pub fn decode(segment: &[u8]) -> Result<SegmentHeader> {
        let damaged = |what: &'static str| Error::corruption(what).offset(0);
        let sector = segment
            .get(..HEADER_BYTES)
            .ok_or_else(|| damaged("log segment is shorter than its header"))?;
        if !is_marked(sector) {
            return Err(damaged("file is not a log segment"));
        }
        let found = get_u32(sector, CRC_AT).unwrap_or_default();
        if found != checksum(sector) {
            return Err(damaged("log segment header checksum does not match")
                .expected(checksum(sector))
                .found(found));
        }
        let version = get_u32(sector, MAGIC.len()).unwrap_or_default();
        if version != VERSION {
            return Err(
                Error::new(ErrorKind::FormatTooNew, "log segment has a newer format")
                    .expected(VERSION)
                    .found(version),
            );
        }
        let field = |at| get_u64(sector, at).unwrap_or_default();
        Ok(SegmentHeader {
            segment: field(16),
            salt: field(24),
            previous_segment: field(32),
            previous_end: field(40),
            start_seq: field(48),
        })
    }

    /// Returns the number and salt of a segment, which are at the same offsets in every version.
    pub fn identity(segment: &[u8]) -> Option<(u64, u64)> {
        Some((get_u64(segment, 16)?, get_u64(segment, 24)?))
    }

    /// Returns the initial checksum state of this segment's records. Computed once per segment.
    pub fn binding(&self) -> Binding {
        Binding::new(seed(self.segment, self.salt))
    }
}

/// Returns the CRC of the whole sector without the checksum's own four bytes.
fn checksum(sector: &[u8]) -> u32 {
    let before = sector.get(..CRC_AT).unwrap_or_default();
    let behind = sector.get(CRC_AT.saturating_add(4)..).unwrap_or_default();
    crc32c_append(crc32c_append(0, before), behind)
}
