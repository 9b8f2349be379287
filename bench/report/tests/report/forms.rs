//! The four files, and conversion between them.

use bench_report::Report;

use crate::common::{machine, report, rounds, row, with};

fn sample() -> Report {
    let mut lines = vec![machine()];
    lines.extend(rounds("cairndb", "1C", "fillseq", 5e6));
    lines.extend(rounds("leveldb", "1C", "fillseq", 7e5));
    lines.extend(rounds("leveldb", "2D", "fillseq", 6e5));
    lines.push(with(row("null", "1C", "fillseq", 1, 1e8), "ranked", false));
    report(&lines)
}

#[test]
fn everything_is_made_again_from_the_json_alone() {
    let report = sample();
    let json = report.json().expect("plain data");
    let again = Report::from_json(&json).expect("what was written");
    assert_eq!(again.html(), report.html());
    assert_eq!(again.markdown(), report.markdown());
    assert_eq!(again.csv(), report.csv());
    assert_eq!(again.bars(100), report.bars(100));
    assert_eq!(again.json().expect("plain data"), json);
}

#[test]
fn the_json_holds_statistics_for_other_programs() {
    let json = sample().json().expect("plain data");
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let results = value["results"].as_array().expect("a list");
    let ours = results
        .iter()
        .find(|row| row["engine"] == "cairndb")
        .expect("measured");
    assert_eq!(ours["best_peer"], "LevelDB");
    let times = ours["times_best_peer"].as_f64().expect("a ratio");
    assert!((times - 50.0 / 7.0).abs() < 1e-3, "{times}");
    assert_eq!(ours["ops_per_sec"]["rounds"], 3);
}

#[test]
fn the_rows_it_is_after_in_are_named_at_the_end() {
    let mut lines = vec![machine()];
    for (workload, ours) in [("fillseq", 7e5), ("readseq", 3.5e5), ("readhot", 1e6)] {
        lines.extend(rounds("cairndb", "1C", workload, ours));
        lines.extend(rounds("leveldb", "1C", workload, 7e5));
    }
    let text = report(&lines).bars(300);
    let expected =
        "CairnDB is ahead in 1 of 3, ties in 1 and is behind in 1: 1C readseq (0.50x LevelDB).";
    assert!(text.contains(expected), "{text}");
    let mut lines = vec![machine()];
    for n in 0..20 {
        let section = format!("S{n}");
        lines.extend(rounds("cairndb", &section, "fillseq", 1e5));
        lines.extend(rounds("leveldb", &section, "fillseq", 7e5));
    }
    let text = report(&lines).bars(1000);
    assert!(text.contains("behind in 20: "), "{text}");
    assert!(
        text.contains("; and 12 more, named under Biases."),
        "{text}"
    );
}

#[test]
fn of_many_tables_the_summary_shows_ours_the_best_and_leveldb_and_what_failed() {
    let tables = |count: u32| {
        let mut lines = vec![machine()];
        for n in 0..count {
            let section = format!("S{n}");
            for (engine, rate) in [
                ("cairndb", 1e6),
                ("leveldb", 1e5),
                ("sqlite3", 2e5),
                ("lmdb", 5e5),
            ] {
                lines.extend(rounds(engine, &section, "fillseq", rate));
            }
            // Faster than all but not ranked: the shown bars are longer without it.
            let below = row("kyoto_treedb", &section, "fillseq", 1, 4e6);
            lines.push(with(below, "ranked", false));
            let lost = row("rocksdb", &section, "fillseq", 1, 1e6);
            lines.push(with(
                with(lost, "status", "failed"),
                "reason",
                "3 wrong answers",
            ));
        }
        report(&lines).bars(132)
    };
    let few = tables(12);
    for name in ["CairnDB", "LevelDB", "SQLite", "LMDB", "TreeDB"] {
        assert!(
            few.lines().any(|line| line.trim_start().contains(name)),
            "{name}: {few}"
        );
    }
    let many = tables(13);
    let bars = |text: &str, name: &str| {
        text.lines()
            .filter(|line| line.starts_with(&format!("  {name} ")))
            .count()
    };
    assert_eq!(
        (
            bars(&many, "CairnDB"),
            bars(&many, "LMDB"),
            bars(&many, "LevelDB")
        ),
        (13, 13, 13),
        "{many}"
    );
    assert!(
        !many.contains("SQLite") && !many.contains("TreeDB"),
        "{many}"
    );
    assert_eq!(many.matches("3 wrong answers").count(), 13, "{many}");
    let longest = |text: &str| {
        text.lines()
            .map(|line| line.matches('\u{2588}').count())
            .max()
    };
    assert_eq!(longest(&many), longest(&few));
}

#[test]
fn at_a_glance_shows_how_far_rounds_lie_apart_as_rates_and_as_times() {
    let mut lines = vec![machine()];
    lines.extend(rounds("cairndb", "1C", "fillseq", 1e6));
    // An event of one operation: the middle is 100 ms, the maximum 200 ms.
    for (round, ms) in [(1, 100_u64), (2, 90), (3, 200)] {
        let event = with(row("cairndb", "1D", "compact", round, 1e6), "ops", 1);
        lines.push(with(event, "wall_ns", ms * 1_000_000));
    }
    let text = report(&lines).markdown();
    assert!(text.contains("**1.00M** \u{b1}2%"), "{text}");
    assert!(text.contains("\u{b1}100%"), "{text}");
    assert!(
        report(&lines)
            .html()
            .contains("<span class=\"spread\">\u{b1}100%</span>")
    );
}

#[test]
fn a_text_may_be_either_of_the_two() {
    let json = sample().json().expect("plain data");
    let again = Report::from_text(&json).expect("a report");
    assert_eq!(again.csv(), sample().csv());
    let line = row("lmdb", "1A", "readseq", 1, 1e6).to_string();
    let report = Report::from_text(&line).expect("records");
    assert!(report.csv().contains("lmdb"));
    let error = Report::from_text("{\"report\": ").expect_err("refused");
    assert!(error.to_string().starts_with("not a report: "), "{error}");
}

#[test]
fn a_file_of_another_version_is_refused() {
    let json = sample().json().expect("plain data").replacen('1', "2", 1);
    let error = Report::from_json(&json).expect_err("refused").to_string();
    assert_eq!(error, "a report of version 2; this program reads version 1");
    let error = Report::from_json("{}").expect_err("refused").to_string();
    assert!(
        error.starts_with("not a report: missing field `report`"),
        "{error}"
    );
}

#[test]
fn four_files_are_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let place = dir.path().join("new/report");
    sample().write(&place).expect("room");
    let mut names: Vec<String> = std::fs::read_dir(&place)
        .expect("there")
        .map(|entry| {
            entry
                .expect("one")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["index.html", "report.csv", "report.json", "report.md"]
    );
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("file");
    std::fs::write(&file, "x").expect("room");
    let error = sample().write(&file).expect_err("a file is in the way");
    assert!(error.to_string().contains("file: "), "{error}");
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let html = sample().html();
    assert!(html.starts_with("<!DOCTYPE html><html lang=\"en\">"));
    for foreign in [
        "<script", "<link", "<img", "<iframe", "src=", "@import", "url(", "http:", "https:",
    ] {
        assert!(!html.contains(foreign), "{foreign}");
    }
}

#[test]
fn the_summary_is_as_wide_as_it_may_be() {
    let report = sample();
    for width in [0, 40, 80, 132, 300] {
        let text = report.bars(width);
        let widest = text
            .lines()
            .map(|line| line.chars().count())
            .max()
            .expect("lines");
        assert!(widest <= width.max(40), "{widest} > {width}");
    }
    let golden = "
leveldb-2011 1C fillseq
  CairnDB                       5,000,000 ops/sec  \u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{258b}  4.95M to 5.10M
  LevelDB                         700,000 ops/sec  \u{2588}\u{2588}\u{2589}                    693k to 714k
  CairnDB is fastest, 7.14 times LevelDB, the next.

leveldb-2011 2D fillseq
  LevelDB                         600,000 ops/sec  \u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{2588}\u{258b}  594k to 612k  (0.86x baseline)
  Only LevelDB has a figure here that can be ranked.

  Against all ranked peers of each row, CairnDB is ahead in 1 of 1, ties in 0 and is behind in 0.
";
    assert_eq!(report.bars(112), golden);
}
