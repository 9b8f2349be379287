//! Fast path of the decoder: copies of runs whose length is known exactly, 16 bytes at a time, or
//! 32 with AVX2. It benefits long literals and matches.
//!
//! The kind of copy is chosen once for a row of values or for a long value; a separate call for
//! each short value would cost as much as it saves. (One 64-byte masked move per run was slower
//! than two overlapping moves of 32 bytes: nearly every such store crosses a line.)

#![allow(
    unsafe_code,
    reason = "copies within bounds that each function documents"
)]

use crate::codec::copy;

/// Ways of copying one run.
pub(in crate::codec) trait Copies {
    /// Copies exactly `len` bytes.
    ///
    /// # Safety
    ///
    /// The processor has the instructions of these runs, and `len` is one of their lengths. `len`
    /// bytes are readable at `from` and writable at `to`; the two do not overlap.
    unsafe fn copy_exact(from: *const u8, to: *mut u8, len: usize);
}

/// Ways of copying the runs of a value.
pub(in crate::codec) trait Runs: Copies {
    /// Whether the type is meant for long values.
    const LONG: bool;
    /// Whether values are long enough for the source to be prefetched.
    const AHEAD: bool;
    /// Whether AVX2 is used.
    #[cfg_attr(
        any(not(target_arch = "x86_64"), miri),
        expect(dead_code, reason = "only asked where there is AVX2")
    )]
    const VECTORS: bool;
}

/// Copies 16 bytes at a time.
pub(in crate::codec) struct Words;

impl Runs for Words {
    const LONG: bool = false;
    const AHEAD: bool = false;
    const VECTORS: bool = false;
}

impl Copies for Words {
    #[inline]
    unsafe fn copy_exact(from: *const u8, to: *mut u8, len: usize) {
        // SAFETY: the caller promises `len` bytes on both sides without overlap.
        unsafe { copy::copy_exact(from, to, len) }
    }
}

/// Like [`Words`], but for long values: takes the decoder's branches of [`Wide`] where there are no
/// vectors, as under Miri.
#[cfg(test)]
pub(in crate::codec) struct LongWords;

#[cfg(test)]
impl Runs for LongWords {
    const LONG: bool = true;
    const AHEAD: bool = true;
    const VECTORS: bool = false;
}

#[cfg(test)]
impl Copies for LongWords {
    unsafe fn copy_exact(from: *const u8, to: *mut u8, len: usize) {
        // SAFETY: the caller promises exactly this.
        unsafe { Words::copy_exact(from, to, len) }
    }
}

/// Copies runs of `BYTES` to `2 * BYTES` with two moves of `BYTES`, one from each end. Meant for
/// callers that have checked the lengths once for a whole row.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(in crate::codec) struct Ends<const BYTES: usize>;

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl<const BYTES: usize> Copies for Ends<BYTES> {
    #[inline]
    unsafe fn copy_exact(from: *const u8, to: *mut u8, len: usize) {
        debug_assert!((BYTES..=2 * BYTES).contains(&len));
        // SAFETY: the caller promises `len` bytes on both sides without overlap, and
        // `BYTES <= len <= 2 * BYTES`.
        unsafe { copy::copy_ends::<BYTES>(from, to, len) }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(in crate::codec) use wide::Wide;

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod wide {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};

    use super::{Copies, Runs, copy};

    /// Number of bytes in a vector.
    const LANES: usize = 32;

    /// Copies 32 bytes at a time (AVX2), for runs that take one or two vectors.
    pub(in crate::codec) struct Wide<const AHEAD: bool>;

    impl<const AHEAD: bool> Runs for Wide<AHEAD> {
        const LONG: bool = true;
        const AHEAD: bool = AHEAD;
        const VECTORS: bool = true;
    }

    impl<const AHEAD: bool> Copies for Wide<AHEAD> {
        #[inline]
        unsafe fn copy_exact(from: *const u8, to: *mut u8, len: usize) {
            // SAFETY: the caller promises the instructions, and the rest.
            unsafe { copy_exact(from, to, len) }
        }
    }

    /// Like [`Copies::copy_exact`], but with two vectors that may overlap.
    ///
    /// # Safety
    ///
    /// Same as for [`Copies::copy_exact`].
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn copy_exact(from: *const u8, to: *mut u8, len: usize) {
        if !(LANES..=2 * LANES).contains(&len) {
            // SAFETY: the caller promises `len` bytes on both sides without overlap.
            return unsafe { copy::copy_exact(from, to, len) };
        }
        // SAFETY: the vector ends where the run ends, and the run is no shorter.
        let last = unsafe { from.add(len - LANES) };
        // SAFETY: the run has at least as many bytes.
        let first = unsafe { _mm256_loadu_si256(from.cast()) };
        // SAFETY: as above.
        let last = unsafe { _mm256_loadu_si256(last.cast()) };
        // SAFETY: as `last`.
        let end = unsafe { to.add(len - LANES) };
        // SAFETY: the caller promises `len` writable bytes, which is at least as many.
        unsafe { _mm256_storeu_si256(to.cast(), first) };
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(end.cast(), last) };
    }
}

#[cfg(test)]
mod tests {
    use super::{Copies, Words};

    /// Checks that everything is copied and nothing else is touched.
    fn runs_arrive<R: Copies>(lens: std::ops::Range<usize>) {
        for len in lens {
            let bytes: Vec<u8> = (1..=250).cycle().take(len).collect();
            let mut to = vec![0; len + 64];
            // SAFETY: both sides have `len` bytes; the caller has checked for the instructions.
            unsafe { R::copy_exact(bytes.as_ptr(), to.as_mut_ptr(), len) };
            assert_eq!(to[..len], bytes);
            assert_eq!(to[len..], [0; 64]);
        }
    }

    #[test]
    fn words() {
        runs_arrive::<Words>(0..if cfg!(miri) { 80 } else { 300 });
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[test]
    fn wide() {
        use crate::cpu::{Level, level};
        // Without these instructions the function is unused, so there is nothing to test.
        if level() >= Level::Avx2 {
            runs_arrive::<super::Wide<true>>(0..300);
            runs_arrive::<super::Ends<16>>(16..33);
            runs_arrive::<super::Ends<32>>(32..65);
        }
    }
}
