//! The real libraries over every workload, at a small count, with every answer checked.

use bench_core::host::test_text::{begins, has};

use crate::common::{good, run, stderr, stdout};
use crate::engines::{for_each_engine, with_library};

/// All workloads that access a store, but for `syncburst`, which few stores support, those of
/// YCSB, which `suites.rs` runs, those with readers in other processes, which `readers.rs` runs,
/// and half of the rows of turns, which take long where a cursor is held.
const LIST: &str = "fillseq,readseq,readreverse,readrandom,readmissing,readhot,seekrandom,seekordered,deleterandom,\
readseq,fillbatch,readseq,fillrandbatch,readreverse,fillsync,readseq,fillseqsync,fillrandsync,fillrandom,overwrite,\
readrandom,multireadrandom,updaterandom,mergerandom,readrandommergerandom,readrandomwriterandom,readwhilewriting,\
readwhilemerging,seekrandomwhilewriting,readseq,compact,readrandom,readreverse,open,flush,waitforcompaction,verify,\
deleteseq,verify,filluniquerandom,readseq,readrandomsmall,fillseqbatch,fill100K,readseq,fillrand100K,fillseq100K,readrand100K,readseq100K,\
filluniquebatch,readiter,popfirst,poplast,extract,deletebatch,appendbatch,verify,stallafterbatch,verify,\
queue,stackheld,window,deleteall,deleterangeheld";

/// Runs the list over an engine; exactly the given lines are skips.
fn list_over(engine: &str, words: &[&str], skips: &[&str]) {
    let name = format!("--engine={engine}");
    let words = [&[name.as_str(), "--benchmarks", LIST], words].concat();
    let output = run(&words);
    let text = stdout(&output);
    // Errors that end the program itself are printed to stderr.
    let reported = format!("{text}\n{}", stderr(&output));
    good(&output);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains(" : skipped (") || line.contains(" : failed ("))
        .collect();
    assert_eq!(lines, skips, "{words:?}\n{reported}");
    let rows = text
        .lines()
        .filter(|line| line.contains(" micros/op;"))
        .count();
    let expected = LIST.split(',').count() - skips.len();
    assert_eq!(rows, expected, "{words:?}\n{reported}");
}

/// Returns the lines of the list that an engine does not run.
fn skips(engine: &str) -> &'static [&'static str] {
    match engine {
        "leveldb" => &["flush        : skipped (not supported by leveldb)"],
        "sqlite3" => &[
            "stackheld    : skipped (not supported by sqlite3)",
            "deleterangeheld : skipped (not supported by sqlite3)",
        ],
        "kyoto_treedb" => &[
            "fillbatch    : skipped (not supported by kyoto_treedb: not atomic)",
            "fillrandbatch : skipped (not supported by kyoto_treedb: not atomic)",
            "compact      : skipped (not supported by kyoto_treedb)",
            "fillseqbatch : skipped (not supported by kyoto_treedb: not atomic)",
            "filluniquebatch : skipped (not supported by kyoto_treedb: not atomic)",
            "extract      : skipped (not supported by kyoto_treedb)",
            "deletebatch  : skipped (not supported by kyoto_treedb: not atomic)",
            "appendbatch  : skipped (not supported by kyoto_treedb: not atomic)",
            "stallafterbatch : skipped (not supported by kyoto_treedb)",
            "stackheld    : skipped (not supported by kyoto_treedb)",
            "deleterangeheld : skipped (not supported by kyoto_treedb)",
        ],
        _ => &[],
    }
}

fn answers_rightly(engine: &str) {
    with_library(engine, || {
        let skips = skips(engine);
        for extra in [
            "",
            "--shuffle --key_prefix=5 --value_size=400",
            "--threads=2",
        ] {
            list_over(engine, &["--num=3000", extra], skips);
        }
        if engine.starts_with("wiredtiger") {
            list_over(engine, &["--num=3000 --variant=seed"], skips);
        }
    });
}

for_each_engine! { answers_rightly:
    cairndb_answers_every_workload_rightly "cairndb",
    kyoto_treedb_answers_every_workload_rightly "kyoto_treedb",
    leveldb_answers_every_workload_rightly "leveldb",
    lmdb_answers_every_workload_rightly "lmdb",
    redb_answers_every_workload_rightly "redb",
    rocksdb_answers_every_workload_rightly "rocksdb",
    sqlite3_answers_every_workload_rightly "sqlite3",
    wiredtiger_btree_answers_every_workload_rightly "wiredtiger_btree",
    wiredtiger_lsm_answers_every_workload_rightly "wiredtiger_lsm",
}

#[test]
fn rocksdb_merges_rightly_over_several_runs() {
    with_library("rocksdb", || {
        let list =
            "--benchmarks=fillrandom,mergerandom,readseq,mergerandom,readrandom,compact,readseq";
        good(&run(&["--engine=rocksdb --num=100000", list]));
    });
}

#[test]
fn cairndb_merges_rightly_over_several_runs() {
    // Enough operands that background merges combine them before any of them has its base.
    let list = "--benchmarks=fillrandom,mergerandom,readseq,mergerandom,readrandom,compact,readseq";
    good(&run(&["--num=300000", list]));
}

/// A run after a warm-up used to append existing keys, which LMDB and a bulk cursor refuse.
#[test]
fn a_fill_after_its_warm_up_is_none_of_an_empty_store() {
    for (engine, variant) in [
        ("lmdb", "fair"),
        ("wiredtiger_btree", "seed"),
        ("wiredtiger_lsm", "seed"),
    ] {
        with_library(engine, || {
            let words = [
                &format!("--engine={engine}"),
                &format!("--variant={variant}"),
                "--benchmarks=fillseq[X2-W1],readseq --num=2000",
            ];
            let text = good(&run(&words));
            assert!(!text.contains(" : failed ("), "{engine}: {text}");
            let rows = text.matches("\nfillseq      : ").count();
            assert_eq!(rows, 2, "{engine}: {text}");
        });
    }
}

#[test]
fn the_libraries_tell_their_versions() {
    with_library("leveldb", || {
        let output = run(&["--engine=leveldb --num=10 --benchmarks=fillseq,stats,sstables"]);
        begins(&stderr(&output), "LevelDB:    version 1.");
        let text = stdout(&output);
        has(
            &text,
            "Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n",
        );
        has(&text, "--- level 0 ---\n");
    });
    with_library("rocksdb", || {
        let list = "--benchmarks=fillseq,stats,sstables,levelstats";
        let output = run(&["--engine=rocksdb --num=10", list, "--statistics"]);
        let reported = stderr(&output);
        begins(&reported, "RocksDB:    version 7.");
        has(&reported, " write_buffer_size=2097152 ");
        has(&reported, "block_cache=2097152 ");
        let text = stdout(&output);
        has(&text, "** DB Stats **");
        has(&text, "rocksdb.number.keys.written COUNT : 10\n");
    });
    with_library("sqlite3", || {
        let output = run(&["--engine=sqlite3 --num=10 --benchmarks=fillseq,stats"]);
        let reported = stderr(&output);
        begins(&reported, "SQLite:     version 3.");
        has(&stdout(&output), "page count ");
    });
    with_library("lmdb", || {
        let output = run(&["--engine=lmdb --num=10 --benchmarks=fillseq,stats"]);
        begins(&stderr(&output), "LMDB:       version 0.9.");
        has(&stdout(&output), "entries 10,");
    });
}

#[test]
fn the_file_of_a_library_that_was_loaded_is_reported_and_looked_into() {
    with_library("sqlite3", || {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("rows.jsonl");
        let json = format!("--json={}", path.display());
        good(&run(&[
            "--engine=sqlite3 --num=100 --benchmarks=fillseq",
            &json,
        ]));
        let text = std::fs::read_to_string(path).expect("written");
        let builds: Vec<serde_json::Value> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(|object: &serde_json::Value| object["type"] == "build")
            .collect();
        assert_eq!(builds.len(), 1, "{text}");
        let file = builds[0]["library"].as_str().expect("a path");
        let bytes = std::fs::metadata(file).expect("the file exists").len();
        assert_eq!(builds[0]["library_bytes"], bytes);
        has(file, "libsqlite3.so");
        assert!(builds[0]["assertions"].is_boolean(), "{}", builds[0]);
        assert_eq!(
            builds[0]["version"].as_str().map(|text| &text[..2]),
            Some("3.")
        );
    });
}

/// The engine used to be mistaken for one whose flushes never reach the device.
#[test]
fn a_store_that_syncs_no_delete_of_an_absent_key_is_believed() {
    with_library("lmdb", || {
        let words = [
            "--engine=lmdb --sync --num=3000 --writes=100 --deletes=300",
            "--benchmarks=fillseq,deleterandom",
        ];
        good(&run(&words));
    });
}
