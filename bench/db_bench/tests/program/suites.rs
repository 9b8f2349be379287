//! Suites: built-in ones and a user's.

use std::path::Path;

use serde_json::Value;

use bench_core::host::test_text::{begins, has};

use crate::common::{good, program, run, run_at, run_in, skip, stderr, stdout};

/// Returns the objects of a JSON lines file that are results.
pub(crate) fn results(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("written");
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("one object per line"))
        .filter(|object| object.get("type").is_none())
        .collect()
}

#[test]
fn quick_prints_every_row_and_removes_its_databases() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    let words = "--suite=quick --num=1000 --rounds=1 --engine=cairndb,null --verbose";
    let text = good(&run_at(&db, &[words]));
    let rows = "overwrite|fillsync|readseq|readrandom|readmissing|seekrandom|deleteseq|open|compact|\
        fillseq|fillrandom|fillbatch|fill100K|readrandom, after compact|readseq, after compact";
    for row in rows.split('|') {
        let title = format!(" {row}");
        let mut titles = text.lines().filter(|line| line.starts_with("### "));
        assert!(
            titles.any(|line| line.ends_with(&title)),
            "{row} in\n{text}"
        );
    }
    for heading in [
        "\n1A Sequential Reads (ops/sec): ",
        "\n2C Synchronous Writes (ops/sec): ",
        "\n3B No Compression Reads (ops/sec): ",
        "quick: 1,000 entries, median of 1 round; ",
    ] {
        assert!(text.contains(heading), "{heading} in\n{text}");
    }
    let left: Vec<_> = std::fs::read_dir(&db).expect("there").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The ten minutes of `make bench` used to start after the build.
#[test]
fn limits_of_time_count_from_when_the_suite_was_asked_for() {
    let home = tempfile::tempdir().expect("a directory");
    let sign = home.path().join("sign");
    let written = std::time::SystemTime::now() - std::time::Duration::from_secs(500);
    let file = std::fs::File::create(&sign).expect("created");
    file.set_modified(written).expect("set");
    let started = format!("--started={}", sign.display());
    let text = "num = 100\nrounds = 3\nrounds_begin_within = 480\n\
        [[section]]\nname = \"a\"\nworkloads = [\"fillseq\"]\n";
    let output = own(home.path(), text, &["--engine=null", &started]);
    let reported = stderr(&output);
    good(&output);
    has(&reported, "rounds 2 to 3 were left out after 5");
    has(
        &reported,
        "the pass that times each operation was left out after 5",
    );
    let output = own(home.path(), text, &["--engine=null"]);
    assert!(!stderr(&output).contains("left out"), "{}", stderr(&output));
    let output = own(home.path(), text, &["--started=no/such/file"]);
    let refused = "--started=no/such/file: No such file or directory";
    begins(&stderr(&output), refused);
    let output = run(&[&started, "--engine=null"]);
    assert!(stderr(&output).starts_with("--started: only a suite"));
}

#[test]
fn the_sign_of_make_bench_is_older_than_its_build() {
    let make = std::process::Command::new("make")
        .args(["--dry-run", "bench"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .env_remove("MAKEFLAGS")
        .output();
    let Ok(output) = make else {
        return skip("the clock of make bench: install make");
    };
    let reported = stdout(&output);
    let at = |what: &str| {
        reported
            .find(what)
            .unwrap_or_else(|| panic!("{what} in {reported}"))
    };
    assert!(at("touch report/.begun") < at("bench/prepare.sh"));
    assert!(at("bench/prepare.sh") < at("--suite=quick --started=report/.begun"));
}

/// A user's suite, in a file next to the database.
pub(crate) fn own(home: &Path, text: &str, words: &[&str]) -> std::process::Output {
    let file = home.join("own.toml");
    std::fs::write(&file, text).expect("written");
    let suite = format!("--suite={}", file.display());
    run_in(home, &[&[suite.as_str()], words].concat())
}

const OWN: &str = r#"
num = 500
rounds = 2
[[variant]]
name = "small"
about = "less memory"
engines = ["cairndb"]
write_mb = 1
cache_mb = 1
ranked = false
[[section]]
name = "mix"
heading = "My mix"
before = ["fillrandom"]
memory_mb = 8
split = "reads"
variants = ["small"]
workloads = ["readrandom", "updaterandom", "compact", "readrandom"]
"#;

#[test]
fn a_file_of_ones_own_is_a_suite() {
    let home = tempfile::tempdir().expect("a directory");
    let (json, csv) = (home.path().join("own.json"), home.path().join("own.csv"));
    let words = [
        "--engine=cairndb,null",
        &format!("--json={}", json.display()),
        &format!("--csv={}", csv.display()),
    ];
    good(&own(home.path(), OWN, &words));
    let rows = results(&json);
    let of = |engine: &str, wanted: &str| -> Vec<&Value> {
        let same = |row: &&Value| row["engine"] == engine && row["pass"].is_null();
        let named = |row: &&Value| row["variant"].as_str().unwrap_or("plain") == wanted;
        rows.iter().filter(same).filter(named).collect()
    };
    assert_eq!(of("null", "plain").len(), 8);
    assert_eq!(of("cairndb", "plain").len(), 8);
    let small = of("cairndb", "small");
    assert_eq!(small.len(), 8);
    assert!(
        small
            .iter()
            .all(|row| row["ranked"] == false && row["memory_bytes"] == 2 << 20)
    );
    let reported = |row: &&Value| {
        (
            row["round"].as_u64().expect("a number"),
            row["workload"].as_str().expect("a text").to_owned(),
            row["instance"].as_u64().expect("a number"),
            row["state"].as_str().map(str::to_owned),
        )
    };
    let state = |text: &str| Some(text.to_owned());
    assert_eq!(
        small[..4].iter().map(reported).collect::<Vec<_>>(),
        [
            (1, "readrandom".into(), 1, state("as left")),
            (1, "updaterandom".into(), 1, None),
            (1, "compact".into(), 1, None),
            (1, "readrandom".into(), 2, state("compacted")),
        ]
    );
    for row in &rows {
        assert_eq!(
            (&row["suite"], &row["section"]),
            (&"own".into(), &"mix".into())
        );
        assert_eq!(row["data"], "synthetic");
        let timed = row["pass"] == "latency";
        assert_eq!(row.get("wall_ns").is_some(), !timed, "{row}");
        if timed && row["workload"] == "readrandom" {
            assert!(row["p50_ns"].is_u64() && row["max_ns"].is_u64(), "{row}");
        }
        if row["workload"] == "updaterandom" && !timed {
            assert!(
                row["intervals"].is_array() && row["page_cache_bytes"].is_u64(),
                "{row}"
            );
        }
    }
    let cells = std::fs::read_to_string(csv).expect("written");
    assert!(cells.starts_with("engine,engine_version,suite,section,"));
    assert_eq!(cells.lines().count(), rows.len() + 1);
}

#[test]
fn a_file_that_is_wrong_is_refused_before_anything_runs() {
    let home = tempfile::tempdir().expect("a directory");
    let text = OWN.replace("updaterandom", "updatrandom");
    let output = own(home.path(), &text, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    has(
        &said,
        "own.toml:18: workload \"updatrandom\" is unknown; did you mean updaterandom?",
    );
    assert!(!home.path().join("db").exists());
}

#[test]
fn flags_that_a_suite_sets_itself_are_refused() {
    let output = run(&["--suite=quick --memory=8M"]);
    begins(&stderr(&output), "--memory: a suite sets this");
    let output = run(&["--resume --benchmarks=fillseq"]);
    begins(&stderr(&output), "--resume: only a suite");
    let output = run(&["--resume --suite=quick"]);
    begins(&stderr(&output), "--resume needs --json=FILE");
    let output = run(&["--suite=quik"]);
    has(&stderr(&output), "did you mean quick?");
}

#[test]
fn two_directories_are_compared() {
    let home = tempfile::tempdir().expect("a directory");
    let text = "num = 200\nrounds = 1\nlatency = false\n[[section]]\nname = \"FS\"\nheading = \"Two\"\neach_db = true\nworkloads = [\"fillsync\", \"fillseq\"]\n";
    let (one, two) = (home.path().join("one"), home.path().join("two"));
    let file = home.path().join("fs.toml");
    std::fs::write(&file, text).expect("written");
    let json = home.path().join("fs.json");
    let words = [
        &format!("--suite={}", file.display()),
        &format!("--db={},{}", one.display(), two.display()),
        &format!("--json={}", json.display()),
        "--engine=cairndb --verbose",
    ];
    let output = program(&words).output().expect("runs");
    let places: Vec<String> = results(&json)
        .iter()
        .map(|row| row["file_system"].as_str().expect("a text").to_owned())
        .collect();
    assert_eq!(places.len(), 4);
    assert!(
        places[0].ends_with("/one") && places[2].ends_with("/two"),
        "{places:?}"
    );
    has(&good(&output), "/two\n");
}

#[test]
fn a_library_that_is_no_allocator_of_anybodys_is_refused() {
    let output = run(&["--allocator=libnowhere.so.1 --benchmarks=fillseq --num=10"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    begins(
        &said,
        "--allocator=libnowhere.so.1: the loader cannot find or load",
    );
    let output = run(&["--allocator=/nowhere/x.so --benchmarks=fillseq"]);
    begins(&stderr(&output), "--allocator=/nowhere/x.so: ");
    // Any existing library can stand in for an allocator here: it is preloaded and recorded.
    good(&run(&[
        "--allocator=libm.so.6 --benchmarks=fillseq --num=10 --engine=null",
    ]));
}

#[test]
fn a_row_that_takes_long_is_reported_while_it_runs() {
    let home = tempfile::tempdir().expect("a directory");
    let suite = r#"
num = 10000000
rounds = 1
row_timeout = 2
[[section]]
name = "load"
heading = "Load"
workloads = ["acquireload"]
"#;
    let output = own(home.path(), suite, &["--engine=null"]);
    let reported = stderr(&output);
    for text in ["round 1 null", " acquireload: running for 1 s, limit 2 s\n"] {
        has(&reported, text);
    }
    let summary = stdout(&output);
    has(&summary, "time limit of 2 s");
}

#[test]
fn a_section_runs_once_for_each_data_set() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("own.json");
    let suite = r#"
num = 300
rounds = 1
data = ["synthetic", "json"]
[[section]]
name = "both"
heading = "Both"
workloads = ["fillrandom", "readrandom"]
"#;
    let words = ["--engine=cairndb", &format!("--json={}", json.display())];
    good(&own(home.path(), suite, &words));
    for data in ["synthetic", "json"] {
        let rows = results(&json);
        let verified = rows
            .iter()
            .filter(|row| row["data"] == data && row["verified"] == true);
        assert!(verified.count() >= 2, "{data}: {rows:?}");
    }
}

#[test]
fn ycsb_runs_every_mix_as_it_is_drawn_and_judges_it() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("ycsb.json");
    let words = [
        "--suite=ycsb --num=300 --rounds=1 --engine=cairndb",
        &format!("--json={}", json.display()),
    ];
    good(&run_in(home.path(), &words));
    let rows = results(&json);
    for data in ["synthetic", "json"] {
        for (section, mixes) in [
            ("load", "filluniquerandom"),
            ("zipfian", "ycsba,ycsbb,ycsbc,ycsbf"),
            ("zipfian D", "ycsbd"),
            ("zipfian E", "ycsbe"),
            ("uniform", "ycsba,ycsbb,ycsbc,ycsbf,ycsbd"),
            ("uniform E", "ycsbe"),
        ] {
            let of: Vec<&str> = rows
                .iter()
                .filter(|row| row["pass"].is_null() && row["data"] == data)
                .filter(|row| row["section"] == section && row["verified"] == true)
                .filter(|row| row["value_bytes"] == 1000 && row["memory_bytes"] == 128 << 20)
                .filter_map(|row| row["workload"].as_str())
                .collect();
            assert_eq!(of.join(","), mixes, "{data} {section}");
        }
    }
}

#[test]
fn a_shuffle_is_refused_where_a_section_draws_some_keys_more_often() {
    let output = run(&["--suite=ycsb --shuffle"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    has(
        &said,
        "--shuffle takes every key once, but section \"zipfian\" has",
    );
}

/// Returns the engines of a suite's rows, by job and round.
fn turns(home: &Path, more: &[&str]) -> Vec<String> {
    let json = home.join("turns.json");
    let section = |at| format!("[[section]]\nname = \"s{at}\"\nworkloads = [\"fillseq\"]\n");
    let sections: String = (0..8).map(section).collect();
    let suite = format!("num = 10\nrounds = 2\nlatency = false\n{sections}");
    let json_word = format!("--json={}", json.display());
    let words = [&["--engine=cairndb,null", json_word.as_str()], more].concat();
    good(&own(home, &suite, &words));
    let engine = |row: &Value| row["engine"].as_str().expect("a text").to_owned();
    results(&json).iter().map(engine).collect()
}

#[test]
fn turns_have_another_order_from_job_to_job_and_the_same_from_the_same_seed() {
    let home = tempfile::tempdir().expect("a directory");
    let order = turns(home.path(), &[]);
    let (first, second) = order.split_at(16);
    let led: Vec<&str> = first.iter().step_by(2).map(String::as_str).collect();
    assert!(led.contains(&"cairndb") && led.contains(&"null"), "{led:?}");
    // With two engines, the second round reverses the first.
    for (one, other) in first.chunks(2).zip(second.chunks(2)) {
        assert_eq!(one, [other[1].clone(), other[0].clone()]);
    }
    assert_eq!(turns(home.path(), &[]), order);
    assert_ne!(turns(home.path(), &["--seed=2"]), order);
}

#[test]
fn a_suite_runs_over_the_data_that_was_given_instead_of_its_own() {
    let home = tempfile::tempdir().expect("a directory");
    let (json, file) = (home.path().join("own.json"), home.path().join("own.tsv"));
    let record = |at| format!("key{at}\tvalue number {at}");
    let records: Vec<String> = (0..300).map(record).collect();
    std::fs::write(&file, records.join("\n")).expect("written");
    let suite = r#"
num = 1000
rounds = 1
latency = false
data = ["synthetic"]
[[section]]
name = "one"
value_size = 1000
workloads = ["fillrandom", "readrandom"]
[[section]]
name = "again"
data = ["json"]
workloads = ["fillseq"]
"#;
    let json_word = format!("--json={}", json.display());
    let own_file = file.display().to_string();
    for (word, num) in [
        ("json", 1000),
        ("synthetic", 1000),
        (own_file.as_str(), 300),
    ] {
        let data = format!("--data={word}");
        let words = ["--engine=cairndb", json_word.as_str(), data.as_str()];
        let output = own(home.path(), suite, &words);
        good(&output);
        let rows = results(&json);
        assert_eq!(rows.len(), 2);
        for row in &rows {
            assert_eq!((&row["data"], &row["ops"]), (&word.into(), &num.into()));
            assert_eq!(row["verified"], true, "{row}");
            let bytes = if num == 300 { 16 } else { 1000 };
            assert_eq!(row["value_bytes"], bytes, "{row}");
        }
        has(
            &stdout(&output),
            "section again: left out, because it repeats others with the data set json",
        );
    }
    let data = format!("--data={own_file}");
    let larger = suite.replace("value_size = 1000", "times = 2");
    let output = own(home.path(), &larger, &["--engine=null", &data]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    has(
        &said,
        "section one needs 600 entries, and there are only 300",
    );
}
