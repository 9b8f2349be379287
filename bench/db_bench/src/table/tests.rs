use bench_core::result::record::Record;

use super::*;

fn record(engine: &str, round: u32, ops: u64, wall_ns: u64) -> Record {
    Record {
        engine: engine.into(),
        section: Some("1C".into()),
        workload: "fillseq".into(),
        instance: 1,
        round,
        ops: Some(ops),
        wall_ns: Some(wall_ns),
        ..Record::default()
    }
}

fn outline(engines: &[&str], aggregate: Aggregate) -> Outline {
    Outline {
        name: "own".into(),
        num: 100_000,
        aggregate,
        engines: engines.iter().map(|&name| name.to_owned()).collect(),
        sections: vec![Section {
            name: "1C".into(),
            chapter: "1. Baseline".into(),
            heading: "C. Writes".into(),
            ..Section::default()
        }],
        ..Outline::default()
    }
}

fn table(outline: &Outline, records: Vec<Record>) -> String {
    let mut rows = Rows::default();
    for record in records {
        rows.add(record);
    }
    let shape = Shape {
        outline,
        rounds: 3,
        columns: None,
    };
    render(&shape, &rows, &BTreeMap::new(), &[])
}

fn line<'t>(text: &'t str, name: &str) -> &'t str {
    let name = format!("  {name} ");
    text.lines()
        .find(|line| line.starts_with(&name))
        .expect("a line of this name")
}

#[test]
fn a_row_shows_median_spread_and_the_ratio_to_the_best_peer() {
    let mut records = Vec::new();
    for (round, ns) in [(1, 500), (2, 400), (3, 250)] {
        records.push(record("cairndb", round, 1_000, ns * 1_000));
        records.push(record("lmdb", round, 1_000, 4 * ns * 1_000));
        records.push(record("leveldb", round, 1_000, 2_500_000));
        records.push(record("null", round, 1_000, 10_000));
    }
    let outline = outline(&["cairndb", "leveldb", "lmdb", "null"], Aggregate::Median);
    let text = table(&outline, records);
    assert!(text.contains("\n1C  1. Baseline / C. Writes\n"), "{text}");
    let line = line(&text, "fillseq");
    assert!(line.contains(" 2.50M \u{b1}60% "), "{line}");
    assert!(line.contains(" 625k \u{b1}60% "), "{line}");
    assert!(line.ends_with("4.00x lmdb"), "{line}");
}

#[test]
fn a_narrow_terminal_gets_the_engines_in_several_sheets() {
    let names = ["cairndb", "leveldb", "rocksdb", "lmdb", "null"];
    let outline = outline(&names, Aggregate::Median);
    let mut rows = Rows::default();
    for name in names {
        rows.add(Record {
            settle_ns: Some(1_000_000_000),
            ..record(name, 1, 1_000, 1_000_000)
        });
    }
    let shape = Shape {
        outline: &outline,
        rounds: 1,
        columns: Some(80),
    };
    let text = render(&shape, &rows, &BTreeMap::new(), &[]);
    let figures = text.split("seconds until idle").next().expect("a text");
    assert!(
        figures
            .lines()
            .skip(3)
            .all(|line| line.chars().count() <= 80),
        "{text}"
    );
    // Each engine once, and the ratio only after the first of them.
    for name in names {
        let heads = figures
            .lines()
            .filter(|line| line.split(' ').any(|word| word == name));
        assert_eq!(
            heads.count(),
            1 + usize::from(name == "lmdb"),
            "{name}: {text}"
        );
    }
    assert_eq!(figures.matches("1.00x").count(), 1, "{text}");
    assert_eq!(sheets(5, 26, RATIO, Some(80)), [0..1, 1..4, 4..5]);
    assert_eq!(
        sheets(5, 26, RATIO, Some(10)),
        [0..1, 1..2, 2..3, 3..4, 4..5]
    );
    assert_eq!(sheets(5, 26, RATIO, None).first(), Some(&(0..5)));
}

#[test]
fn the_stores_count_and_the_kernels_never_share_a_line() {
    let record = |engine: &str, round: u32, reported: Option<u64>| Record {
        settle_ns: Some(1),
        user_bytes: Some(100),
        engine_write_bytes: reported,
        io_write_bytes: Some(500),
        ..record(engine, round, 1_000, 1_000_000)
    };
    let records = vec![
        record("cairndb", 1, Some(300)),
        record("cairndb", 2, Some(300)),
        record("leveldb", 1, Some(300)),
        record("leveldb", 2, None),
        record("lmdb", 1, None),
        record("lmdb", 2, None),
    ];
    let outline = outline(&["cairndb", "leveldb", "lmdb"], Aggregate::Median);
    let text = table(&outline, records);
    let cells = |caption: &str| -> Vec<&str> {
        let (_, below) = text.split_once(caption).expect("a table");
        let line = below.lines().nth(2).expect("a row");
        line.split_whitespace().skip(2).collect()
    };
    // With one round lacking a count, there is no middle.
    assert_eq!(cells("as the store counts them"), ["3.00", "-", "-"]);
    assert_eq!(cells("as the kernel counts them"), ["5.00", "5.00", "5.00"]);
}

#[test]
fn a_row_is_a_tie_or_lost_by_any_peer_and_not_by_the_best_middle_alone() {
    let rounds = |engine: &str, times: [u64; 3]| -> Vec<Record> {
        let rounds = (1..).zip(times);
        rounds
            .map(|(round, ops)| record(engine, round, ops, 1_000_000))
            .collect()
    };
    let outline = outline(&["cairndb", "leveldb", "lmdb"], Aggregate::Median);
    let reported = |ours, noisy, steady| {
        let mut records = rounds("cairndb", ours);
        records.extend(rounds("leveldb", noisy));
        records.extend(rounds("lmdb", steady));
        line(&table(&outline, records), "fillseq").to_owned()
    };
    let lost = reported([590, 600, 610], [500, 1_000, 1_500], [890, 900, 910]);
    assert!(lost.ends_with("0.60x leveldb"), "{lost}");
    let tie = reported([990, 1_000, 1_010], [100, 200, 1_100], [490, 500, 510]);
    assert!(tie.ends_with("2.00x lmdb (tie)"), "{tie}");
    let ahead = reported([990, 1_000, 1_010], [100, 200, 900], [490, 500, 510]);
    assert!(ahead.ends_with("2.00x lmdb"), "{ahead}");
}

#[test]
fn our_own_c_library_is_no_peer() {
    let records = vec![
        record("cairndb", 1, 1_000, 1_000_000),
        record("cairndb-c", 1, 1_000, 1_000_000),
        record("lmdb", 1, 1_000, 2_000_000),
    ];
    let outline = outline(&["cairndb", "cairndb-c", "lmdb"], Aggregate::Median);
    let text = table(&outline, records);
    let line = line(&text, "fillseq");
    assert!(line.ends_with("2.00x lmdb (one round)"), "{line}");
}

#[test]
fn a_variant_that_ours_takes_no_part_in_is_compared_with_our_plain_row() {
    let mut records = Vec::new();
    for (state, ours) in [("as left", 500), ("compacted", 250)] {
        let in_state = |record: Record| Record {
            state: Some(state.into()),
            instance: if state == "as left" { 1 } else { 2 },
            ..record
        };
        for round in 1..=2 {
            records.push(in_state(record("cairndb", round, 1_000, ours * 1_000)));
            records.push(in_state(record("leveldb", round, 1_000, 4_000_000)));
            records.push(in_state(Record {
                variant: Some("bloom10".into()),
                ..record("leveldb", round, 1_000, 1_000_000)
            }));
        }
    }
    let outline = outline(&["cairndb", "leveldb"], Aggregate::Median);
    let text = table(&outline, records);
    assert!(line(&text, "fillseq").ends_with("8.00x leveldb"), "{text}");
    let variant = line(&text, "fillseq [bloom10]");
    assert!(variant.ends_with("2.00x leveldb (plain)"), "{variant}");
    let variant = line(&text, "fillseq, after compact [bloom10]");
    assert!(variant.ends_with("4.00x leveldb (plain)"), "{variant}");
    assert!(text.contains("(plain): the plain row of cairndb"), "{text}");
}

#[test]
fn merges_by_hand_have_a_mark_and_writers_a_line_of_their_own() {
    let merging = |engine: &str, by_hand: bool, writer_ops: u64| Record {
        workload: "readwhilemerging".into(),
        by_hand,
        writer_ops: Some(writer_ops),
        ..record(engine, 1, 1_000, 1_000_000)
    };
    let outline = outline(&["cairndb", "leveldb"], Aggregate::Median);
    let records = vec![
        merging("cairndb", false, 500),
        merging("leveldb", true, 20),
        record("cairndb", 1, 1_000, 1_000_000),
    ];
    let text = table(&outline, records);
    let row = line(&text, "readwhilemerging");
    assert!(
        row.contains(" 1.00M ") && row.contains(" 1.00M\u{2020} "),
        "{row}"
    );
    let beside: Vec<&str> = line(&text, "  writer").split_whitespace().collect();
    assert_eq!(beside, ["writer", "500k", "20.0k"]);
    assert_eq!(text.matches("\n    writer ").count(), 1, "{text}");
    assert!(text.contains("\u{2020} no merge operation"), "{text}");
    let plain = table(&outline, vec![record("cairndb", 1, 1_000, 1_000_000)]);
    assert!(
        !plain.contains("writer") && !plain.contains('\u{2020}'),
        "{plain}"
    );
}

#[test]
fn overlapping_spreads_are_a_tie_and_events_are_times() {
    let mut records = Vec::new();
    for (engine, times) in [("cairndb", [80, 100, 120]), ("leveldb", [110, 130, 150])] {
        for (round, ms) in (1..).zip(times) {
            records.push(Record {
                workload: "compact".into(),
                ..record(engine, round, 1, ms * 1_000_000)
            });
        }
    }
    let outline = outline(&["cairndb", "leveldb"], Aggregate::Median);
    let text = table(&outline, records);
    let line = line(&text, "compact");
    assert!(line.contains(" 100ms "), "{line}");
    assert!(line.ends_with("1.30x leveldb (tie)"), "{line}");
}

#[test]
fn trimmed_rounds_show_the_last_instance_alone() {
    let mut records = Vec::new();
    for (round, ms) in (1..).zip([9, 1, 2, 3, 1]) {
        for (instance, times) in [(1, 7), (2, 1)] {
            records.push(Record {
                instance,
                state: Some(
                    if instance == 1 {
                        "as left"
                    } else {
                        "compacted"
                    }
                    .into(),
                ),
                ..record("leveldb", round, 1_000, 1_000_000_000 / (times * ms))
            });
        }
    }
    let outline = outline(&["leveldb"], Aggregate::Trimmed);
    let text = table(&outline, records);
    let shown: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("  fillseq"))
        .collect();
    assert_eq!(shown.len(), 1, "{text}");
    // The mean of 1, 2 and 3 thousand.
    assert!(
        shown[0].contains("after compact") && shown[0].contains(" 2.00k "),
        "{text}"
    );
}

#[test]
fn absent_failed_and_skipped_keep_their_place_and_are_explained() {
    let mut rows = Rows::default();
    rows.add(record("cairndb", 1, 1, 1));
    rows.add(Record {
        status: Status::Failed,
        reason: Some("3 wrong answers".into()),
        ..record("lmdb", 1, 1, 1)
    });
    let absent = BTreeMap::from([("leveldb".to_owned(), "install libleveldb1d".to_owned())]);
    let outline = outline(&["cairndb", "leveldb", "lmdb"], Aggregate::Median);
    let shape = Shape {
        outline: &outline,
        rounds: 1,
        columns: None,
    };
    let text = render(&shape, &rows, &absent, &["round 3 left out".into()]);
    assert!(rows.any_failed());
    let line = line(&text, "fillseq");
    assert!(
        line.contains(" absent ") && line.contains(" FAILED ") && line.ends_with(" -"),
        "{line}"
    );
    assert!(
        text.contains("FAILED: lmdb fillseq of 1C: 3 wrong answers\n"),
        "{text}"
    );
    assert!(
        text.contains("absent: leveldb: install libleveldb1d\nnote: round 3 left out\n"),
        "{text}"
    );
}

#[test]
fn a_row_that_is_not_ranked_is_marked_and_no_best_peer() {
    let below = Record {
        ranked: Some(false),
        ..record("kyoto_treedb", 1, 1_000, 500_000)
    };
    let records = vec![
        record("cairndb", 1, 1_000, 1_000_000),
        record("leveldb", 1, 1_000, 2_000_000),
        below,
    ];
    let outline = outline(&["cairndb", "leveldb", "kyoto_treedb"], Aggregate::Median);
    let text = table(&outline, records);
    let line = line(&text, "fillseq");
    assert!(line.contains(" 2.00M* "), "{line}");
    assert!(line.ends_with("2.00x leveldb (one round)"), "{line}");
    assert!(text.contains("* not ranked"), "{text}");
}

#[test]
fn rows_of_one_workload_are_distinguished() {
    let apart = Record {
        state: Some("compacted".into()),
        data: Some("json".into()),
        variant: Some("bloom10".into()),
        file_system: Some("ext4, /mnt/a".into()),
        ..record("leveldb", 1, 1, 1)
    };
    assert_eq!(
        label(&apart),
        "fillseq, after compact [json] [bloom10] [ext4, /mnt/a]"
    );
    let plain = Record {
        state: Some("as left".into()),
        data: Some("synthetic".into()),
        variant: Some("fair".into()),
        file_system: Some("ext4".into()),
        ..record("leveldb", 1, 1, 1)
    };
    assert_eq!(label(&plain), "fillseq");
}

#[test]
fn a_section_with_a_baseline_shows_each_engines_ratio_to_its_own() {
    let in_section = |section: &str, record: Record| Record {
        section: Some(section.into()),
        ..record
    };
    let mut records = Vec::new();
    for (engine, base, own) in [("cairndb", 1_000, 500), ("leveldb", 1_000, 1_250)] {
        let large = Record {
            value_bytes: Some(100_000),
            key_bytes: Some(16),
            workload: "fill100K".into(),
            ..record(engine, 1, 7, base * 1_000)
        };
        records.push(in_section("1C", record(engine, 1, 1_000, base * 1_000)));
        records.push(in_section("2B", record(engine, 1, 1_000, own * 1_000)));
        records.push(in_section("2B", large));
    }
    let mut outline = outline(&["cairndb", "leveldb"], Aggregate::Median);
    outline.sections.push(Section {
        name: "2B".into(),
        baseline: Some("1C".into()),
        ..Section::default()
    });
    let text = table(&outline, records);
    let lines: Vec<&str> = text.lines().collect();
    let reported: Vec<usize> = (0..lines.len())
        .filter(|&at| lines[at].starts_with("    x baseline 1C "))
        .collect();
    // Neither the baseline itself nor values of another size have such a line.
    assert_eq!(reported.len(), 1, "{text}");
    let words: Vec<&str> = lines[reported[0]].split_whitespace().collect();
    assert_eq!(words, ["x", "baseline", "1C", "2.00x", "0.80x"]);
    assert!(lines[reported[0] - 1].starts_with("  fillseq "), "{text}");
}

#[test]
fn columns_stay_below_their_heads_whatever_rows_are_called() {
    let long = |round| Record {
        file_system: Some("ext4, /somewhere/far/away/from/here".into()),
        ..record("cairndb", round, 1_000, 1_000_000)
    };
    let short = |round| record("cairndb", round, 1_000, 500_000);
    let outline = outline(&["cairndb"], Aggregate::Median);
    let text = table(&outline, vec![short(1), short(2), long(1), long(2)]);
    let ends: Vec<usize> = ["  fillseq  ", "  fillseq [ext4"]
        .map(|start| {
            let mut lines = text.lines();
            let line = lines.find(|line| line.starts_with(start)).expect("a row");
            line[..line.find('%').expect("a spread")].chars().count()
        })
        .into();
    assert_eq!(ends[0], ends[1], "{text}");
}

#[test]
fn a_flag_that_trims_rounds_leaves_every_instance() {
    let again = |rate| Record {
        instance: 2,
        ..record("cairndb", 1, 1_000, rate)
    };
    let records = || vec![record("cairndb", 1, 1_000, 1_000_000), again(500_000)];
    let rows = |outline: &Outline| {
        let text = table(outline, records());
        text.lines()
            .filter(|line| line.starts_with("  fillseq"))
            .count()
    };
    let of_suite = outline(&["cairndb"], Aggregate::Trimmed);
    let of_flag = Outline {
        aggregate_asked: true,
        ..of_suite.clone()
    };
    assert_eq!((rows(&of_suite), rows(&of_flag)), (1, 2));
    let untrimmed_by_flag = Outline {
        aggregate: Aggregate::Median,
        ..of_flag
    };
    assert_eq!(rows(&untrimmed_by_flag), 1);
}
