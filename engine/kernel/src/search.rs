//! Search in packed key columns: heads of a data page, first keys of a fence page.
//!
//! A head column is `count` unsigned little-endian integers of one width (1, 2, 4 or 8 bytes)
//! without gaps; it may start at any address. A page holds 40 to 128 heads, so comparing all of
//! them at once costs less than the mispredicted branches of a binary search. Counting the heads
//! below the key does not depend on their order. On a page with unordered heads (corruption that a
//! checksum missed) the result is still the count, the same on every processor.
//!
//! [`locate`] also looks for the key itself; that result is defined for ascending heads only.
//!
//! Fence columns may be longer (up to 508 u64 per page): above 64 they are searched, not counted.

mod column;
mod fence;
mod portable;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86;

#[cfg(test)]
mod tests;

use column::column;

/// The safe twins of this module's searches, for tests and fuzzing.
pub mod twin {
    pub use super::portable::{locate, lower_bound, lower_bound_u64_le, upper_bound};
}

/// Returns the number of heads smaller than `key` among the first `count` heads of `width` bytes.
///
/// If the heads ascend, this is the index of the first head not smaller than `key`. A `key` that
/// does not fit `width` is larger than every head.
///
/// ```
/// use cairndb_kernel::search::{lower_bound, upper_bound};
/// let heads = [3, 0, 5, 0, 5, 0, 9, 0]; // 3, 5, 5, 9 as u16
/// assert_eq!(lower_bound(&heads, 2, 4, 5), 1);
/// assert_eq!(upper_bound(&heads, 2, 4, 5), 3);
/// ```
///
/// # Panics
///
/// If `width` is not 1, 2, 4 or 8, or if `heads` is shorter than `count * width` bytes.
#[inline]
pub fn lower_bound(heads: &[u8], width: usize, count: usize, key: u64) -> usize {
    let column = column(heads, width, count);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return x86::count_below(column, width, key);
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return portable::count_below(column, width, key);
}

/// Returns the number of heads not greater than `key` among the first `count` heads of `width`
/// bytes.
///
/// If the heads ascend, this is the index of the first head greater than `key`.
///
/// # Panics
///
/// Same as [`lower_bound`].
#[inline]
pub fn upper_bound(heads: &[u8], width: usize, count: usize, key: u64) -> usize {
    match key.checked_add(1) {
        Some(next) => lower_bound(heads, width, count, next),
        None => column(heads, width, count).len() / width,
    }
}

/// Returns the position of `key` among the first `count` ascending heads of `width` bytes: the
/// number of smaller heads, and whether the next head equals `key`. Equivalent to [`lower_bound`]
/// followed by reading the head at that index, but without waiting for that load.
///
/// ```
/// use cairndb_kernel::search::locate;
/// let heads = [3, 0, 5, 0, 5, 0, 9, 0]; // 3, 5, 5, 9 as u16
/// assert_eq!(locate(&heads, 2, 4, 5), (1, true));
/// assert_eq!(locate(&heads, 2, 4, 6), (3, false));
/// ```
///
/// # Panics
///
/// Same as [`lower_bound`].
#[inline]
pub fn locate(heads: &[u8], width: usize, count: usize, key: u64) -> (usize, bool) {
    let column = column(heads, width, count);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return x86::locate(column, width, key);
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    return portable::located(column, width, key);
}

/// Maximum number of eight-byte entries for which comparing all is faster than searching.
const COUNTED_MAX: usize = 64;

/// Returns the number of entries smaller than `key` in an ascending column of `count` little-endian
/// u64.
///
/// Branch-free: the time depends only on `count`. Up to 64 entries are counted; more are searched.
/// If the column does not ascend, the result is an arbitrary number up to `count`.
///
/// # Panics
///
/// If `bytes` is shorter than `8 * count` bytes.
#[inline]
pub fn lower_bound_u64_le(bytes: &[u8], count: usize, key: u64) -> usize {
    if count <= COUNTED_MAX {
        return lower_bound(bytes, 8, count, key);
    }
    fence::lower_bound(column(bytes, 8, count).as_chunks().0, key)
}
