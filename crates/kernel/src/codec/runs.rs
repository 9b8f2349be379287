//! How the decoder copies runs whose length is known exactly: by 16 bytes everywhere, by 32 where the processor can.
//!
//! Which of them it is, is chosen once for a row of values or for a long one: a call of its own for each short value would
//! cost what it saves. (One move of 64 bytes under a mask for what is not longer was slower than two of 32 that overlap:
//! nearly every such store lies in two lines.)

#![allow(unsafe_code, reason = "copies under bounds that each function states")]

use super::copy;

/// How one run is copied.
pub(super) trait Copies {
    /// Copies exactly `len` bytes.
    ///
    /// # Safety
    ///
    /// The processor has the instructions of these runs, and `len` is one of their lengths. `len` bytes are readable at `from` and writable at `to`; the
    /// two do not overlap.
    unsafe fn copy_exact(from: *const u8, to: *mut u8, len: usize);
}

/// How the runs of values are.
pub(super) trait Runs: Copies {
    /// They are for long values.
    const LONG: bool;
    /// So long that what comes is requested ahead.
    const AHEAD: bool;
    /// They take AVX2.
    const VECTORS: bool;
}

/// By 16 bytes.
pub(super) struct Words;

impl Runs for Words {
    const LONG: bool = false;
    const AHEAD: bool = false;
    const VECTORS: bool = false;
}

impl Copies for Words {
    #[inline]
    unsafe fn copy_exact(from: *const u8, to: *mut u8, len: usize) {
        // SAFETY: the caller promises `len` bytes on both sides, apart.
        unsafe { copy::copy_exact(from, to, len) }
    }
}

/// As [`Words`], for long values: what [`Wide`] has the decoder do, where no vectors are, as under Miri.
#[cfg(test)]
pub(super) struct LongWords;

#[cfg(test)]
impl Runs for LongWords {
    const LONG: bool = true;
    const AHEAD: bool = true;
    const VECTORS: bool = false;
}

#[cfg(test)]
impl Copies for LongWords {
    unsafe fn copy_exact(from: *const u8, to: *mut u8, len: usize) {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { Words::copy_exact(from, to, len) }
    }
}

/// By two moves of `BYTES`, from both ends, runs of `BYTES` to twice as many: whoever has looked at the lengths of a
/// whole row need not for each of its values.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) struct Ends<const BYTES: usize>;

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl<const BYTES: usize> Copies for Ends<BYTES> {
    #[inline]
    unsafe fn copy_exact(from: *const u8, to: *mut u8, len: usize) {
        debug_assert!((BYTES..=2 * BYTES).contains(&len));
        // SAFETY: the caller promises `len` bytes on both sides, apart, and has seen that those are `BYTES` to twice as many.
        unsafe { copy::copy_ends::<BYTES>(from, to, len) }
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) use wide::Wide;

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod wide {
    use std::arch::x86_64::{_mm256_loadu_si256, _mm256_storeu_si256};

    use super::{Copies, Runs, copy};

    /// Bytes of a vector.
    const LANES: usize = 32;

    /// By 32 bytes, runs that take one or two of them: AVX2.
    pub(in super::super) struct Wide<const AHEAD: bool>;

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

    /// As [`Runs::copy_exact`], two vectors that may overlap.
    ///
    /// # Safety
    ///
    /// As [`Runs::copy_exact`]'s.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn copy_exact(from: *const u8, to: *mut u8, len: usize) {
        if !(LANES..=2 * LANES).contains(&len) {
            // SAFETY: the caller promises `len` bytes on both sides, apart.
            return unsafe { copy::copy_exact(from, to, len) };
        }
        // SAFETY: a vector ends where the run does, which is no shorter.
        let last = unsafe { from.add(len - LANES) };
        // SAFETY: the first bytes of the run, which are as many or more.
        let first = unsafe { _mm256_loadu_si256(from.cast()) };
        // SAFETY: as above.
        let last = unsafe { _mm256_loadu_si256(last.cast()) };
        // SAFETY: as `last`.
        let end = unsafe { to.add(len - LANES) };
        // SAFETY: the caller promises `len` writable bytes, which are as many or more.
        unsafe { _mm256_storeu_si256(to.cast(), first) };
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(end.cast(), last) };
    }
}

#[cfg(test)]
mod tests {
    use super::{Copies, Words};

    /// What is copied is there, and nothing else is touched.
    fn runs_arrive<R: Copies>(lens: std::ops::Range<usize>) {
        for len in lens {
            let bytes: Vec<u8> = (1..=250).cycle().take(len).collect();
            let mut to = vec![0; len + 64];
            // SAFETY: there are as many bytes on both sides; the caller has asked for the instructions.
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
        // Elsewhere nothing uses it, so that there is nothing to be tested.
        if level() >= Level::Avx2 {
            runs_arrive::<super::Wide<true>>(0..300);
            runs_arrive::<super::Ends<16>>(16..33);
            runs_arrive::<super::Ends<32>>(32..65);
        }
    }
}
