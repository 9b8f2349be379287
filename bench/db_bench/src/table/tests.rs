use super::*;

fn record(engine: &str, round: u32, ops: u64, wall_ns: u64) -> Record {
    Record {
        engine: engine.into(),
        workload: "fillseq".into(),
        round,
        ops: Some(ops),
        wall_ns: Some(wall_ns),
        ..Record::default()
    }
}

fn engines(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn a_row_shows_median_spread_and_the_ratio_to_the_best_peer() {
    let mut results = Results::default();
    for (round, ns) in [(1, 500), (2, 400), (3, 250)] {
        results.add(
            "4 MB",
            "fillseq",
            record("cairndb", round, 1_000, ns * 1_000),
        );
        results.add(
            "4 MB",
            "fillseq",
            record("lmdb", round, 1_000, 4 * ns * 1_000),
        );
        results.add(
            "4 MB",
            "fillseq",
            record("leveldb", round, 1_000, 2_500_000),
        );
        results.add("4 MB", "fillseq", record("null", round, 1_000, 10_000));
    }
    let names = engines(&["cairndb", "leveldb", "lmdb", "null"]);
    let shape = Shape {
        engines: &names,
        num: 100_000,
        rounds: 3,
    };
    let text = render(&shape, &results, &BTreeMap::new(), &[]);
    let line = text
        .lines()
        .find(|line| line.starts_with("fillseq "))
        .expect("a line");
    assert!(line.contains("2.50M (2.00M-4.00M)"), "{line}");
    assert!(line.contains("625k (500k-1.00M)"), "{line}");
    assert!(line.ends_with("4.00x lmdb"), "{line}");
}

#[test]
fn overlapping_spreads_are_a_tie_and_events_are_times() {
    let mut results = Results::default();
    for (engine, times) in [("cairndb", [80, 100, 120]), ("leveldb", [110, 130, 150])] {
        for (round, ms) in (1..).zip(times) {
            results.add("4 MB", "compact", record(engine, round, 1, ms * 1_000_000));
        }
    }
    let names = engines(&["cairndb", "leveldb"]);
    let text = render(
        &Shape {
            engines: &names,
            num: 1,
            rounds: 3,
        },
        &results,
        &BTreeMap::new(),
        &[],
    );
    let line = text
        .lines()
        .find(|line| line.starts_with("compact "))
        .expect("a line");
    assert!(line.contains("100ms (80.0ms-120ms)"), "{line}");
    assert!(line.ends_with("1.30x leveldb (tie)"), "{line}");
}

#[test]
fn absent_failed_and_skipped_keep_their_place_and_are_explained() {
    let mut results = Results::default();
    results.add("4 MB", "fillseq", record("cairndb", 1, 1, 1));
    let failed = Record {
        status: Status::Failed,
        reason: Some("3 wrong answers".into()),
        ..record("lmdb", 1, 1, 1)
    };
    results.add("4 MB", "fillseq", failed);
    let names = engines(&["cairndb", "leveldb", "lmdb"]);
    let absent = BTreeMap::from([("leveldb".to_owned(), "install libleveldb1d".to_owned())]);
    let text = render(
        &Shape {
            engines: &names,
            num: 1,
            rounds: 1,
        },
        &results,
        &absent,
        &["round 3 left out".into()],
    );
    assert!(results.any_failed());
    let line = text
        .lines()
        .find(|line| line.starts_with("fillseq "))
        .expect("a line");
    assert!(
        line.contains(" absent ") && line.contains(" FAILED ") && line.ends_with(" -"),
        "{line}"
    );
    assert!(
        text.contains("FAILED: lmdb fillseq at 4 MB: 3 wrong answers\n"),
        "{text}"
    );
    assert!(
        text.contains("absent: leveldb: install libleveldb1d\nnote: round 3 left out\n"),
        "{text}"
    );
}

#[test]
fn a_row_that_is_not_ranked_is_marked_and_no_best_peer() {
    let mut results = Results::default();
    results.add("4 MB", "fillseq", record("cairndb", 1, 1_000, 1_000_000));
    results.add("4 MB", "fillseq", record("leveldb", 1, 1_000, 2_000_000));
    let below = Record {
        ranked: Some(false),
        ..record("kyoto_treedb", 1, 1_000, 500_000)
    };
    results.add("4 MB", "fillseq", below);
    let names = engines(&["cairndb", "leveldb", "kyoto_treedb"]);
    let shape = Shape {
        engines: &names,
        num: 1_000,
        rounds: 1,
    };
    let text = render(&shape, &results, &BTreeMap::new(), &[]);
    let line = text
        .lines()
        .find(|line| line.starts_with("fillseq "))
        .expect("a line");
    assert!(line.contains(" 2.00M (2.00M-2.00M)* "), "{line}");
    assert!(line.ends_with("2.00x leveldb"), "{line}");
    assert!(text.contains("* not ranked"), "{text}");
}
