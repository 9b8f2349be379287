//! Rows with readers in other processes, and their suite.

use bench_core::host::test_text::has;

use crate::common::{good, run, run_in};
use crate::engines::{for_each_engine, with_library};
use crate::suites::results;

const LIST: &str = "--benchmarks=filluniquerandom,readerget,readerwriting,readerfresh,readeropen,\
writercost0,writercostidle,writercostbusy,verify,flush,readerwriting";

fn answers_rightly(engine: &str) {
    with_library(engine, || {
        let engine = format!("--engine={engine}");
        for words in ["", "--threads=3", "--value_size=9000 --memory=16M --sync"] {
            let words = [&engine, LIST, "--num=1000 --duration=1", words];
            let text = good(&run(&words));
            let rows = text.lines().filter(|line| line.contains(" micros/op;"));
            assert_eq!(rows.count(), LIST.split(',').count(), "{words:?}\n{text}");
            has(&text, "; 0 stale reads)");
            assert!(!text.contains("unverified"), "{text}");
        }
    });
}

for_each_engine! { answers_rightly:
    cairndb_answers_readers_in_other_processes_rightly "cairndb",
    lmdb_answers_readers_in_other_processes_rightly "lmdb",
    rocksdb_answers_readers_in_other_processes_rightly "rocksdb",
    sqlite3_answers_readers_in_other_processes_rightly "sqlite3",
}

#[test]
fn an_engine_that_other_processes_cannot_read_is_skipped() {
    let words = "--engine=disk --num=100 --benchmarks=fillseq,readerget,writercost0";
    let text = good(&run(&[words]));
    has(&text, "readerget    : skipped (not supported by disk)\n");
    has(&text, "writercost0  : skipped (not supported by disk)\n");
}

#[test]
fn every_row_of_the_suite_runs_and_shows_what_it_measures() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("readers.json");
    let words = [
        "--suite=readers --num=2000 --rounds=1 --duration=1 --engine=cairndb,null",
        &format!("--json={}", json.display()),
    ];
    good(&run_in(home.path(), &words));
    let rows = results(&json);
    assert_eq!(rows.len(), 8);
    for row in &rows {
        assert!(row["status"] == "ok" && row["verified"] == true, "{row}");
        let name = row["workload"].as_str().expect("a text");
        let number = |name: &str| row[name].as_u64();
        assert_eq!(number("writer_ops").is_some(), name == "readerwriting");
        let freshness = (name == "readerfresh").then_some(0);
        assert_eq!(number("stale_reads"), freshness, "{row}");
        assert_eq!(number("p99_ns").is_some(), freshness.is_some(), "{row}");
        assert_eq!(number("cpu_user_ns").is_some(), name.starts_with("writer"));
        let writes = ["readeropen", "writercost0"].contains(&name);
        assert!(!writes || number("user_bytes") >= Some(2000 * 116), "{row}");
    }
    let threads = rows.iter().filter(|row| row["threads"] == 3).count();
    assert_eq!(threads, 1, "three processes read in one row");
}
