use super::*;
use crate::plan::Mix;
use crate::subject::{Null, lru};
use crate::testing::plan;

fn workers(plan: &Plan) -> Vec<Worker> {
    (0..plan.threads)
        .map(|thread| Worker::new(plan, thread))
        .collect()
}

#[test]
fn counts_add_up_over_all_threads() {
    let plan = plan();
    let tally = run::<false>(&lru(&plan), &mut workers(&plan), 20_000);
    assert_eq!(tally.ops, 40_000);
    assert_eq!(tally.lookups + tally.inserts + tally.erases, 40_000);
    assert!(tally.hits > 0 && tally.hits < tally.lookups);
    assert!(tally.erased > 0 && tally.erased < tally.erases);
    assert_eq!((tally.wrong, tally.latency.count()), (0, 0));
    assert!(!tally.wall.is_zero() && tally.thread_time <= 2 * tally.wall);
}

#[test]
fn one_thread_with_one_seed_sees_the_same_twice() {
    let mut plan = plan();
    plan.threads = 1;
    let counts = || {
        let tally = run::<false>(&lru(&plan), &mut workers(&plan), 20_000);
        (tally.lookups, tally.hits, tally.inserts, tally.erased)
    };
    assert_eq!(counts(), counts());
}

#[test]
fn a_timed_pass_times_every_operation_and_goes_on_drawing() {
    let plan = plan();
    let mut workers = workers(&plan);
    let (one, two) = (
        run::<true>(&Null, &mut workers, 500),
        run::<true>(&Null, &mut workers, 500),
    );
    assert_eq!((one.latency.count(), two.latency.count()), (1000, 1000));
    assert_eq!((one.hits, one.erased), (0, 0));
    assert_ne!((one.lookups, one.inserts), (two.lookups, two.inserts));
}

#[test]
fn what_is_not_found_is_inserted_where_the_mix_says_so() {
    let mut plan = plan();
    plan.mix = Mix {
        lookup_insert: 100,
        ..Mix::default()
    };
    (plan.max_key, plan.threads, plan.hold) = (50, 1, true);
    let tally = run::<false>(&lru(&plan), &mut workers(&plan), 5000);
    assert_eq!((tally.lookups, tally.inserts, tally.hits), (5000, 50, 4950));
}

#[test]
fn populating_inserts_drawn_keys() {
    let plan = plan();
    let cache = lru(&plan);
    populate(&cache, &mut workers(&plan), 100);
    let entries = cache.entries();
    assert!(
        (80..=100).contains(&entries),
        "{entries} of 100 draws from 1000 keys"
    );
}
