//! A suite that is killed at any moment resumes where it stopped.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;

use bench_core::host::test_text::{ends, has};

use crate::common::{command, good, run_at, run_in, stderr, stdout};
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

/// Number of rows: 2 engines, 2 rounds and the latency pass of ten rows, and two killed rows.
const ROWS: usize = 2 * 3 * 10 + 2;

fn words(home: &Path) -> Vec<String> {
    let file = home.join("own.toml");
    std::fs::write(&file, SUITE).expect("written");
    vec![
        format!("--suite={}", file.display()),
        format!("--json={}", home.join("own.json").display()),
        "--engine=cairndb,null".into(),
        "--resume".into(),
        "--verbose".into(),
    ]
}

/// Runs until `lines` lines of progress have been printed, then kills the program. Returns false if
/// it had already ended.
fn run_and_kill(home: &Path, lines: usize) -> bool {
    let words = words(home);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut program = command(&home.join("db"), &words)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let reported = BufReader::new(program.stderr.take().expect("piped"));
    let rows = reported.lines().map_while(Result::ok);
    let seen = rows
        .filter(|line| line.starts_with("round "))
        .take(lines)
        .count();
    program.kill().expect("killed");
    program.wait().expect("ended");
    seen == lines
}

/// Returns the key of each result.
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
        assert!(now >= before, "existing results are kept");
        before = now;
    }
    let words = words(home.path());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = run_in(home.path(), &words);
    good(&output);
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
    has(
        &stdout(&output),
        "> **Note.** this run was stopped and resumed: ",
    );
}

/// Runs a small suite with additional arguments.
fn small(home: &Path, more: &[&str]) -> Output {
    let words = words(home);
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    words.extend(["--num=100", "--rounds=1"]);
    words.extend(more);
    run_in(home, &words)
}

#[test]
fn a_finished_suite_is_shown_again_and_its_file_is_left_alone() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("own.json");
    assert!(small(home.path(), &[]).status.success());
    let before = std::fs::read_to_string(&json).expect("written");
    let csv = home.path().join("own.csv");
    let report = home.path().join("report");
    let (csv_word, report_word) = (
        format!("--csv={}", csv.display()),
        format!("--report={}", report.display()),
    );
    let again = small(home.path(), &[&csv_word, &report_word]);
    good(&again);
    let after = std::fs::read_to_string(&json).expect("there");
    assert_eq!(after, before, "nothing is appended");
    let reported = stdout(&again);
    has(&reported, "own.json is complete, started on 20");
    has(&reported, " UTC by db_bench ");
    has(&reported, "remove that file to measure again");
    assert!(!reported.contains("resumed"), "{reported}");
    assert!(
        reported.contains("### own write: fillseq\n"),
        "the table is printed"
    );
    let page = std::fs::read_to_string(report.join("report.md")).expect("written");
    assert!(
        !page.contains("resumed") && !page.contains("the stop"),
        "{page}"
    );
    let cells = std::fs::read_to_string(csv).expect("written");
    assert_eq!(cells.lines().count(), results(&json).len() + 1);
}

/// The rounds of a second run are added to those of the first; another run replaces both.
#[test]
fn rounds_are_added_to_a_complete_run_of_the_same_settings() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("own.json");
    let rounds_and_ops = || -> Vec<(u64, u64)> {
        let rows = results(&json);
        assert_eq!(keys(&rows).len(), rows.len(), "no row twice");
        let timed = rows.iter().filter(|row| row["pass"].is_string()).count();
        assert_eq!(timed, 2 * 10, "one pass times the operations");
        let found: BTreeSet<_> = rows
            .iter()
            .filter(|row| row["workload"] == "fillseq")
            .filter_map(|row| Some((row["round"].as_u64()?, row["ops"].as_u64()?)))
            .collect();
        found.into_iter().collect()
    };
    for (run, rounds) in [(1, vec![(1, 100)]), (2, vec![(1, 100), (2, 100)])] {
        let output = small(home.path(), &["--add_rounds"]);
        good(&output);
        assert_eq!(rounds_and_ops(), rounds, "after run {run}");
        let note = "earlier runs of this build measured 1 of the 2 rounds";
        assert_eq!(stdout(&output).contains(note), run == 2);
    }
    let other = small(home.path(), &["--add_rounds --num=200"]);
    good(&other);
    has(
        &stderr(&other),
        "has another run (num 100 there, 200 here), which this one replaces",
    );
    assert_eq!(rounds_and_ops(), [(1, 200)]);
}

/// A run that is killed between its last row and the end line is not complete: resuming it runs
/// nothing and writes the line.
#[test]
fn a_suite_that_lacks_its_end_alone_is_given_one() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("own.json");
    let once = small(home.path(), &[]);
    good(&once);
    let render = format!("--render={}", json.display());
    let reported = stderr(&once);
    has(&reported, &format!(" {render}\nTo resume:\n"));
    let text = std::fs::read_to_string(&json).expect("written");
    let end = "{\"type\":\"end\",\"suite\":\"own\"}\n";
    let rows = results(&json).len();
    std::fs::write(&json, text.strip_suffix(end).expect("the last line")).expect("written");
    let shown = run_in(home.path(), &[&render]);
    let word = "Suite own did not run to its end";
    has(&stdout(&shown), word);
    assert!(small(home.path(), &[]).status.success());
    let after = std::fs::read_to_string(&json).expect("there");
    ends(&after, end);
    assert_eq!(results(&json).len(), rows, "nothing was run again");
    assert!(stdout(&small(home.path(), &[])).contains("own.json is complete"));
}

#[test]
fn a_finished_suite_with_an_engine_that_was_not_there_is_finished() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("own.json");
    let words = ["--engine=null,leveldb --rounds=2 --leveldb_lib=/nowhere/libleveldb.so"];
    let once = small(home.path(), &words);
    assert_eq!(once.status.code(), Some(1), "requested but absent");
    let before = std::fs::read_to_string(&json).expect("written");
    let again = small(home.path(), &words);
    assert_eq!(again.status.code(), Some(1));
    has(&stdout(&again), "is complete");
    assert_eq!(std::fs::read_to_string(&json).expect("there"), before);
}

#[test]
fn another_run_is_refused_with_what_it_differs_in() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("own.json");
    assert!(small(home.path(), &[]).status.success());
    let before = std::fs::read_to_string(&json).expect("written");
    for (word, wanted) in [
        ("--num=101", "num 100 there, 101 here"),
        ("--seed=7", "seed 1000 there, 7 here"),
        ("--noverify", "verify true there, false here"),
        ("--block_size=8192", "block_size not given there, 8192 here"),
        (
            "--compression_ratio=0.25",
            "compression_ratio 0.5 there, 0.25 here",
        ),
        (
            "--distribution=zipfian",
            "distribution not given there, zipfian here",
        ),
        (
            "--lmdb_lib=/x/liblmdb.so",
            "library of lmdb not given there, /x/liblmdb.so here",
        ),
        ("--row_timeout=9", "row_timeout 600 there, 9 here"),
    ] {
        let other = small(home.path(), &[word]);
        assert_eq!(other.status.code(), Some(1), "{word}");
        let said = stderr(&other);
        assert!(said.contains(wanted), "{word}: {said}");
    }
    for (from, to, wanted) in [
        (
            "over = \"write\"",
            "over = \"write\"\nmemory_mb = 8",
            "memory.cache_bytes 2097152 there, 4194304 here, in section write",
        ),
        (
            "split = \"reads\"",
            "split = \"writes\"\nthreads = 2",
            "threads 1 there, 2 here, in section write",
        ),
        (
            "\"readrandom\"]",
            "\"readrandom\", \"readhot\"]",
            "workloads read: readseq",
        ),
        (
            "heading = \"Killed\"",
            "heading = \"Killed\"\nvalue_size = 50",
            "value_size 100 there, 50 here, in section kill",
        ),
        (
            "heading = \"Killed\"",
            "heading = \"Killed\"\nbefore = [\"fillseq\"]",
            "2 processes there, 3 here, in section kill",
        ),
    ] {
        let file = home.path().join("own.toml");
        let text = SUITE.replace(from, to);
        assert_ne!(text, SUITE);
        let words = words(home.path());
        std::fs::write(file, text).expect("written");
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.extend(["--num=100", "--rounds=1"]);
        let other = run_in(home.path(), &words);
        let said = stderr(&other);
        assert_eq!(other.status.code(), Some(1), "{to}: {}", stdout(&other));
        assert!(said.contains(wanted), "{to}: {said}");
    }
    let after = std::fs::read_to_string(&json).expect("there");
    assert_eq!(after, before, "the file is as it was");
    // A setting that changes no figure does not make a different run.
    let report = format!("--report={}", home.path().join("report").display());
    assert!(small(home.path(), &[&report]).status.success());
}

#[test]
fn a_file_that_does_not_record_what_decided_its_figures_is_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("own.json");
    assert!(small(home.path(), &[]).status.success());
    let text = std::fs::read_to_string(&json).expect("written");
    let older = |line: &str| {
        let mut object: Value = serde_json::from_str(line).expect("an object");
        let fields = object.as_object_mut().expect("an object");
        if fields.get("type").is_some_and(|kind| kind == "suite") {
            fields.remove("decided").expect("reported");
        }
        object.to_string() + "\n"
    };
    let text: String = text.lines().map(older).collect();
    std::fs::write(&json, text).expect("written");
    let other = small(home.path(), &[]);
    assert_eq!(other.status.code(), Some(1));
    has(
        &stderr(&other),
        "it does not record what determines its figures",
    );
}

#[test]
fn another_build_is_refused_and_the_way_out_is_reported() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("own.json");
    assert!(small(home.path(), &[]).status.success());
    let text = std::fs::read_to_string(&json).expect("written");
    let changed = |name: &str, value: Option<&str>, complete: bool| {
        let line = |line: &str| {
            let mut object: Value = serde_json::from_str(line).expect("an object");
            if let Some(reported) = object.pointer_mut("/decided/everywhere") {
                let reported = reported.as_object_mut().expect("an object");
                assert!(reported.remove(name).is_some(), "{name}: {reported:?}");
                reported.extend(value.map(|value| (name.to_owned(), value.into())));
            }
            object.to_string() + "\n"
        };
        let lines: Vec<String> = text.lines().map(line).collect();
        // Removes the last row and the end line, because any build shows a complete run.
        let kept = if complete {
            lines.len()
        } else {
            lines.len() - 2
        };
        std::fs::write(&json, lines[..kept].concat()).expect("written");
        small(home.path(), &[])
    };
    for (name, value, wanted) in [
        ("db_bench", Some("7 bytes"), ": db_bench 7 bytes there, "),
        ("db_bench", None, ": db_bench not given there, "),
        ("build of null", Some("0.0"), ": build of null 0.0 there, "),
    ] {
        assert!(changed(name, value, true).status.success());
        let other = changed(name, value, false);
        let said = stderr(&other);
        assert_eq!(other.status.code(), Some(1), "{said}");
        has(&said, wanted);
        has(&said, "or remove that file to start over\n");
    }
    let absent = changed("build of null", None, false);
    good(&absent);
}

#[test]
fn two_runs_share_neither_file_nor_directory() {
    let home = tempfile::tempdir().expect("a directory");
    let own = words(home.path());
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let db = home.path().join("db");
    let mut first = command(&db, &[&own[..], &["--num=1000000"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let reported = BufReader::new(first.stderr.take().expect("piped"));
    let mut reported = reported.lines().map_while(Result::ok);
    assert!(reported.any(|line| line.starts_with("round ")), "it runs");
    let same_file = run_at(&home.path().join("other"), &own);
    has(
        &stderr(&same_file),
        "another suite writes its results into it",
    );
    let json = format!("--json={}", home.path().join("other.json").display());
    let same_directory = run_at(&db, &[own[0], &json, "--engine=null"]);
    has(&stderr(&same_directory), "another suite runs in it");
    first.kill().expect("killed");
    first.wait().expect("ended");
}
