//! Lines, statuses, files.

use bench_core::host::test_text::has;

use crate::common::{good, objects, run, run_short, stderr, stdout};

#[test]
fn help_lists_the_flags_of_the_five_series_with_their_defaults() {
    let text = good(&run(&["--help"]));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "-cache_size (Number of bytes to use as a cache of uncompressed data.) type: int64 default: 8388608",
        "-max_key (Max number of key to place in cache) type: int64 default: 1073741824",
        "-num_shard_bits (shard_bits.",
        "-populate_cache (Populate cache before operations) type: bool default: false",
        "-threads (Number of concurrent threads to run.) type: int32 default: 16",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn the_default_is_the_classic_program_over_the_lru_cache() {
    let text = good(&run_short(&[]));
    let has = |start: &str| text.lines().any(|line| line.starts_with(start));
    assert!(has("Cache               : CairnDB "), "{text}");
    assert!(has("Cache size          : 8388608"), "{text}");
    assert!(has("Complete in ") && text.contains(" s; QPS = "), "{text}");
    assert!(
        has("Lookup hit ratio: 0.") && has("Percentiles: P50: "),
        "{text}"
    );
    assert!(has("Values checked: every one found"), "{text}");
    assert!(
        !text.contains("\ncache  "),
        "one run needs no table\n{text}"
    );
}

#[test]
fn every_cache_of_ours_runs_in_both_profiles_and_leaves_its_record() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("results.json");
    let json = format!("--json={}", path.display());
    for (profile, line) in [
        ("classic", " s; QPS = "),
        ("modern", " s; Rough parallel ops/sec = "),
    ] {
        let words = [
            "--cache=null,lru,clock,quick_cache,moka --cache_size=4M --value_bytes=300 --rounds=2",
            &format!("--profile={profile}"),
            &json,
        ];
        let text = good(&run_short(&words));
        assert_eq!(text.matches(line).count(), 10, "{text}");
        has(&text, "\ncache  ");
        let objects = objects(&path);
        assert_eq!(
            (objects.len(), &objects[0]["type"]),
            (11, &"machine".into())
        );
        let order: Vec<_> = objects[1..]
            .iter()
            .map(|one| one["cache"].as_str().expect("a name"))
            .collect();
        assert_eq!(order[..5], ["null", "lru", "clock", "quick_cache", "moka"]);
        assert_eq!(order[5..], ["lru", "clock", "quick_cache", "moka", "null"]);
        for one in &objects[1..] {
            assert_eq!(
                (&one["type"], &one["status"]),
                (&"cache".into(), &"ok".into()),
                "{one}"
            );
            assert_eq!(
                (&one["profile"], &one["ops"]),
                (&profile.into(), &6000.into()),
                "{one}"
            );
            assert!(
                one["verified"] == true && one["p99_ns"].as_f64().is_some_and(|ns| ns > 0.0),
                "{one}"
            );
            assert!(
                one["usage_bytes"]
                    .as_u64()
                    .is_some_and(|bytes| bytes <= 4 << 20),
                "{one}"
            );
        }
    }
}

#[test]
fn one_thread_finds_the_same_share_in_every_run() {
    let ratio = || {
        let text = stdout(&run(&[
            "--threads=1 --ops_per_thread=5000 --max_key=300 --latency_ops=0",
        ]));
        text.lines()
            .find(|line| line.starts_with("Lookup hit ratio: "))
            .expect("a ratio")
            .to_owned()
    };
    let first = ratio();
    assert_ne!(first, "Lookup hit ratio: 0");
    assert_eq!(first, ratio());
}

#[test]
fn a_flag_of_rocksdb_without_a_meaning_warns_and_runs() {
    let output = run_short(&["--report_problems --pinned_ratio=0.1 --cache_size=1M"]);
    good(&output);
    let warnings = stderr(&output);
    assert_eq!(
        warnings
            .matches("that means nothing here; it is ignored\n")
            .count(),
        2,
        "{warnings}"
    );
    assert!(
        stdout(&output).contains("Rough parallel ops/sec"),
        "newer flags choose the modern profile"
    );
}

#[test]
fn a_run_over_its_time_fails_by_name_and_costs_itself_alone() {
    let output = run(&[
        "--cache=moka,null --threads=1 --ops_per_thread=20000000 --timeout=1 --latency_ops=0",
        "--max_key=100000 --cache_size=64M",
    ]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    has(&text, "\nmoka: FAILED (time limit of 1 s (--timeout))\n");
    has(&text, "\nmoka                 FAILED: time limit of 1 s");
}
