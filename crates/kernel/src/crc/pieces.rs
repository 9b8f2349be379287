//! The pieces in which [`crate::memory_check`] takes bytes, whatever the processor.

use std::ops::Range;

/// Lengths that are taken by whole vectors: more than one, and less than what is folded in longer rounds.
pub(super) const CHECK_BYTES: Range<usize> = VECTOR_BYTES + 1..512;

/// Bytes that are taken at once.
pub(super) const VECTOR_BYTES: usize = 64;

/// What a check begins with, the first piece, all that follows it, and the last piece, which ends where the bytes
/// do; between the two as many whole ones as begin before it. `None` for lengths that are not taken so.
pub(super) type Pieces<'b> = (
    u32,
    &'b [u8; VECTOR_BYTES],
    &'b [u8],
    &'b [u8; VECTOR_BYTES],
);

#[expect(clippy::cast_possible_truncation, reason = "below 512")]
#[inline]
pub(super) fn pieces_of(bytes: &[u8]) -> Option<Pieces<'_>> {
    if !CHECK_BYTES.contains(&bytes.len()) {
        return None;
    }
    let (first, rest) = bytes.split_first_chunk()?;
    // Begun with the length, zeros in front are told from none.
    Some((bytes.len() as u32, first, rest, bytes.last_chunk()?))
}
