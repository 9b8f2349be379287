use bench_core::host::test_text::{begins, ends};

use super::*;
use crate::testing::plan;

/// The output of 7.8, shortened.
const MODERN: &str = "Population complete\n\
----------------------------\n\
WARNING: Assertions are enabled; benchmarks unnecessarily slow\n\
RocksDB version     : 7.8\n\
DMutex impl name    : pthread_mutex_t\n\
Number of threads   : 2\n\
Gather stats        : disabled\n\
----------------------------\n\
Complete in 0.508 s; Rough parallel ops/sec = 196691\n\
Thread ops/sec = 98507\n\
\n\
Operation latency (ns):\n\
Count: 100000 Average: 9907.9026  StdDev: 228324.63\n\
Min: 50  Median: 1795.2409  Max: 16130876\n\
Percentiles: P50: 1795.24 P75: 5044.43 P99: 13591.09 P99.9: 103000.00 P99.99: 9490625.00\n\
------------------------------------------------------\n\
(      34,      51 ]        3   0.003%   0.003% \n\
(      51,      76 ]      183   0.183%   0.186% \n\
\n";

const CLASSIC: &str = "RocksDB version     : 5.18\nNumber of threads   : 16\n\
----------------------------\nComplete in 5.231 s; QPS = 3670235\n";

#[test]
fn the_output_of_7_8_is_read() {
    let outcome = Report::read(MODERN).expect("complete").outcome(&plan());
    assert_eq!(
        (outcome.ops_per_second, outcome.thread_ops_per_second),
        (Some(196_691.0), Some(98_507.0))
    );
    assert_eq!(outcome.wall_ns, Some(508_000_000));
    assert_eq!(
        (outcome.p50_ns, outcome.p9999_ns),
        (Some(1795.24), Some(9_490_625.0))
    );
    assert_eq!(
        (outcome.p999_ns, outcome.max_ns),
        (Some(103_000.0), Some(16_130_876.0))
    );
    let histogram = outcome.histogram.expect("it has one");
    assert!(
        histogram.starts_with("Count: 100000 ") && histogram.ends_with("0.186% \n"),
        "{histogram}"
    );
    assert_eq!((outcome.hit_ratio, outcome.entries), (None, None));
    let warnings = Report::read(MODERN).expect("complete").warnings;
    assert_eq!(
        warnings,
        ["WARNING: Assertions are enabled; benchmarks unnecessarily slow"]
    );
}

#[test]
fn the_output_of_other_versions_is_read() {
    let outcome = Report::read(CLASSIC).expect("complete").outcome(&plan());
    assert_eq!(outcome.ops_per_second, Some(3_670_235.0));
    assert!(
        outcome.title.starts_with("RocksDB 5.18 "),
        "{}",
        outcome.title
    );
    assert_eq!(
        (outcome.p50_ns, outcome.timed_ops, outcome.histogram),
        (None, None, None)
    );
    let newest = MODERN.replace(
        "Thread ops/sec = 98507\n",
        "Thread ops/sec = 98507\nLookup hit ratio: 0.85\n",
    );
    let outcome = Report::read(&newest).expect("complete").outcome(&plan());
    assert_eq!(outcome.hit_ratio, Some(0.85));
}

#[test]
fn an_output_without_a_rate_is_an_error_that_shows_its_last_line() {
    let error = Report::read("Percentages must add to 100.\n\n").expect_err("no rate");
    ends(&error, "the last line is: Percentages must add to 100.");
    for text in [
        "",
        "Complete in",
        "Complete in x s; QPS = 5",
        "Complete in 1 s; QPS = NaN",
        "Complete in 1 s; QPS",
    ] {
        assert!(Report::read(text).is_err(), "{text}");
    }
    // Truncated anywhere, the output is either parsed or rejected.
    for end in 0..MODERN.len() {
        let cut = &MODERN[..end];
        let is_read = Report::read(cut).is_ok();
        assert!(!is_read || cut.contains("ops/sec = 1"), "{cut}");
    }
}

#[test]
fn its_words_give_it_our_keys() {
    let mut plan = plan();
    for (cache_bytes, max_key, value_bytes) in [
        (8 << 20, 1 << 30, 10),
        (1 << 30, 524_288, 8192),
        (64 << 20, 77, 100),
        (5, 1, 1),
    ] {
        (plan.cache_bytes, plan.max_key, plan.value_bytes) = (cache_bytes, max_key, value_bytes);
        let words = words(&plan);
        let number = |name: &str| -> f64 {
            let word = words
                .iter()
                .find_map(|word| word.strip_prefix(name))
                .expect(name);
            word.parse().expect(name)
        };
        let bytes = number("--value_bytes=");
        assert!(bytes % 8.0 == 0.0 && bytes >= 8.0);
        let keys = (number("--cache_size=") / number("--resident_ratio=") / bytes).floor();
        assert!(
            (keys - f64::from(u32::try_from(max_key).expect("small"))).abs() < 0.5,
            "{words:?}"
        );
    }
}

#[test]
fn a_program_that_is_not_rocksdbs_is_refused_by_name() {
    let error = find(Some(Path::new("/bin/true"))).expect_err("not it");
    assert_eq!(
        error,
        "--rocksdb_cache_bench=/bin/true: is not RocksDB's cache_bench"
    );
    let error = find(Some(Path::new("/nowhere/cache_bench"))).expect_err("absent");
    begins(
        &error,
        "--rocksdb_cache_bench=/nowhere/cache_bench: No such file",
    );
}

#[test]
fn what_its_hyper_clock_cannot_do_is_known_beforehand() {
    let mut plan = plan();
    "rocksdb_hyper_clock".clone_into(&mut plan.cache);
    assert_eq!(obstacle(&plan), None);
    plan.value_bytes = 88;
    assert!(obstacle(&plan).is_some_and(|reason| reason.contains("below 96 bytes")));
    "rocksdb_lru".clone_into(&mut plan.cache);
    assert_eq!(obstacle(&plan), None);
}
