//! LevelDB's pseudo-random generator, bit for bit.
//!
//! A Lehmer generator: each state is the previous one times 16807 modulo 2^31 - 1. Its weakness
//! does not matter: the draws must equal those of LevelDB's own program.

mod mersenne;

pub use mersenne::Mersenne;

const MODULUS: u64 = (1 << 31) - 1;
const MULTIPLIER: u64 = 16807;

/// Turns a number into a random-looking one, each into another (the last step of `SplitMix64`).
#[inline]
pub const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The generator.
#[derive(Clone, Debug)]
pub struct Random {
    state: u32,
}

impl Random {
    /// Creates a generator from the low 31 bits of a seed; the two seeds that would get stuck
    /// become 1.
    pub const fn new(seed: u32) -> Self {
        let state = seed & 0x7fff_ffff;
        Self {
            state: if state == 0 || state == 0x7fff_ffff {
                1
            } else {
                state
            },
        }
    }

    /// Returns the next state, in `1 ..= 2^31 - 2`.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "both summands are below 2^31"
    )]
    pub const fn next(&mut self) -> u32 {
        let product = self.state as u64 * MULTIPLIER;
        // x mod (2^31 - 1) by adding the high and low halves; one subtraction may remain.
        let folded = (product >> 31) + (product & MODULUS);
        let reduced = if folded > MODULUS {
            folded - MODULUS
        } else {
            folded
        };
        self.state = reduced as u32;
        self.state
    }

    /// Draws from the open interval between 0 and 1, using two states.
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "62 bits cut to 53")]
    pub fn unit(&mut self) -> f64 {
        const SPAN: f64 = MODULUS as f64;
        let high = f64::from(self.next() - 1);
        let low = f64::from(self.next());
        (high + low / SPAN) / SPAN
    }

    /// Draws from a generalised Pareto distribution of sizes from 1 up.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive; a size beyond u64 becomes its maximum"
    )]
    pub fn pareto(&mut self, shape: f64, scale: f64) -> u64 {
        (scale * (self.unit().powf(-shape) - 1.0) / shape).ceil() as u64
    }

    /// Draws from `0 .. n`, where `n > 0`, with the slight bias of a plain remainder.
    #[inline]
    pub const fn uniform(&mut self, n: u32) -> u32 {
        self.next() % n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousandth_state_from_one_is_the_published_constant() {
        // Park and Miller's check value for this generator.
        let mut random = Random::new(1);
        let mut last = 0;
        for _ in 0..10_000 {
            last = random.next();
        }
        assert_eq!(last, 1_043_618_065);
    }

    #[test]
    fn states_are_the_remainders_of_the_definition() {
        let mut random = Random::new(301);
        let mut expected = 301u64;
        for _ in 0..100_000 {
            expected = expected * 16807 % 2_147_483_647;
            assert_eq!(u64::from(random.next()), expected);
        }
    }

    #[test]
    fn units_stay_between_nothing_and_one() {
        let mut random = Random::new(9);
        let drawn: Vec<f64> = (0..10_000).map(|_| random.unit()).collect();
        assert!(drawn.iter().all(|&unit| unit > 0.0 && unit < 1.0));
        let mean = drawn.iter().sum::<f64>() / 10_000.0;
        assert!((0.48..0.52).contains(&mean), "{mean}");
    }

    #[test]
    fn stuck_seeds_become_one() {
        for seed in [0, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
            assert_eq!(Random::new(seed).next(), 16807);
        }
    }
}
