//! The summary that fits a screen.

use serde_json::{Value, json};

use crate::common::{machine, report, rounds, row, with};

const ENGINES: [(&str, f64); 8] = [
    ("cairndb", 9e5),
    ("leveldb", 4e5),
    ("rocksdb", 3e5),
    ("sqlite3", 2e5),
    ("kyoto_treedb", 2.5e5),
    ("wiredtiger_btree", 1e5),
    ("lmdb", 5e5),
    ("null", 9e6),
];

/// The sections of the suite `quick`: name, heading and rows.
const SECTIONS: [(&str, &str, &[&str]); 14] = [
    ("1A", "A. Sequential Reads", &["readseq"]),
    ("1B", "B. Random Reads", &["readrandom"]),
    ("1C", "C. Sequential Writes", &["fillseq"]),
    ("1D", "D. Random Writes", &["fillrandom"]),
    ("2A", "A. Large Values", &["fillseq100K", "fill100K"]),
    ("2B", "B. Batch Writes", &["fillbatch"]),
    ("2B random", "B. Batch Writes", &["fillrandbatch"]),
    ("2C", "C. Synchronous Writes", &["fillseqsync"]),
    ("2C random", "C. Synchronous Writes", &["fillsync"]),
    ("2D", "D. Turning Compression Off", &["fillseq"]),
    ("2E", "E. Using More Memory", &["fillseq"]),
    ("3A", "A. Larger Caches", &["readseq"]),
    ("3B", "B. No Compression Reads", &["readseq"]),
    (
        "4 MB",
        "Other rows under 4 MB",
        &["overwrite", "readmissing", "readhot", "open"],
    ),
];

fn suite() -> Value {
    let section = |(name, heading, _): &(&str, &str, &[&str])| {
        let chapter = name.chars().next().map(|digit| format!("Chapter {digit}"));
        json!({"name": name, "chapter": chapter, "heading": heading})
    };
    let sections: Vec<Value> = SECTIONS.iter().map(section).collect();
    json!({
        "type": "suite", "name": "leveldb-2011", "num": 100_000, "rounds": 3, "sections": sections,
        "engines": ENGINES.map(|(name, _)| name),
    })
}

/// Returns three rounds of every engine and row, reads also after `compact`, and sections 1A to 1D
/// also with JSON records.
fn everything() -> Vec<Value> {
    let mut lines = vec![machine(), suite()];
    for (section, _, workloads) in SECTIONS {
        for workload in workloads {
            let states: &[Option<&str>] = if workload.starts_with("read") {
                &[Some("as left"), Some("compacted")]
            } else {
                &[None]
            };
            let data: &[&str] = if section.starts_with('1') {
                &["synthetic", "json"]
            } else {
                &["synthetic"]
            };
            for (instance, state) in (1..).zip(states) {
                for data in data {
                    for (engine, rate) in ENGINES {
                        let rows = rounds(engine, section, workload, rate);
                        lines.extend(rows.into_iter().map(|row| {
                            let row = with(with(row, "data", *data), "instance", instance);
                            with(row, "state", *state)
                        }));
                    }
                }
            }
        }
    }
    lines
}

fn fits(text: &str, width: usize) {
    let lines = text.lines().count();
    assert!(lines <= 56, "{lines} lines\n{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= width, "{line}");
    }
}

#[test]
fn a_whole_suite_fits_a_screen() {
    let text = report(&everything()).summary(120);
    fits(&text, 120);
    for row in [
        "1A readseq ",
        "1A readseq, after compact, json ",
        "1B readrandom, json ",
        "1C fillseq ",
        "1D fillrandom, json ",
        "2B Batch Writes ",
        "Other rows under 4 MB ",
    ] {
        let rows = text.lines().filter(|line| line.starts_with(row));
        assert_eq!(rows.count(), 1, "{row}\n{text}");
    }
    let line = text
        .lines()
        .find(|line| line.starts_with("1C fillseq "))
        .expect("a row");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[2..], ["900k", "400k", "500k", "1.80x", "LMDB"]);
    let line = text
        .lines()
        .find(|line| line.starts_with("2B Batch"))
        .expect("a section");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[3..], ["2", "2.25x", "1.80x", "2", "0", "0"]);
}

#[test]
fn failures_and_notes_leave_room_for_the_rows() {
    let mut lines = everything();
    for n in 0..40 {
        let engine = ENGINES[1 + n % 6].0;
        let lost = with(row(engine, "2A", "fill100K", 1, 1e5), "status", "failed");
        lines.push(with(
            lost,
            "reason",
            format!("cause {n} {}", "x ".repeat(100)),
        ));
        lines.push(json!({"type": "note", "text": format!("note {n} {}", "y ".repeat(150))}));
    }
    let text = report(&lines).summary(120);
    fits(&text, 120);
    assert!(text.contains("\nfailed: "), "{text}");
    assert!(text.contains("\nnote: note 3 "), "{text}");
    assert!(text.contains(" more, in the report\n"), "{text}");
    assert!(text.contains("\n1D fillrandom, json "), "{text}");
    fits(&report(&lines).summary(80), 80);
}

#[test]
fn other_suites_show_rows_while_there_is_room() {
    let mut lines = vec![machine()];
    for n in 0..90 {
        let section = format!("S{n}");
        lines.extend(rounds("cairndb", &section, "fillseq", 1e6));
        lines.extend(rounds("leveldb", &section, "fillseq", 5e5));
    }
    let text = report(&lines).summary(300);
    fits(&text, 120);
    assert!(text.contains(" more sections, in the report\n"), "{text}");
    let few = report(&lines[..=10 * 6]).summary(120);
    assert!(few.contains("\nS9: fillseq "), "{few}");
}

#[test]
fn a_summary_of_nothing_is_short() {
    assert_eq!(report(&[]).summary(120), "");
}
