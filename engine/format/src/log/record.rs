//! Record headers: the hot path of every logged write.

use cairndb_base::SeqNo;

use crate::checksum::crc32c_append;

/// Size of a record header in bytes.
pub const RECORD_HEADER_BYTES: usize = 24;
/// Alignment of records in a segment, in bytes.
pub const ALIGN: u64 = 8;
/// Maximum size of a segment: offsets within it are 32 bits wide.
pub const SEGMENT_BYTES_MAX: u64 = 0xffff_f000;

const _: () = assert!(SEGMENT_BYTES_MAX.is_multiple_of(4096) && SEGMENT_BYTES_MAX <= 0xffff_ffff);

/// The initial checksum state of one segment's records, derived from its number and salt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding(u32);

impl Binding {
    pub(crate) fn new(seed: u32) -> Binding {
        Binding(seed)
    }

    /// Returns the checksum state after the header of a record at `offset`. `header` is the
    /// record's 24 bytes; the offset replaces the first four, the checksum itself.
    #[inline]
    pub(crate) fn header_checksum(self, offset: u32, header: &[u8; RECORD_HEADER_BYTES]) -> u32 {
        let mut bound = *header;
        bound[..4].copy_from_slice(&offset.to_le_bytes());
        crc32c_append(self.0, &bound)
    }
}

/// The fields of a record header that the writer chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHead {
    /// Offset of the record in the segment: a multiple of [`ALIGN`].
    pub offset: u32,
    /// Sequence number of the payload's first entry.
    pub seq: SeqNo,
    /// Number of bytes of this segment that are known to be durable now: at most `offset`.
    pub synced: u32,
    /// Number of sequence numbers just before `seq` that unlogged writes took.
    pub gap: u32,
}

/// Returns the number of bytes that a record takes in its segment, header and padding included.
#[inline]
pub const fn record_bytes(payload_len: u64) -> u64 {
    (RECORD_HEADER_BYTES as u64)
        .saturating_add(payload_len)
        .saturating_add(ALIGN - 1)
        & !(ALIGN - 1)
}

/// Returns the header of a record whose payload is the concatenation of `payload`.
///
/// The record is written as `header ++ payload` at `head.offset`; the next one starts
/// [`record_bytes`] later, and the bytes between are not part of the log. The cost is one checksum
/// pass over 24 bytes and the payload; nothing is allocated or copied. [`encode_record`] is faster
/// for small payloads in several parts.
///
/// # Panics
/// Panics if the payload is empty or reaches 4 GiB; the limits keep batches far below that.
#[inline]
pub fn encode_header(
    binding: Binding,
    head: &RecordHead,
    payload: &[&[u8]],
) -> [u8; RECORD_HEADER_BYTES] {
    let mut header = bound_header(head, payload);
    let crc = payload
        .iter()
        .fold(crc32c_append(binding.0, &header), |crc, part| {
            crc32c_append(crc, part)
        });
    header[..4].copy_from_slice(&crc.to_le_bytes());
    header
}

/// Replaces the contents of `out` with the whole record, header and payload, ready to be written at
/// `head.offset` in one piece.
///
/// Meant for payloads of up to a few KiB: one checksum pass over contiguous bytes saves more than
/// the copy costs. `out` keeps its memory, so reusing it allocates nothing.
///
/// # Panics
/// Same as [`encode_header`].
#[inline]
pub fn encode_record(binding: Binding, head: &RecordHead, payload: &[&[u8]], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&bound_header(head, payload));
    for part in payload {
        out.extend_from_slice(part);
    }
    let crc = crc32c_append(binding.0, out);
    out[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Returns a header whose checksum field still holds the offset, which the checksum binds.
#[inline]
fn bound_header(head: &RecordHead, payload: &[&[u8]]) -> [u8; RECORD_HEADER_BYTES] {
    let len: usize = payload.iter().map(|part| part.len()).sum();
    let len = u32::try_from(len).expect("a payload is below 4 GiB");
    assert!(len > 0, "a payload holds at least its count");
    debug_assert!(u64::from(head.offset).is_multiple_of(ALIGN));
    debug_assert!(head.synced <= head.offset);
    let mut header = [0u8; RECORD_HEADER_BYTES];
    header[..4].copy_from_slice(&head.offset.to_le_bytes());
    header[4..8].copy_from_slice(&len.to_le_bytes());
    header[8..16].copy_from_slice(&head.seq.to_le_bytes());
    header[16..20].copy_from_slice(&head.synced.to_le_bytes());
    header[20..24].copy_from_slice(&head.gap.to_le_bytes());
    header
}
