//! Rankings, and the sentences about them.

use serde_json::Value;

use crate::common::{rated, report, rounds, row, with};

/// Returns rows of ours, of a noisy peer with the highest middle, and of a steady peer above ours.
fn a_steady_peer_after_a_noisy_one() -> Vec<Value> {
    let mut lines = rated("cairndb", "1D", "fillrandom", &[5900.0, 6000.0, 6100.0]);
    let noisy = [5000.0, 10_000.0, 15_000.0];
    lines.extend(rated("leveldb", "1D", "fillrandom", &noisy));
    lines.extend(rated("lmdb", "1D", "fillrandom", &[8900.0, 9000.0, 9100.0]));
    lines
}

/// Returns a cell of our line in the CSV file, by column name.
fn ours(csv: &str, column: &str) -> String {
    let at = csv.lines().next().expect("a head");
    let at = at.split(',').position(|name| name == column);
    let line = csv.lines().find(|line| line.contains(",cairndb,"));
    let cell = line.expect("ours").split(',').nth(at.expect("a column"));
    cell.expect("a cell").to_owned()
}

#[test]
fn a_row_is_lost_to_any_peer_that_is_ahead_in_every_round() {
    let report = report(&a_steady_peer_after_a_noisy_one());
    let html = report.html();
    let wins = "CairnDB is ahead in 0 of 1, ties in 0 and is behind in 1: 1D fillrandom (0.60x LevelDB, behind LMDB).";
    assert!(html.contains(wins), "{html}");
    assert!(html.contains("LevelDB and LMDB tie for first place: their spreads overlap."));
    assert!(html.contains("CairnDB is number 3 of 3: LMDB does 1.50 times as much."));
    assert!(html.contains("Rows in which another store is ahead by more than the spread"));
    assert!(html.contains(">1.50x<"), "lost to LMDB among the biases");
    let csv = report.csv();
    assert_eq!(ours(&csv, "standing"), "behind");
    assert_eq!(ours(&csv, "best_peer"), "LevelDB");
    // Only the two that tie for it come first.
    assert_eq!(html.matches(" leads\">").count(), 2);
}

#[test]
fn a_short_summary_shows_who_is_ahead_beside_the_best_middle() {
    let mut lines = Vec::new();
    for n in 0..13 {
        let of = |line: &Value| with(line.clone(), "section", format!("S{n}"));
        lines.extend(a_steady_peer_after_a_noisy_one().iter().map(of));
        lines.extend(rounds("sqlite3", &format!("S{n}"), "fillrandom", 700.0));
    }
    let text = report(&lines).bars(132);
    assert!(
        text.contains("\n  LMDB ") && text.contains("\n  LevelDB "),
        "{text}"
    );
    assert!(!text.contains("SQLite3"), "{text}");
}

#[test]
fn nobody_is_ahead_while_a_noisy_peer_reaches_as_high() {
    let mut lines = rated("cairndb", "1D", "fillrandom", &[9900.0, 10_000.0, 10_100.0]);
    lines.extend(rated(
        "leveldb",
        "1D",
        "fillrandom",
        &[5900.0, 6000.0, 6100.0],
    ));
    lines.extend(rated(
        "lmdb",
        "1D",
        "fillrandom",
        &[1000.0, 2000.0, 11_000.0],
    ));
    let report = report(&lines);
    let html = report.html();
    assert!(html.contains("CairnDB is ahead in 0 of 1, ties in 1 and is behind in 0."));
    assert!(html.contains("CairnDB and LMDB tie for first place"));
    assert!(html.contains(">LevelDB, tie with LMDB<"));
    assert!(
        html.contains(">1.67x<"),
        "the ratio is that to the best middle"
    );
    assert!(!html.contains("LMDB is last"));
    assert_eq!(ours(&report.csv(), "standing"), "tie");
}

#[test]
fn biases_count_stores_without_a_rank_one_by_one() {
    let mut lines = a_steady_peer_after_a_noisy_one();
    for line in &mut lines[3..] {
        *line = with(line.clone(), "ranked", false);
    }
    let html = report(&lines).html();
    assert!(html.contains("LMDB, not ranked: not ranked"), "{html}");
    assert!(html.contains(">1.50x<"));
}

/// Returns a row whose process was killed, as the suite records it.
fn killed(engine: &str, status: &str, reason: Option<&str>) -> Value {
    let line = with(row(engine, "kill", "fillrandom", 1, 1e6), "status", status);
    reason.map_or_else(
        || line.clone(),
        |reason| with(line.clone(), "reason", reason),
    )
}

#[test]
fn nobody_else_lost_writes_is_said_only_where_it_is_so() {
    const BELOW: &str =
        "below Os, as marked: acknowledged writes were missing after SIGKILL: 1 wrong answer";
    const LOST: &str = "acknowledged writes were missing after SIGKILL: 1 wrong answer";
    let kyoto = killed("kyoto_treedb", "ok", Some(BELOW));
    let good = killed("cairndb", "ok", None);
    let text = report(&[kyoto.clone(), good.clone()]).bars(400);
    let reported = "Kyoto TreeDB lost acknowledged writes when the process was killed, which only \
                    stores marked below Os may";
    assert!(
        text.contains(&format!("{reported}; no other store did.")),
        "{text}"
    );
    let broken = killed("lmdb", "failed", Some(LOST));
    let text = report(&[kyoto.clone(), good.clone(), broken.clone()]).bars(400);
    assert!(!text.contains("no other store"), "{text}");
    let named =
        "LMDB had promised that such writes survive, but lost some when the process was killed.";
    assert!(text.contains(&format!("{reported}. {named}")), "{text}");
    assert!(report(&[good.clone(), broken]).bars(400).contains(named));
    // A row that failed before the process was killed shows nothing.
    let other = killed("lmdb", "failed", Some("ignores its memory setting"));
    let text = report(&[kyoto, good, other]).bars(400);
    assert!(
        text.contains(reported) && !text.contains("no other store"),
        "{text}"
    );
    assert!(!text.contains("LMDB had promised"), "{text}");
}

#[test]
fn rows_with_filters_for_everybody_are_named_where_there_are_any() {
    let mut lines = rounds("cairndb", "1B", "readrandom", 1e6);
    lines.extend(rounds("leveldb", "1B", "readrandom", 5e5));
    let html = report(&lines).html();
    assert!(html.contains("No row of this run shows those stores with filters."));
    assert!(
        html.contains(
            "need to know how much of their memory is write buffer and how much is cache"
        )
    );
    let bloom = rounds("leveldb", "1B", "readrandom", 6e5);
    lines.extend(bloom.into_iter().map(|line| {
        let line = with(line, "variant", "bloom10");
        with(line, "options", serde_json::json!([["bloom_bits", "10"]]))
    }));
    let html = report(&lines).html();
    assert!(
        html.contains(
            "The rows in which they have filters too (bloom10) are the fairer comparison."
        )
    );
    assert!(!html.contains("No row of this run"));
}

/// Returns a suite with a differently named section that kills its process, over the database of
/// one that does not.
fn suite_that_kills() -> Value {
    let part = |kill: bool, row: &str| serde_json::json!({"kill": kill, "workloads": [row]});
    serde_json::json!({
        "type": "suite", "name": "leveldb-2011", "sections": [{"name": "crash"}],
        "decided": {"everywhere": {}, "jobs": {
            "section 1C, json": [
                part(false, "1C: fillseq"), part(true, "crash: fillrandom"), part(false, "verify"),
            ],
            "section crash two": [part(false, "crash two: fillrandom")],
            "section kill": [part(true, "kill: fillrandom")],
        }},
    })
}

#[test]
fn rows_that_compare_no_stores_are_not_counted() {
    const WINS: &str = "CairnDB is ahead in 1 of 1, ties in 0 and is behind in 0.";
    let mut lines = rounds("cairndb", "1C", "fillseq", 2e6);
    lines.extend(rounds("lmdb", "1C", "fillseq", 1e6));
    let checksums = |engine: &str, rate: f64| {
        let rows = rounds(engine, "large", "crc32c", rate).into_iter();
        rows.map(|row| with(row, "ranked", Value::Null))
    };
    lines.extend(checksums("cairndb", 1e6));
    lines.extend(checksums("lmdb", 3e6));
    lines.push(row("cairndb", "kill", "fillrandom", 1, 1e5));
    lines.push(row("lmdb", "kill", "fillrandom", 1, 4e5));
    let page = report(&lines);
    let html = page.html();
    assert!(html.contains(WINS), "{html}");
    assert!(html.contains("No peer, ranked or not, is ahead by more than the spread"));
    assert!(html.contains("asks what a kill leaves"));
    assert_eq!(page.csv().matches(",ahead,").count(), 1);
    // The suite determines what a section does, whatever its name.
    for (section, rate) in [("crash", 4e5), ("crash two", 1e4)] {
        lines.push(row("cairndb", section, "fillrandom", 1, 1e5));
        lines.push(row("lmdb", section, "fillrandom", 1, rate));
    }
    let html = report(&lines).html();
    assert!(html.contains("CairnDB is ahead in 2 of 3"), "{html}");
    lines.insert(0, suite_that_kills());
    let html = report(&lines).html();
    assert!(html.contains("CairnDB is ahead in 2 of 2"), "{html}");
}
