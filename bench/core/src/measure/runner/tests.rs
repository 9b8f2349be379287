//! Tests of the runner over an in-memory engine that is correct or has a defect.

use std::collections::BTreeSet;

mod choices;
mod deletions;
mod keyspaces;
mod shapes;

use super::*;
use crate::engine::{Survival, Variant};
use crate::host::test_text::{begins, ends, has};
use crate::result::record::{Record, Status};
use crate::testing::{Defect, FaultyEngine, plan};

/// Runs a plan. Returns its rows and its texts.
fn rows_of(engine: &FaultyEngine, plan: &Plan) -> (Vec<Record>, String) {
    let (mut rows, mut text) = (Vec::new(), String::new());
    run(&engine, plan, &mut |event| match event {
        Event::Row {
            text: line, record, ..
        } => {
            text.push_str(&line);
            rows.push(*record);
        }
        Event::Text(line) | Event::Note(line) => text.push_str(&line),
        _ => {}
    })
    .expect("opens and closes");
    (rows, text)
}

fn run_list(defect: Defect, num: u64, list: &[&str]) -> Vec<Record> {
    let home = tempfile::tempdir().expect("a directory");
    rows_of(
        &FaultyEngine::new(defect),
        &plan(&home.path().join("db"), num, list),
    )
    .0
}

/// All workloads that need a store and are fast.
#[rustfmt::skip]
const EVERYTHING: &[&str] = &[
    "fillseq", "readseq", "readreverse", "readrandom", "readmissing", "readhot", "seekordered",
    "deleterandom", "deleteseq", "fillrandom", "overwrite", "readrandom", "readseq",
    "multireadrandom", "updaterandom", "mergerandom", "readrandommergerandom",
    "readrandomwriterandom", "readwhilewriting", "readwhilemerging", "readseq", "ycsba", "ycsbb",
    "ycsbc", "ycsbd", "ycsbe", "ycsbf", "readseq", "compact", "open", "verify", "fillbatch",
    "readseq", "fillrandbatch", "readreverse", "filluniquerandom", "readseq", "fill100K",
    "readseq", "readrandom", "fillseq100K", "readseq",
];

#[test]
fn an_honest_engine_passes_every_row() {
    let rows = run_list(Defect::None, 3000, EVERYTHING);
    assert_eq!(rows.len(), EVERYTHING.len());
    for row in &rows {
        assert_eq!(row.status, Status::Ok, "{}: {:?}", row.workload, row.reason);
        assert_eq!(row.verified, Some(true), "{}", row.workload);
        assert!(
            row.wall_ns.is_some() && row.ops.is_some(),
            "{}",
            row.workload
        );
    }
    let unique = rows
        .iter()
        .position(|row| row.workload == "filluniquerandom")
        .expect("ran");
    assert_eq!(rows[unique + 1].found, Some(3000));
}

#[test]
fn several_threads_are_judged_without_false_alarms() {
    let home = tempfile::tempdir().expect("a directory");
    #[rustfmt::skip]
    let list = [
        "fillrandom", "readrandom", "overwrite", "readwhilewriting", "readwhilemerging",
        "mergerandom", "readrandomwriterandom", "readseq", "ycsba", "ycsbd", "ycsbf", "readseq",
        "fillrandbatch", "readreverse",
    ];
    let plan = Plan {
        threads: 4,
        ..plan(&home.path().join("db"), 20, &list)
    };
    let plan = Plan {
        reads: 5000,
        writes: 5000,
        ..plan
    };
    for row in rows_of(&FaultyEngine::new(Defect::None), &plan).0 {
        assert_eq!(row.status, Status::Ok, "{}: {:?}", row.workload, row.reason);
        assert_eq!(row.threads, Some(4));
    }
}

/// Returns the names of the rows that fail because of a defect.
fn caught(defect: Defect, num: u64, list: &[&str]) -> BTreeSet<String> {
    let rows = run_list(defect, num, list);
    for row in rows.iter().filter(|row| row.status == Status::Failed) {
        assert!(
            row.reason
                .as_deref()
                .is_some_and(|reason| reason.contains("wrong answer")),
            "{row:?}"
        );
    }
    rows.into_iter()
        .filter(|row| row.status == Status::Failed)
        .map(|row| row.workload)
        .collect()
}

#[test]
fn a_dropped_key_in_ten_thousand_fails_the_row_that_dropped_it() {
    let rows = run_list(
        Defect::DropsPuts,
        20_000,
        &["fillseq", "readrandom", "readseq"],
    );
    assert_eq!(rows[0].status, Status::Failed);
    let reason = rows[0].reason.as_deref().expect("failed");
    has(
        reason,
        "key 0000000000009999: expected its last value, got nothing",
    );
    assert_eq!(rows[2].status, Status::Failed);
    assert!(caught(Defect::DropsPuts, 20_000, &["fillrandbatch"]).contains("fillrandbatch"));
}

#[test]
fn a_changed_bit_fails_reads_and_scans() {
    let reads = caught(
        Defect::FlipsGets,
        20_000,
        &["fillseq", "readrandom", "multireadrandom", "updaterandom"],
    );
    assert_eq!(
        reads,
        ["readrandom", "multireadrandom", "updaterandom"]
            .map(str::to_owned)
            .into()
    );
    let scans = caught(
        Defect::FlipsScans,
        20_000,
        &["fillseq", "readseq", "readreverse"],
    );
    assert_eq!(
        scans,
        ["fillseq", "readseq", "readreverse"]
            .map(str::to_owned)
            .into()
    );
}

#[test]
fn repeated_swapped_undeleted_and_misplaced_entries_are_caught() {
    assert!(
        caught(Defect::RepeatsEntries, 20_000, &["fillseq", "readreverse"]).contains("readreverse")
    );
    assert!(caught(Defect::SwapsValues, 2000, &["fillseq", "readseq"]).contains("readseq"));
    assert!(caught(Defect::KeepsDeleted, 20_000, &["fillseq", "deleteseq"]).contains("deleteseq"));
    assert!(caught(Defect::SeeksLate, 2000, &["fillseq", "seekrandom"]).contains("seekrandom"));
    // A seek that finds its key is checked later than one that does not.
    let seeks = ["fillseq", "deleteseq", "seekrandom"];
    assert!(caught(Defect::KeepsDeleted, 20_000, &seeks).contains("seekrandom"));
}

#[test]
fn an_error_fails_its_row_and_the_list_goes_on() {
    let rows = run_list(
        Defect::Fails,
        1000,
        &["fillseq", "readseq", "crc32c", "fillseq"],
    );
    for failed in [0, 3] {
        assert_eq!(rows[failed].status, Status::Failed);
        let reason = rows[failed].reason.as_deref();
        assert_eq!(reason, Some("no space left on device"));
    }
    let reason = rows[1].reason.as_deref().expect("skipped");
    assert_eq!(rows[1].status, Status::Skipped);
    ends(reason, "fillseq before it failed");
    assert_eq!(rows[2].status, Status::Ok, "it needs no database");
}

#[test]
fn what_an_engine_cannot_do_is_skipped_by_name() {
    let mut engine = FaultyEngine::new(Defect::None);
    engine.able.reverse = false;
    engine.able.batch = false;
    engine.able.compact = false;
    engine.able.merge = false;
    let home = tempfile::tempdir().expect("a directory");
    let list = [
        "fillbatch",
        "fillseq",
        "readreverse",
        "compact",
        "mergerandom",
    ];
    let (rows, text) = rows_of(&engine, &plan(&home.path().join("db"), 1000, &list));
    let skipped: Vec<&str> = rows
        .iter()
        .filter(|row| row.status == Status::Skipped)
        .map(|row| row.workload.as_str())
        .collect();
    assert_eq!(skipped, ["fillbatch", "readreverse", "compact"]);
    has(&text, "readreverse  : skipped (not supported by faulty)\n");
    has(&text, "( updates:1000) (read-modify-write)\n");
}

#[test]
fn unknown_names_and_texts_are_levels() {
    let home = tempfile::tempdir().expect("a directory");
    #[rustfmt::skip]
    let list = [
        "fillseq", "", "nosuch", "stats", "levelstats", "sstables", "heapprofile", "resetstats",
    ];
    let (rows, text) = rows_of(
        &FaultyEngine::new(Defect::None),
        &plan(&home.path().join("db"), 100, &list),
    );
    assert_eq!(rows.len(), 1);
    ends(
        &text,
        "unknown benchmark 'nosuch'\n\nall is well\n\nall is well\nsstables     : skipped (not supported by faulty)\nheap profiling not supported: no allocator here keeps a profile; --allocator=libtcmalloc.so.4 with HEAPPROFILE=PREFIX set does\nresetstats   : skipped (not supported by faulty)\n",
    );
}

#[test]
fn an_existing_database_is_judged_by_its_note_and_fresh_rows_are_skipped() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    let engine = FaultyEngine::new(Defect::None);
    rows_of(&engine, &plan(&db, 1000, &["fillrandom"]));
    let again = Plan {
        use_existing_db: true,
        ..plan(&db, 1000, &["fillseq", "readrandom", "readseq"])
    };
    let (rows, text) = rows_of(&engine, &again);
    has(
        &text,
        "fillseq      : skipped (--use_existing_db is true)\n",
    );
    assert_eq!(rows[1].verified, Some(true));
    // With another value size the note does not match, so the row is marked unverified.
    let other = Plan {
        value_size: 50,
        ..again
    };
    let (rows, text) = rows_of(&engine, &other);
    assert_eq!(rows[1].verified, Some(false));
    has(&text, "found) unverified\n");
}

#[test]
fn a_resumed_list_does_again_what_came_before_and_leaves_out_what_was_lost() {
    let home = tempfile::tempdir().expect("a directory");
    let list = [
        "fillrandom",
        "readrandom",
        "overwrite",
        "deleteseq",
        "readseq",
    ];
    let plan = Plan {
        resume_at: 4,
        lost: vec![3],
        ..plan(&home.path().join("db"), 1000, &list)
    };
    let (rows, _) = rows_of(&FaultyEngine::new(Defect::None), &plan);
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].workload.as_str(), rows[0].status),
        ("readseq", Status::Ok)
    );
    assert!(
        rows[0].found.is_some_and(|found| found > 800),
        "{:?}",
        rows[0].found
    );
}

#[test]
fn a_resumed_list_compacts_again_and_ends_where_that_fails() {
    let list = ["fillrandom", "readrandom", "compact", "readseq"];
    for defect in [Defect::None, Defect::FailsToCompact] {
        let home = tempfile::tempdir().expect("a directory");
        let engine = FaultyEngine::new(defect);
        let plan = Plan {
            resume_at: 3,
            ..plan(&home.path().join("db"), 1000, &list)
        };
        let mut rows = Vec::new();
        let ended = run(&&engine, &plan, &mut |event| {
            if let Event::Row { record, .. } = event {
                rows.push(record.workload.clone());
            }
        });
        let done = engine
            .compactions
            .load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(done, 1);
        if defect == Defect::None {
            ended.expect("compacted");
            assert_eq!(rows, ["readseq"]);
        } else {
            let reported = ended.expect_err("not compacted").to_string();
            begins(
                &reported,
                "compact, repeated for the rows after it, failed: no space",
            );
            assert!(rows.is_empty(), "{rows:?}");
        }
    }
}

#[test]
fn repeats_and_warm_ups_print_rocks_lines() {
    let home = tempfile::tempdir().expect("a directory");
    let list = ["fillseq", "readseq[X3-W2]"];
    let (rows, text) = rows_of(
        &FaultyEngine::new(Defect::None),
        &plan(&home.path().join("db"), 500, &list),
    );
    assert_eq!(rows.len(), 4);
    has(
        &text,
        "Warming up benchmark by running 2 times\nRunning benchmark for 3 times\n",
    );
    assert!(
        text.contains("readseq [AVG    3 runs] : ") && text.contains("readseq [MEDIAN 3 runs] : "),
        "{text}"
    );
}

#[test]
fn counts_of_operations_and_bytes_are_levels() {
    let rows = run_list(
        Defect::None,
        5000,
        &[
            "fillseq",
            "fillrandbatch",
            "fill100K",
            "open",
            "readhot",
            "deleteseq",
        ],
    );
    let by = |name: &str| rows.iter().find(|row| row.workload == name).expect("ran");
    assert_eq!(
        (by("fillseq").ops, by("fillseq").bytes),
        (Some(5000), Some(580_000))
    );
    assert_eq!(
        (by("fillrandbatch").ops, by("fillrandbatch").bytes),
        (Some(5000), Some(580_000))
    );
    assert_eq!(
        (by("fill100K").ops, by("fill100K").bytes),
        (Some(5), Some(500_080))
    );
    assert_eq!(by("open").ops, Some(1));
    assert_eq!(
        (by("deleteseq").ops, by("deleteseq").bytes),
        (Some(5000), None)
    );
    assert_eq!(by("deleteseq").user_bytes, Some(80_000));
    assert_eq!(by("fillseq").live_bytes, Some(580_000));
    assert_eq!(by("fill100K").live_bytes, Some(500_080));
    assert_eq!(by("deleteseq").live_bytes, Some(0));
}

#[test]
fn records_hold_only_what_was_measured() {
    let rows = run_list(Defect::None, 500, &["fillseq", "readrandom", "crc32c"]);
    let json: Vec<serde_json::Value> = rows
        .iter()
        .map(|row| serde_json::to_value(row).expect("plain data"))
        .collect();
    assert_eq!(json[0]["durability"], "os");
    assert!(json[0]["settle_ns"].is_u64() && json[0]["disk_bytes"].is_u64());
    assert!(json[1].get("settle_ns").is_none() && json[1].get("p50_ns").is_none());
    assert!(json[1]["found"].is_u64() && json[1].get("durability").is_none());
    assert!(json[2].get("memory_bytes").is_none() && json[2].get("verified").is_none());
    let back: Record = serde_json::from_value(json[0].clone()).expect("its own form");
    assert_eq!(back, rows[0]);
}

#[test]
fn writes_below_os_are_shown_and_not_ranked() {
    let home = tempfile::tempdir().expect("a directory");
    let list = ["fillseq", "readseq", "fillseqsync"];
    let mut engine = FaultyEngine::new(Defect::None);
    engine.survival = Survival::BelowOs;
    let plan = Plan {
        verify: false,
        ..plan(&home.path().join("db"), 300, &list)
    };
    let reported = |rows: Vec<Record>| -> Vec<_> {
        rows.into_iter()
            .map(|row| (row.durability, row.ranked, row.variant))
            .collect()
    };
    let word = |text: &str| Some(text.to_owned());
    assert_eq!(
        reported(rows_of(&engine, &plan).0),
        [
            (word("below_os"), Some(false), None),
            (None, Some(true), None),
            (word("sync"), Some(true), None),
        ]
    );
    engine.variants = &[Variant::Fair, Variant::Seed];
    let plan = Plan {
        variant: Variant::Seed,
        benchmarks: vec!["readseq".into()],
        ..plan
    };
    assert_eq!(
        reported(rows_of(&engine, &plan).0),
        [(None, Some(false), word("seed"))],
        "nothing of the seed variant is ranked"
    );
}

#[test]
fn rows_that_an_engine_declines_are_skipped_and_its_others_not_ranked() {
    let home = tempfile::tempdir().expect("a directory");
    #[rustfmt::skip]
    let list = [
        "fillseq", "readrandom", "fillseqsync", "fillseq100K", "readseq100K", "readrand100K",
        "fillrandom", "readrandom",
    ];
    let mut engine = FaultyEngine::new(Defect::None);
    engine.least = Some(1000);
    let rows = rows_of(&engine, &plan(&home.path().join("db"), 3000, &list)).0;
    let reported: Vec<_> = rows
        .iter()
        .map(|row| (row.status == Status::Skipped, row.ranked))
        .collect();
    let (declined, run) = ((true, Some(false)), (false, Some(false)));
    assert_eq!(
        reported,
        [declined, declined, run, run, run, run, declined, declined],
        "nothing reads what another row has left"
    );
    assert_eq!(rows[0].reason.as_deref(), Some("too small"));
}

/// A thousandth of all keys is stored, so draws from all keys would rarely find one.
#[test]
fn large_values_are_read_by_keys_that_are_there() {
    let home = tempfile::tempdir().expect("a directory");
    let engine = FaultyEngine::new(Defect::None);
    for fill in ["fillseq100K", "fillrand100K"] {
        let plan = plan(&home.path().join("db"), 20_000, &[fill, "readrand100K"]);
        let (rows, _) = rows_of(&engine, &plan);
        assert_eq!(
            (rows[1].status, rows[1].found),
            (Status::Ok, Some(20)),
            "{fill}"
        );
    }
}

#[test]
fn a_variant_the_engine_has_not_skips_its_rows() {
    let home = tempfile::tempdir().expect("a directory");
    let plan = Plan {
        variant: Variant::Seed,
        ..plan(&home.path().join("db"), 300, &["fillseq", "readseq"])
    };
    let (rows, text) = rows_of(&FaultyEngine::new(Defect::None), &plan);
    assert!(rows.iter().all(|row| row.status == Status::Skipped));
    has(
        &text,
        "fillseq      : skipped (faulty has no seed settings)\n",
    );
}
