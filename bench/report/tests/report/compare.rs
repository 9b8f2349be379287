//! Rows with a concurrent writer, and rows that merge.

use serde_json::Value;

use crate::common::{report, rounds, row, with};

fn beside(engine: &str, rate: f64, writer_ops: u64) -> Vec<Value> {
    let lines = rounds(engine, "1 thread", "readwhilemerging", rate);
    lines
        .into_iter()
        .map(|line| with(line, "writer_ops", writer_ops))
        .collect()
}

#[test]
fn the_writers_rate_is_in_every_form() {
    let mut lines = beside("cairndb", 1e6, 500_000);
    lines.extend(beside("leveldb", 2e6, 1000));
    let report = report(&lines);
    assert!(
        report
            .html()
            .contains("<td class=\"writer\">writer 500k</td>")
    );
    assert!(report.html().contains(
        "; the writer: lowest 495,000, figure 500,000, highest 510,000, of 3 measurements"
    ));
    assert!(report.markdown().contains("| writer 2.00k |"));
    let sentence = "The concurrent writers did between 2,000 (LevelDB) and 500,000 (CairnDB) operations per second";
    assert!(report.html().contains(sentence), "{}", report.html());
    assert!(
        report.bars(140).contains("  writer 500k"),
        "{}",
        report.bars(140)
    );
    let csv = report.csv();
    assert!(
        csv.lines()
            .next()
            .is_some_and(|head| head.ends_with(",writer_ops_per_sec"))
    );
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
fn no_writer_no_column() {
    let report = report(&rounds("lmdb", "1B", "readrandom", 1e6));
    assert!(!report.html().contains("class=\"writer\""));
    assert!(!report.markdown().contains("writer |"));
}

#[test]
fn cpu_time_is_divided_among_the_writers_operations_too() {
    let line = row("cairndb", "1 thread", "readwhilewriting", 1, 1e6);
    let line = with(
        with(line, "cpu_user_ns", 3_000_000_000_u64),
        "writer_ops",
        500_000,
    );
    let html = report(&[line]).html();
    assert!(
        html.contains(">2.00 \u{b5}s<"),
        "three seconds for a million and a half"
    );
}

#[test]
fn merges_by_hand_are_marked_and_explained() {
    let mut lines = rounds("cairndb", "1 thread", "mergerandom", 1e6);
    let by_hand = rounds("leveldb", "1 thread", "mergerandom", 2e5);
    lines.extend(by_hand.into_iter().map(|line| with(line, "by_hand", true)));
    let variant: Vec<Value> = lines[3..]
        .iter()
        .map(|line| with(line.clone(), "variant", "bloom10"))
        .collect();
    let reported = report(&lines);
    let legend = "\u{2020} marks a store without a merge operation";
    let sentence = "LevelDB\u{2020} has no merge operation: each merge is a read and a put there";
    for text in [reported.html(), reported.markdown(), reported.bars(400)] {
        assert!(
            text.contains("CairnDB is fastest, 5.00 times LevelDB\u{2020}, the next."),
            "{text}"
        );
        assert!(text.contains(sentence) && text.contains(legend), "{text}");
    }
    lines.extend(variant);
    let html = report(&lines).html();
    assert!(html.contains(sentence), "once, whatever its variants");
    let html = reported.html();
    assert!(
        html.contains("<th scope=\"row\">LevelDB\u{2020}</th>"),
        "behind the name at the bar"
    );
    assert!(html.contains("200k\u{2020}"), "at a glance");
    assert!(html.contains("Merging favours CairnDB, RocksDB and SQLite."));
    let csv = reported.csv();
    let line = csv
        .lines()
        .find(|line| line.contains(",leveldb,"))
        .expect("a line");
    assert!(line.ends_with(",true,"), "{line}");
    assert!(!csv.contains('\u{2020}'), "{csv}");
    let plain = report(&rounds("leveldb", "1 thread", "mergerandom", 2e5));
    assert!(!plain.html().contains('\u{2020}') && !plain.bars(400).contains('\u{2020}'));
}

#[test]
fn latencies_of_one_pass_are_no_median_of_rounds() {
    let pass = |round: u32| {
        let line = with(row("lmdb", "1B", "readrandom", round, 1e6), "p50_ns", 900);
        with(line, "pass", "latency")
    };
    let mut lines = rounds("lmdb", "1B", "readrandom", 1e6);
    lines.push(pass(1));
    let html = report(&lines).html();
    assert!(html.contains("and the longest, of one pass: "));
    assert!(!html.contains("the median of the rounds"));
    lines.push(pass(2));
    assert!(
        report(&lines)
            .html()
            .contains("and the longest, the median of the passes")
    );
}
