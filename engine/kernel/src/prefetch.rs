//! Prefetch hints: load cache lines before they are needed.
//!
//! A point lookup knows the addresses of its filter line, fence line and page long before it reads
//! them; prefetching overlaps the cache misses. A put knows where the next put will store. A store
//! to an uncached line is cheap by itself, but the next atomic operation waits for it, and a put
//! executes three. A hint changes no state that a program can observe.

#![allow(unsafe_code, reason = "the prefetch instructions take a raw address")]

/// Prefetches the cache line that holds `bytes[at]` for reading.
///
/// Does nothing if `at` lies outside `bytes`, on processors without such an instruction, and under
/// Miri. Never faults and never blocks.
///
/// ```
/// let page = [0u8; 4096];
/// cairndb_kernel::prefetch(&page, 2048);
/// cairndb_kernel::prefetch(&page, 4096); // outside: no effect
/// ```
#[inline]
pub fn prefetch(bytes: &[u8], at: usize) {
    if let Some(byte) = bytes.get(at) {
        prefetch_line(std::ptr::from_ref(byte));
    }
}

/// Cache line size of the intended processors; others get too many or too few hints.
const LINE_BYTES: usize = 64;

/// Like [`prefetch`], but for every line of the `bytes` after `start`, which may be any address
/// because nothing is read. Also used for bytes that will be written: requesting exclusive
/// ownership at once (PREFETCHW) was no faster.
#[inline]
pub fn prefetch_span(start: *const u8, bytes: usize) {
    for at in (0..bytes).step_by(LINE_BYTES) {
        prefetch_line(start.wrapping_add(at));
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn prefetch_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction is part of the x86-64 baseline, takes any address and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[inline]
fn prefetch_line(address: *const u8) {
    // SAFETY: PRFM is a hint: it takes any address, changes no register and never faults.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{address}]",
            address = in(reg) address,
            options(readonly, nostack, preserves_flags)
        );
    }
}

#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline]
fn prefetch_line(_address: *const u8) {}

#[cfg(test)]
mod tests {
    use super::{prefetch, prefetch_span};

    #[test]
    fn every_offset_in_and_out_of_range_is_harmless() {
        let bytes: Vec<u8> = (0..=255).collect();
        for at in 0..600 {
            prefetch(&bytes, at);
        }
        prefetch(&bytes, usize::MAX);
        prefetch_span(bytes.as_ptr(), 1000);
        prefetch_span(std::ptr::null(), 65);
        prefetch(&[], 0);
        assert!(
            bytes
                .iter()
                .enumerate()
                .all(|(at, &byte)| usize::from(byte) == at)
        );
    }
}
