//! The four files, and conversion between them.

use bench_report::Report;
use serde_json::Value;

use crate::common::{data, machine, report, rounds, row, with};

fn sample() -> Report {
    let sections = serde_json::json!([{"name": "1C"}, {"name": "2D", "baseline": "1C"}]);
    let suite = serde_json::json!({"type": "suite", "name": "leveldb-2011", "sections": sections});
    let mut lines = vec![machine(), suite];
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
    let again = Report::from_text(&json).expect("what was written");
    assert_eq!(again.html(), report.html());
    assert_eq!(again.markdown(), report.markdown());
    assert_eq!(again.csv(), report.csv());
    assert_eq!(again.summary(100), report.summary(100));
    assert_eq!(again.json().expect("plain data"), json);
}

#[test]
fn the_json_holds_statistics_for_other_programs() {
    let json = sample().json().expect("plain data");
    let value: Value = serde_json::from_str(&json).expect("JSON");
    let results = value["results"].as_array().expect("a list");
    let mut rows = results.iter();
    let ours = rows
        .find(|row| row["engine"] == "cairndb")
        .expect("measured");
    assert_eq!(ours["best_peer"], "LevelDB");
    let times = ours["times_best_peer"].as_f64().expect("a ratio");
    assert!((times - 50.0 / 7.0).abs() < 1e-3, "{times}");
    assert_eq!(ours["ops_per_sec"]["rounds"], 3);
    for name in [
        "suite", "section", "workload", "instance", "state", "status", "standing",
    ] {
        assert!(ours.get(name).is_some(), "{name}");
    }
    assert_eq!(value["records"].as_array().map(Vec::len), Some(10));
}

#[test]
fn the_page_begins_with_the_verdict_the_peers_and_the_rows() {
    let data = data(&sample().html());
    let verdict = data["verdict"].as_str().expect("a sentence");
    assert_eq!(
        verdict,
        "CairnDB is 7.14 times as fast as the best peer of each row, as geometric means; it is ahead in 1 \
         of 1 rows, ties in 0 and is behind in 0."
    );
    assert_eq!(data["peers"][0]["title"], "LevelDB");
    assert_eq!(data["peers"][0]["text"], "7.14x");
    let table = &data["tables"][0];
    let texts = ["label", "ours", "best", "ratio", "peer", "standing"];
    let texts = texts.map(|name| table[name].as_str().expect("a text"));
    assert_eq!(
        texts,
        ["1C fillseq", "5.00M", "700k", "7.14x", "LevelDB", "ahead"]
    );
    let rows = data["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3, "not the row of the harness");
    let cells = serde_json::json!(["LevelDB", "600k", "594k to 612k", "", "0.86x"]);
    assert_eq!(rows[2][1], cells);
    assert_eq!(rows[2][0], 1, "the position of its table");
}

#[test]
fn without_script_the_page_shows_the_summary() {
    let html = sample().html();
    let (_, rest) = html.split_once("<pre>").expect("a block");
    let (summary, _) = rest.split_once("</pre>").expect("its end");
    assert_eq!(summary, sample().summary(100));
    assert!(summary.contains("1C fillseq"), "{summary}");
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let html = sample().html();
    let data = html.split_once("id=\"data\">").expect("data").1;
    let script = data.split_once("</script>").expect("its end").1;
    let page = html.replace(data, script);
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    for foreign in [
        "<link",
        "<img",
        "<iframe",
        "src=",
        "@import",
        "url(",
        "https:",
        "fetch(",
        "innerHTML",
    ] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn a_text_may_be_records_too() {
    let line = row("lmdb", "1A", "readseq", 1, 1e6).to_string();
    let report = Report::from_text(&line).expect("records");
    assert!(report.csv().contains("lmdb"));
    let error = Report::from_text("{\"report\": ").expect_err("refused");
    assert!(error.to_string().starts_with("not a report: "), "{error}");
}

#[test]
fn a_file_of_another_version_is_refused() {
    let json = sample().json().expect("plain data").replacen('1', "2", 1);
    let error = Report::from_text(&json).expect_err("refused").to_string();
    assert_eq!(error, "a report of version 2; this program reads version 1");
}

#[test]
fn four_files_are_written_and_a_bad_place_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let place = dir.path().join("new/report");
    sample().write(&place).expect("room");
    let files = std::fs::read_dir(&place).expect("there");
    let names = files.map(|entry| entry.expect("one").file_name().into_string().expect("text"));
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(
        names,
        ["index.html", "report.csv", "report.json", "report.md"]
    );
    let file = dir.path().join("file");
    std::fs::write(&file, "x").expect("room");
    let error = sample().write(&file).expect_err("a file is in the way");
    assert!(error.to_string().contains("file: "), "{error}");
}
