//! Clock seeds, reset counters, heap profiles.

use std::path::Path;
use std::process::Command;

use bench_core::host::test_text::{begins, has};

use crate::common::{command, good, run, run_at, run_in, skip, stderr, stdout};
use crate::engines::with_library;

#[test]
fn a_seed_of_0_is_chosen_reported_and_written_down() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("results.json");
    let words = [
        "--seed=0 --num=500 --benchmarks=fillrandom,readrandom",
        &format!("--json={}", json.display()),
    ];
    let text = good(&run_in(home.path(), &words));
    let reported = text
        .strip_prefix("Set seed to ")
        .and_then(|rest| rest.split_once(" because --seed was 0\nKeys: "));
    let (seed, _) = reported.unwrap_or_else(|| panic!("{text}"));
    assert_ne!(seed, "0");
    let rows = std::fs::read_to_string(json).expect("written");
    // Skips the lines about the machine and the engine's build.
    for row in rows.lines().skip(2) {
        has(row, &format!("\"seed\":{seed},"));
    }
    // The same seed draws the same keys.
    let found = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("readrandom"));
        line.and_then(|line| Some(line.split_once('(')?.1.to_owned()))
    };
    let again = run(&[
        &format!("--seed={seed}"),
        "--num=500 --benchmarks=fillrandom,readrandom",
    ]);
    assert!(found(&text).is_some());
    assert_eq!(found(&text), found(&stdout(&again)));
    assert!(!stdout(&again).contains("Set seed"));
}

/// Returns the number after `name` in the n-th text that contains one.
fn counter(text: &str, name: &str, nth: usize) -> u64 {
    let behind = text
        .split(name)
        .nth(nth + 1)
        .unwrap_or_else(|| panic!("{name} in {text}"));
    let digits: String = behind
        .trim_start_matches([' ', ':'])
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().expect("a number")
}

#[test]
fn counters_are_set_to_zero_where_the_engine_has_a_call_for_it() {
    let list = "--benchmarks=fillseq,readseq,stats,resetstats,stats";
    for (engine, name) in [
        ("sqlite3", "cache hits"),
        ("wiredtiger_btree", "cursor: cursor insert calls"),
    ] {
        with_library(engine, || {
            let output = run(&[&format!("--engine={engine}"), "--num=3000", list]);
            let (text, reported) = (stdout(&output), stderr(&output));
            good(&output);
            has(&reported, "the engine's counters were set to zero\n");
            assert!(counter(&text, name, 0) >= 3000, "{text}");
            // A counter that is 0 may be omitted.
            let left = text.matches(name).count();
            assert!(left == 1 || counter(&text, name, 1) < 100, "{text}");
        });
    }
    let output = run(&["--engine=null --num=10", list]);
    let text = stdout(&output);
    has(&text, "\nresetstats   : skipped (not supported by null)\n");
}

#[test]
fn limited_rates_progress_and_operations_over_time_are_rocks() {
    let home = tempfile::tempdir().expect("a directory");
    let file = home.path().join("qps.csv");
    let words = [
        "--engine=null",
        "--num=3000",
        "--format=rocksdb",
        "--benchmarks=fillseq,readrandom",
        // 116 bytes per entry: a quarter of a second for the fill, a fifth for the reads.
        "--benchmark_write_rate_limit=1392000",
        "--benchmark_read_rate_limit=15000",
        "--stats_interval=1000",
        "--report_interval_seconds=1",
        &format!("--report_file={}", file.display()),
    ];
    let output = run_in(home.path(), &words);
    let (text, reported) = (stdout(&output), stderr(&output));
    good(&output);
    has(
        &text,
        "Write rate: 1392000 bytes/second\nRead rate: 15000 ops/second\n",
    );
    for (name, most) in [("fillseq", 13_000.0), ("readrandom", 16_000.0)] {
        let line = text
            .lines()
            .find(|line| line.starts_with(name))
            .expect(name);
        let rate: f64 = line
            .split_whitespace()
            .nth(4)
            .expect(line)
            .parse()
            .expect(line);
        assert!(rate < most, "{line}");
    }
    for part in ["(1000,1000)", "(1000,2000)", "(1000,3000)"] {
        let line = format!(" ... thread 0: {part} ops and (");
        assert_eq!(reported.matches(&line).count(), 2, "{line} in {reported}");
    }
    assert!(!reported.contains("... finished "), "{reported}");
    let qps = std::fs::read_to_string(file).expect("written");
    begins(&qps, "secs_elapsed,interval_qps\n1,");
    let sum: u64 = qps
        .lines()
        .skip(1)
        .map(|line| {
            line.split_once(',')
                .expect(line)
                .1
                .parse::<u64>()
                .expect(line)
        })
        .sum();
    assert_eq!(sum, 3000, "of the last workload: {qps}");
}

/// A stand-in for tcmalloc's full library, reduced to two functions.
const PROFILER: &str = "#include <stdlib.h>\n#include <string.h>\n\
int IsHeapProfilerRunning(void) { return getenv(\"HEAPPROFILE\") != 0; }\n\
char *GetHeapProfile(void) { return strdup(\"heap profile: 1 of 2\\n\"); }\n";

/// Builds the stand-in library in a directory; returns `None` without a C compiler.
fn profiler(home: &Path) -> Option<std::path::PathBuf> {
    let (source, library) = (home.join("profiler.c"), home.join("libprofiler.so"));
    std::fs::write(&source, PROFILER).expect("written");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    built
        .is_ok_and(|status| status.success())
        .then_some(library)
}

#[test]
fn a_heap_profile_comes_from_an_allocator_that_keeps_one() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    let list = "--benchmarks=fillseq,heapprofile,fillseq,heapprofile";
    let plain = run_at(&db, &["--num=10", list]);
    good(&plain);
    let said = stderr(&plain);
    has(&said, "heap profiling not supported: no allocator here");
    let Some(library) = profiler(home.path()) else {
        skip("heap profiles: install a C compiler");
        return;
    };
    let allocator = format!("--allocator={}", library.display());
    let words = ["--num=10", list, &allocator];
    let off = command(&db, &words)
        .env_remove("HEAPPROFILE")
        .output()
        .expect("runs");
    has(&stderr(&off), "profiler is off");
    let on = command(&db, &words)
        .env("HEAPPROFILE", home.path().join("unused"))
        .output()
        .expect("runs");
    for number in ["0001", "0002"] {
        let path = home.path().join(format!("db.heap-{number}"));
        let reported = format!("heap profile: {}\n", path.display());
        has(&stderr(&on), &reported);
        let text = std::fs::read_to_string(&path).expect("written");
        assert_eq!(text, "heap profile: 1 of 2\n");
    }
}
