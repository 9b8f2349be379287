//! Rankings: rows that are lost, tied, or compare no stores.

use serde_json::{Value, json};

use crate::common::{page, rated, report, rounds, row, with};

/// Returns rows of ours, of a noisy peer with the highest middle, and of a steady peer above ours.
fn a_steady_peer_after_a_noisy_one() -> Vec<Value> {
    let mut lines = rated("cairndb", "1D", "fillrandom", &[5900.0, 6000.0, 6100.0]);
    let noisy = [5000.0, 10_000.0, 15_000.0];
    lines.extend(rated("leveldb", "1D", "fillrandom", &noisy));
    lines.extend(rated("lmdb", "1D", "fillrandom", &[8900.0, 9000.0, 9100.0]));
    lines
}

/// Returns a cell of our line in the CSV file, by column name.
fn ours(lines: &[Value], column: &str) -> String {
    let csv = report(lines).csv();
    let at = csv.lines().next().expect("a head");
    let at = at.split(',').position(|name| name == column);
    let line = csv.lines().find(|line| line.contains(",cairndb,"));
    let cell = line.expect("ours").split(',').nth(at.expect("a column"));
    cell.expect("a cell").to_owned()
}

#[test]
fn a_row_is_lost_to_any_peer_that_is_ahead_in_every_round() {
    let lines = a_steady_peer_after_a_noisy_one();
    let text = page(&lines);
    assert!(
        text.contains("it is ahead in 0 of 1 rows, ties in 0 and is behind in 1."),
        "{text}"
    );
    assert!(
        text.contains("0.60x") && text.contains("LevelDB, behind LMDB"),
        "{text}"
    );
    assert!(text.contains("LevelDB and LMDB tie for first place: their spreads overlap."));
    assert_eq!(ours(&lines, "standing"), "behind");
    assert_eq!(ours(&lines, "best_peer"), "LevelDB");
    // Only the two that tie for it come first.
    let data = crate::common::data(&report(&lines).html());
    let leads = data["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row[2].as_u64());
    assert_eq!(leads.collect::<Vec<_>>(), [Some(0), Some(1), Some(1)]);
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
    let text = page(&lines);
    assert!(text.contains("it is ahead in 0 of 1 rows, ties in 1 and is behind in 0."));
    assert!(text.contains("CairnDB and LMDB tie for first place"));
    assert!(text.contains("LevelDB, tie with LMDB"));
    assert!(
        text.contains("1.67x"),
        "the ratio is that to the best middle"
    );
    assert_eq!(ours(&lines, "standing"), "tie");
}

#[test]
fn one_round_has_no_ties() {
    let ours = row("cairndb", "1A", "readseq", 1, 1e6);
    let lines = [ours, row("lmdb", "1A", "readseq", 1, 1.001e6)];
    assert!(page(&lines).contains("LMDB is fastest, 1.00 times CairnDB, the next."));
}

/// Returns a suite with a differently named section that kills its process, over the database of
/// one that does not.
fn suite_that_kills() -> Value {
    let part = |kill: bool, row: &str| json!({"kill": kill, "workloads": [row]});
    json!({
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
    let mut lines = rounds("cairndb", "1C", "fillseq", 2e6);
    lines.extend(rounds("lmdb", "1C", "fillseq", 1e6));
    for (engine, checksums, kill) in [("cairndb", 1e6, 1e5), ("lmdb", 3e6, 4e5)] {
        let rows = rounds(engine, "large", "crc32c", checksums).into_iter();
        lines.extend(rows.map(|row| with(row, "ranked", Value::Null)));
        lines.push(row(engine, "kill", "fillrandom", 1, kill));
    }
    let text = page(&lines);
    assert!(text.contains("it is ahead in 1 of 1 rows"), "{text}");
    assert!(text.contains("No peer, ranked or not, is ahead in any row of this run."));
    assert!(text.contains("not ranked: asks what a kill leaves"));
    assert_eq!(report(&lines).csv().matches(",ahead,").count(), 1);
    // The suite determines what a section does, whatever its name.
    for (section, rate) in [("crash", 4e5), ("crash two", 1e4)] {
        lines.push(row("cairndb", section, "fillrandom", 1, 1e5));
        lines.push(row("lmdb", section, "fillrandom", 1, rate));
    }
    assert!(page(&lines).contains("it is ahead in 2 of 3 rows"));
    lines.insert(0, suite_that_kills());
    assert!(page(&lines).contains("it is ahead in 2 of 2 rows"));
}

#[test]
fn of_a_suite_that_trims_its_rounds_the_last_instance_counts() {
    let mut lines = vec![json!({
        "type": "suite", "name": "wiredtiger", "aggregate": "trimmed",
        "sections": [{"name": "random read"}],
    })];
    for (instance, ours) in [(1, 9e5), (2, 8e5), (3, 3e6)] {
        for (engine, rate) in [("cairndb", ours), ("leveldb", 1e6)] {
            let rows = rounds(engine, "random read", "readrandom", rate);
            let rows = rows.into_iter().map(|row| with(row, "instance", instance));
            lines.extend(rows.map(|row| with(row, "suite", "wiredtiger")));
        }
    }
    let text = page(&lines);
    assert!(text.contains("it is ahead in 1 of 1 rows"), "{text}");
    assert!(text.contains("2 tables of earlier instances are in report.csv and report.json"));
    assert!(!text.contains("900k") && text.contains("3.00M"));
    // Two stores with three instances each, of which one counts.
    let csv = report(&lines).csv();
    assert_eq!(csv.matches(",true,false,\r\n").count(), 2, "{csv}");
    assert_eq!(csv.matches(",false,false,\r\n").count(), 4, "{csv}");
    // A flag sets the aggregation of rounds and hides nothing.
    lines[0]["aggregate_asked"] = true.into();
    assert!(page(&lines).contains("it is ahead in 1 of 3 rows"));
    // Unless the suite specifies otherwise, every instance has its own table.
    assert!(page(&lines[1..]).contains("it is ahead in 1 of 3 rows"));
}
