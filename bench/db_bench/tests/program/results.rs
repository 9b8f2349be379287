//! The JSON file and the table.

use serde_json::Value;

use bench_core::host::test_text::{ends, has};

use crate::common::{good, run, run_at, run_in, stdout};

/// Runs with `--json` and returns the objects.
fn objects(words: &[&str]) -> Vec<Value> {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("results.json");
    let json = format!("--json={}", path.display());
    good(&run_in(home.path(), &[words, &[&json]].concat()));
    let text = std::fs::read_to_string(path).expect("written");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("one object per line"))
        .collect()
}

#[test]
fn each_row_is_an_object_of_known_fields() {
    let objects = objects(&[
        "--engine=null --num=1000 --benchmarks=fillseq,readrandom,readrandom --histogram",
    ]);
    assert_eq!(objects[0]["type"], "machine");
    assert!(objects[0]["cpus"].as_u64().is_some_and(|cpus| cpus > 0));
    assert_eq!(objects[1]["type"], "build");
    assert_eq!(objects[1]["engine"], "null");
    assert_eq!(objects.len(), 5);
    let instances: Vec<_> = objects[2..]
        .iter()
        .map(|row| (row["workload"].clone(), row["instance"].clone()))
        .collect();
    assert_eq!(
        instances,
        [
            ("fillseq".into(), 1.into()),
            ("readrandom".into(), 1.into()),
            ("readrandom".into(), 2.into())
        ]
    );
    for row in &objects[2..] {
        assert_eq!(row["engine"], "null");
        assert_eq!(row["status"], "ok");
        assert_eq!(
            row["verified"], false,
            "a store without data cannot be verified"
        );
        assert_eq!(row["ranked"], false);
        for number in [
            "round",
            "ops",
            "wall_ns",
            "cpu_user_ns",
            "anon_rss_peak",
            "memory_bytes",
            "seed",
            "started_at",
            "p50_ns",
            "p9999_ns",
            "max_ns",
            "key_bytes",
            "value_bytes",
            "threads",
        ] {
            assert!(row[number].is_u64(), "{number} in {row}");
        }
        assert!(
            row.as_object()
                .expect("an object")
                .values()
                .all(|value| !value.is_null()),
            "{row}"
        );
    }
    assert_eq!(objects[2]["bytes"], 116_000);
}

#[test]
fn rounds_rotate_and_start_from_nothing() {
    let home = tempfile::tempdir().expect("a directory");
    let words = ["--engine=null,cairndb --rounds=2 --num=500 --benchmarks=readseq,fillseq,readseq"];
    let text = good(&run_in(home.path(), &words));
    let order: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("Engine:"))
        .collect();
    assert_eq!(
        order,
        [
            "Engine:     null (round 1 of 2)",
            "Engine:     cairndb (round 1 of 2)",
            "Engine:     cairndb (round 2 of 2)",
            "Engine:     null (round 2 of 2)",
        ]
    );
    assert!(home.path().join("db/cairndb").is_dir());
}

#[test]
fn statistics_are_the_engines_own_or_a_line() {
    let none = stdout(&run(&[
        "--engine=null --num=10 --benchmarks=fillseq --statistics",
    ]));
    ends(&none, "STATISTICS:\n(null keeps none)\n");
    let ours = stdout(&run(&[
        "--engine=cairndb --num=10 --benchmarks=fillseq,stats --statistics",
    ]));
    has(&ours, "\n                               Compactions\n");
    has(&ours, "STATISTICS:\ncairndb.stats: {");
}

/// With a limit, the rows say either how much was allowed or why nothing could be.
#[test]
fn rows_begin_cold_and_within_a_limit() {
    let home = tempfile::tempdir().expect("a directory");
    let (db, json) = (home.path().join("db"), home.path().join("rows.json"));
    let json = json.display();
    let list = "--benchmarks=fillseq,readrandom,depth";
    let flags = format!("--num=20000 --threads=2 --cold --memory_limit=256000000 --json={json}");
    let text = stdout(&run_at(&db, &[&flags, list]));
    let rows = std::fs::read_to_string(json.to_string()).expect("written");
    let row = |name: &str| {
        let rows = rows.lines().map(|line| {
            let row: Value = serde_json::from_str(line).expect("an object");
            row
        });
        let mut rows = rows.filter(|row| row["workload"] == name);
        rows.next().expect("reported")
    };
    if text.contains("its memory cannot be limited: ") {
        assert!(row("readrandom")["memory_limit"].is_null());
        return;
    }
    let read = row("readrandom");
    assert_eq!(read["memory_limit"], 256_000_000, "{text}");
    // A directory in memory stays there.
    assert!(read["cached_before"].is_u64(), "{text}");
    assert_eq!(row("depth")["status"], "ok", "{text}");
    assert!(!db.with_extension("depth").exists());
}

#[test]
fn a_database_left_after_is_read_and_judged_again() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    let go = |words: &[&str]| stdout(&run_at(&db, words));
    go(&["--num=2000 --benchmarks=fillrandom"]);
    let text = go(&["--num=2000 --benchmarks=fillseq,readrandom,readseq --use_existing_db"]);
    has(
        &text,
        "fillseq      : skipped (--use_existing_db is true)\n",
    );
    assert!(
        text.contains(" of 2000 found)\n") && !text.contains("unverified"),
        "{text}"
    );
    let other = go(&["--num=2001 --benchmarks=readrandom --use_existing_db"]);
    has(&other, "found) unverified\n");
}

#[test]
fn the_machines_line_shows_where_the_program_and_the_databases_come_from() {
    let objects = objects(&["--engine=null --num=1000 --benchmarks=fillseq"]);
    let machine = &objects[0];
    for text in [
        "commit",
        "compiler",
        "target",
        "profile",
        "opt_level",
        "kernel",
        "kernel_build",
        "load_average",
    ] {
        let reported = machine[text].as_str().unwrap_or_default();
        assert!(!reported.is_empty(), "{text} in {machine}");
    }
    assert!(machine["memory_available_bytes"].is_u64());
    let places = machine["directories"].as_array().expect("a list");
    assert_eq!(places.len(), 1);
    for text in ["path", "file_system"] {
        assert!(places[0][text].is_string(), "{text} in {}", places[0]);
    }
    // In a chroot that is not a mount point, the kernel lists no mount for the directory.
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("the kernel's list");
    let listed = mounts
        .lines()
        .any(|line| line.split(' ').nth(1) == Some("/"));
    for text in ["device", "mount_options"] {
        let reported = places[0][text].is_string();
        assert!(reported || !listed, "{text} in {}", places[0]);
    }
    assert_eq!(places[0]["file_system"], machine["file_system"]);
}
