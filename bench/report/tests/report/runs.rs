//! Irregular runs: empty, with one store, failed, skipped, without rank.

use serde_json::json;

use crate::common::{machine, page, report, rounds, row, sheet, with};

#[test]
fn nothing_measured_is_a_page_too() {
    let empty = report(&[]);
    assert!(
        empty
            .markdown()
            .contains("There are no results in this report.")
    );
    assert!(empty.html().contains("<pre></pre>"));
    assert_eq!(empty.csv().lines().count(), 1);
    assert!(report(&[machine()]).markdown().contains("Some CPU"));
}

#[test]
fn one_engine_alone_has_rows_and_no_verdict() {
    let lines = rounds("cairndb", "1A", "readseq", 4e7);
    let text = page(&lines);
    assert!(text.contains("Only CairnDB has a figure here that can be ranked."));
    let data = crate::common::data(&report(&lines).html());
    assert_eq!(data["verdict"], "");
    assert_eq!(data["peers"], json!([]));
}

#[test]
fn rows_that_only_we_failed_are_counted_beside_the_verdict() {
    let mut lines = rounds("cairndb", "1A", "readseq", 4e7);
    lines.extend(rounds("lmdb", "1A", "readseq", 1e6));
    assert!(!page(&lines).contains("was skipped and a peer was not"));
    let failed = with(row("cairndb", "1C", "fillseq", 1, 1.0), "status", "failed");
    lines.push(with(failed, "reason", "no space left"));
    lines.extend(rounds("lmdb", "1C", "fillseq", 1e6));
    assert!(
        page(&lines).contains("In 1 more row CairnDB failed or was skipped and a peer was not.")
    );
}

#[test]
fn rows_in_which_a_peer_failed_are_counted_beside_the_verdict() {
    const WORD: &str = "a peer failed in at least one round and has no rank";
    let mut lines = rounds("cairndb", "1A", "readseq", 4e7);
    lines.extend(rounds("lmdb", "1A", "readseq", 1e6));
    lines.extend(rounds("leveldb", "1A", "readseq", 9e7));
    assert!(!page(&lines).contains(WORD));
    lines[7] = with(with(lines[7].clone(), "status", "failed"), "reason", "lost");
    let text = page(&lines);
    assert!(text.contains("it is ahead in 1 of 1 rows"));
    let reported = format!("In 1 row of these {WORD}; CairnDB is ahead in 1 of them.");
    assert!(text.contains(&reported), "{text}");
    // A peer that would be unranked anyway changes nothing.
    for line in &mut lines[6..] {
        *line = with(line.clone(), "ranked", false);
    }
    assert!(!page(&lines).contains(WORD));
}

#[test]
fn a_failure_in_one_round_fails_the_row_with_its_reason() {
    let mut lines = rounds("lmdb", "1A", "readseq", 1e6);
    lines.extend(rounds("rocksdb", "1A", "readseq", 2e6));
    lines[4] = json!({
        "engine": "rocksdb", "suite": "leveldb-2011", "section": "1A", "workload": "readseq",
        "instance": 1, "round": 2, "status": "failed", "reason": "1 wrong answer",
    });
    let text = page(&lines);
    assert!(text.contains("RocksDB\nfailed\n1 wrong answer"), "{text}");
    assert!(text.contains("RocksDB failed.") && text.contains("Only LMDB has a figure here"));
    assert!(!text.contains("2.00M"));
    let missing = sheet(&lines, "Rows without a figure");
    assert_eq!(
        missing,
        [["RocksDB", "failed: 1 wrong answer", "1A readseq"]]
    );
    assert!(
        report(&lines)
            .summary(120)
            .contains("failed: RocksDB, 1A readseq: 1 wrong answer")
    );
}

#[test]
fn a_reason_that_all_rows_of_a_store_share_is_reported_once() {
    let mut lines = Vec::new();
    for number in 1..=7 {
        let section = format!("S{number}");
        lines.extend(rounds("lmdb", &section, "fillseq", 1e6));
        let skipped = with(
            row("kyoto_treedb", &section, "fillseq", 1, 1.0),
            "status",
            "skipped",
        );
        lines.push(with(skipped, "reason", "not supported"));
    }
    let missing = sheet(&lines, "Rows without a figure");
    assert_eq!(
        missing,
        [["Kyoto TreeDB", "skipped: not supported", "all its 7 rows"]]
    );
    assert!(page(&lines).contains("Kyoto TreeDB\nskipped\nnot supported"));
}

#[test]
fn one_thread_is_no_section_of_the_page_of_2011() {
    let of = |section: &str| page(&rounds("lmdb", section, "readrandom", 1e6));
    assert!(of("1B").contains("\n1B readrandom\n"));
    assert!(of("1 thread").contains("\n1 thread: readrandom\n"));
}

#[test]
fn reads_after_a_compaction_are_another_table() {
    let mut lines = vec![row("lmdb", "1B", "readrandom", 1, 1e6)];
    lines.push(row("lmdb", "1B", "compact", 1, 5.0));
    lines.push(with(row("lmdb", "1B", "readrandom", 1, 2e6), "instance", 2));
    let text = page(&lines);
    for label in [
        "1B readrandom",
        "1B readrandom, after compact",
        "1B compact",
    ] {
        assert!(text.contains(&format!("\n{label}\n")), "{label}: {text}");
    }
    assert!(text.contains("200 ms"), "an event is shown as a time");
}

#[test]
fn the_harness_is_distinguished() {
    let mut lines = rounds("cairndb", "1C", "fillseq", 5e6);
    lines.extend(rounds("null", "1C", "fillseq", 2e7));
    lines.extend(rounds("null", "1D", "fillrandom", 1e8));
    let harness = sheet(&lines, "What the harness costs");
    assert_eq!(
        harness[0],
        ["1C fillseq", "50.0 ns (over)", "25.0 ns", "200 ns", "25 %"]
    );
    assert_eq!(harness[1], ["1D fillrandom", "10.0 ns", "25.0 ns", "", ""]);
    assert!(
        !page(&lines).contains("20.0M"),
        "no row for what stores nothing"
    );
}

#[test]
fn the_bare_loop_is_a_measure_and_no_rival() {
    let mut lines = rounds("cairndb", "2C", "fillseqsync", 9e3);
    lines.extend(rounds("lmdb", "2C", "fillseqsync", 3e3));
    let bare = rounds("disk", "2C", "fillseqsync", 1e4);
    lines.extend(bare.into_iter().map(|line| with(line, "ranked", false)));
    lines.push(json!({
        "engine": "disk", "section": "1C", "workload": "fillseq", "round": 1, "status": "skipped",
        "reason": "not bound",
    }));
    let text = page(&lines);
    assert!(text.contains("CairnDB does 0.90 times the 10,000 per second of the bare loop."));
    assert!(text.contains("CairnDB is fastest, 3.00 times LMDB, the next."));
    assert!(!text.contains("faster still") && !text.contains("not bound"));
}

#[test]
fn rows_of_a_section_are_compared_with_the_device_and_lukewarm_ones_marked() {
    let mut lines = rounds("cairndb", "1", "readrandom", 18e3);
    let lmdb = rounds("lmdb", "1", "readrandom", 9e3).into_iter();
    lines.extend(lmdb.map(|line| with(line, "cached_before", 2 << 20)));
    let device = rounds("cairndb", "1", "depth", 2e4).into_iter();
    lines.extend(device.map(|line| with(line, "ranked", false)));
    let device = rounds("cairndb", "2", "depth", 7e4).into_iter();
    lines.extend(device.map(|line| with(line, "ranked", false)));
    lines.extend(rounds("cairndb", "3", "readrandom", 18e3));
    let text = page(&lines);
    let share = "CairnDB does 0.90 times the 20,000 random reads of 4 KB per second that the \
                 device does with as many threads.";
    assert_eq!(text.matches(share).count(), 1, "{text}");
    assert_eq!(text.matches("that the device does").count(), 1);
    let lukewarm = "LMDB was lukewarm: part of the database was in memory at the start.";
    assert!(text.contains(lukewarm), "{text}");
}
