//! Tests of the rows of turns in which cursors step over what was deleted.

use super::*;
use crate::engine::Capabilities;
use crate::host::test_text::has;

#[rustfmt::skip]
const LIST: &[&str] = &[
    "queue", "queueheld[X2]", "stack", "stackheld", "window", "windowheld", "deleteall",
    "deleteallheld", "queueranges", "stackranges", "windowranges", "deleterange",
    "deleterangeheld[X2]", "verify",
];

#[test]
fn every_row_runs_to_its_end_with_any_number_of_threads() {
    for (num, threads) in [(300, 1), (300, 4), (3, 4)] {
        let home = tempfile::tempdir().expect("a directory");
        let plan = Plan {
            threads,
            ..plan(&home.path().join("db"), num, LIST)
        };
        let rows = rows_of(&FaultyEngine::new(Defect::None), &plan).0;
        assert_eq!(rows.len(), LIST.len() + 2);
        for row in &rows {
            assert_eq!(row.status, Status::Ok, "{}: {:?}", row.workload, row.reason);
            assert_eq!(row.verified, Some(true), "{}", row.workload);
        }
        let (last, rows) = rows.split_last().expect("verified");
        for row in rows {
            assert_eq!(row.ops, Some(num / 2 * u64::from(threads)));
            assert_eq!(row.threads, Some(threads));
            assert!(row.late_ns > Some(0), "{}", row.workload);
        }
        // Half of the entries, and the one that stays after those of each thread.
        let share = (num / u64::from(threads)).max(1);
        let kept = share - share / 4 * 2 + 1;
        assert_eq!(last.found, Some(kept * u64::from(threads)));
    }
}

/// Returns the reason that a row fails with over an engine with a defect.
fn failure(defect: Defect, num: u64, row: &str) -> String {
    let rows = run_list(defect, num, &[row]);
    assert_eq!(rows[0].status, Status::Failed, "{row}");
    rows[0].reason.clone().expect("failed")
}

#[test]
fn wrong_answers_of_cursors_fail_the_row() {
    for row in ["queue", "stackheld", "window", "deleteall", "deleterange"] {
        let reason = failure(Defect::SeeksLate, 2000, row);
        assert!(reason.contains("first: a cursor found "), "{row}: {reason}");
    }
    let reason = failure(Defect::KeepsDeleted, 20_000, "deleteall");
    has(
        &reason,
        "a cursor found 0000000000009999 where 0000000000030000 is expected",
    );
    // No cursor reads that far, but the comparison of all entries does.
    let reason = failure(Defect::SwapsValues, 600, "queueheld");
    has(&reason, "a scan returned");
}

#[test]
fn a_row_that_needs_more_than_the_engine_can_do_is_skipped() {
    let skipped = |change: fn(&mut Capabilities)| {
        let home = tempfile::tempdir().expect("a directory");
        let mut engine = FaultyEngine::new(Defect::None);
        engine.able.snapshot = true;
        change(&mut engine.able);
        let list = ["queue", "queueheld", "stack"];
        let (rows, _) = rows_of(&engine, &plan(&home.path().join("db"), 100, &list));
        let skipped = rows.iter().filter(|row| row.status == Status::Skipped);
        let names: Vec<String> = skipped.map(|row| row.workload.clone()).collect();
        names.join(" ")
    };
    assert_eq!(skipped(|able| able.snapshot = false), "queueheld");
    assert_eq!(skipped(|able| able.reverse = false), "stack");
    assert_eq!(skipped(|able| able.seek = false), "queue queueheld stack");
}

#[test]
fn deleted_ranges_have_half_of_the_keys() {
    for (num, ranges) in [(1000, 1), (1000, 7), (1000, 500), (10, 20)] {
        let home = tempfile::tempdir().expect("a directory");
        let list = ["fillseq", "deleteranges", "readrandom", "readseq", "verify"];
        let plan = Plan {
            ranges,
            ..plan(&home.path().join("db"), num, &list)
        };
        let rows = rows_of(&FaultyEngine::new(Defect::None), &plan).0;
        assert!(rows.iter().all(|row| row.status == Status::Ok), "{rows:?}");
        assert_eq!(rows[1].ops, Some(u64::from(ranges)));
        let kept = rows[4].found.expect("verified");
        let least = num / 2;
        assert!(
            (least..=least + u64::from(ranges).min(least)).contains(&kept),
            "{kept} kept"
        );
    }
    let engine = FaultyEngine::new(Defect::KeepsDeleted);
    let home = tempfile::tempdir().expect("a directory");
    let list = ["fillseq", "deleteranges"];
    let plan = Plan {
        ranges: 20_000,
        ..plan(&home.path().join("db"), 40_000, &list)
    };
    let rows = rows_of(&engine, &plan).0;
    assert_eq!(
        rows[1].status,
        Status::Failed,
        "the range that it keeps is found"
    );
}
