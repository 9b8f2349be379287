//! The log: segments of fixed size, overwritten in place, that hold the contents of memtables.
//!
//! Commit encodes a record ([`encode_record`], [`encode_header`]) and writes it into a region.
//! Recovery reads a whole segment and steps through it with a [`SegmentReader`]. Layout and
//! reasons: `docs/format/log.md`.
//!
//! 1. Bytes after a segment's last record are undefined: zeros, noise, or records of an earlier
//!    segment in the same recycled file. Only a checksum that started from this segment's number
//!    and salt and the record's own offset makes bytes a record.
//! 2. The first bytes that are not a record end the segment. [`find_later_synced`] decides whether
//!    something was lost there: each record stores how much of its segment was known to be durable
//!    when it was written.
//! 3. Sequence numbers are continuous over records and segments, gaps included; the engine checks
//!    that with [`Record::count`].

mod header;
mod reader;
mod record;
mod resync;
mod salvage;

pub(crate) use header::is_marked;
pub use header::{HEADER_BYTES, SegmentHeader};
pub use reader::{Bad, Record, SegmentReader, Step};
pub use record::{
    ALIGN, Binding, RECORD_HEADER_BYTES, RecordHead, SEGMENT_BYTES_MAX, encode_header,
    encode_record, record_bytes,
};
pub use resync::find_later_synced;
pub use salvage::{
    Found, HEAD_BYTES, SegmentEnd, SegmentSalvage, first_record_end, header_of_damaged,
};

#[cfg(test)]
mod tests;
