//! Data sets, keys, formats, and the pass that times single operations.

use bench_core::host::test_text::{begins, has};

use crate::common::{good, run, run_at, run_in, stderr, stdout};

#[test]
fn rocks_format_has_its_fields_where_its_scripts_look() {
    let list = "--benchmarks=fillseq,readrandom,seekrandom";
    let text = good(&run(&[
        "-engine=null -num=2000",
        list,
        "-format=rocksdb -histogram",
    ]));
    begins(
        &text,
        "Keys:       16 bytes each (+ 0 bytes user-defined timestamp)\n",
    );
    for name in ["fillseq", "readrandom", "seekrandom"] {
        let line = text
            .lines()
            .find(|line| line.starts_with(name))
            .expect("ran");
        let fields: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(fields[7], "seconds", "{line}");
        for number in [2, 4, 6] {
            assert!(fields[number].parse::<f64>().is_ok(), "{line}");
        }
        assert_eq!((fields[8], fields[9]), ("2000", "operations;"), "{line}");
        if name != "seekrandom" {
            assert!(fields[10].parse::<f64>().is_ok(), "{line}");
            assert_eq!(fields[11], "MB/s", "{line}");
        }
    }
    for title in [
        "Microseconds per write:\n",
        "Microseconds per read:\n",
        "Microseconds per seek:\n",
    ] {
        assert!(text.contains(title), "{title} in {text}");
    }
    let percentiles = text
        .lines()
        .filter(|line| line.starts_with("Percentiles:"))
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut count = 0;
    for fields in percentiles {
        for (at, name) in [(1, "P50:"), (5, "P99:"), (7, "P99.9:"), (9, "P99.99:")] {
            assert_eq!(fields[at], name);
            assert!(fields[at + 1].parse::<f64>().is_ok(), "{fields:?}");
        }
        count += 1;
    }
    assert_eq!(count, 3);
    assert_eq!(text.matches("DB path: [").count(), 3);
}

#[test]
fn a_data_file_is_written_and_read_back() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("records.tsv");
    std::fs::write(&path, "pear\tgreen\napple\tred and round\nfig\tblue\n").expect("written");
    let data = format!("--data={}", path.display());
    let db = home.path().join("db");
    let go = |words: &[&str]| {
        let words = [words, &[data.as_str()]].concat();
        run_at(&db, &words)
    };
    let text = good(&go(&[
        "--benchmarks=fillseq,readseq,fillrandom,readrandom,verify",
    ]));
    has(&text, "Entries:    3\n");
    assert!(
        !text.contains("failed") && !text.contains("unverified"),
        "{text}"
    );
    let again = stdout(&go(&["--benchmarks=readseq --use_existing_db"]));
    assert!(!again.contains("unverified"), "{again}");
    let many = go(&["--num=4 --benchmarks=fillseq"]);
    assert!(!many.status.success());
    has(
        &stderr(&many),
        "--num=4: a whole number from 1 to 3 is allowed",
    );
    let sized = go(&["--value_size=5 --benchmarks=fillseq"]);
    has(
        &stderr(&sized),
        "--value_size: keys and values come from --data=",
    );
    std::fs::write(&path, "pear\tgreen\napple red\n").expect("written");
    let broken = go(&["--benchmarks=fillseq"]);
    assert!(!broken.status.success());
    has(
        &stderr(&broken),
        "records.tsv: line 2: no tab between key and value",
    );
}

#[test]
fn json_values_and_rocks_keys_are_read_back() {
    let text = good(&run(&[
        "--num=3000 --data=json --keys=rocksdb",
        "--benchmarks=fillrandom,readrandom,readseq,readreverse,compact,readmissing,verify",
    ]));
    assert!(
        text.contains(" of 3000 found)\n") && !text.contains("unverified"),
        "{text}"
    );
}

#[test]
fn times_come_from_a_pass_of_their_own() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("results.json");
    let words = [
        "--num=500 --benchmarks=fillseq,readrandom[X2],crc32c,nosuch,deleteseq --histogram",
        &format!("--json={}", json.display()),
    ];
    let output = run_in(home.path(), &words);
    // One name is unknown; the other workloads run.
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let reported = stderr(&output);
    has(&reported, "timed first, in a separate pass");
    has(&reported, "the times of fillseq come from a separate pass");
    let text = stdout(&output);
    assert_eq!(
        text.matches("Microseconds per op:\nCount: ").count(),
        5,
        "{text}"
    );
    let rows = std::fs::read_to_string(json).expect("written");
    // Skips the lines about the machine and the engine's build.
    for row in rows.lines().skip(2) {
        let row: serde_json::Value = serde_json::from_str(row).expect("an object");
        assert!(row["p99_ns"].is_u64() && row["wall_ns"].is_u64(), "{row}");
    }
}

#[test]
fn both_passes_find_an_existing_database_as_it_was() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    let go = |words: &[&str]| run_at(&db, words);
    go(&["--num=500 --benchmarks=fillseq"]);
    let text = good(&go(&[
        "--num=500 --benchmarks=readrandom,deleteseq,readrandom --use_existing_db --histogram",
    ]));
    has(&text, "(500 of 500 found)\n");
    has(&text, "(0 of 500 found)\n");
    assert!(!text.contains("unverified"), "{text}");
    let mut left: Vec<String> = std::fs::read_dir(home.path())
        .expect("there")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    assert_eq!(left, ["db", "db.db_bench"]);
}

#[test]
fn codecs_tell_their_ratio() {
    let output = run(&["--benchmarks=snappycomp,zstduncomp"]);
    let text = stdout(&output);
    let line = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .expect("ran")
            .to_owned()
    };
    assert!(line("snappycomp").contains(" MB/s (output: "), "{text}");
    assert!(line("zstduncomp").ends_with(" MB/s"), "{text}");
}

/// Command lines as printed on pages about these programs.
#[test]
fn command_lines_of_the_pages_work_as_they_stand() {
    let home = tempfile::tempdir().expect("a directory");
    let go = |words: &[&str]| {
        let words = [words, &["--num=1000"]].concat();
        good(&run_in(home.path(), &words))
    };
    let first = go(&["--benchmarks=fillseq"]);
    has(&first, "\nfillseq      : ");
    let second = go(&["--benchmarks=fillseq,stats --statistics"]);
    assert!(
        second.contains("Compactions\n") && second.contains("STATISTICS:\n"),
        "{second}"
    );
    let third = go(&["--benchmarks=readrandom --use_existing_db"]);
    has(&third, "(1000 of 1000 found)\n");
    let fourth = go(&["--benchmarks=fillseq,readrandom,readseq"]);
    for name in ["fillseq", "readrandom", "readseq"] {
        has(&fourth, &format!("\n{name:<12} : "));
    }
}

#[test]
fn a_count_of_which_a_section_takes_too_many_times_is_refused() {
    let output = run(&["--suite=scale --num=2000000000 --engine=null"]);
    assert_eq!(output.status.code(), Some(1));
    let reported = stderr(&output);
    begins(&reported, "--num=2000000000: section ");
    has(&reported, " and at most 2147483646 are");
}
