//! A peer that crashes inside a suite loses the row it crashed in.

use std::path::Path;

use serde_json::Value;

use crate::common::{Ended, run, word};

/// Two databases; the peer crashes in the merges of the first.
const SUITE: &str = r#"
num = 2000
rounds = 1
latency = false
[[section]]
name = "mixed"
workloads = ["fillseq", "readrandom", "mergerandom", "readseq", "overwrite"]
[[section]]
name = "read"
over = "mixed"
workloads = ["readrandom", "deleteseq"]
[[section]]
name = "second"
workloads = ["fillrandom", "readreverse"]
"#;

fn suite(home: &Path, engine: &str) -> Ended {
    let file = home.join("own.toml");
    std::fs::write(&file, SUITE).expect("written");
    let suite = format!("--suite={}", file.display());
    let engines = format!("--engine=cairndb,{engine}");
    run(home, &[&suite, &engines, "--verbose"])
}

/// Returns the workloads of an engine's rows that succeeded.
fn right<'e>(ended: &'e Ended, engine: &str) -> Vec<&'e str> {
    let of = |row: &&Value| row["engine"] == engine && row["verified"] == true;
    let rows = ended.rows.iter().filter(of);
    rows.map(|row| word(row, "workload")).collect()
}

/// Returns all rows of the suite except `missing` ones.
fn all_but(missing: &[&str]) -> Vec<&'static str> {
    let mut all = vec![
        "fillseq",
        "readrandom",
        "mergerandom",
        "readseq",
        "overwrite",
        "readrandom",
        "deleteseq",
        "fillrandom",
        "readreverse",
    ];
    all.retain(|workload| !missing.contains(workload));
    all
}

#[test]
fn a_crash_costs_one_row_and_is_reported_with_its_signal() {
    for engine in ["crashes", "crashes_once"] {
        let home = tempfile::tempdir().expect("a directory");
        let ended = suite(home.path(), engine);
        let reason = "the process was killed by signal 6 (SIGABRT)";
        assert_eq!(ended.failed(), [(engine, "mergerandom", reason)]);
        let escaped = engine.replace('_', "\\_");
        let reported = format!("| {escaped} | failed: {reason} | mixed: mergerandom |\n");
        assert!(ended.stdout().contains(&reported), "{}", ended.stdout());
        assert_eq!(ended.output.status.code(), Some(1));
        assert_eq!(right(&ended, "cairndb"), all_but(&[]));
        assert_eq!(right(&ended, engine), all_but(&["mergerandom"]));
    }
}

#[test]
fn a_crash_after_an_error_costs_no_second_row() {
    let home = tempfile::tempdir().expect("a directory");
    let engine = "crashes_after_error";
    let ended = suite(home.path(), engine);
    let reason = "no space left on device";
    assert_eq!(ended.failed(), [(engine, "mergerandom", reason)]);
    // The process died while closing the broken store; the next one continued without the row.
    let note =
        "crashes\\_after\\_error: the process was killed by signal 6 (SIGABRT) after mergerandom\n";
    assert!(ended.stdout().contains(note), "{}", ended.stdout());
    assert_eq!(right(&ended, engine), all_but(&["mergerandom"]));
    assert_eq!(right(&ended, "cairndb"), all_but(&[]));
}

#[test]
fn a_crash_in_closing_costs_no_row_that_was_reported() {
    let home = tempfile::tempdir().expect("a directory");
    let list = "--benchmarks=fillseq,mergerandom,readseq";
    let words = ["--engine=crashes_closing", "--num=2000", list];
    let ended = run(home.path(), &words);
    assert_eq!(ended.failed(), []);
    let workloads = ["fillseq", "mergerandom", "readseq"];
    assert_eq!(right(&ended, "crashes_closing"), workloads);
    let reported = "crashes_closing: the process was killed by signal 6 (SIGABRT) after readseq\n";
    let said = String::from_utf8_lossy(&ended.output.stderr);
    assert!(said.ends_with(reported), "{said}");
    assert_eq!(ended.output.status.code(), Some(1));
}

#[test]
fn a_process_that_does_not_end_is_ended_and_costs_no_row() {
    let home = tempfile::tempdir().expect("a directory");
    let words = [
        "--engine=lingers",
        "--num=2000",
        "--row_timeout=2",
        "--benchmarks=fillseq,readseq",
    ];
    let begun = std::time::Instant::now();
    let ended = run(home.path(), &words);
    assert!(begun.elapsed().as_secs() < 50, "{:?}", begun.elapsed());
    assert_eq!(ended.failed(), []);
    assert_eq!(right(&ended, "lingers"), ["fillseq", "readseq"]);
    let reported = "lingers: the process had not ended 2 s after its last event, and was killed\n";
    let said = String::from_utf8_lossy(&ended.output.stderr);
    assert!(said.ends_with(reported), "{said}");
    assert_eq!(ended.output.status.code(), Some(1));
}
