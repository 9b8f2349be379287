//! Draws of the next key and the next operation.
//!
//! Each thread draws from its own generator (`SplitMix64`; Steele, Lea and Flood, 2014), so that a
//! thread's draws are the same for every cache and in every run with the same seed.

use crate::plan::{Mix, Plan};

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Look up; insert if not found.
    LookupInsert,
    /// Insert and hold the value.
    Insert,
    /// Insert without holding the value.
    BlindInsert,
    /// Look up.
    Lookup,
    /// Erase.
    Erase,
}

/// One thread's generator and its distributions.
#[derive(Clone, Debug)]
pub(crate) struct Draws {
    state: u64,
    max_key: u64,
    skew: u32,
    /// Cumulative percentages of the operations, in the order of [`Op`].
    below: [u64; 4],
}

/// Increment of the generator.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Draws {
    /// Creates the draws of one thread.
    pub(crate) fn new(plan: &Plan, thread: u64) -> Self {
        let Mix {
            lookup_insert,
            insert,
            blind_insert,
            lookup,
            ..
        } = plan.mix;
        let mut below = [lookup_insert, insert, blind_insert, lookup];
        for index in 1..below.len() {
            below[index] += below[index - 1];
        }
        let mut draws = Self {
            state: plan.seed.wrapping_add(thread),
            max_key: plan.max_key,
            skew: plan.skew,
            below,
        };
        // Neighbouring seeds have neighbouring states; replacing the state with a draw separates
        // them.
        draws.state = draws.next();
        draws
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws a key: the smallest of `skew` + 1 draws, scaled to the range.
    #[inline]
    pub(crate) fn key(&mut self) -> u64 {
        let mut raw = self.next();
        for _ in 0..self.skew {
            raw = raw.min(self.next());
        }
        scaled(raw, self.max_key)
    }

    /// Draws an operation according to the requested shares.
    #[inline]
    pub(crate) fn op(&mut self) -> Op {
        let percent = scaled(self.next(), 100);
        match self.below {
            [end, ..] if percent < end => Op::LookupInsert,
            [_, end, ..] if percent < end => Op::Insert,
            [_, _, end, _] if percent < end => Op::BlindInsert,
            [_, _, _, end] if percent < end => Op::Lookup,
            _ => Op::Erase,
        }
    }
}

/// Scales a 64-bit draw to `0 .. range`.
#[inline]
fn scaled(raw: u64, range: u64) -> u64 {
    ((u128::from(raw) * u128::from(range)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::plan;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut draws = Draws::new(&plan(), 0);
        draws.state = 1_234_567;
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!([draws.next(), draws.next(), draws.next()], expected);
    }

    #[test]
    fn a_thread_draws_the_same_again_and_another_thread_draws_otherwise() {
        let keys = |thread| {
            let mut draws = Draws::new(&plan(), thread);
            (0..1000).map(|_| draws.key()).collect::<Vec<_>>()
        };
        assert_eq!(keys(3), keys(3));
        let (three, four) = (keys(3), keys(4));
        let same = three.iter().zip(&four).filter(|(a, b)| a == b).count();
        assert!(same < 20, "{same} of 1000 keys below 1000 are equal");
    }

    #[test]
    fn operations_come_in_the_shares_asked_for() {
        let mut plan = plan();
        plan.mix = Mix {
            lookup_insert: 30,
            insert: 20,
            blind_insert: 0,
            lookup: 49,
            erase: 1,
        };
        let mut draws = Draws::new(&plan, 0);
        let mut counts = [0u32; 5];
        for _ in 0..100_000 {
            counts[draws.op() as usize] += 1;
        }
        for (count, share) in counts.into_iter().zip([30, 20, 0, 49, 1]) {
            assert!(count.abs_diff(share * 1000) <= 600, "{counts:?}");
        }
        assert_eq!(counts[2], 0);
    }

    #[test]
    fn keys_stay_in_range_and_skew_pulls_them_down() {
        let mean = |skew| {
            let mut plan = plan();
            (plan.skew, plan.max_key) = (skew, 1000);
            let mut draws = Draws::new(&plan, 0);
            let keys: Vec<u64> = (0..50_000).map(|_| draws.key()).collect();
            assert!(keys.iter().all(|&key| key < 1000));
            keys.iter().sum::<u64>() / 50_000
        };
        // The smallest of n uniform draws has the mean 1 / (n + 1).
        assert!((490..510).contains(&mean(0)));
        assert!(
            (135..150).contains(&mean(5)),
            "a sixth of 1000, minus a half"
        );
    }
}
