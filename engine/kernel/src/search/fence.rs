//! Fence search that compares the key with seven pivots at a time.
//!
//! A binary search over a page of 508 fences waits for nine dependent loads, most of which miss the
//! L1 cache. Seven pivots cut the range to an eighth with independent loads, so the search waits
//! only three times. The next range is computed from the number of pivots below the key; nothing
//! branches on the fences.

#![allow(
    unsafe_code,
    reason = "pivots lie within the range by construction; checks would double the work"
)]

/// Number of pivots per round; they cut the range into eighths.
const PIVOTS: usize = 7;

/// Maximum size of a range that is counted instead of cut: another round would not be faster.
const REST_MAX: usize = 24;

/// Returns the number of entries smaller than `key`, or an arbitrary number up to `entries.len()`
/// if the entries do not ascend.
#[inline]
pub(super) fn lower_bound(entries: &[[u8; 8]], key: u64) -> usize {
    let mut base = 0;
    let mut size = entries.len();
    // Invariant: `base + size <= entries.len()`, and the result lies in `base..=base + size`.
    while size > REST_MAX {
        let step = size / (PIVOTS + 1);
        let mut below = 0;
        for pivot in 1..=PIVOTS {
            // SAFETY: `pivot * step <= 7 * (size / 8) <= size`, so the index is below
            // `base + size`, which is at most `entries.len()`.
            let entry = unsafe { entries.get_unchecked(base + pivot * step - 1) };
            below += usize::from(u64::from_le_bytes(*entry) < key);
        }
        // The last part may be longer than a step. Using its length for all parts keeps the
        // invariant, because `below <= 7`, and makes the number of rounds depend only on the count.
        base += below * step;
        size -= PIVOTS * step;
    }
    let below = entries[base..base + size]
        .iter()
        .filter(|entry| u64::from_le_bytes(**entry) < key);
    base + below.count()
}
