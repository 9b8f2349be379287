//! The chains of [`crate::memory_check`]: the words that each processes, and how they are joined.
//! The step of a chain depends on the processor.

use std::ops::Range;

/// Lengths for which [`crate::memory_check`] uses chains: at least one round, and below the length
/// from which folding is faster.
pub(super) const CHECK_BYTES: Range<usize> = ROUND_BYTES..512;

/// Number of bytes that the chains process per round.
const ROUND_BYTES: usize = 32;

/// One word for each chain of [`crate::memory_check`].
pub(super) type Round = [[u8; 8]; 4];

/// Returns the full rounds and the last round. The last round ends where the bytes end, so some
/// bytes may be processed twice.
#[inline]
pub(super) fn rounds_of(bytes: &[u8]) -> (&[Round], &Round) {
    debug_assert!(CHECK_BYTES.contains(&bytes.len()));
    let last: Option<&[u8; ROUND_BYTES]> = bytes.last_chunk();
    let last = last.and_then(|last| last.as_chunks().0.first_chunk());
    let full = (bytes.len() - 1) / ROUND_BYTES;
    let rounds: &[Round] = bytes.as_chunks().0.as_chunks().0;
    (&rounds[..full], last.expect("at least one round"))
}

/// Returns the initial states of the chains. They contain the length, so that leading zeros count.
#[expect(clippy::cast_possible_truncation, reason = "below 512")]
#[inline]
pub(super) fn begun(bytes: &[u8]) -> [u32; 4] {
    debug_assert!(CHECK_BYTES.contains(&bytes.len()));
    [bytes.len() as u32, 0, 0, 0]
}

/// Computes the check with the given chain step. A step takes the CRC-32C register and a word, and
/// inverts the register neither before nor after.
pub(super) fn check_by(bytes: &[u8], step: impl Fn(u32, [u8; 8]) -> u32) -> u32 {
    let (rounds, last) = rounds_of(bytes);
    let rounds = rounds.iter().chain([last]);
    let chains = rounds.fold(begun(bytes), |chains, round| {
        std::array::from_fn(|at| step(chains[at], round[at]))
    });
    let [first, second] = joined(chains).map(u64::to_le_bytes);
    step(step(0, first), second)
}

/// Joins the chains into two numbers, which one more chain processes. The factor, 2^64 / golden
/// ratio, prevents the effects of one change on two chains from cancelling out.
#[inline]
pub(super) fn joined([a, b, c, d]: [u32; 4]) -> [u64; 2] {
    let pair = |low: u32, high: u32| {
        (u64::from(low) | u64::from(high) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    };
    [pair(a, b), pair(c, d)]
}
