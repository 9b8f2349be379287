//! Tests of the sample adapter in the harness, as `db_bench` runs any engine.

use std::fs::{read, write};
use std::path::Path;
use std::process::Command;

use bench_core::engine::{Durability, Engine as _, Role, Session as _, Store as _};
use bench_core::fault::Fault;
use bench_core::measure::runner::{self, Event};
use bench_core::result::record::{Record, Status};
use bench_core::workload::plan::Plan;
use bench_core::workload::settings::{Memory, Settings};
use engine_sample::{Sample, SampleStore};

const NUM: u64 = 2000;
const MEMORY: Memory = Memory::split(4 << 20, false);

/// Runs a list of workloads over an empty directory. Returns the result of each.
fn rows(dir: &Path, list: &[&str]) -> Vec<Record> {
    let plan = Plan {
        engine: "sample".into(),
        benchmarks: list.iter().map(|&name| name.to_owned()).collect(),
        db: dir.join("db"),
        num: NUM,
        reads: NUM,
        writes: NUM,
        deletes: NUM,
        threads: 1,
        value_size: 100,
        compression_ratio: 0.5,
        seed: 1000,
        readwritepercent: 90,
        memory: MEMORY,
        verify: true,
        round: 1,
        ranked: true,
        ..Plan::default()
    };
    let mut rows = Vec::new();
    let mut keep = |event| {
        if let Event::Row { record, .. } = event {
            rows.push(*record);
        }
    };
    runner::run(&Sample, &plan, &mut keep).expect("opens and closes");
    rows
}

#[test]
fn every_row_is_right_and_every_answer_was_judged() {
    let home = tempfile::tempdir().expect("a directory");
    let list = [
        "fillseq",
        "readseq",
        "readreverse",
        "open",
        "overwrite",
        "readrandom",
        "readmissing",
        "seekrandom",
        "deleterandom",
        "readrandomwriterandom",
        "readwhilewriting",
        "verify",
        "fillrandbatch",
        "readseq",
        "fillsync",
        "fill100K",
        "readseq",
    ];
    let rows = rows(home.path(), &list);
    assert_eq!(rows.len(), list.len());
    for row in &rows {
        assert_eq!(row.status, Status::Ok, "{}: {:?}", row.workload, row.reason);
        assert_eq!(row.verified, Some(true), "{}", row.workload);
        assert_eq!(row.ranked, Some(true), "{}", row.workload);
    }
    let survives = |name| {
        let row = rows.iter().find(|row| row.workload == name).expect("ran");
        row.durability.clone().expect("a row that writes")
    };
    assert_eq!(survives("fillseq"), "os");
    assert_eq!(survives("fillsync"), "sync");
    let found = rows
        .iter()
        .find(|row| row.workload == "readseq")
        .expect("ran")
        .found;
    assert_eq!(found, Some(NUM));
}

#[test]
fn what_it_cannot_do_is_skipped_by_name() {
    let home = tempfile::tempdir().expect("a directory");
    let rows = rows(home.path(), &["fillseq", "compact"]);
    assert_eq!(rows[1].status, Status::Skipped);
    assert_eq!(rows[1].reason.as_deref(), Some("not supported by sample"));
}

fn open(dir: &Path) -> Result<SampleStore, Fault> {
    let settings = Settings {
        entries: NUM,
        ..Settings::plain(MEMORY)
    };
    Sample.open(dir, &settings)
}

/// Puts `one` and `two`, closes, and returns the contents of the log.
fn two_writes(dir: &Path) -> Vec<u8> {
    let store = open(dir).expect("an empty directory");
    let role = Role::single(Durability::Os);
    let mut session = store.session(role).expect("a session");
    for key in [&b"one"[..], b"two"] {
        session.put(key, b"value").expect("put");
    }
    drop(session);
    store.close().expect("closed");
    read(dir.join("log")).expect("a log")
}

#[test]
fn a_torn_write_is_cut_off_and_the_ones_before_stay() {
    let home = tempfile::tempdir().expect("a directory");
    let log = two_writes(home.path());
    write(home.path().join("log"), &log[..log.len() - 1]).expect("written");
    let store = open(home.path()).expect("opens");
    let role = Role::single(Durability::Os);
    let mut session = store.session(role).expect("a session");
    assert_eq!(session.get(b"one", <[u8]>::len).expect("read"), Some(5));
    assert_eq!(session.get(b"two", <[u8]>::len).expect("read"), None);
    assert_eq!(
        read(home.path().join("log")).expect("a log").len(),
        log.len() / 2
    );
}

#[test]
fn damage_is_reported_by_file_and_place() {
    let home = tempfile::tempdir().expect("a directory");
    let mut log = two_writes(home.path());
    log[8] = 7;
    write(home.path().join("log"), &log).expect("written");
    let fault = open(home.path()).expect_err("damaged").to_string();
    assert!(fault.ends_with("log: corrupt at byte 0"), "{fault}");
}

#[test]
fn the_program_of_the_folder_runs_it_like_any_engine() {
    let home = tempfile::tempdir().expect("a directory");
    let output = Command::new(env!("CARGO_BIN_EXE_sample_bench"))
        .arg(format!("--db={}", home.path().join("db").display()))
        .args([
            "--engine=sample,null",
            "--num=1000",
            "--benchmarks=fillrandom,readseq",
        ])
        .output()
        .expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("Engine:     sample"), "{text}");
    assert_eq!(text.matches("readseq      :").count(), 2, "{text}");
}

#[test]
fn the_guide_shows_what_stands_in_the_sources() {
    const GUIDE: &str = include_str!("../../../../docs/guide/benchmarking.md");
    const SOURCES: &str = concat!(
        include_str!("../src/lib.rs"),
        include_str!("../src/main.rs")
    );
    let blocks: Vec<&str> = GUIDE
        .split("```rust\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert_eq!(blocks.len(), 3);
    for block in blocks {
        assert!(SOURCES.contains(block), "not in the sources:\n{block}");
    }
}
