//! A suite that is killed at any moment goes on where it was.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::common::{command, stderr, stdout};
use crate::suites::results;

const SUITE: &str = r#"
num = 3000
rounds = 2
[[section]]
name = "write"
heading = "Writing"
workloads = ["fillseq", "fillrandom", "read: readrandom", "overwrite", "deleterandom"]
[[section]]
name = "read"
heading = "Reading"
over = "write"
split = "reads"
workloads = ["readseq", "compact", "readseq", "write: deleteseq", "readrandom"]
[[section]]
name = "kill"
heading = "Killed"
kill = true
rounds = 1
workloads = ["fillrandom"]
"#;

/// 2 engines, 2 rounds and the latency pass of ten rows, and two killed ones.
const ROWS: usize = 2 * 3 * 10 + 2;

fn words(home: &Path) -> Vec<String> {
    let file = home.join("own.toml");
    std::fs::write(&file, SUITE).expect("written");
    vec![
        format!("--suite={}", file.display()),
        format!("--json={}", home.join("own.json").display()),
        "--engine=cairndb,null".into(),
        "--resume".into(),
    ]
}

/// Runs until `lines` lines of progress have been told, then ends the program by SIGKILL; false when
/// it had ended before.
fn run_and_kill(home: &Path, lines: usize) -> bool {
    let words = words(home);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut program = command(&home.join("db"), &words)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let told = BufReader::new(program.stderr.take().expect("piped"));
    let rows = told.lines().map_while(Result::ok);
    let seen = rows
        .filter(|line| line.starts_with("round "))
        .take(lines)
        .count();
    program.kill().expect("killed");
    program.wait().expect("ended");
    seen == lines
}

/// What each result is a result of.
fn keys(rows: &[Value]) -> BTreeSet<String> {
    let key = |row: &Value| {
        let names = ["engine", "section", "workload", "instance", "round", "pass"];
        let words = names.map(|name| row[name].to_string());
        words.join(" ")
    };
    rows.iter().map(key).collect()
}

#[test]
fn a_suite_killed_at_many_moments_ends_with_every_row_once() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("own.json");
    let mut before = 0;
    for lines in [0, 1, 2, 4, 5, 7, 9, 11] {
        assert!(run_and_kill(home.path(), lines), "it ended too early");
        let now = std::fs::read(&json).map_or(0, |text| text.len());
        assert!(now >= before, "what was there is kept");
        before = now;
    }
    let words = words(home.path());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = command(&home.path().join("db"), &words)
        .output()
        .expect("runs");
    assert!(
        output.status.success(),
        "{}\n{}",
        stdout(&output),
        stderr(&output)
    );
    let rows = results(&json);
    assert_eq!(rows.len(), ROWS);
    assert_eq!(keys(&rows).len(), ROWS, "no row twice");
    for row in &rows {
        assert_eq!(row["status"], "ok", "{row}");
        assert_eq!(row["verified"], row["engine"] == "cairndb", "{row}");
    }
    let notes: Vec<String> = std::fs::read_to_string(&json)
        .expect("there")
        .lines()
        .filter(|line| line.contains(r#""type":"note""#))
        .map(str::to_owned)
        .collect();
    assert!(
        notes
            .iter()
            .any(|note| note.contains("stopped and resumed")),
        "{notes:?}"
    );
    assert!(
        stdout(&output).contains("note: this run was stopped and resumed: "),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_finished_suite_has_nothing_to_go_on_with_and_another_run_is_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("own.json");
    let words = words(home.path());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let go = |more: &[&str]| {
        command(&home.path().join("db"), &[&words[..], more].concat())
            .output()
            .expect("runs")
    };
    let few = ["--num=100", "--rounds=1"];
    assert!(go(&few).status.success());
    let rows = results(&json);
    let again = go(&few);
    assert!(again.status.success(), "{}", stderr(&again));
    assert_eq!(results(&json), rows, "nothing was run again");
    assert!(
        stdout(&again).contains("  fillseq "),
        "the table is there all the same"
    );
    let other = go(&["--num=101", "--rounds=1"]);
    assert_eq!(other.status.code(), Some(1));
    assert!(
        stderr(&other).contains("num 100 there, 101 here"),
        "{}",
        stderr(&other)
    );
}
