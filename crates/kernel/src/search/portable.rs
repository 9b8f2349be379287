//! Safe searches that the compiler may vectorise for the baseline (SSE2, NEON) by itself.
//!
//! These define the answers; the kernels for wider vectors must agree with them.

use std::hint::select_unpredictable;

/// As [`crate::search::lower_bound`].
///
/// # Panics
///
/// As [`crate::search::lower_bound`].
pub fn lower_bound(heads: &[u8], width: usize, count: usize, key: u64) -> usize {
    count_below(super::column(heads, width, count), width, key)
}

/// As [`crate::search::upper_bound`].
///
/// # Panics
///
/// As [`crate::search::upper_bound`].
pub fn upper_bound(heads: &[u8], width: usize, count: usize, key: u64) -> usize {
    match key.checked_add(1) {
        Some(next) => lower_bound(heads, width, count, next),
        None => super::column(heads, width, count).len() / width,
    }
}

/// Number of heads of `width` bytes in `column` that are smaller than `key`.
pub(super) fn count_below(column: &[u8], width: usize, key: u64) -> usize {
    match width {
        1 => count_narrow(column, key, |[byte]: [u8; 1]| byte),
        2 => count_narrow(column, key, u16::from_le_bytes),
        4 => count_narrow(column, key, u32::from_le_bytes),
        _ => column
            .as_chunks()
            .0
            .iter()
            .filter(|head| u64::from_le_bytes(**head) < key)
            .count(),
    }
}

/// Counts at the width of the heads, so that vector lanes need not be widened for comparing.
#[inline]
fn count_narrow<T, const WIDTH: usize>(
    column: &[u8],
    key: u64,
    decode: impl Fn([u8; WIDTH]) -> T,
) -> usize
where
    T: Ord + TryFrom<u64>,
{
    let heads = column.as_chunks::<WIDTH>().0;
    match T::try_from(key) {
        Ok(key) => heads.iter().filter(|head| decode(**head) < key).count(),
        Err(_) => heads.len(),
    }
}

/// As [`crate::search::lower_bound_u64_le`].
///
/// # Panics
///
/// As [`crate::search::lower_bound_u64_le`].
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
