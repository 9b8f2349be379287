//! Tests of rows over keyspaces.

use super::*;

#[rustfmt::skip]
const LIST: &[&str] = &[
    "fillseq", "readrandom", "fillrandom", "overwrite", "readhot", "deleterandom", "compact",
    "open", "verify", "dropkeyspaces", "verify", "fillseq",
];

/// Runs a list over keyspaces.
fn over(keyspaces: u32, threads: u32, defect: Defect, list: &[&str]) -> Vec<Record> {
    let home = tempfile::tempdir().expect("a directory");
    let plan = Plan {
        threads,
        keyspaces,
        ..plan(&home.path().join("db"), 300, list)
    };
    rows_of(&FaultyEngine::new(defect), &plan).0
}

#[test]
fn every_row_runs_over_any_number_of_keyspaces() {
    for (keyspaces, threads) in [(1, 1), (7, 1), (7, 4), (1000, 1)] {
        let rows = over(keyspaces, threads, Defect::None, LIST);
        assert_eq!(rows.len(), LIST.len());
        for row in &rows {
            assert_eq!(row.status, Status::Ok, "{}: {:?}", row.workload, row.reason);
            assert_eq!(row.verified, Some(true), "{}", row.workload);
        }
        assert_eq!(rows[9].ops, Some(keyspaces.into()));
        assert!(rows[8].found > Some(0));
        assert_eq!(rows[10].found, Some(0), "all were dropped");
        assert!(rows[0].log_bytes.is_some());
    }
}

#[test]
fn keyspaces_that_are_one_or_stay_fail_their_rows() {
    for (defect, failed) in [
        (Defect::MixesKeyspaces, "fillseq"),
        (Defect::KeepsDropped, "dropkeyspaces"),
    ] {
        let rows = over(7, 1, defect, &["fillseq", "dropkeyspaces"]);
        let row = rows.iter().find(|row| row.workload == failed).expect("ran");
        let reason = row.reason.as_deref().expect("failed");
        has(reason, "a scan returned ");
    }
}

#[test]
fn other_rows_are_skipped_over_keyspaces_and_drops_without_them() {
    let list = ["fillseq", "readseq", "fillbatch", "dropkeyspaces"];
    let skipped = |keyspaces| -> Vec<_> {
        let rows = over(keyspaces, 1, Defect::None, &list).into_iter();
        rows.filter_map(|row| Some((row.workload, row.reason?)))
            .collect()
    };
    let not_with =
        |name: &str, count: u32| (name.to_owned(), format!("not with --keyspaces={count}"));
    assert_eq!(
        skipped(2),
        [not_with("readseq", 2), not_with("fillbatch", 2)]
    );
    assert_eq!(skipped(0), [not_with("dropkeyspaces", 0)]);
}
