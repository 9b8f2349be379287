//! Refused command lines and their error messages.

use bench_core::host::test_text::{begins, ends, has};

use crate::common::{command, good, run, run_at, stderr, stdout};

#[test]
fn flags_and_engines_that_do_not_exist_end_the_program_with_a_hint() {
    for (words, hint) in [
        (
            ["--benchmark=fillseq"],
            "Invalid flag '--benchmark=fillseq': did you mean --benchmarks?",
        ),
        (["--engine=leveldv"], "--engine=leveldv: cairndb, leveldb, "),
        (
            ["--num=0"],
            "--num=0: a whole number (or one with K, M or G, times 1024) from 1 to 2147483646 is allowed",
        ),
        (
            ["--data=no/such/file"],
            "--data=no/such/file: No such file or directory",
        ),
        (
            ["--format=csv"],
            "--format=csv: one of leveldb, rocksdb is allowed",
        ),
        (
            ["--distribution=normal"],
            "--distribution=normal: one of uniform, zipfian, latest is allowed",
        ),
        (["--key_size=4"], "--key_size=4: a whole number from 8 to "),
        (
            ["--key_size=12"],
            "--key_size=12: keys have at least 16 bytes; --keys=rocksdb may be shorter",
        ),
    ] {
        let output = run(&words);
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        begins(&stderr(&output), hint);
        assert!(stdout(&output).is_empty());
    }
}

#[test]
fn a_name_close_to_an_engine_is_suggested() {
    let reported = stderr(&run(&["--engine=leveldv"]));
    ends(
        &reported,
        "wiredtiger or all is allowed; did you mean leveldb?\n",
    );
}

#[test]
fn the_tree_of_wiredtiger_is_picked_by_a_flag_that_goes_with_it() {
    let output = run(&["--use_lsm=0 --engine=lmdb --benchmarks="]);
    assert_eq!(output.status.code(), Some(1));
    has(&stderr(&output), "--engine=wiredtiger");
    for (flag, engine) in [("--use_lsm=0", "_btree"), ("--use_lsm", "_lsm")] {
        let words = [
            flag,
            "--engine=wiredtiger --wiredtiger_lib=nowhere.so --benchmarks=",
        ];
        let reported = stderr(&run(&words));
        begins(&reported, &format!("wiredtiger{engine}: nowhere.so: "));
    }
}

#[test]
fn another_library_is_refused_by_the_symbol_it_lacks() {
    for (words, symbol) in [
        (
            ["--engine=leveldb", "--leveldb_lib=libc.so.6"],
            "lacks the symbol leveldb_open",
        ),
        (
            ["--engine=kyoto_treedb", "--kyotocabinet_lib=libc.so.6"],
            "the Kyoto Cabinet library lacks the symbol kcfree",
        ),
        (
            ["--engine=wiredtiger_lsm", "--wiredtiger_lib=libc.so.6"],
            "the WiredTiger library lacks the symbol wiredtiger_version",
        ),
    ] {
        let output = run(&words);
        assert_eq!(output.status.code(), Some(1));
        has(&stderr(&output), symbol);
    }
}

/// Regression: without `--suite`, `db_bench` took the list for one path. For `--db=a,/mnt/b` it
/// created the directory `a,` and others below it.
#[test]
fn several_directories_without_a_suite_are_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let two = home.path().join("a,b");
    let run = || command(&two, &["--engine=null --benchmarks=fillseq --num=10"]).output();
    let refused = run().expect("runs");
    assert_eq!(refused.status.code(), Some(1));
    let reported = "only a suite takes several directories";
    has(&stderr(&refused), reported);
    assert_eq!(std::fs::read_dir(home.path()).expect("there").count(), 0);
    std::fs::create_dir(&two).expect("created");
    good(&run().expect("runs"));
    let none = command(std::path::Path::new(""), &["--engine=null"]).output();
    let none = none.expect("runs");
    has(&stderr(&none), "--db=: name a directory");
}

#[test]
fn somebodys_files_are_left_alone() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("photos");
    std::fs::create_dir(&db).expect("created");
    std::fs::write(db.join("cat.jpg"), "a cat").expect("written");
    let output = run_at(&db, &["--engine=null --benchmarks=fillseq --num=10"]);
    assert_eq!(output.status.code(), Some(1));
    has(
        &stderr(&output),
        "photos holds files that db_bench did not create",
    );
    assert_eq!(
        std::fs::read_to_string(db.join("cat.jpg")).expect("still there"),
        "a cat"
    );
}

#[test]
fn a_missing_database_is_not_made_up() {
    let home = tempfile::tempdir().expect("a directory");
    let empty = home.path().join("empty");
    std::fs::create_dir(&empty).expect("created");
    for db in [home.path().join("missing"), empty] {
        let words = ["--benchmarks=readseq --use_existing_db --num=10"];
        let output = run_at(&db, &words);
        assert_eq!(output.status.code(), Some(1));
        let reported = format!(
            "open error: --use_existing_db: there is no database in {}\n",
            db.display()
        );
        ends(&stderr(&output), &reported);
        assert!(!stdout(&output).contains("readseq"), "{}", stdout(&output));
        let made = std::fs::read_dir(&db).map_or(0, Iterator::count);
        assert_eq!(made, 0, "{}", db.display());
    }
}

#[test]
fn an_absent_library_is_an_error_only_when_its_engine_was_named() {
    let words = [
        "--benchmarks=fillseq --num=100 --leveldb_lib=/nowhere/libleveldb.so",
        "--rocksdb_lib=/nowhere/x.so --sqlite3_lib=/nowhere/x.so --lmdb_lib=/nowhere/x.so",
    ];
    let named = run(&[&["--engine=leveldb"], &words[..]].concat());
    assert_eq!(named.status.code(), Some(1));
    has(&stderr(&named), "leveldb: /nowhere/libleveldb.so: ");
    let all = run(&[&["--engine=all"], &words[..]].concat());
    assert_eq!(all.status.code(), Some(0), "{}", stderr(&all));
    assert!(stdout(&all).contains("Engine:     null (round 1 of 1)\n"));
}

#[test]
fn a_flag_of_rocksdb_warns_and_runs() {
    let output = run(&[
        "--engine=null --num=10 --benchmarks=fillseq --level0_stop_writes_trigger",
        "20",
    ]);
    good(&output);
    let warning = "warning: --level0_stop_writes_trigger is a flag of LevelDB's or RocksDB's db_bench that means nothing here; it is ignored\n";
    begins(&stderr(&output), warning);
}
