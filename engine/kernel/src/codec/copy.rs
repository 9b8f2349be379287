//! The codec's raw loads, stores and copies that every processor has. Vector versions are in
//! `fast/lanes.rs` and `fast/runs.rs`.
//!
//! Each function documents the memory it accesses; callers prove that it lies within their slice or
//! reserved room. All functions compile to plain unaligned moves.

#![allow(
    unsafe_code,
    reason = "the codec's inner loops check bounds once per sequence"
)]
#![expect(
    clippy::inline_always,
    reason = "each is a few moves; a call would cost more"
)]

/// Loads the four bytes at `bytes[at]`, little-endian.
///
/// # Safety
///
/// `at + 4 <= bytes.len()`.
#[inline(always)]
pub(super) unsafe fn load_u32(bytes: &[u8], at: usize) -> u32 {
    debug_assert!(at + 4 <= bytes.len());
    // SAFETY: the caller promises `at + 4 <= bytes.len()`.
    let address = unsafe { bytes.as_ptr().add(at) };
    // SAFETY: four bytes from `at` lie within `bytes`; a byte array needs no alignment.
    u32::from_le_bytes(unsafe { address.cast::<[u8; 4]>().read() })
}

/// Loads the eight bytes at `bytes[at]`, little-endian.
///
/// # Safety
///
/// `at + 8 <= bytes.len()`.
#[inline(always)]
pub(super) unsafe fn load_u64(bytes: &[u8], at: usize) -> u64 {
    debug_assert!(at + 8 <= bytes.len());
    // SAFETY: the caller promises `at + 8 <= bytes.len()`.
    let address = unsafe { bytes.as_ptr().add(at) };
    // SAFETY: eight bytes from `at` lie within `bytes`; a byte array needs no alignment.
    u64::from_le_bytes(unsafe { address.cast::<[u8; 8]>().read() })
}

/// Copies `N` bytes from `from` to `to`.
///
/// # Safety
///
/// `N` bytes are readable at `from` and writable at `to`; the two do not overlap.
#[inline(always)]
unsafe fn copy_chunk<const N: usize>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller promises both ranges of `N` bytes, and that they do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to, N) }
}

/// Copies `N` bytes from `from + at` to `to + at`.
///
/// # Safety
///
/// Same as for [`copy_chunk`], but for both addresses moved by `at`, which must stay within their
/// allocations.
#[inline(always)]
unsafe fn copy_chunk_at<const N: usize>(from: *const u8, to: *mut u8, at: usize) {
    // SAFETY: the caller promises that `from + at` lies within the source.
    let from = unsafe { from.add(at) };
    // SAFETY: the caller promises that `to + at` lies within the target.
    let to = unsafe { to.add(at) };
    // SAFETY: the caller promises `N` bytes at both addresses.
    unsafe { copy_chunk::<N>(from, to) }
}

/// Copies 16 bytes, of which the caller may need only some.
///
/// # Safety
///
/// 16 bytes are readable at `from` and writable at `to`; the two do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_16(from: *const u8, to: *mut u8) {
    // SAFETY: the caller promises exactly this.
    unsafe { copy_chunk::<16>(from, to) }
}

/// Copies 32 bytes, of which the caller may need only some.
///
/// # Safety
///
/// 32 bytes are readable at `from` and writable at `to`; the two do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_32(from: *const u8, to: *mut u8) {
    // SAFETY: the caller promises exactly this.
    unsafe { copy_chunk::<32>(from, to) }
}

/// Copies the two bytes from `from + at` to `to + at`.
///
/// # Safety
///
/// Two bytes are readable at `from + at` and writable at `to + at`; the two ranges do not overlap.
#[inline(always)]
pub(super) unsafe fn copy_2_at(from: *const u8, to: *mut u8, at: usize) {
    // SAFETY: the caller promises exactly this.
    unsafe { copy_chunk_at::<2>(from, to, at) }
}

/// Copies exactly `len` bytes with two moves of `N` bytes. One starts where the run starts, the
/// other ends where the run ends; they may overlap.
///
/// # Safety
///
/// `N <= len <= 2 * N`. `len` bytes are readable at `from` and writable at `to`; the two do not
/// overlap.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) unsafe fn copy_ends<const N: usize>(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: `N <= len`.
    unsafe { copy_chunk_at::<N>(from, to, 0) };
    // SAFETY: `len - N + N == len`.
    unsafe { copy_chunk_at::<N>(from, to, len - N) };
}

/// Copies exactly `len` bytes upwards, in chunks; the last chunk may repeat bytes.
///
/// # Safety
///
/// `len` bytes are readable at `from` and writable at `to`. Either the ranges do not overlap, or
/// `from` lies at least 16 bytes below `to`: each chunk is loaded whole before it is stored, and no
/// chunk reads a byte that a later chunk still has to write.
#[inline(always)]
pub(super) unsafe fn copy_exact(from: *const u8, to: *mut u8, len: usize) {
    if (33..=64).contains(&len) {
        // Covers the literals of a classic 100-byte value. Without a loop the copy takes half as
        // many instructions.
        for at in [0, 16, len - 32, len - 16] {
            // SAFETY: `at + 16 <= len`, and chunks do not overlap because `from + 16 <= to`. The
            // third chunk starts at 32 or earlier, below which the first two have written.
            unsafe { copy_chunk_at::<16>(from, to, at) };
        }
    } else if len >= 16 {
        let mut at = 0;
        while at + 16 < len {
            // SAFETY: `at + 16 < len`, and chunks do not overlap because `from + 16 <= to`.
            unsafe { copy_chunk_at::<16>(from, to, at) };
            at += 16;
        }
        // SAFETY: `len - 16 + 16 == len`; the chunk ends where both ranges end.
        unsafe { copy_chunk_at::<16>(from, to, len - 16) };
    } else if len >= 8 {
        // SAFETY: `8 <= len`.
        unsafe { copy_chunk_at::<8>(from, to, 0) };
        // SAFETY: `len - 8 + 8 == len`.
        unsafe { copy_chunk_at::<8>(from, to, len - 8) };
    } else if len >= 4 {
        // SAFETY: `4 <= len`.
        unsafe { copy_chunk_at::<4>(from, to, 0) };
        // SAFETY: `len - 4 + 4 == len`.
        unsafe { copy_chunk_at::<4>(from, to, len - 4) };
    } else {
        for at in 0..len {
            // SAFETY: `at < len`.
            unsafe { copy_chunk_at::<1>(from, to, at) };
        }
    }
}

/// Repeats the `period` bytes just below `to` until `len` bytes are written at `to`.
///
/// # Safety
///
/// `period >= 1` initialised bytes lie below `to` in the same allocation, and `len` bytes are
/// writable at `to`.
#[inline(always)]
pub(super) unsafe fn repeat_period(to: *mut u8, period: usize, len: usize) {
    // SAFETY: the caller promises `period` bytes below `to`.
    let from = unsafe { to.cast_const().sub(period) };
    // Each copy doubles the run that the next copy may take.
    let mut done = 0;
    while done < len {
        let run = (period + done).min(len - done);
        // SAFETY: `done < len`, so the address lies within the target.
        let to = unsafe { to.add(done) };
        // SAFETY: `run <= period + done` bytes lie between `from` and `to`, so the ranges do not
        // overlap; `run <= len - done` bytes are writable.
        unsafe { copy_exact(from, to, run) };
        done += run;
    }
}
