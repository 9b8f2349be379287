//! Rows over keyspaces, and their suite.

use bench_core::host::test_text::has;

use crate::common::{good, run, run_in};
use crate::engines::{for_each_engine, with_library};
use crate::suites::results;

const LIST: &str = "--benchmarks=fillseq,readrandom,fillrandom,flush,overwrite,readrandom,compact,\
open,readhot,deleteseq,verify,fillsync,dropkeyspaces,verify,fillrandom,readrandom";

fn answers_rightly(engine: &str) {
    with_library(engine, || {
        let engine = format!("--engine={engine}");
        for words in [
            "--keyspaces=1",
            "--keyspaces=7",
            "--keyspaces=30 --threads=3",
        ] {
            let text = good(&run(&[&engine, LIST, "--num=2000", words]));
            let rows = text.lines().filter(|line| line.contains(" micros/op;"));
            assert_eq!(rows.count(), LIST.split(',').count(), "{words}\n{text}");
        }
    });
}

for_each_engine! { answers_rightly:
    cairndb_answers_rightly_over_keyspaces "cairndb",
    lmdb_answers_rightly_over_keyspaces "lmdb",
    redb_answers_rightly_over_keyspaces "redb",
    rocksdb_answers_rightly_over_keyspaces "rocksdb",
}

#[test]
fn an_engine_without_keyspaces_runs_no_row_over_them() {
    let words = "--engine=disk --keyspaces=2 --num=100 --benchmarks=fillseq,crc32c";
    let text = good(&run(&[words]));
    has(&text, "fillseq      : skipped (not supported by disk)\n");
    has(&text, "crc32c       : ");
}

#[test]
fn every_row_of_the_suite_runs_and_shows_the_log() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("keyspaces.json");
    let words = [
        "--suite=keyspaces --num=20000 --rounds=1 --engine=cairndb,null",
        &format!("--json={}", json.display()),
    ];
    good(&run_in(home.path(), &words));
    let rows = results(&json);
    // Seven rows of two engines with 1, 10 and 1,000 keyspaces.
    assert_eq!(rows.len(), 42);
    for row in &rows {
        assert_eq!(row["status"], "ok", "{row}");
        let writes = row["durability"].is_string();
        assert_eq!(
            row["log_bytes"].is_u64(),
            writes || row["workload"] == "compact",
            "{row}"
        );
    }
}
