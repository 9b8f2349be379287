//! Runs that are not as they should be: empty, alone, resumed, cut short, failed.

use serde_json::json;

use crate::common::{machine, report, rounds, row, with};

#[test]
fn nothing_measured_is_a_page_too() {
    let html = report(&[]).html();
    assert!(html.contains("There are no results in this report."));
    assert_eq!(report(&[]).summary(80), "");
    assert_eq!(report(&[]).csv().lines().count(), 1);
    assert!(report(&[machine()]).markdown().contains("Some CPU"));
}

#[test]
fn one_engine_alone_has_bars_and_no_rivals() {
    let html = report(&rounds("cairndb", "1A", "readseq", 4e7)).html();
    assert!(html.contains("40,000,000 ops/sec"));
    assert!(html.contains("CairnDB alone has a figure here that can be ranked."));
    assert!(html.contains("One store was measured"));
    assert!(!html.contains("to best peer"));
}

#[test]
fn a_resumed_run_says_so_once() {
    let mut lines = vec![machine()];
    lines.extend(rounds("lmdb", "1A", "readseq", 1e6));
    lines.push(machine());
    let html = report(&lines).html();
    assert!(html.contains("This run was stopped and resumed: it was started 2 times."));
    assert!(html.contains("Start 2</h3>"));
    lines.push(json!({"type": "note", "text": "resumed after 9 rows"}));
    let html = report(&lines).html();
    assert!(html.contains("resumed after 9 rows"));
    assert!(!html.contains("it was started 2 times"));
}

#[test]
fn a_run_resumed_by_another_build_or_elsewhere_says_so() {
    let built = |commit: &str| with(machine(), "commit", commit);
    let told = |second: serde_json::Value| report(&[built("abc"), second]).html();
    let text = "Rows before and after the stop are not of the same";
    assert!(!told(built("abc")).contains(text));
    assert!(told(built("def")).contains(&format!("{text} db_bench: abc, then def.")));
    let moved = told(with(built("abc"), "cpu", "Other CPU"));
    assert!(moved.contains(&format!("{text} processor: Some CPU, then Other CPU.")));
}

#[test]
fn rows_that_only_we_failed_are_counted_beside_the_verdict() {
    let mut lines = rounds("cairndb", "1A", "readseq", 4e7);
    lines.extend(rounds("lmdb", "1A", "readseq", 1e6));
    assert!(
        !report(&lines)
            .html()
            .contains("was skipped and a peer was not")
    );
    let failed = with(row("cairndb", "1C", "fillseq", 1, 1.0), "status", "failed");
    lines.push(with(failed, "reason", "no space left"));
    lines.extend(rounds("lmdb", "1C", "fillseq", 1e6));
    let text = "In 1 row more CairnDB failed or was skipped and a peer was not.";
    assert!(report(&lines).html().contains(text));
}

#[test]
fn rounds_left_out_and_rounds_missing_are_told() {
    let mut lines = rounds("lmdb", "1A", "readseq", 1e6);
    lines.extend(rounds("leveldb", "1A", "readseq", 1e6));
    lines.pop();
    lines.push(json!({"type": "note", "text": "round 4 was left out"}));
    let report = report(&lines);
    assert!(report.html().contains("round 4 was left out"));
    assert!(
        report
            .html()
            .contains("1 row has fewer rounds than the others of the suite: 1A readseq.")
    );
    assert!(
        report
            .summary(80)
            .starts_with("  note: round 4 was left out\n")
    );
}

#[test]
fn one_round_has_no_ties() {
    let lines = [
        row("cairndb", "1A", "readseq", 1, 1e6),
        row("lmdb", "1A", "readseq", 1, 1.001e6),
    ];
    let html = report(&lines).html();
    assert!(html.contains("One round only"));
    assert!(html.contains("LMDB is fastest, 1.00 times CairnDB, the next."));
}

#[test]
fn a_failure_in_one_round_fails_the_row_with_its_reason() {
    let mut lines = rounds("lmdb", "1A", "readseq", 1e6);
    lines.extend(rounds("rocksdb", "1A", "readseq", 2e6));
    lines[4] = json!({
        "engine": "rocksdb", "suite": "leveldb-2011", "section": "1A", "workload": "readseq",
        "instance": 1, "round": 2, "status": "failed", "reason": "1 wrong answer",
    });
    let report = report(&lines);
    assert!(report.any_failed());
    let html = report.html();
    assert!(html.contains(r#"<tr class="missing failed">"#));
    assert!(html.contains("failed: 1 wrong answer"));
    assert!(html.contains("RocksDB failed."));
    assert!(html.contains("LMDB alone has a figure here"));
    assert!(!html.contains("2,000,000"));
}

#[test]
fn one_thread_is_no_section_of_the_page_of_2011() {
    let of = |section: &str| report(&rounds("lmdb", section, "readrandom", 1e6)).summary(100);
    assert!(of("1").contains(" 1B readrandom\n") && of("1B").contains(" 1B readrandom\n"));
    assert!(of("1 thread").contains(" 1 thread: readrandom\n"));
}

#[test]
fn an_engine_that_cannot_keeps_its_row() {
    let mut lines = rounds("lmdb", "2B", "fillseqbatch", 1e6);
    lines.push(json!({
        "engine": "kyoto_treedb", "suite": "leveldb-2011", "section": "2B", "workload": "fillseqbatch",
        "instance": 1, "round": 1, "status": "skipped", "reason": "not supported by kyoto_treedb",
    }));
    let html = report(&lines).html();
    assert!(html.contains("skipped</td><td class=\"reason\""));
    assert!(html.contains("skipped: not supported by kyoto_treedb"));
}

#[test]
fn reads_after_a_compaction_are_another_table() {
    let mut lines = vec![row("lmdb", "1B", "readrandom", 1, 1e6)];
    lines.push(row("lmdb", "1B", "compact", 1, 5.0));
    lines.push(with(row("lmdb", "1B", "readrandom", 1, 2e6), "instance", 2));
    let html = report(&lines).html();
    assert!(html.contains("Random Reads (readrandom), as left</h4>"));
    assert!(html.contains("Random Reads (readrandom), after compact</h4>"));
    assert!(html.contains("Compaction (compact)</h4>"));
    assert!(html.contains("200 ms"), "an event is told as a time");
}

#[test]
fn percentiles_come_from_their_own_pass() {
    let mut lines = rounds("lmdb", "1B", "readrandom", 1e6);
    let mut timed = with(row("lmdb", "1B", "readrandom", 1, 1e5), "pass", "latency");
    for (field, value) in [
        ("p50_ns", 950),
        ("p90_ns", 1500),
        ("p99_ns", 21_000),
        ("max_ns", 7_000_000),
    ] {
        timed = with(timed, field, value);
    }
    lines.push(timed);
    let html = report(&lines).html();
    assert!(html.contains("1,000,000 ops/sec"));
    assert!(
        !html.contains("100,000 ops/sec"),
        "the timed pass gives no rate"
    );
    assert!(html.contains("data-label=\"p50\">950 ns"));
    assert!(html.contains("data-label=\"p99.9\">-"));
    assert!(html.contains("data-label=\"max\">7.00 ms"));
    // From 100 ns to 10 ms are five decades; 950 ns stand 0.978 / 5 from the left.
    assert!(html.contains("cx=\"19.55%\""));
}

#[test]
fn stalls_show_second_by_second() {
    let intervals = [1000, 1000, 10, 1000, 300];
    let line = with(
        row("lmdb", "1D", "fillrandom", 1, 700.0),
        "intervals",
        intervals.to_vec(),
    );
    let report = report(&[line]);
    assert!(
        report
            .html()
            .contains("lowest second 10, highest 1.00k ops/sec")
    );
    assert!(
        report
            .markdown()
            .contains("\u{2588}\u{2588}\u{2581}\u{2588}")
    );
}

#[test]
fn the_harness_is_told_apart() {
    let mut lines = rounds("cairndb", "1C", "fillseq", 5e6);
    lines.extend(rounds("null", "1C", "fillseq", 2e7));
    lines.extend(rounds("null", "1D", "fillrandom", 1e8));
    let html = report(&lines).html();
    assert!(html.contains("50.0 ns <span class=\"tag\">over</span>"));
    assert!(html.contains(">25 %<"));
    assert!(
        !html.contains("20,000,000 ops/sec"),
        "no bar for what stores nothing"
    );
}
