//! Tests of flags: data sets, keys, draws, batches, formats.

use super::*;
use crate::host::test_text::has;
use crate::workload::plan::{Data, Distribution, Format, Keys};
use crate::workload::rate::Rate;

/// Runs a list with a modified plan over a correct engine; every row must succeed.
fn rows_with(num: u64, list: &[&str], change: impl FnOnce(&mut Plan)) -> (Vec<Record>, String) {
    let home = tempfile::tempdir().expect("a directory");
    let mut plan = plan(&home.path().join("db"), num, list);
    change(&mut plan);
    let (rows, text) = rows_of(&FaultyEngine::new(Defect::None), &plan);
    for row in &rows {
        assert_eq!(row.status, Status::Ok, "{}: {:?}", row.workload, row.reason);
        assert_eq!(row.verified, Some(true), "{}", row.workload);
    }
    (rows, text)
}

#[rustfmt::skip]
const MIXED: &[&str] = &[
    "fillrandom", "readrandom", "readmissing", "seekrandom", "readseq", "readreverse",
    "updaterandom", "mergerandom", "deleterandom", "readseq", "verify",
];

#[test]
fn rocks_keys_json_values_and_other_draws_are_judged_as_well() {
    rows_with(300, MIXED, |plan| plan.keys = Keys::RocksDb);
    rows_with(300, MIXED, |plan| {
        plan.keys = Keys::RocksDb;
        plan.key_len = 23;
    });
    rows_with(300, MIXED, |plan| {
        plan.keys = Keys::RocksDb;
        plan.key_len = 9;
    });
    let (rows, _) = rows_with(300, MIXED, |plan| plan.data = Data::Json);
    assert_eq!(rows[0].data.as_deref(), Some("json"));
    rows_with(300, MIXED, |plan| {
        plan.data = Data::Random;
        plan.key_len = 24;
    });
    for distribution in [Distribution::Zipfian, Distribution::Latest] {
        let (rows, _) = rows_with(300, MIXED, |plan| plan.distribution = Some(distribution));
        assert!(
            rows[0].ops == Some(300) && rows[4].found < Some(180),
            "{distribution:?} draws few keys often: {:?}",
            rows[4].found
        );
    }
}

#[test]
fn a_limited_writer_rests_until_the_readers_have_ended() {
    let (rows, _) = rows_with(3000, &["readwhilewriting"], |plan| {
        plan.write_rate_limit = 116;
    });
    // One entry of 116 bytes, and the next one second later.
    let seconds = rows[0].wall_ns.expect("measured") / 1_000_000_000;
    let written = rows[0].writer_ops.expect("a writer");
    assert!(written <= seconds + 2, "{written} in {seconds} s");
}

#[test]
fn merges_that_are_reads_and_puts_are_marked_as_such() {
    let list = [
        "fillseq",
        "mergerandom",
        "readrandommergerandom",
        "readwhilemerging",
        "readwhilewriting",
        "updaterandom",
    ];
    for (able, marked) in [(true, &[][..]), (false, &list[1..4])] {
        let mut engine = FaultyEngine::new(Defect::None);
        engine.able.merge = able;
        let home = tempfile::tempdir().expect("a directory");
        let (rows, _) = rows_of(&engine, &plan(&home.path().join("db"), 300, &list));
        let by_hand = rows.iter().filter(|row| row.by_hand);
        let names: Vec<&str> = by_hand.map(|row| row.workload.as_str()).collect();
        assert_eq!(names, marked);
    }
}

#[test]
fn records_of_a_file_are_written_read_and_judged() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("records.tsv");
    let line = |number: u32| {
        let key = number.wrapping_mul(2_654_435_761) % 100_000;
        format!(
            "user{key}\tvalue {number} {}\n",
            "x".repeat(number as usize % 50)
        )
    };
    let lines = (0..1200).map(line).collect::<Vec<_>>().concat();
    std::fs::write(&path, lines).expect("written");
    let mut list = MIXED.to_vec();
    list.extend(["fillseq", "fill100K", "readseq"]);
    let (rows, _) = rows_with(1200, &list, |plan| {
        let path = path.clone();
        plan.data = Data::File { path, key_bytes: 9 };
    });
    let filled = &rows[MIXED.len()];
    let raw = std::fs::read(&path).expect("written").len() as u64;
    assert_eq!(
        filled.bytes,
        Some(raw - 2 * 1200),
        "all but tabs and line feeds"
    );
    assert_eq!(filled.live_bytes, filled.bytes, "each key is put once");
    assert!(
        rows[0]
            .data
            .as_deref()
            .is_some_and(|data| data.ends_with("records.tsv"))
    );
    let db = home.path().join("db");
    let plan = Plan {
        data: Data::File { path, key_bytes: 9 },
        ..plan(&db, 300, &["fillseq", "ycsbd"])
    };
    let (rows, _) = rows_of(&FaultyEngine::new(Defect::None), &plan);
    assert_eq!(rows[1].status, Status::Skipped);
    assert_eq!(
        rows[1].reason.as_deref(),
        Some("a data file has no keys to add")
    );
}

#[test]
fn inserted_records_stay_and_are_judged_by_later_rows() {
    let list = [
        "fillseq", "ycsbd", "ycsbe", "readseq", "open", "verify", "fillseq", "readseq",
    ];
    let (rows, text) = rows_with(1000, &list, |_| {});
    let counted = |name: &str, what: &str| -> u64 {
        let line = text
            .lines()
            .find(|line| line.starts_with(name))
            .expect("ran");
        let (_, rest) = line.split_once(&format!("{what}:")).expect("counted");
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse().expect("a number")
    };
    let added = counted("ycsbd", "inserts") + counted("ycsbe", "inserts");
    assert!((50..170).contains(&added), "{added} of 100 expected");
    assert_eq!(rows[3].found, Some(1000), "readseq reads N");
    assert_eq!(rows[5].found, Some(1000 + added));
    assert_eq!(rows[7].found, Some(1000), "a fresh store has no added keys");
}

/// Regression: the concurrent writer continued until the row's time limit.
#[test]
fn a_reader_that_panics_ends_its_row() {
    let home = tempfile::tempdir().expect("a directory");
    let engine = FaultyEngine::new(Defect::Panics);
    let list = ["fillseq", "readwhilewriting", "fillseq"];
    let plan = Plan {
        threads: 2,
        ..plan(&home.path().join("db"), 100, &list)
    };
    let (rows, _) = rows_of(&engine, &plan);
    assert_eq!(
        rows[1].reason.as_deref(),
        Some("a thread of the row panicked")
    );
    assert_eq!(rows[2].status, Status::Ok);
}

#[test]
fn a_scan_that_swaps_values_fails_ycsb_e() {
    let home = tempfile::tempdir().expect("a directory");
    let engine = FaultyEngine::new(Defect::SwapsValues);
    let plan = plan(&home.path().join("db"), 2000, &["fillseq", "ycsbe"]);
    let (rows, _) = rows_of(&engine, &plan);
    let reported = rows[1].reason.as_deref().expect("failed");
    has(reported, "another value of the pool");
}

#[test]
fn batches_of_any_size_are_written_and_need_an_engine_with_batches() {
    let (rows, _) = rows_with(1000, &["fillrandom", "overwrite", "readseq"], |plan| {
        plan.batch_size = 7;
    });
    assert_eq!(rows[0].ops, Some(1000));
    let mut engine = FaultyEngine::new(Defect::None);
    engine.able.batch = false;
    let home = tempfile::tempdir().expect("a directory");
    let plan = Plan {
        batch_size: 7,
        ..plan(
            &home.path().join("db"),
            100,
            &["fillseq", "multireadrandom"],
        )
    };
    let (rows, _) = rows_of(&engine, &plan);
    assert_eq!(
        [rows[0].status, rows[1].status],
        [Status::Skipped, Status::Ok]
    );
}

#[test]
fn seek_nexts_reads_on_and_judges_what_it_reads() {
    let list = ["fillrandom", "seekrandom"];
    rows_with(500, &list, |plan| plan.seek_nexts = 10);
    // The scan reaches the first entry.
    rows_with(500, &list, |plan| {
        (plan.seek_nexts, plan.reverse_iterator) = (1000, true);
    });
    let home = tempfile::tempdir().expect("a directory");
    let plan = Plan {
        seek_nexts: 20,
        reads: 1000,
        ..plan(&home.path().join("db"), 500, &["fillseq", "seekrandom"])
    };
    let (rows, _) = rows_of(&FaultyEngine::new(Defect::RepeatsEntries), &plan);
    assert_eq!(
        rows[1].status,
        Status::Ok,
        "a defect in every ten-thousandth step of a cursor"
    );
    let (rows, _) = rows_of(
        &FaultyEngine::new(Defect::SwapsValues),
        &Plan {
            num: 1500,
            writes: 1500,
            ..plan.clone()
        },
    );
    assert_eq!(rows[1].status, Status::Failed);
    let backward = Plan {
        reverse_iterator: true,
        num: 1500,
        writes: 1500,
        ..plan
    };
    for (defect, status) in [
        (Defect::SwapsValues, Status::Failed),
        (Defect::RepeatsEntries, Status::Ok),
    ] {
        let (rows, _) = rows_of(&FaultyEngine::new(defect), &backward);
        assert_eq!(rows[1].status, status, "{defect:?}");
    }
}

#[test]
fn rocks_format_counts_reads_and_names_the_path() {
    let (_, text) = rows_with(1000, &["fillseq", "readrandom", "readmissing"], |plan| {
        plan.format = Format::RocksDb;
        plan.reads = 250;
    });
    has(&text, "/db]\nfillseq      : ");
    has(&text, " MB/s (250 of 250 found)\n\n");
    has(&text, " 250 operations; (0 of 250 found)\n\n");
}

/// Operations begin at a fixed rate, and their latencies count from then, whatever the row does.
#[test]
fn an_open_loop_keeps_its_rate_and_times_each_operation() {
    let list = ["fillrandom", "readrandom", "readseq", "overwrite"];
    let (rows, _) = rows_with(400, &list, |plan| plan.rate = Rate::PerSecond(20_000));
    for row in &rows {
        let is_scan = row.workload == "readseq";
        assert_eq!(row.offered_per_sec, (!is_scan).then_some(20_000.0));
        assert_eq!(row.p50_ns.is_some(), !is_scan, "{}", row.workload);
        // The last of 400 begins after 399 intervals of 50 microseconds.
        let wall = row.wall_ns.expect("measured");
        assert!(
            is_scan || wall >= 399 * 50_000,
            "{} took {wall} ns",
            row.workload
        );
    }
    let (rows, _) = rows_with(4000, &["fillseq", "readrandom"], |plan| {
        plan.rate = Rate::Percent(50);
    });
    let offered = rows[1].offered_per_sec.expect("after a closed loop");
    let did = rows[1].rate().expect("measured");
    assert!(offered > 0.0 && did <= 1.01 * offered, "{did} of {offered}");
}
