//! Irregular runs: empty, with one store, resumed, cut short, failed.

use serde_json::json;

use crate::common::{machine, report, rounds, row, with};

#[test]
fn nothing_measured_is_a_page_too() {
    let html = report(&[]).html();
    assert!(html.contains("There are no results in this report."));
    assert_eq!(report(&[]).bars(80), "");
    assert_eq!(report(&[]).csv().lines().count(), 1);
    assert!(report(&[machine()]).markdown().contains("Some CPU"));
}

#[test]
fn one_engine_alone_has_bars_and_no_rivals() {
    let html = report(&rounds("cairndb", "1A", "readseq", 4e7)).html();
    assert!(html.contains("40,000,000 ops/sec"));
    assert!(html.contains("Only CairnDB has a figure here that can be ranked."));
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
    let reported = |second: serde_json::Value| report(&[built("abc"), second]).html();
    let text = "Rows before and after the stop have a different";
    assert!(!reported(built("abc")).contains(text));
    assert!(reported(built("def")).contains(&format!("{text} db_bench: abc, then def.")));
    let moved = reported(with(built("abc"), "cpu", "Other CPU"));
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
    let text = "In 1 more row CairnDB failed or was skipped and a peer was not.";
    assert!(report(&lines).html().contains(text));
}

#[test]
fn rows_in_which_a_peer_failed_are_counted_beside_the_verdict() {
    const WORD: &str = "a peer failed in at least one round and has no rank";
    let mut lines = rounds("cairndb", "1A", "readseq", 4e7);
    lines.extend(rounds("lmdb", "1A", "readseq", 1e6));
    lines.extend(rounds("leveldb", "1A", "readseq", 9e7));
    assert!(!report(&lines).html().contains(WORD));
    lines[7] = with(with(lines[7].clone(), "status", "failed"), "reason", "lost");
    let html = report(&lines).html();
    assert!(html.contains("CairnDB is ahead in 1 of 1"));
    let reported = format!("In 1 row of these {WORD}; CairnDB is ahead in 1 of them.");
    assert!(html.contains(&reported), "{html}");
    // A peer that would be unranked anyway changes nothing.
    for line in &mut lines[6..] {
        *line = with(line.clone(), "ranked", false);
    }
    assert!(!report(&lines).html().contains(WORD));
}

#[test]
fn rounds_left_out_and_rounds_missing_are_reported() {
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
            .bars(80)
            .starts_with("  note: round 4 was left out\n")
    );
}

#[test]
fn rows_with_fewer_rounds_by_the_suite_itself_miss_none() {
    let outline = |fewer: serde_json::Value| json!({"type": "suite", "name": "leveldb-2011", "rounds": 3, "fewer_rounds": fewer});
    let mut lines = rounds("lmdb", "1A", "readseq", 1e6);
    lines.push(row("lmdb", "1C", "fillseq", 1, 1e6));
    let reported = |first: serde_json::Value, lines: &[serde_json::Value]| {
        let all: Vec<_> = std::iter::once(first).chain(lines.to_vec()).collect();
        report(&all).html()
    };
    let word = "fewer rounds than the others of the suite: 1C fillseq.";
    assert!(reported(outline(json!([])), &lines).contains(word));
    let of = |data: &str, rounds: u32| json!([{"section": "1C", "data": data, "rounds": rounds}]);
    assert!(!reported(outline(of("synthetic", 1)), &lines).contains("fewer rounds"));
    assert!(reported(outline(of("json", 1)), &lines).contains(word));
    assert!(reported(outline(of("synthetic", 2)), &lines).contains(word));
}

#[test]
fn a_run_that_has_not_ended_says_so() {
    let suite = json!({"type": "suite", "name": "leveldb-2011", "decided": {}});
    let mut lines = vec![machine(), suite];
    lines.extend(rounds("lmdb", "1A", "readseq", 1e6));
    let word = "Suite leveldb-2011 did not run to its end";
    let stopped = report(&lines);
    assert!(stopped.html().contains(word));
    let note = format!("  note: {word}");
    assert!(stopped.bars(80).starts_with(&note), "{}", stopped.bars(80));
    lines.push(json!({"type": "end", "suite": "leveldb-2011"}));
    let ended = report(&lines);
    assert!(!ended.html().contains(word));
    let again = bench_report::Report::from_json(&ended.json().expect("plain data"));
    assert!(!again.expect("written so").html().contains(word));
    lines.push(row("lmdb", "1C", "fillseq", 1, 1e6));
    assert!(report(&lines).html().contains(word), "it goes on");
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
    assert!(html.contains("Only LMDB has a figure here"));
    assert!(!html.contains("2,000,000"));
}

#[test]
fn one_thread_is_no_section_of_the_page_of_2011() {
    let of = |section: &str| report(&rounds("lmdb", section, "readrandom", 1e6)).bars(100);
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
    assert!(html.contains("Random Reads (readrandom), as loaded</h4>"));
    assert!(html.contains("Random Reads (readrandom), after compact</h4>"));
    assert!(html.contains("Compaction (compact)</h4>"));
    assert!(html.contains("200 ms"), "an event is shown as a time");
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
    // From 100 ns to 10 ms are five decades; 950 ns is 0.978 / 5 from the left.
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
fn rows_of_ours_that_are_too_quick_for_a_strip_are_counted() {
    let seconds = |engine: &str, count: usize| {
        let row = row(engine, "1D", "fillrandom", 1, 700.0);
        with(row, "intervals", vec![1000; count])
    };
    let reported = "In 1 of the 1 row below with a figure of CairnDB it was over too soon";
    let page = |ours| report(&[seconds("lmdb", 6), seconds("cairndb", ours)]).html();
    assert!(page(2).contains(reported));
    assert!(!page(5).contains("too soon for a strip"));
    // If there is no strip at all, the chapter says so.
    let html = report(&[seconds("lmdb", 2), seconds("cairndb", 2)]).html();
    assert!(html.contains("No row of this run took that long.") && !html.contains("too soon"));
}

#[test]
fn the_harness_is_distinguished() {
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

#[test]
fn the_bare_loop_is_a_measure_and_no_rival() {
    let mut lines = rounds("cairndb", "2C", "fillseqsync", 9e3);
    lines.extend(rounds("lmdb", "2C", "fillseqsync", 3e3));
    let bare = rounds("disk", "2C", "fillseqsync", 1e4);
    lines.extend(bare.into_iter().map(|line| with(line, "ranked", false)));
    let declined = json!({
        "engine": "disk", "section": "1C", "workload": "fillseq", "round": 1, "status": "skipped",
        "reason": "not bound",
    });
    lines.push(declined);
    let html = report(&lines).html();
    assert!(html.contains("CairnDB does 0.90 times the 10,000 per second of the bare loop."));
    assert!(html.contains("CairnDB is fastest, 3.00 times LMDB, the next."));
    assert!(!html.contains("faster still") && !html.contains("not bound"));
    assert!(!html.contains("LMDB and Disk") && !html.contains("CairnDB and Disk"));
}

#[test]
fn of_a_suite_that_trims_its_rounds_the_last_instance_counts() {
    let of = |engine: &str, instance: u32, rate: f64| {
        let mut lines = rounds(engine, "random read", "readrandom", rate);
        for line in &mut lines {
            *line = with(
                with(line.clone(), "instance", instance),
                "suite",
                "wiredtiger",
            );
        }
        lines
    };
    let mut lines = vec![json!({
        "type": "suite", "name": "wiredtiger", "aggregate": "trimmed",
        "sections": [{"name": "random read"}],
    })];
    for (instance, ours) in [(1, 9e5), (2, 8e5), (3, 3e6)] {
        lines.extend(of("cairndb", instance, ours));
        lines.extend(of("leveldb", instance, 1e6));
    }
    let whole = report(&lines);
    let html = whole.html();
    let wins = "CairnDB is ahead in 1 of 1, ties in 0 and is behind in 0.";
    assert!(html.contains(wins));
    assert!(html.contains("2 tables of earlier instances are in report.csv and report.json."));
    assert!(!html.contains("900,000") && html.contains("3,000,000"));
    // Two stores with three instances each, of which one counts.
    let csv = whole.csv();
    assert_eq!(csv.matches(",true,false,\r\n").count(), 2, "{csv}");
    assert_eq!(csv.matches(",false,false,\r\n").count(), 4, "{csv}");
    // A flag sets the aggregation of rounds and hides nothing.
    lines[0]["aggregate_asked"] = true.into();
    let html = report(&lines).html();
    assert!(html.contains("CairnDB is ahead in 1 of 3") && html.contains("900,000"));
    // Unless the suite specifies otherwise, every instance has its own table.
    let html = report(&lines[1..]).html();
    assert!(html.contains("CairnDB is ahead in 1 of 3"));
}

#[test]
fn flushes_that_nobody_counted_are_not_claimed() {
    const NONE: &str = "Flushes of the device could not be counted in the synchronous rows";
    let sync = |section: &str| {
        let rows = rounds("lmdb", section, "fillseqsync", 1e3);
        rows.into_iter().map(|row| with(row, "durability", "sync"))
    };
    let mut lines = vec![with(machine(), "write_cache", "write through")];
    lines.extend(sync("2C"));
    let html = report(&lines).html();
    assert!(html.contains(NONE) && html.contains("(write cache: write through)"));
    assert!(!html.contains("flushes that reached"));
    lines.extend(sync("FS").map(|row| with(row, "fsyncs", 2_000_000)));
    let html = report(&lines).html();
    assert!(html.contains("could not be counted in some synchronous rows (2C fillseqsync)"));
    lines.drain(1..4);
    assert!(
        !report(&lines)
            .html()
            .contains("Flushes of the device could not")
    );
    // A row with a weaker guarantee needs no flush.
    assert!(
        !report(&rounds("lmdb", "1C", "fillseq", 1e6))
            .html()
            .contains(NONE)
    );
}

#[test]
fn a_reason_that_all_rows_of_a_store_share_is_reported_once() {
    const REASON: &str = "the directory holds something that db_bench did not make";
    let mut lines = Vec::new();
    for number in 1..=7 {
        let section = format!("S{number}");
        lines.extend(rounds("lmdb", &section, "fillseq", 1e6));
        lines.push(json!({
            "engine": "sqlite3", "suite": "leveldb-2011", "section": section, "workload": "fillseq",
            "instance": 1, "round": 1, "status": "failed", "reason": REASON,
        }));
    }
    let html = report(&lines).html();
    assert_eq!(html.matches(REASON).count(), 1);
    assert!(html.contains("all its 7 rows"));
    assert_eq!(
        html.matches("the same reason in 7 rows: see Rows without a Figure")
            .count(),
        7
    );
    // A few rows each repeat the reason.
    let html = report(&lines[..8]).html();
    assert_eq!(html.matches(REASON).count(), 3);
}
