//! Two builds and two files compared.

use bench_report::Comparison;
use serde_json::Value;

use crate::common::{rated, rounds, with};

const OURS: [&str; 2] = ["cairndb", "cairndb-against"];

fn text(lines: &[Value]) -> String {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    lines.join("\n")
}

fn builds(lines: &[Value]) -> Comparison {
    Comparison::of_builds(&text(lines), OURS[0], OURS[1]).expect("well formed")
}

/// Rounds that differ by a factor of two, in both builds alike, hide nothing.
#[test]
fn builds_are_compared_round_by_round() {
    let row = |workload, new: &[f64], old: &[f64]| {
        let mut lines = rated(OURS[0], "1", workload, new);
        lines.extend(rated(OURS[1], "1", workload, old));
        lines
    };
    let old = [1e6, 2e6, 1.5e6, 1.1e6];
    let times = |factors: [f64; 4]| -> Vec<f64> {
        old.iter()
            .zip(factors)
            .map(|(rate, factor)| rate * factor)
            .collect()
    };
    let mut lines = row("fillseq", &times([1.10, 1.11, 1.10, 1.09]), &old);
    lines.extend(row("readseq", &times([0.90, 0.89, 0.90, 0.91]), &old));
    lines.extend(row("readrandom", &times([1.10, 0.89, 1.10, 0.91]), &old));
    lines.extend(row("readhot", &times([1.005, 1.005, 1.005, 1.005]), &old));
    lines.extend(row("overwrite", &[2e6, 2e6], &[1e6, 1e6]));
    let compared = builds(&lines);
    let text = compared.text();
    let line = |workload: &str| {
        let found = text.lines().find(|line| line.contains(workload));
        found
            .unwrap_or_else(|| panic!("{workload}: {text}"))
            .to_owned()
    };
    assert!(line("fillseq").contains("1.10 [1.09, 1.11]"), "{text}");
    for (workload, verdict) in [
        ("fillseq", "better"),
        ("readseq", "worse"),
        ("readrandom", "no difference"),
        ("readhot", "no difference"),
        ("overwrite", "too few rounds"),
    ] {
        assert!(line(workload).ends_with(verdict), "{text}");
    }
    assert!(
        text.contains("of 5 rows: 1.15; 1 better, 1 worse, 0 failed"),
        "{text}"
    );
    assert!(compared.is_worse());
    let equal = row("fillseq", &old, &old);
    assert!(!builds(&equal).is_worse());
}

#[test]
fn a_row_that_only_the_new_build_fails_is_worse() {
    let fail = |lines: Vec<Value>| {
        let lines = lines.into_iter();
        let failed = lines.map(|line| with(with(line, "status", "failed"), "wall_ns", Value::Null));
        failed.collect::<Vec<_>>()
    };
    for (at, worse) in [(0, true), (1, false)] {
        let mut lines = rounds(OURS[1 - at], "1", "fillseq", 1e6);
        lines.extend(fail(rounds(OURS[at], "1", "fillseq", 1e6)));
        let compared = builds(&lines);
        assert_eq!(compared.is_worse(), worse, "{}", compared.text());
    }
}

#[test]
fn files_are_compared_by_their_means_and_what_only_one_has_is_left_out() {
    let file = |rate: f64, more: &str| {
        let mut lines = rounds("leveldb", "1", "fillseq", rate);
        lines.extend(rounds("cairndb", "1", more, 1e6));
        text(&lines)
    };
    let (old, new) = (file(1e6, "readseq"), file(0.8e6, "readhot"));
    let compared = Comparison::of_files(&new, &old).expect("well formed");
    let text = compared.text();
    assert!(compared.is_worse() && text.contains("LevelDB, "), "{text}");
    assert!(
        text.contains("0.80 [") && text.contains("of 1 rows"),
        "{text}"
    );
    assert!(
        text.contains("--against runs two builds in turns"),
        "{text}"
    );
    let same = Comparison::of_files(&new, &new).expect("well formed");
    assert!(!same.is_worse(), "{}", same.text());
}
