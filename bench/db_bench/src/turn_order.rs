//! The order in which engines take their turns.
//!
//! A turn affects caches, the disk and the temperature of the processor, and thereby the next
//! engine. No engine should therefore always follow the same one, or always have the same place.
//! Over as many rounds as there are engines, each engine has each place once; over twice as many,
//! each engine directly follows every other equally often (the squares of Williams, 1949). The
//! first order of a job is drawn from the seed of the run, so that a resumed run keeps its order.

use bench_core::workload::random::Random;

/// Returns the first order of a job of a suite among the orders of this number of engines.
pub(crate) fn start(seed: u32, job: usize, count: usize) -> usize {
    let mut random = Random::new(seed);
    let drawn = (0..=job).fold(0, |_, _| random.next());
    drawn as usize % (2 * count.max(1))
}

/// Returns the order of a round. With start 0, the first round has the order of the list.
pub(crate) fn turns(engines: &[String], start: usize, round: u32) -> Vec<String> {
    let count = engines.len();
    if count == 0 {
        return Vec::new();
    }
    let rounds = (round as usize).saturating_sub(1);
    let by = (start + rounds % count * step(count)) % count;
    let mut order: Vec<String> = (0..count)
        .map(|at| engines[place((symbol(at, count) + by) % count, count)].clone())
        .collect();
    if !(start / count + rounds / count).is_multiple_of(2) {
        order.reverse();
    }
    order
}

/// Returns the symbol at a place of the first order: 0, the last, 1, the last but one and so on, so
/// that the distance between neighbours differs from pair to pair.
const fn symbol(place: usize, count: usize) -> usize {
    if place.is_multiple_of(2) {
        place / 2
    } else {
        count - 1 - place / 2
    }
}

/// Returns the place of a symbol in the first order.
const fn place(symbol: usize, count: usize) -> usize {
    if 2 * symbol < count {
        2 * symbol
    } else {
        2 * (count - 1 - symbol) + 1
    }
}

/// Returns the step from one round to the next: about half the orders, so that even the first few
/// rounds differ much, and coprime to their number, so that all orders occur.
fn step(count: usize) -> usize {
    let divides = |by: usize, of: usize| of.is_multiple_of(by);
    let apart = |step: &usize| !(2..=*step).any(|by| divides(by, *step) && divides(by, count));
    (1..=count / 2).rev().find(apart).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("engine{at}")).collect()
    }

    #[test]
    fn every_engine_stands_at_every_place_and_after_every_other_equally_often() {
        for count in 1..=11 {
            let engines = names(count);
            for start in [0, 1, count, 2 * count - 1] {
                let mut behind: BTreeMap<(String, String), u32> = BTreeMap::new();
                let mut places: BTreeSet<(usize, String)> = BTreeSet::new();
                let rounds = u32::try_from(2 * count).expect("few");
                for round in 1..=rounds {
                    if round as usize == count + 1 {
                        assert_eq!(places.len(), count * count, "each place once");
                        places.clear();
                    }
                    let order = turns(&engines, start, round);
                    places.extend(order.iter().cloned().enumerate());
                    for pair in order.windows(2) {
                        *behind
                            .entry((pair[0].clone(), pair[1].clone()))
                            .or_default() += 1;
                    }
                }
                assert_eq!(behind.len(), count * (count - 1), "every pair of {count}");
                assert!(behind.values().all(|&times| times == 2), "{behind:?}");
            }
        }
    }

    #[test]
    fn a_list_begins_as_it_was_written_and_no_round_repeats_another() {
        let engines = names(9);
        assert_eq!(turns(&engines, 0, 1), engines);
        let orders: BTreeSet<Vec<String>> =
            (1..=18).map(|round| turns(&engines, 0, round)).collect();
        assert_eq!(orders.len(), 18);
        assert_eq!(turns(&engines, 0, 19), engines);
        assert_eq!(turns(&[], 0, 1), [""; 0]);
    }

    #[test]
    fn jobs_begin_with_orders_that_the_seed_draws() {
        let begun = |seed| -> Vec<usize> { (0..200).map(|job| start(seed, job, 9)).collect() };
        assert_eq!(begun(1000), begun(1000));
        assert_ne!(begun(1000), begun(1001));
        let all: BTreeSet<usize> = begun(1000).into_iter().collect();
        assert_eq!(all.len(), 18, "each order is used by some job");
    }
}
