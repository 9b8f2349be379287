//! The keys of RocksDB's `mixgraph`: 30 ranges of equal size, of which one gets four fifths of the
//! accesses, and a power law within each.
//!
//! The method and the parameters are those of "Characterizing, Modeling, and Benchmarking RocksDB
//! Key-Value Workloads at Facebook" (Cao et al., FAST 2020): the weight of range `i` is the sum of
//! two exponentials of `i`, and the number of a key within its range is drawn by the inverse of `a
//! x^b`, then hashed into the range.

use crate::workload::random::{Random, mix};

const RANGES: u32 = 30;
/// Factor and exponent of both terms.
const TERMS: [(f64, f64); 2] = [(14.18, -2.917), (0.0164, -0.080_82)];
/// `a` and `b` of the power law.
const POWER: (f64, f64) = (0.002_312, 0.3467);
/// The seed of the order of the ranges.
const ORDER_SEED: u32 = 30;

/// The law over a number of keys.
#[derive(Clone, Debug)]
pub struct HotRanges {
    keys: u64,
    /// The sum of the weights up to each range, and the range's number.
    sums: Vec<(f64, u64)>,
}

impl HotRanges {
    /// Creates the law over `keys` keys, at least one.
    pub fn new(keys: u64) -> Self {
        let weight = |range: u32| -> f64 {
            let terms = TERMS.iter();
            terms.map(|(a, b)| a * (b * f64::from(range)).exp()).sum()
        };
        let mut random = Random::new(ORDER_SEED);
        let mut places: Vec<u64> = (0..u64::from(RANGES)).collect();
        for last in (1..RANGES).rev() {
            places.swap(last as usize, random.uniform(last + 1) as usize);
        }
        let mut sum = 0.0;
        let sums = (1..=RANGES).zip(places).map(|(range, place)| {
            sum += weight(range);
            (sum, place)
        });
        Self {
            keys: keys.max(1),
            sums: sums.collect(),
        }
    }

    /// Draws a key.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, at most 40 million"
    )]
    pub fn draw(&self, random: &mut Random) -> u64 {
        let size = (self.keys / u64::from(RANGES)).max(1);
        let total = self.sums.last().map_or(0.0, |last| last.0);
        let at = random.unit() * total;
        // The first range has the largest weight.
        let range = self.sums.iter().find(|(sum, _)| at < *sum);
        let (a, b) = POWER;
        let number = (random.unit() / a).powf(1.0 / b).ceil() as u64;
        let first = range.map_or(0, |(_, place)| place * size);
        (first + mix(number) % size).min(self.keys - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_of_thirty_has_four_fifths_and_the_others_their_weights() {
        let ranges = HotRanges::new(30_000);
        let mut random = Random::new(7);
        let mut counts = [0_u32; 30];
        for _ in 0..100_000 {
            let key = ranges.draw(&mut random);
            counts[usize::try_from(key / 1000).expect("a range")] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // Weights 0.782, 0.055, 0.015 of 0.989, then a slow decline to 0.0015.
        assert!((78_000..80_500).contains(&counts[0]), "{counts:?}");
        assert!((5_200..6_000).contains(&counts[1]), "{counts:?}");
        assert!((100..220).contains(&counts[29]), "{counts:?}");
    }

    #[test]
    fn fewer_keys_than_ranges_are_enough() {
        let ranges = HotRanges::new(7);
        let mut random = Random::new(7);
        assert!((0..1000).all(|_| ranges.draw(&mut random) < 7));
    }
}
