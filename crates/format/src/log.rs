//! The log: segments of fixed size, overwritten in place, that hold what memtables hold.
//!
//! Commit encodes a record ([`encode_record`], [`encode_header`]) and writes it into a region; recovery reads a whole segment and steps through it with [`SegmentReader`]. Layout and
//! reasons: `docs/format/log.md`.
//!
//! 1. A segment's bytes behind its last record are undefined: zeros, noise, or records of an
//!    earlier segment in the same recycled file. Only a checksum that started from this segment's
//!    number and salt and the record's own offset makes bytes a record.
//! 2. The first bytes that are no record end the segment. Whether something is lost there is
//!    decided by [`find_later_synced`]: each record tells how much of its segment was known durable
//!    when it was written.
//! 3. Sequence numbers are continuous over records and segments, gaps included; the engine checks
//!    that, with [`Record::count`].

mod header;
mod reader;
mod record;
mod resync;

pub(crate) use header::is_marked;
pub use header::{HEADER_BYTES, SegmentHeader};
pub use reader::{Bad, Record, SegmentReader, Step};
pub use record::{
    ALIGN, Binding, RECORD_HEADER_BYTES, RecordHead, SEGMENT_BYTES_MAX, encode_header,
    encode_record, record_bytes,
};
pub use resync::find_later_synced;

#[cfg(test)]
mod tests;
