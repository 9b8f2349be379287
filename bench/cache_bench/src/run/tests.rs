use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bench_core::host::test_text::{ends, has};

use super::*;
use crate::testing::plan;
use crate::value::Values;

/// A faulty cache: its correct answers first pass through a function.
struct FaultyCache<F> {
    real: Quick,
    lookups: AtomicU64,
    bend: F,
}

impl<F: Fn(u64, u128, Arc<[u8]>) -> Arc<[u8]> + Sync> Subject for FaultyCache<F> {
    fn insert(&self, key: u128, value: Arc<[u8]>) {
        self.real.insert(key, value);
    }

    fn lookup(&self, key: u128) -> Option<Arc<[u8]>> {
        let found = self.real.lookup(key)?;
        let nth = self.lookups.fetch_add(1, Ordering::Relaxed);
        Some((self.bend)(nth, key, found))
    }

    fn erase(&self, key: u128) -> bool {
        self.real.erase(key)
    }

    fn entries(&self) -> u64 {
        self.real.entries()
    }

    fn usage(&self) -> u64 {
        self.real.usage()
    }
}

fn faulty_cache<F>(bend: F) -> FaultyCache<F> {
    FaultyCache {
        real: Quick::new(&plan()).expect("made"),
        lookups: AtomicU64::new(0),
        bend,
    }
}

#[test]
fn every_cache_is_measured_and_found_right() {
    for cache in ["null", "lru", "clock", "quick_cache", "moka"] {
        let mut plan = plan();
        cache.clone_into(&mut plan.cache);
        (plan.populate, plan.warmup_ops, plan.hold) = (true, 100, true);
        let outcome = run(&plan).expect(cache);
        assert_eq!(
            (outcome.status, &outcome.reason),
            (Status::Ok, &None),
            "{cache}"
        );
        assert!(
            outcome.verified == Some(true) && outcome.ops == Some(40_000),
            "{cache}"
        );
        assert!(
            outcome.ops_per_second.is_some_and(|rate| rate > 0.0),
            "{cache}"
        );
        assert_eq!(outcome.timed_ops, Some(2000), "{cache}");
        let histogram = outcome.histogram.expect(cache);
        assert!(
            histogram.starts_with("Count: 2000 "),
            "{cache}: {histogram}"
        );
        assert_eq!(outcome.hits.expect(cache) > 0, cache != "null");
        assert_eq!(
            outcome.populated_entries.expect(cache) > 500,
            cache != "null"
        );
    }
    let mut plan = plan();
    "tea".clone_into(&mut plan.cache);
    assert_eq!(
        run(&plan).expect_err("unknown"),
        "tea is not a cache of this program"
    );
}

#[test]
fn without_a_latency_pass_there_are_no_latencies() {
    let mut plan = plan();
    plan.latency_ops = 0;
    let outcome = run(&plan).expect("measured");
    assert_eq!(
        (outcome.timed_ops, outcome.p50_ns, outcome.histogram),
        (None, None, None)
    );
}

#[test]
fn one_flipped_byte_in_ten_thousand_lookups_fails_the_run() {
    let flip = |nth: u64, _, value: Arc<[u8]>| {
        if nth % 10_000 != 9_999 {
            return value;
        }
        let mut bytes = value.to_vec();
        bytes[57] ^= 1;
        bytes.into()
    };
    let outcome = measure(&plan(), &faulty_cache(flip), None);
    let reason = outcome.reason.expect("detected");
    assert_eq!(outcome.status, Status::Failed);
    has(
        &reason,
        " values found were wrong; first: the lookup of key ",
    );
    has(&reason, " returned 100 bytes starting with ");
}

#[test]
fn a_value_of_another_key_fails_the_run() {
    let swap = |_, key, _| Values::new(100, false).make(u64::try_from(key).expect("small") ^ 1);
    let outcome = measure(&plan(), &faulty_cache(swap), None);
    assert_eq!(outcome.status, Status::Failed);
    let all = outcome.hits.expect("counted");
    let wrong: u64 = outcome
        .reason
        .expect("detected")
        .split(' ')
        .next()
        .expect("a count")
        .parse()
        .expect("a count");
    assert!(wrong >= all, "{wrong} of at least {all}");
}

#[test]
fn a_cache_that_holds_more_than_it_may_fails_the_run() {
    let mut plan = plan();
    plan.cache_bytes = 1000;
    let outcome = measure(&plan, &faulty_cache(|_, _, value| value), None);
    let reason = outcome.reason.expect("detected");
    assert_eq!(outcome.status, Status::Failed);
    ends(&reason, "where --cache_size allows 1000");
}
