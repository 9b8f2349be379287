//! Tests of the verdicts on engines that do not do what they report.

use bench_core::host::process::device_stat;
use bench_core::host::test_skip::unable;

use crate::common::{Ended, run};

/// Returns the reason of the only failed row of an engine.
fn only_failure<'e>(ended: &'e Ended, engine: &str, workload: &str) -> &'e str {
    let failed = ended.failed();
    assert_eq!(failed.len(), 1, "{failed:?}\n{}", ended.stdout());
    let (by, row, reason) = failed[0];
    assert_eq!((by, row), (engine, workload));
    let line = format!("{workload:<12} : failed ({reason})\n");
    assert!(ended.stdout().contains(&line), "{}", ended.stdout());
    assert_eq!(ended.output.status.code(), Some(1));
    reason
}

#[test]
fn one_dropped_key_in_ten_thousand_fails_the_row_that_wrote_it() {
    let home = tempfile::tempdir().expect("a directory");
    let list = "--benchmarks=fillseq";
    let ended = run(home.path(), &["--engine=drops_keys", "--num=10000", list]);
    let reason = only_failure(&ended, "drops_keys", "fillseq");
    assert!(
        reason.contains("a scan returned 9999 entries where 10000 were expected")
            && reason.contains("key 0000000000009999: expected its last value, got nothing"),
        "{reason}"
    );
}

#[test]
fn a_cursor_that_misses_an_entry_fails_the_row_of_deletions() {
    let home = tempfile::tempdir().expect("a directory");
    let list = "--benchmarks=queue,stack";
    let ended = run(home.path(), &["--engine=drops_keys", "--num=8000", list]);
    let failed = ended.failed();
    assert_eq!(failed.len(), 2, "{failed:?}");
    let (_, row, reason) = failed[1];
    assert_eq!(row, "stack");
    assert!(
        reason.starts_with("1 wrong answer; first: a cursor found ")
            && reason.ends_with(" is expected"),
        "{reason}"
    );
}

#[test]
fn one_flipped_byte_in_ten_thousand_answers_fails_the_row_that_read_it() {
    let home = tempfile::tempdir().expect("a directory");
    let list = "--benchmarks=fillseq,readrandom,readseq";
    let ended = run(home.path(), &["--engine=flips_bytes", "--num=10000", list]);
    let reason = only_failure(&ended, "flips_bytes", "readrandom");
    assert!(
        reason.starts_with("1 wrong answer; first: key ")
            && reason.ends_with("expected its last value, got bytes that were never written"),
        "{reason}"
    );
}

#[test]
fn rows_of_users_work_find_a_flipped_byte_and_a_dropped_key() {
    // The ten-thousandth answer is in the row; the ten-thousandth put late in it, where little
    // overwrites it.
    for (engine, row, num, flag) in [
        ("flips_bytes", "mixgraph", 13_000, "--data=pareto"),
        ("flips_bytes", "twitter18", 13_000, "--threads=2"),
        ("flips_bytes", "readrandom", 13_000, "--rate=1000000"),
        ("flips_bytes", "readrandom", 13_000, "--threads=4"),
        ("flips_bytes", "readrandom", 13_000, "--value_size=8192"),
        ("drops_keys", "twitter12", 5_800, "--data=synthetic"),
        ("drops_keys", "overwrite", 3_800, "--rate=50%"),
    ] {
        let home = tempfile::tempdir().expect("a directory");
        let words = [
            format!("--engine={engine}"),
            format!("--num={num}"),
            format!("--benchmarks=fillseq,{row}"),
        ];
        let ended = run(home.path(), &[&words[0], &words[1], &words[2], flag]);
        let failed = ended.failed();
        assert!(
            failed.iter().any(|failed| failed.1 == row),
            "{engine} {row} {flag}: {failed:?}\n{}",
            ended.stdout()
        );
    }
}

#[test]
fn an_entry_that_a_compaction_loses_fails_the_compaction() {
    let home = tempfile::tempdir().expect("a directory");
    let list = "--benchmarks=fillseq,readseq,compact";
    let ended = run(
        home.path(),
        &["--engine=loses_compacting", "--num=10000", list],
    );
    let reason = only_failure(&ended, "loses_compacting", "compact");
    assert!(
        reason.contains("a scan returned 9999 entries where 10000 were expected")
            && reason.contains("key 0000000000000000: expected its last value, got"),
        "{reason}"
    );
}

#[test]
fn what_was_acknowledged_before_it_was_written_is_missed_after_sigkill() {
    let home = tempfile::tempdir().expect("a directory");
    let suite = home.path().join("own.toml");
    let text = "num = 2000\nrounds = 1\nlatency = false\n[[section]]\nname = \"kill\"\nkill = true\nworkloads = [\"fillrandom\"]\n";
    std::fs::write(&suite, text).expect("written");
    let suite = format!("--suite={}", suite.display());
    let engines = "--engine=cairndb,acknowledges_first";
    let ended = run(home.path(), &[&suite, engines]);
    let failed = ended.failed();
    assert_eq!(failed.len(), 1, "{failed:?}");
    let (engine, workload, reason) = failed[0];
    assert_eq!((engine, workload), ("acknowledges_first", "fillrandom"));
    assert!(
        reason.starts_with("acknowledged writes were missing after SIGKILL: "),
        "{reason}"
    );
    let honest = &ended.rows[0];
    assert_eq!(
        (&honest["engine"], &honest["status"]),
        (&"cairndb".into(), &"ok".into())
    );
    assert_eq!(ended.output.status.code(), Some(1));
}

#[test]
fn flushes_that_never_reached_the_disk_are_counted() {
    let home = tempfile::tempdir().expect("a directory");
    // So many that concurrent flushes of other programs are far fewer.
    for (row, words, acknowledged) in [
        (
            "fillseqsync",
            ["--threads=1", "--sync=1"],
            "10000 synchronous writes",
        ),
        (
            "fillseqsync",
            ["--threads=2", "--sync=1"],
            "10000 synchronous writes of one thread",
        ),
        (
            "fillseqsync",
            ["--threads=1", "--batch_size=2"],
            "5000 synchronous batches",
        ),
    ] {
        let list = format!("--benchmarks={row}");
        let fixed = ["--num=1000000", "--engine=skips_sync", &list];
        let ended = run(home.path(), &[&fixed[..], &words].concat());
        if device_stat(home.path()).is_none() {
            // Without a disk or a write cache there is nothing to count, and nothing is claimed.
            assert!(ended.rows[0].get("fsyncs").is_none(), "{:?}", ended.rows);
            unable("flushes that reach the disk: the temporary directory's device counts none");
            return;
        }
        let reason = only_failure(&ended, "skips_sync", row);
        assert!(
            reason.starts_with(&format!("acknowledged {acknowledged} while "))
                && reason.ends_with(" flushes reached the device"),
            "{reason}"
        );
    }
}

#[test]
fn memory_beyond_the_setting_is_seen() {
    let home = tempfile::tempdir().expect("a directory");
    let words = [
        "--engine=ignores_memory",
        "--memory=4194304",
        "--num=20000",
        "--value_size=4000",
        "--benchmarks=fillseq",
    ];
    let ended = run(home.path(), &words);
    let reason = only_failure(&ended, "ignores_memory", "fillseq");
    assert!(
        reason.starts_with("ignores its memory setting: ")
            && reason.contains(" under a setting of 4 MB"),
        "{reason}"
    );
}
