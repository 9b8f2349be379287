//! Tests of the rows with the shapes of redb's benchmark.

use super::*;
use crate::host::test_text::has;
use crate::workload::plan::Data;

#[rustfmt::skip]
const LIST: &[&str] = &[
    "filluniquebatch", "readiter", "popfirst", "poplast", "verify", "extract", "readiter",
    "deletebatch", "appendbatch", "appendbatch", "verify", "poplast", "stallafterbatch", "readseq",
    "syncburst", "verify",
];

fn rows_over(data: Data, threads: u32) -> Vec<Record> {
    let home = tempfile::tempdir().expect("a directory");
    let plan = Plan {
        data,
        threads,
        key_len: 24,
        ..plan(&home.path().join("db"), 1200, LIST)
    };
    let rows = rows_of(&FaultyEngine::new(Defect::None), &plan).0;
    assert_eq!(rows.len(), LIST.len());
    for row in &rows {
        assert_eq!(row.status, Status::Ok, "{}: {:?}", row.workload, row.reason);
        assert_eq!(row.verified, Some(true), "{}", row.workload);
    }
    rows
}

#[test]
fn each_row_counts_what_it_did_over_any_data() {
    for data in [Data::Synthetic, Data::Json, Data::Random] {
        let rows = rows_over(data, 1);
        let ops: Vec<u64> = rows.iter().map(|row| row.ops.unwrap_or(0)).collect();
        let found = |at: usize| rows[at].found.expect("counted");
        assert_eq!(ops[..4], [1200, 1200, 120, 120]);
        // Both ends are outside the middle third, every second entry of which is extracted.
        assert_eq!((found(4), ops[5], found(6)), (960, 200, 760));
        assert_eq!((ops[7], ops[8], ops[9]), (600, 1200, 1200));
        assert!(found(10) > 2400 && ops[11] == 120);
        // The longest put, and one sync.
        assert_eq!((ops[12], found(13), ops[14]), (1, 1200, 1));
    }
}

#[test]
fn rows_whose_operations_depend_on_each_other_have_one_thread() {
    let rows = rows_over(Data::Random, 3);
    let threads = |at: usize| rows[at].threads;
    assert_eq!((threads(0), threads(7)), (Some(3), Some(3)));
    for at in [1, 2, 5, 8, 12, 14] {
        assert_eq!(threads(at), Some(1), "{}", rows[at].workload);
    }
}

#[test]
fn a_wrong_value_is_noticed_while_entries_are_extracted() {
    let rows = run_list(Defect::SwapsValues, 1200, &["fillseq", "extract"]);
    let reason = rows[1].reason.as_deref().expect("failed");
    has(reason, "a scan that deletes came to");
}

#[test]
fn a_row_is_skipped_if_the_engine_cannot_do_it() {
    let home = tempfile::tempdir().expect("a directory");
    let mut engine = FaultyEngine::new(Defect::None);
    engine.able.batch = false;
    engine.able.reverse = false;
    engine.able.sync_later = false;
    let list = ["fillseq", "poplast", "extract", "syncburst", "popfirst"];
    let (rows, _) = rows_of(&engine, &plan(&home.path().join("db"), 500, &list));
    let skipped: Vec<bool> = rows
        .iter()
        .map(|row| row.status == Status::Skipped)
        .collect();
    assert_eq!(skipped, [false, true, true, true, false]);
}
