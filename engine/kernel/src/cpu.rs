//! Detection of this processor's vector instructions, queried once and cached in one byte.
//!
//! A relaxed load and a well-predicted branch cost less than a call through a function pointer, and
//! the kernel can be inlined into its dispatcher.

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use x86::{Level, is_known, level};

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86 {
    use std::sync::atomic::{AtomicU8, Ordering};

    /// Instruction set levels in ascending order; each includes all lower levels.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Level {
        /// The x86-64 baseline (SSE2) and nothing else.
        Baseline = 1,
        /// SSE4.2 with its CRC instruction, and carry-less multiplication.
        Sse42 = 2,
        /// 32-byte integer vectors, and population count.
        Avx2 = 3,
        /// 64-byte vectors with masks for every element width, and shifts and masks by a register
        /// (BMI2).
        Avx512 = 4,
        /// Carry-less multiplication of 64-byte vectors.
        Avx512Clmul = 5,
    }

    const UNKNOWN: u8 = 0;

    /// Relaxed ordering is enough: only this byte is shared, and every thread computes the same
    /// value.
    static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);

    /// Returns the highest level this processor supports.
    #[inline]
    pub(crate) fn level() -> Level {
        match LEVEL.load(Ordering::Relaxed) {
            5 => Level::Avx512Clmul,
            4 => Level::Avx512,
            3 => Level::Avx2,
            2 => Level::Sse42,
            1 => Level::Baseline,
            _ => detect(),
        }
    }

    /// Returns whether this processor is known to support `wanted`; `false` until [`level`] has
    /// been called once. For hot callers that cannot afford to save registers for the call that
    /// queries the processor.
    #[inline]
    pub(crate) fn is_known(wanted: Level) -> bool {
        LEVEL.load(Ordering::Relaxed) >= wanted as u8
    }

    #[cold]
    fn detect() -> Level {
        let sse42 = is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("pclmulqdq");
        let avx2 = sse42
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1");
        let avx512 = avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("bmi2");
        let avx512_clmul = avx512 && is_x86_feature_detected!("vpclmulqdq");
        let level = match (sse42, avx2, avx512, avx512_clmul) {
            (_, _, _, true) => Level::Avx512Clmul,
            (_, _, true, _) => Level::Avx512,
            (_, true, _, _) => Level::Avx2,
            (true, _, _, _) => Level::Sse42,
            _ => Level::Baseline,
        };
        LEVEL.store(level as u8, Ordering::Relaxed);
        level
    }
}
