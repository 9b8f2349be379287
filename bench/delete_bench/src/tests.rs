//! Tests with CairnDB: every workload gives the right answers, and a wrong one is noticed.

use super::*;

fn extent(counts: bool) -> Extent {
    Extent {
        entries: 4_000,
        turns: 2_000,
        time: Duration::from_mins(1),
        memory_bytes: 1 << 20,
        counts,
    }
}

#[test]
fn every_workload_runs_to_its_end() {
    for workload in Workload::ALL {
        for (threads, held) in [(1, false), (1, true), (4, false), (4, true)] {
            let home = tempfile::tempdir().expect("a directory");
            let cell = Cell {
                workload,
                threads,
                held,
            };
            let outcome = on("cairndb", cell, &extent(true), &home.path().join("db"));
            let outcome = outcome.unwrap_or_else(|fault| panic!("{cell:?}: {fault}"));
            assert!(outcome.turns >= 2_000 && outcome.turn_ns > 0.0, "{cell:?}");
            assert!(outcome.passed.is_some() && outcome.space_bytes > 0);
            if workload.deletes_before() {
                // At least one seek had to step over what was deleted.
                assert!(outcome.passed > Some(1_000), "{outcome:?}");
            }
        }
    }
}

#[test]
fn a_wrong_flag_is_named() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let error = |text: &str| begin(&words(text)).expect_err("refused");
    assert!(error("--num=200").contains("--db"));
    assert!(error("--db=x --engines=cairndb,sqlite").contains("sqlite"));
    assert!(error("--db=x --workloads=heap").contains("heap"));
    assert!(error("--db=x --threads=0").contains("threads"));
}
