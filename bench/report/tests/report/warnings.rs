//! Every kind of warning that a reader needs before trusting a figure: in the page, in Markdown and
//! in the summary.

use serde_json::{Value, json};

use crate::common::{data, machine, page, report, rounds, row, with};

fn warnings(lines: &[Value]) -> Vec<String> {
    let warnings = data(&report(lines).html())["warnings"].clone();
    serde_json::from_value(warnings).expect("texts")
}

fn has(lines: &[Value], text: &str) -> bool {
    warnings(lines).iter().any(|warning| warning.contains(text))
}

#[test]
fn a_resumed_run_says_so_once() {
    let mut lines = vec![machine()];
    lines.extend(rounds("lmdb", "1A", "readseq", 1e6));
    lines.push(machine());
    assert!(has(
        &lines,
        "This run was stopped and resumed: it was started 2 times."
    ));
    assert!(page(&lines).contains("Machine and program, start 2"));
    lines.push(json!({"type": "note", "text": "resumed after 9 rows"}));
    assert!(has(&lines, "resumed after 9 rows") && !has(&lines, "it was started 2 times"));
}

#[test]
fn a_run_resumed_by_another_build_or_elsewhere_says_so() {
    let built = |commit: &str| with(machine(), "commit", commit);
    let text = "Rows before and after the stop have a different";
    assert!(!has(&[built("abc"), built("abc")], text));
    assert!(has(
        &[built("abc"), built("def")],
        &format!("{text} db_bench: abc, then def.")
    ));
    let moved = with(built("abc"), "cpu", "Other CPU");
    assert!(has(
        &[built("abc"), moved],
        &format!("{text} processor: Some CPU, then Other CPU.")
    ));
}

#[test]
fn a_program_with_assertions_says_so() {
    let text = "db_bench was built with assertions";
    assert!(has(&[with(machine(), "assertions", true)], text));
    assert!(!has(&[machine()], text));
}

#[test]
fn a_run_that_has_not_ended_says_so() {
    let suite = json!({"type": "suite", "name": "leveldb-2011", "decided": {}});
    let mut lines = vec![machine(), suite];
    lines.extend(rounds("lmdb", "1A", "readseq", 1e6));
    let word = "Suite leveldb-2011 did not run to its end";
    assert!(has(&lines, word));
    assert!(
        report(&lines)
            .summary(80)
            .contains(&format!("\nnote: {word}"))
    );
    assert!(
        report(&lines)
            .markdown()
            .contains(&format!("> **Note.** {word}"))
    );
    lines.push(json!({"type": "end", "suite": "leveldb-2011"}));
    assert!(!has(&lines, word));
    let again = bench_report::Report::from_text(&report(&lines).json().expect("plain data"));
    assert!(!again.expect("written so").html().contains(word));
    lines.push(row("lmdb", "1C", "fillseq", 1, 1e6));
    assert!(has(&lines, word), "it goes on");
}

#[test]
fn rounds_left_out_missing_or_few_are_reported() {
    let mut lines = rounds("lmdb", "1A", "readseq", 1e6);
    lines.extend(rounds("leveldb", "1A", "readseq", 1e6));
    lines.pop();
    lines.push(json!({"type": "note", "text": "round 4 was left out"}));
    assert!(has(&lines, "round 4 was left out"));
    assert!(has(
        &lines,
        "1 row has fewer rounds than the others of the suite: 1A readseq."
    ));
    assert!(has(&lines[..1], "One round only: there is no spread"));
    assert!(has(
        &lines[..2],
        "2 rounds only: the spread shown is narrower than the real one."
    ));
}

#[test]
fn rows_with_fewer_rounds_by_the_suite_itself_miss_none() {
    let outline = |data: &str, rounds: u32| {
        let fewer = json!([{"section": "1C", "data": data, "rounds": rounds}]);
        json!({"type": "suite", "name": "leveldb-2011", "rounds": 3, "fewer_rounds": fewer})
    };
    let reported = |data: &str, count: u32| {
        let mut lines = vec![outline(data, count)];
        lines.extend(rounds("lmdb", "1A", "readseq", 1e6));
        lines.push(row("lmdb", "1C", "fillseq", 1, 1e6));
        has(
            &lines,
            "fewer rounds than the others of the suite: 1C fillseq.",
        )
    };
    assert!(!reported("synthetic", 1));
    assert!(reported("json", 1) && reported("synthetic", 2));
}

#[test]
fn failures_and_unverified_rows_are_counted() {
    let mut lines = rounds("lmdb", "1A", "readseq", 1e6);
    lines.push(with(
        row("leveldb", "1A", "readseq", 1, 1e6),
        "status",
        "failed",
    ));
    assert!(has(
        &lines,
        "1 measurement failed; the rows, and Rows without a figure, give the reasons."
    ));
    let summary = report(&lines).summary(120);
    assert!(
        summary.contains("failed: LevelDB, 1A readseq: no reason given"),
        "{summary}"
    );
    let text = "Answers could not be compared with what was written (unverified) in 1A readseq.";
    assert!(!has(&lines, text));
    lines[0] = with(lines[0].clone(), "verified", false);
    assert!(has(&lines, text));
}

#[test]
fn flushes_that_nobody_counted_are_not_claimed() {
    const NONE: &str = "Flushes of the device could not be counted in the synchronous rows";
    let sync = |section: &str| {
        let rows = rounds("lmdb", section, "fillseqsync", 1e3);
        rows.into_iter().map(|row| with(row, "durability", "sync"))
    };
    let mut lines = vec![with(machine(), "write_cache", "write through")];
    lines.extend(sync("2C"));
    assert!(has(&lines, NONE) && has(&lines, "(write cache: write through)"));
    lines.extend(sync("FS").map(|row| with(row, "fsyncs", 2_000_000)));
    assert!(has(
        &lines,
        "could not be counted in some synchronous rows (2C fillseqsync)"
    ));
    lines.drain(1..4);
    assert!(!has(&lines, "Flushes of the device could not"));
    // A row with a weaker guarantee needs no flush.
    assert!(!has(&rounds("lmdb", "1C", "fillseq", 1e6), NONE));
}

/// Returns a row whose process was killed, as the suite records it.
fn killed(engine: &str, status: &str, reason: &str) -> Value {
    let line = with(row(engine, "kill", "fillrandom", 1, 1e6), "status", status);
    if reason.is_empty() {
        line
    } else {
        with(line, "reason", reason)
    }
}

#[test]
fn nobody_else_lost_writes_is_said_only_where_it_is_so() {
    const BELOW: &str =
        "below Os, as marked: acknowledged writes were missing after SIGKILL: 1 wrong answer";
    const LOST: &str = "acknowledged writes were missing after SIGKILL: 1 wrong answer";
    let kyoto = killed("kyoto_treedb", "ok", BELOW);
    let good = killed("cairndb", "ok", "");
    let lost = "Kyoto TreeDB lost acknowledged writes when the process was killed, which only stores \
                marked below Os may";
    assert!(has(
        &[kyoto.clone(), good.clone()],
        &format!("{lost}; no other store did.")
    ));
    let broken = killed("lmdb", "failed", LOST);
    let named =
        "LMDB had promised that such writes survive, but lost some when the process was killed.";
    assert!(has(
        &[kyoto.clone(), good.clone(), broken.clone()],
        &format!("{lost}. {named}")
    ));
    assert!(has(&[good.clone(), broken], named));
    // A row that failed before the process was killed shows nothing.
    let lines = [
        kyoto,
        good,
        killed("lmdb", "failed", "ignores its memory setting"),
    ];
    assert!(
        has(&lines, lost) && !has(&lines, "no other store") && !has(&lines, "LMDB had promised")
    );
}
