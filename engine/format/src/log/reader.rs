//! Segment reader: steps through the records of a segment.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::fmt;
use std::ops::Range;

use cairndb_base::coding::{get_u32, get_u64};
use cairndb_base::{Result, SEQ_MAX, SeqNo};

use crate::batch;
use crate::checksum::RangeChecksum;
use crate::log::header::{HEADER_BYTES, SegmentHeader};
use crate::log::record::{Binding, RECORD_HEADER_BYTES, record_bytes};

/// One record, borrowed from the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Offset of the record.
    pub offset: u64,
    /// Offset of the next record, or of the end of the log.
    pub end: u64,
    /// Sequence number of the record's first entry.
    pub seq: SeqNo,
    /// Number of sequence numbers just before `seq` that were never logged.
    pub gap: u32,
    /// Number of bytes of this segment known to be durable when the record was written.
    pub synced: u64,
    /// The payload: a batch.
    pub payload: &'a [u8],
}

impl Record<'_> {
    /// Returns the number of entries, which is also the number of sequence numbers.
    ///
    /// # Errors
    /// `Corruption` if the payload cannot hold that many entries: the checksum matched, so the
    /// record was written like this.
    pub fn count(&self) -> Result<u64> {
        batch::count(self.payload).map_err(|error| error.offset(self.offset))
    }
}

/// Reason why bytes are not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bad {
    /// The length is zero, as in bytes never written.
    Empty,
    /// The length reaches past the end of the segment.
    PastEnd,
    /// The checksum does not match: the bytes are torn, damaged, or from another segment or offset.
    Checksum,
    /// The checksum matches, but fields are invalid: a sequence number out of range, or a synced
    /// position after the record itself.
    Fields,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bad::Empty => "no record: nothing was written here",
            Bad::PastEnd => "no record: its length reaches past the end of the segment",
            Bad::Checksum => "no record: earlier contents of the segment, or a record cut short",
            Bad::Fields => "a record with contradictory fields",
        })
    }
}

/// Result of [`SegmentReader::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A record.
    Record(Record<'a>),
    /// Too little room for another record: the segment was filled.
    End {
        /// Offset at which the last record ended.
        offset: u64,
    },
    /// The bytes here are not a record, so the segment's records end here.
    Bad {
        /// Offset at which the last record ended.
        offset: u64,
        /// Reason why the bytes are not a record.
        why: Bad,
    },
}

/// Reads a segment's records in order.
#[derive(Clone, Debug)]
pub struct SegmentReader<'a> {
    bytes: &'a [u8],
    /// Offset of the bytes in the segment.
    base: usize,
    rules: Rules,
    at: usize,
}

impl<'a> SegmentReader<'a> {
    /// Returns a reader over the bytes of a whole segment, its header sector included.
    pub fn new(bytes: &'a [u8], header: &SegmentHeader) -> SegmentReader<'a> {
        SegmentReader {
            bytes,
            base: 0,
            rules: Rules::new(header),
            at: HEADER_BYTES,
        }
    }

    /// Returns a reader over a part of a segment, which starts with the record at offset `base`.
    pub fn of_part(bytes: &'a [u8], base: u64, header: &SegmentHeader) -> SegmentReader<'a> {
        SegmentReader {
            base: usize::try_from(base).unwrap_or(usize::MAX),
            at: 0,
            ..SegmentReader::new(bytes, header)
        }
    }

    /// Continues at `offset`, where a search found a record.
    pub(crate) fn resume_at(&mut self, offset: usize) {
        self.at = offset;
    }

    /// Returns the next record, or the reason why there is none. After [`Step::End`] or
    /// [`Step::Bad`], returns the same result again.
    pub fn advance(&mut self) -> Step<'a> {
        let offset = self.base.saturating_add(self.at) as u64;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.len() < RECORD_HEADER_BYTES {
            return Step::End { offset };
        }
        let checked = self
            .rules
            .parse_part(self.bytes, self.at, self.base)
            .and_then(|found| {
                let payload = self.bytes.get(found.payload.clone()).ok_or(Bad::PastEnd)?;
                let crc = crate::checksum::crc32c_append(found.crc_before, payload);
                self.rules.accept(&found, crc)?;
                Ok((found, payload))
            });
        match checked {
            Ok((found, payload)) => {
                let record = found.record(payload);
                let end = usize::try_from(record.end).unwrap_or(usize::MAX);
                self.at = end.saturating_sub(self.base);
                Step::Record(record)
            }
            Err(why) => Step::Bad { offset, why },
        }
    }
}

/// Rules that decide whether bytes are a record of one segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    binding: Binding,
    start_seq: SeqNo,
}

/// A header whose payload lies within the segment, and whose checksum has not been compared yet.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) offset: u32,
    pub(crate) payload: Range<usize>,
    pub(crate) crc_before: u32,
    crc: u32,
    seq: SeqNo,
    pub(crate) synced: u32,
    gap: u32,
}

impl Candidate {
    fn record<'a>(&self, payload: &'a [u8]) -> Record<'a> {
        let offset = u64::from(self.offset);
        Record {
            offset,
            end: offset.saturating_add(record_bytes(payload.len() as u64)),
            seq: self.seq,
            gap: self.gap,
            synced: u64::from(self.synced),
            payload,
        }
    }
}

impl Rules {
    pub(crate) fn new(header: &SegmentHeader) -> Rules {
        Rules {
            binding: header.binding(),
            start_seq: header.start_seq,
        }
    }

    /// Reads the header at `at`; its payload then lies within `bytes`.
    pub(crate) fn parse(&self, bytes: &[u8], at: usize) -> std::result::Result<Candidate, Bad> {
        self.parse_part(bytes, at, 0)
    }

    /// Like [`Rules::parse`], if the bytes are at offset `base` of the segment.
    fn parse_part(
        &self,
        bytes: &[u8],
        at: usize,
        base: usize,
    ) -> std::result::Result<Candidate, Bad> {
        let rest = bytes.get(at..).unwrap_or_default();
        let header = rest
            .first_chunk::<RECORD_HEADER_BYTES>()
            .ok_or(Bad::PastEnd)?;
        let len = get_u32(header, 4).unwrap_or_default();
        if len == 0 {
            return Err(Bad::Empty);
        }
        let start = at.saturating_add(RECORD_HEADER_BYTES);
        let end = usize::try_from(len)
            .ok()
            .and_then(|len| start.checked_add(len))
            .filter(|end| *end <= bytes.len())
            .ok_or(Bad::PastEnd)?;
        let offset = u32::try_from(base.saturating_add(at)).map_err(|_| Bad::PastEnd)?;
        Ok(Candidate {
            offset,
            payload: start..end,
            crc_before: self.binding.header_checksum(offset, header),
            crc: get_u32(header, 0).unwrap_or_default(),
            seq: get_u64(header, 8).unwrap_or_default(),
            synced: get_u32(header, 16).unwrap_or_default(),
            gap: get_u32(header, 20).unwrap_or_default(),
        })
    }

    /// Checks that `crc`, computed over the whole record, and the fields make the candidate a
    /// record.
    pub(crate) fn accept(&self, found: &Candidate, crc: u32) -> std::result::Result<(), Bad> {
        if crc != found.crc {
            return Err(Bad::Checksum);
        }
        let in_range = (self.start_seq..=SEQ_MAX).contains(&found.seq);
        if in_range && found.synced <= found.offset {
            return Ok(());
        }
        Err(Bad::Fields)
    }

    /// Like [`Rules::accept`], but for one of very many candidates.
    pub(crate) fn accept_in(&self, found: &Candidate, sums: &mut RangeChecksum<'_>) -> bool {
        let fields_fit = found.seq >= self.start_seq && found.synced <= found.offset;
        fields_fit
            && sums
                .append(found.crc_before, found.payload.clone())
                .is_some_and(|crc| self.accept(found, crc).is_ok())
    }
}
