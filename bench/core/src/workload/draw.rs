//! Sources of a thread's key indexes.
//!
//! LevelDB's and RocksDB's programs draw with replacement, each with its own generator: about 37 %
//! of the keys are never drawn in as many draws as there are keys. `--shuffle` takes each key once;
//! `--distribution` draws some keys far more often than others.

mod hot_ranges;
mod zipf;
mod zipf_law;

use crate::workload::definition::Order;
use crate::workload::plan::{Distribution, Keys, Plan};
use crate::workload::random::{Mersenne, Random};

pub use hot_ranges::HotRanges;
pub use zipf::Zipf;
pub use zipf_law::ZipfLaw;

/// A source of key indexes.
#[derive(Debug)]
pub enum Draws {
    /// 0, 1, 2, ...
    Sequential(u64),
    /// LevelDB's draws below a bound.
    Lehmer(u32),
    /// RocksDB's draws below a bound.
    Mersenne {
        /// A separate generator: the other one chooses between operations.
        generator: Box<Mersenne>,
        /// The bound.
        range: u64,
    },
    /// Each index once, then from the start again.
    Listed {
        /// The order.
        list: Vec<u32>,
        /// The position of the next index.
        next: usize,
    },
    /// Indexes of a list, at drawn positions.
    Among {
        /// The indexes.
        list: Vec<u32>,
        /// The source of the positions.
        places: Box<Self>,
    },
    /// A few indexes far more often, scattered over the range.
    Zipfian(Zipf),
    /// The same, by a law with another exponent.
    Skewed(ZipfLaw),
    /// The keys of a few ranges far more often.
    Ranges(HotRanges),
    /// The last indexes far more often.
    Latest(Zipf),
}

impl Draws {
    /// Creates the source for an order over `range` keys; with `--shuffle` it is a list instead of
    /// draws.
    pub fn new(plan: &Plan, order: Order, range: u64, seed: u32, random: &mut Random) -> Self {
        let bound = u32::try_from(range.max(1)).unwrap_or(u32::MAX);
        match order {
            Order::Sequential => Self::Sequential(0),
            Order::Unique => Self::listed(bound, random),
            Order::Random if plan.shuffle => Self::listed(bound, random),
            Order::Random => {
                let distribution = plan.distribution.unwrap_or(Distribution::Uniform);
                Self::drawn(plan.keys, distribution, range, seed)
            }
        }
    }

    /// Creates a source of draws with replacement.
    pub fn drawn(keys: Keys, distribution: Distribution, range: u64, seed: u32) -> Self {
        let range = range.max(1);
        match (distribution, keys) {
            (Distribution::Zipfian, _) => Self::Zipfian(Zipf::new(range)),
            (Distribution::Latest, _) => Self::Latest(Zipf::new(range)),
            (Distribution::Uniform, Keys::RocksDb) => Self::Mersenne {
                generator: Box::new(Mersenne::new(u64::from(seed))),
                range,
            },
            (Distribution::Uniform, Keys::LevelDb) => {
                Self::Lehmer(u32::try_from(range).unwrap_or(u32::MAX))
            }
        }
    }

    /// Creates a source over a list, like [`Draws::new`] over the same number of keys.
    pub fn among(list: Vec<u32>, plan: &Plan, seed: u32, random: &mut Random) -> Self {
        let places = Self::new(plan, Order::Random, list.len() as u64, seed, random);
        let places = Box::new(places);
        Self::Among { list, places }
    }

    fn listed(range: u32, random: &mut Random) -> Self {
        Self::Listed {
            list: permutation(range, random),
            next: 0,
        }
    }

    /// Returns the next index.
    #[inline]
    pub fn next(&mut self, random: &mut Random) -> u64 {
        match self {
            Self::Lehmer(range) => u64::from(random.uniform(*range)),
            Self::Sequential(next) => {
                *next += 1;
                *next - 1
            }
            Self::Mersenne { generator, range } => {
                // RocksDB's program draws one number to choose a database before each key.
                generator.next();
                generator.next() % *range
            }
            Self::Listed { list, next } => {
                let index = list[*next];
                *next = if *next + 1 == list.len() {
                    0
                } else {
                    *next + 1
                };
                u64::from(index)
            }
            Self::Among { list, places } => {
                let place = usize::try_from(places.next(random)).unwrap_or(usize::MAX);
                u64::from(list[place])
            }
            Self::Zipfian(zipf) => zipf.scattered(random),
            Self::Skewed(law) => law.scattered(random),
            Self::Ranges(ranges) => ranges.draw(random),
            Self::Latest(zipf) => zipf.items() - 1 - zipf.rank(random),
        }
    }
}

/// Returns the numbers `0 .. range` in random order (Fisher and Yates).
fn permutation(range: u32, random: &mut Random) -> Vec<u32> {
    let mut list: Vec<u32> = (0..range).collect();
    for last in (1..range).rev() {
        list.swap(last as usize, random.uniform(last + 1) as usize);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn draws(change: impl FnOnce(&mut Plan), count: usize) -> Vec<u64> {
        let mut plan = testing::plan(std::path::Path::new("db"), 1_000_000, &[]);
        change(&mut plan);
        let mut random = Random::new(1001);
        let mut draws = Draws::new(&plan, Order::Random, plan.num, 1001, &mut random);
        (0..count).map(|_| draws.next(&mut random)).collect()
    }

    #[test]
    fn a_permutation_has_every_key_once() {
        let mut random = Random::new(5);
        let mut list = permutation(1000, &mut random);
        assert!(!list.is_sorted());
        list.sort_unstable();
        assert!(list.into_iter().eq(0..1000));
    }

    #[test]
    fn draws_are_levels_first_thread() {
        // Seed 1000 + 1, remainders modulo one million, computed from the generator's definition.
        assert_eq!(
            draws(|_| {}, 8),
            [
                823_807, 366_492, 85_941, 607_685, 255_079, 564_579, 840_135, 332_565
            ]
        );
    }

    #[test]
    fn draws_of_rocks_keys_are_every_second_number_of_the_twister() {
        let mut generator = Mersenne::new(1001);
        let numbers: Vec<u64> = (0..6).map(|_| generator.next() % 1_000_000).collect();
        assert_eq!(
            draws(|plan| plan.keys = Keys::RocksDb, 3),
            [numbers[1], numbers[3], numbers[5]]
        );
    }

    #[test]
    fn latest_prefers_the_last_keys_and_zipfian_a_few_of_all() {
        let last = draws(
            |plan| plan.distribution = Some(Distribution::Latest),
            10_000,
        );
        assert!(last.iter().all(|&index| index < 1_000_000));
        let near = last.iter().filter(|&&index| index >= 999_000).count();
        assert!(near > 4000, "{near} of 10000 among the last thousand");
        let mut few = draws(
            |plan| plan.distribution = Some(Distribution::Zipfian),
            10_000,
        );
        assert!(few.iter().all(|&index| index < 1_000_000));
        let low = few.iter().filter(|&&index| index < 500_000).count();
        assert!(
            (3500..6500).contains(&low),
            "{low} of 10000 in the lower half"
        );
        few.sort_unstable();
        few.dedup();
        assert!(few.len() < 6500, "{} distinct keys of 10000", few.len());
    }
}
