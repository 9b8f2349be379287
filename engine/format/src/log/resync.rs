//! Search after the first bad record: did the damage destroy bytes that a sync had made durable?

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use crate::checksum::RangeChecksum;
use crate::log::header::SegmentHeader;
use crate::log::reader::Rules;
use crate::log::record::ALIGN;

/// Searches after the bad record at `from` for a record of the same segment that states that the
/// bytes at `from` were durable. Returns that record's offset and its synced position.
///
/// `Some` proves damage: a sync had covered `from` before that record was written. `None` is the
/// result for a torn tail, even if intact records follow it, because sectors written after the last
/// sync may have reached the disk in any order.
///
/// Every aligned offset is a candidate. The time for each is bounded, whatever lengths the bytes
/// claim.
pub fn find_later_synced(bytes: &[u8], header: &SegmentHeader, from: u64) -> Option<(u64, u64)> {
    let rules = Rules::new(header);
    let mut sums = RangeChecksum::new(bytes);
    let step = usize::try_from(ALIGN).ok()?;
    let first = usize::try_from(from).ok()?.checked_add(step)?;
    (first..bytes.len()).step_by(step).find_map(|at| {
        let found = rules.parse(bytes, at).ok()?;
        let covers = u64::from(found.synced) > from;
        let valid = covers && rules.accept_in(&found, &mut sums);
        valid.then(|| (u64::from(found.offset), u64::from(found.synced)))
    })
}
