//! Behind the first bad record: was something lost there that a sync had promised?

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use crate::checksum::RangeChecksum;
use crate::log::header::SegmentHeader;
use crate::log::reader::Rules;
use crate::log::record::ALIGN;

/// Looks behind the bad record at `from` for a record of the same segment that knew the bytes at
/// `from` to be durable, and returns its offset and its synced position.
///
/// `Some` proves damage: a sync had covered `from` before that record was written. `None` is what
/// a torn tail gives, even if intact records follow it, because sectors written after the last sync
/// may have reached the disk in any order.
///
/// Every aligned offset is a candidate; the cost is bounded by a fixed time for each of them
/// (about 0.2 us at worst, 2 ns over zeros), whatever lengths the bytes pretend.
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
