//! Draws the next key index of a thread.
//!
//! LevelDB's and RocksDB's programs draw with replacement, each with a generator of its own: about
//! 37 % of the keys are never drawn in as many draws as there are keys. `--shuffle` takes each
//! once; `--distribution` draws some far more often than others.

mod zipf;

use crate::workload::definition::Order;
use crate::workload::plan::{Distribution, Keys, Plan};
use crate::workload::random::{Mersenne, Random};

pub use zipf::Zipf;

/// A source of key indexes.
#[derive(Debug)]
pub enum Draws {
    /// 0, 1, 2, ...
    Sequential(u64),
    /// LevelDB's draws below a bound.
    Lehmer(u32),
    /// RocksDB's draws below a bound.
    Mersenne {
        /// A generator of its own: the other one serves for choices between operations.
        generator: Box<Mersenne>,
        /// The bound.
        range: u64,
    },
    /// Each index once, then again.
    Listed {
        /// The order.
        list: Vec<u32>,
        /// The place of the next.
        next: usize,
    },
    /// Indexes of a list, at places that are drawn.
    Among {
        /// The indexes.
        list: Vec<u32>,
        /// Of the places.
        places: Box<Self>,
    },
    /// A few far more often, wherever they are.
    Zipfian(Zipf),
    /// The last far more often.
    Latest(Zipf),
}

impl Draws {
    /// The source for an order over `range` keys; `--shuffle` lists instead of drawing.
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

    /// Draws with replacement.
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

    /// Draws of a list, as [`Draws::new`] draws of as many keys.
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

    /// The next index.
    #[inline]
    pub fn next(&mut self, random: &mut Random) -> u64 {
        match self {
            Self::Lehmer(range) => u64::from(random.uniform(*range)),
            Self::Sequential(next) => {
                *next += 1;
                *next - 1
            }
            Self::Mersenne { generator, range } => {
                // RocksDB's program draws one number to choose among databases before each key.
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
            Self::Latest(zipf) => zipf.items() - 1 - zipf.rank(random),
        }
    }
}

/// All of `0 .. range` in random order (Fisher and Yates).
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
        // Seed 1000 + 1, remainders by a million, computed from the generator's definition.
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
