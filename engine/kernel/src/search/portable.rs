//! Safe searches that the compiler may vectorise for the baseline (SSE2, NEON).
//!
//! These define the results; the kernels for wider vectors must agree with them.

use std::hint::select_unpredictable;

use super::column::column;

/// Same as [`crate::search::lower_bound`].
///
/// # Panics
///
/// Same as [`crate::search::lower_bound`].
pub fn lower_bound(heads: &[u8], width: usize, count: usize, key: u64) -> usize {
    count_below(column(heads, width, count), width, key)
}

/// Same as [`crate::search::upper_bound`].
///
/// # Panics
///
/// Same as [`crate::search::upper_bound`].
pub fn upper_bound(heads: &[u8], width: usize, count: usize, key: u64) -> usize {
    match key.checked_add(1) {
        Some(next) => lower_bound(heads, width, count, next),
        None => column(heads, width, count).len() / width,
    }
}

/// Same as [`crate::search::locate`].
///
/// # Panics
///
/// Same as [`crate::search::locate`].
pub fn locate(heads: &[u8], width: usize, count: usize, key: u64) -> (usize, bool) {
    located(column(heads, width, count), width, key)
}

/// Like [`locate`], but for a whole column.
pub(super) fn located(column: &[u8], width: usize, key: u64) -> (usize, bool) {
    let below = count_below(column, width, key);
    (below, head_is(column, width, below, key))
}

/// Returns whether a head exists at `index` and equals `key`.
#[inline]
pub(super) fn head_is(column: &[u8], width: usize, index: usize, key: u64) -> bool {
    let head = column
        .get(index * width..)
        .and_then(|rest| rest.get(..width));
    head.is_some_and(|head| {
        let number = head
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        number == key
    })
}

/// Returns the number of heads of `width` bytes in `column` that are smaller than `key`.
pub(super) fn count_below(column: &[u8], width: usize, key: u64) -> usize {
    match width {
        1 => u8::try_from(key).map_or(column.len(), |key| count_bytes(column, key)),
        2 => u16::try_from(key).map_or(column.len() / 2, |key| count_halves(column, key)),
        4 => u32::try_from(key).map_or(column.len() / 4, |key| count_words(column, key)),
        _ => count_longs(column, key),
    }
}

/// Defines a counting function whose running sum is as wide as the heads, so that a vector keeps
/// one sum per lane instead of widening each comparison. Chunks are short enough that no sum
/// overflows.
macro_rules! count {
    ($name:ident, $head:ty) => {
        fn $name(column: &[u8], key: $head) -> usize {
            const SUM_MAX: usize = u8::MAX as usize;
            let heads = column.as_chunks().0;
            let below = |chunk: &[_]| {
                let add = |sum, head: &_| sum + <$head>::from(<$head>::from_le_bytes(*head) < key);
                chunk.iter().fold(0, add)
            };
            heads
                .chunks(SUM_MAX)
                .map(|chunk| below(chunk) as usize)
                .sum()
        }
    };
}

count!(count_bytes, u8);
count!(count_halves, u16);
count!(count_words, u32);

fn count_longs(column: &[u8], key: u64) -> usize {
    let below = |head: &&[u8; 8]| u64::from_le_bytes(**head) < key;
    column.as_chunks().0.iter().filter(below).count()
}

/// Same as [`crate::search::lower_bound_u64_le`].
///
/// # Panics
///
/// Same as [`crate::search::lower_bound_u64_le`].
#[inline]
pub fn lower_bound_u64_le(bytes: &[u8], count: usize, key: u64) -> usize {
    let entries = bytes[..count.saturating_mul(8)].as_chunks::<8>().0;
    let mut base = 0;
    let mut size = entries.len();
    if size == 0 {
        return 0;
    }
    // The first entry not below the key lies in base..=base + size.
    while size > 1 {
        let half = size / 2;
        let below = u64::from_le_bytes(entries[base + half - 1]) < key;
        base = select_unpredictable(below, base + half, base);
        size -= half;
    }
    base + usize::from(u64::from_le_bytes(entries[base]) < key)
}
