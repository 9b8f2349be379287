//! The seed of `--seed=0`, taken from the clock.

use std::time::Duration;

/// Maximum seed: its sum with a thread number stays below 2^31.
pub(crate) const MAX: u32 = 1 << 30;

/// Returns a seed derived from a time: never 0, and always a valid value of `--seed`.
pub(crate) fn of(since: Duration) -> u32 {
    let micros = since.as_micros() % (u128::from(MAX) - 1);
    u32::try_from(micros).map_or(1, |micros| micros + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_gives_a_seed_within_the_bounds_of_the_flag() {
        let micros = |count: u64| of(Duration::from_micros(count));
        assert_eq!((micros(0), micros(41)), (1, 42));
        assert_eq!(micros(u64::from(MAX) - 2), MAX - 1);
        assert_eq!(micros(u64::from(MAX) - 1), 1);
        let seconds = |count| of(Duration::from_secs(count));
        assert_ne!(seconds(1_800_000_000), seconds(1_800_000_001));
    }
}
