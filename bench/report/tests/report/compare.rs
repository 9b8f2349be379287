//! Sentences under a table: writers, merges, filters; and what rows cost.

use serde_json::{Value, json};

use crate::common::{page, report, rounds, row, sheet, with};

fn changed(lines: Vec<Value>, field: &str, value: impl Into<Value>) -> Vec<Value> {
    let value = value.into();
    let change = |line| with(line, field, value.clone());
    lines.into_iter().map(change).collect()
}

#[test]
fn the_writers_rate_is_in_every_form() {
    let beside = |engine, rate, ops: u64| {
        changed(
            rounds(engine, "1 thread", "readwhilemerging", rate),
            "writer_ops",
            ops,
        )
    };
    let mut lines = beside("cairndb", 1e6, 500_000);
    lines.extend(beside("leveldb", 2e6, 1000));
    let sentence = "The concurrent writers did between 2,000 (LevelDB) and 500,000 (CairnDB) operations per second";
    let text = page(&lines);
    assert!(
        text.contains("\n500k\n") && text.contains(sentence),
        "{text}"
    );
    let report = report(&lines);
    assert!(report.markdown().contains("| writer |") && report.markdown().contains("| 2.00k |"));
    let csv = report.csv();
    let ours = csv.lines().find(|line| line.contains(",cairndb,"));
    let rate = ours
        .and_then(|line| line.rsplit(',').next())
        .expect("a cell");
    assert!(
        rate.starts_with("500000") || rate.starts_with("499999.9"),
        "{rate}"
    );
    let json: Value = serde_json::from_str(&report.json().expect("plain data")).expect("JSON");
    let reported = json["results"][0]["writer_ops_per_sec"]["middle"].as_f64();
    assert!(
        reported.is_some_and(|rate| (rate - 5e5).abs() < 1.0),
        "{reported:?}"
    );
    assert_eq!(json["results"][0]["by_hand"], false);
}

#[test]
fn merges_by_hand_are_marked_and_explained() {
    let mut lines = rounds("cairndb", "1 thread", "mergerandom", 1e6);
    lines.extend(changed(
        rounds("leveldb", "1 thread", "mergerandom", 2e5),
        "by_hand",
        true,
    ));
    let sentence = "LevelDB\u{2020} has no merge operation: each merge is a read and a put there";
    for text in [page(&lines), report(&lines).markdown()] {
        assert!(
            text.contains("CairnDB is fastest, 5.00 times LevelDB\u{2020}, the next."),
            "{text}"
        );
        assert!(text.contains(sentence), "{text}");
        assert!(
            text.contains("marks a store without a merge operation"),
            "{text}"
        );
    }
    let csv = report(&lines).csv();
    let line = csv.lines().find(|line| line.contains(",leveldb,"));
    assert!(line.is_some_and(|line| line.ends_with(",true,")), "{csv}");
    assert!(!csv.contains('\u{2020}'), "{csv}");
}

#[test]
fn rows_in_which_only_ours_has_filters_say_so() {
    let rows = |engine: &str, workload: &str, option: [&str; 2]| {
        changed(
            rounds(engine, "1B", workload, 1e6),
            "options",
            json!([option]),
        )
    };
    let mut lines = Vec::new();
    for workload in ["readrandom", "readseq"] {
        lines.extend(rows("cairndb", workload, ["filter_bits", "10"]));
        lines.extend(rows("leveldb", workload, ["bloom_bits", "none"]));
        lines.extend(rows("rocksdb", workload, ["filter_policy", "nullptr"]));
    }
    let sentence = "CairnDB has filters here; LevelDB and RocksDB have none in any variant.";
    assert_eq!(
        page(&lines).matches(sentence).count(),
        1,
        "only where keys are looked up"
    );
    lines.extend(changed(
        rows("leveldb", "readrandom", ["bloom_bits", "10"]),
        "variant",
        "bloom10",
    ));
    assert!(page(&lines).contains("CairnDB has filters here; RocksDB has none in any variant."));
}

#[test]
fn costs_are_divided_by_what_they_are_for() {
    let mut record = row("cairndb", "1 thread", "readwhilewriting", 1, 1e6);
    for (field, value) in [
        ("cpu_user_ns", 2_500_000_000_u64),
        ("cpu_sys_ns", 500_000_000),
        ("writer_ops", 500_000),
        ("disk_bytes", 58_000_000),
        ("live_bytes", 46_400_000),
        ("engine_write_bytes", 232_000_000),
        ("settle_ns", 1_250_000_000),
        ("anon_rss_peak", 8 << 20),
    ] {
        record = with(record, field, value);
    }
    let text = report(&[record]).markdown();
    // Three seconds for a million reads and half a million writes, and so on.
    let costs = "| 2.00 \u{b5}s | 333 ns | 8.00 | 1.25 s | 55.3 | 1.25 | 2.00 |";
    assert!(text.contains(costs), "{text}");
}

#[test]
fn dead_entries_are_those_of_the_pass_that_counts_them() {
    let rated = with(row("rocksdb", "1", "queue", 1, 1e6), "late_ns", 1_500);
    let timed = with(
        row("rocksdb", "1", "queue", 1, 1e6),
        "passed_entries",
        12_500_000,
    );
    let text = report(&[rated, with(timed, "pass", "latency")]).markdown();
    assert!(text.contains("| 1.50 \u{b5}s | 12.5 |"), "{text}");
}

#[test]
fn costs_in_which_a_peer_is_cheaper_are_counted() {
    let mut lines = Vec::new();
    for (engine, mapped) in [("cairndb", 64_u64 << 20), ("leveldb", 8 << 20)] {
        let rows = rounds(engine, "1B", "readrandom", 1e6);
        lines.extend(changed(rows, "mapped_rss_peak", mapped));
    }
    let costs = sheet(&lines, "Where a peer needs less (by more than 5 %)");
    assert_eq!(
        costs,
        [[
            "mapped MB, peak",
            "1 of 1",
            "1B readrandom",
            "LevelDB",
            "8.00x"
        ]]
    );
}

#[test]
fn percentiles_come_from_their_own_pass() {
    let mut lines = rounds("lmdb", "1B", "readrandom", 1e6);
    let mut timed = with(row("lmdb", "1B", "readrandom", 1, 1e5), "pass", "latency");
    for (field, value) in [("p50_ns", 950), ("p99_ns", 21_000), ("max_ns", 7_000_000)] {
        timed = with(timed, field, value);
    }
    lines.push(timed);
    let text = report(&lines).markdown();
    assert!(
        text.contains("| store | rate | rounds | p50 | p99 | max |"),
        "{text}"
    );
    assert!(
        text.contains("| LMDB | 1.00M | 990k to 1.02M | 950 ns | 21.0 \u{b5}s | 7.00 ms |"),
        "{text}"
    );
}

#[test]
fn stalls_show_second_by_second() {
    let seconds = |count: usize| {
        let values: Vec<u64> = [1000, 1000, 10, 1000, 300]
            .into_iter()
            .take(count)
            .collect();
        with(
            row("lmdb", "1D", "fillrandom", 1, 700.0),
            "intervals",
            values,
        )
    };
    assert!(page(&[seconds(5)]).contains("lowest second 10, highest 1.00k"));
    assert!(
        !page(&[seconds(3)]).contains("lowest second 10"),
        "over too soon"
    );
}

#[test]
fn the_same_row_in_several_places_is_compared() {
    let mut lines = Vec::new();
    for (place, rate) in [("ext4, /a", 1e6), ("tmpfs, /b", 3e6)] {
        lines.extend(changed(
            rounds("lmdb", "FS", "fillseq", rate),
            "file_system",
            place,
        ));
    }
    let several = "The same rows in several sections";
    let figures = "FS on ext4, /a: 1.00M; FS on tmpfs, /b: 3.00M";
    assert_eq!(
        sheet(&lines, several),
        [["fillseq", "LMDB", figures, "3.00x"]]
    );
    assert!(page(&lines).contains("FS fillseq, on tmpfs, /b"));
    let mut lines = rounds("lmdb", "1 M", "fillrandom", 1e6);
    assert!(sheet(&lines, several).is_empty());
    lines.extend(rounds("lmdb", "10 M", "fillrandom", 5e5));
    let figures = "1 M: 1.00M; 10 M: 500k";
    assert_eq!(
        sheet(&lines, several),
        [["fillrandom", "LMDB", figures, "0.50x"]]
    );
}
