use bench_core::host::test_text::{begins, ends, has};

use super::*;
use crate::testing::plan;

fn outcome(plan: &Plan) -> Outcome {
    Outcome {
        verified: Some(true),
        shards: Some(4),
        ops_per_second: Some(3_670_235.9),
        thread_ops_per_second: Some(229_389.0),
        wall_ns: Some(5_231_499_999),
        hits: Some(7),
        hit_ratio: Some(0.000_123_456_7),
        entries: Some(12),
        usage_bytes: Some(1536),
        memory_bytes: Some(3 << 20),
        ..Outcome::of(plan, "CairnDB".to_owned())
    }
}

#[test]
fn the_classic_head_is_that_of_the_five_series_with_what_it_lacks_after() {
    let text = head(&plan(), "CairnDB 1.0 LRU");
    let text = text.replace(
        "WARNING: Assertions are enabled; benchmarks unnecessarily slow\n",
        "",
    );
    let expected = "\
        Cache               : CairnDB 1.0 LRU\n\
        Number of threads   : 2\n\
        Ops per thread      : 20000\n\
        Cache size          : 1048576\n\
        Num shard bits      : 2\n\
        Max key             : 1000\n\
        Populate cache      : 0\n\
        Insert percentage   : 40%\n\
        Lookup percentage   : 50%\n\
        Erase percentage    : 10%\n\
        Value bytes         : 100\n\
        Seed                : 1000\n\
        ----------------------------\n";
    assert_eq!(text, expected);
}

#[test]
fn the_modern_head_has_the_lines_of_7_8() {
    let mut plan = plan();
    "modern".clone_into(&mut plan.profile);
    plan.shard_bits = None;
    let text = head(&plan, "x");
    assert!(text.starts_with(RULE) && text.ends_with(RULE), "{text}");
    for line in [
        "Cache size          : 1.00 MB\n",
        "Num shard bits      : -1\n",
        "Resident ratio      : 0.25\n",
        "Skew degree         : 0\n",
        "Lookup+Insert pct   : 0%\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
}

#[test]
fn the_result_line_is_that_of_each_profile() {
    let mut plan = plan();
    let text = result(&outcome(&plan), &plan);
    begins(
        &text,
        "Complete in 5.231 s; QPS = 3670235\nThread ops/sec = 229389\n",
    );
    has(&text, "\nLookup hit ratio: 0.000123457\n");
    has(
        &text,
        "\nEntries held: 12, charged 1.50 KB of 1.00 MB in 4 shards; the process grew by 3.00 MB\n",
    );
    "modern".clone_into(&mut plan.profile);
    let mut modern = outcome(&plan);
    (modern.populated_entries, modern.populated_bytes) = (Some(10), Some(1165));
    modern.histogram = Some("Count: 5 Average: 1.0000\n".to_owned());
    (
        modern.timed_ops,
        modern.timed_ops_per_second,
        modern.clock_ns,
    ) = (Some(5), Some(9.9), Some(21));
    let text = result(&modern, &plan);
    begins(
        &text,
        "Population complete (10 entries, 116 average charge)\n",
    );
    has(
        &text,
        "\nComplete in 5.231 s; Rough parallel ops/sec = 3670235\n",
    );
    has(
        &text,
        "\nLatency pass of its own: 5 operations at 9 ops/sec; the clock adds about 21 ns ",
    );
    ends(
        &text,
        "\n\nOperation latency (ns):\nCount: 5 Average: 1.0000\n\n",
    );
}

#[test]
fn a_run_that_failed_or_was_skipped_says_so() {
    let plan = plan();
    let failed = outcome(&plan).ended(Status::Failed, "1 of 7 values");
    let text = result(&failed, &plan);
    assert!(
        text.ends_with("\nlru: FAILED (1 of 7 values)\n\n") && !text.contains("none wrong"),
        "{text}"
    );
    let skipped = Outcome::of(&plan, String::new()).ended(Status::Skipped, "not there");
    assert_eq!(result(&skipped, &plan), "lru: skipped (not there)\n\n");
}

#[test]
fn numbers_are_shown_as_printf_shows_them() {
    for (number, shown) in [
        (0.0, "0"),
        (1.0, "1"),
        (0.85, "0.85"),
        (0.723_456_78, "0.723457"),
        (0.000_1, "0.0001"),
        (0.000_012_5, "1.25e-05"),
        (100_000.0, "100000"),
        (1_234_567.0, "1.23457e+06"),
        (999_999.9, "1e+06"),
    ] {
        assert_eq!(general(number), shown);
    }
    assert_eq!(bytes(1 << 30), "1.00 GB");
    assert_eq!(bytes(8 << 20), "8.00 MB");
    assert_eq!(bytes(512), "0.50 KB");
    assert_eq!(bytes(1 << 52), "4096.00 TB");
}
