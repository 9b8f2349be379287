//! Salvage: every intact record of a segment, also those after damaged bytes.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use cairndb_base::coding::{get_u32, get_u64};

use crate::checksum::RangeChecksum;
use crate::log::header::{HEADER_BYTES, SegmentHeader};
use crate::log::reader::{Bad, Record, Rules, SegmentReader, Step};
use crate::log::record::{ALIGN, RECORD_HEADER_BYTES};

/// Number of bytes of a segment's header and of that of its first record.
pub const HEAD_BYTES: usize = HEADER_BYTES + RECORD_HEADER_BYTES;

/// What [`SegmentSalvage::advance`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// A record.
    Record(Record<'a>),
    /// Bytes that are not a record, before a record of the same segment.
    Gap {
        /// Offset of the first of these bytes.
        offset: u64,
        /// Offset of the next record.
        end: u64,
        /// Reason why the bytes are not a record.
        why: Bad,
    },
}

/// Where the records of a segment end, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentEnd {
    /// Offset at which the last record ended.
    pub offset: u64,
    /// Reason why what follows is not a record; `None` if the segment was filled.
    pub why: Option<Bad>,
}

/// Reads all intact records of one segment in order of their offsets.
///
/// After damaged bytes, every aligned offset is a candidate. Only a record of this segment, at this
/// offset, has the right checksum, so remnants of an earlier use of the file do not pass. Work is
/// linear in the bytes.
#[derive(Debug)]
pub struct SegmentSalvage<'a> {
    bytes: &'a [u8],
    reader: SegmentReader<'a>,
    rules: Rules,
    sums: RangeChecksum<'a>,
    end: Option<SegmentEnd>,
}

impl<'a> SegmentSalvage<'a> {
    /// Returns a reader over the bytes of a whole segment, its header sector included. `header` is
    /// the one that the segment has, or had before it was damaged; its number, salt and first
    /// sequence number are used.
    pub fn new(bytes: &'a [u8], header: &SegmentHeader) -> SegmentSalvage<'a> {
        SegmentSalvage {
            bytes,
            reader: SegmentReader::new(bytes, header),
            rules: Rules::new(header),
            sums: RangeChecksum::new(bytes),
            end: None,
        }
    }

    /// Returns the next record or gap, or `None` after the last record.
    pub fn advance(&mut self) -> Option<Found<'a>> {
        if self.end.is_some() {
            return None;
        }
        match self.reader.advance() {
            Step::Record(record) => Some(Found::Record(record)),
            Step::End { offset } => {
                self.end = Some(SegmentEnd { offset, why: None });
                None
            }
            Step::Bad { offset, why } => {
                let Some(next) = self.next_record(offset) else {
                    let why = Some(why);
                    self.end = Some(SegmentEnd { offset, why });
                    return None;
                };
                self.reader.resume_at(next);
                let end = next as u64;
                Some(Found::Gap { offset, end, why })
            }
        }
    }

    /// Returns where the records end, once [`SegmentSalvage::advance`] has returned `None`.
    pub fn end(&self) -> Option<SegmentEnd> {
        self.end
    }

    /// Returns the offset of the first record after `from`.
    fn next_record(&mut self, from: u64) -> Option<usize> {
        let step = usize::try_from(ALIGN).ok()?;
        let first = usize::try_from(from).ok()?.checked_add(step)?;
        let (bytes, rules) = (self.bytes, self.rules);
        (first..bytes.len()).step_by(step).find(|at| {
            let found = rules.parse(bytes, *at);
            found.is_ok_and(|found| rules.accept_in(&found, &mut self.sums))
        })
    }
}

/// Returns the number of bytes of a segment that [`header_of_damaged`] needs, given its first
/// bytes, [`HEAD_BYTES`] of them: up to the end of the first record. `None` if no record begins
/// there.
///
/// A file that is no segment states any length, mostly one beyond its end.
pub fn first_record_end(head: &[u8]) -> Option<u64> {
    let len = get_u32(head, HEADER_BYTES.saturating_add(4))?;
    let end = u64::from(len).saturating_add(HEAD_BYTES as u64);
    (len > 0).then_some(end)
}

/// Returns the header of a segment whose header sector is damaged: the fields as they are, or with
/// one bit of the salt changed, if the first record then is valid. The fields that describe the
/// previous segment may be wrong.
pub fn header_of_damaged(bytes: &[u8]) -> Option<SegmentHeader> {
    let (segment, salt) = SegmentHeader::identity(bytes)?;
    let field = |at| get_u64(bytes, at);
    let changed = (0..u64::BITS).map(|bit| salt ^ 1u64.wrapping_shl(bit));
    std::iter::once(salt).chain(changed).find_map(|salt| {
        let header = SegmentHeader {
            segment,
            salt,
            previous_segment: field(32)?,
            previous_end: field(40)?,
            start_seq: 0,
        };
        let first = SegmentReader::new(bytes, &header).advance();
        matches!(first, Step::Record(_)).then_some(header)
    })
}
