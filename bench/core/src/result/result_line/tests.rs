//! Tests against the lines of `LevelDB`'s own program, on which its users' scripts rely.

use super::*;
use crate::testing;
use crate::workload::plan::{Format, Plan};

fn plan() -> Plan {
    testing::plan(std::path::Path::new("db"), 1_000_000, &[])
}

#[test]
fn header_is_levels() {
    let warning = if cfg!(debug_assertions) {
        "WARNING: Assertions are enabled; benchmarks unnecessarily slow\n"
    } else {
        ""
    };
    let expected = format!(
        "Keys:       16 bytes each\n\
         Values:     100 bytes each (50 bytes after compression)\n\
         Entries:    1000000\n\
         RawSize:    110.6 MB (estimated)\n\
         FileSize:   62.9 MB (estimated)\n\
         {warning}------------------------------------------------\n"
    );
    assert_eq!(header(&plan()), expected);
}

#[test]
fn result_lines_are_levels() {
    let fillseq = Outcome {
        ops: 1_000_000,
        thread_seconds: 1.765,
        elapsed_seconds: 1.765,
        bytes: 116_000_000,
        read_bytes: 0,
        message: String::new(),
    };
    assert_eq!(
        result(Format::LevelDb, "fillseq", &fillseq),
        "fillseq      :       1.765 micros/op;   62.7 MB/s"
    );
    let fillsync = Outcome {
        ops: 1000,
        thread_seconds: 0.268_409,
        elapsed_seconds: 0.268_409,
        bytes: 116_000,
        read_bytes: 0,
        message: "(1000 ops)".into(),
    };
    assert_eq!(
        result(Format::LevelDb, "fillsync", &fillsync),
        "fillsync     :     268.409 micros/op;    0.4 MB/s (1000 ops)"
    );
    let readrandom = Outcome {
        ops: 1_000_000,
        thread_seconds: 16.677,
        elapsed_seconds: 16.677,
        bytes: 0,
        read_bytes: 0,
        message: "(632461 of 1000000 found)".into(),
    };
    assert_eq!(
        result(Format::LevelDb, "readrandom", &readrandom),
        "readrandom   :      16.677 micros/op; (632461 of 1000000 found)"
    );
    let compact = Outcome {
        thread_seconds: 0.792,
        ..Outcome::default()
    };
    assert_eq!(
        result(Format::LevelDb, "compact", &compact),
        "compact      :  792000.000 micros/op;"
    );
}

#[test]
fn rows_not_run_say_so_in_levels_words() {
    assert_eq!(
        skipped("fillseq", "--use_existing_db is true"),
        "fillseq      : skipped (--use_existing_db is true)"
    );
}

#[test]
fn repeated_rows_end_with_rocks_lines() {
    let ops = [100.0, 200.0, 300.0];
    assert_eq!(combined("readseq", &ops[..1], &[]), "");
    assert_eq!(
        combined("readseq", &ops[..2], &[]),
        "readseq [AVG 2 runs] : 150 (\u{b1} 98) ops/sec\n"
    );
    assert_eq!(
        combined_at_the_end("readseq", &ops, &[]),
        "\nreadseq [AVG    3 runs] : 200 (\u{b1} 113) ops/sec; 5.000 ms/op\n\
         readseq [MEDIAN 3 runs] : 200 ops/sec\n"
    );
    assert_eq!(
        combined_at_the_end("readseq", &ops, &[1.0, 2.0, 3.0]),
        "\nreadseq [AVG    3 runs] : 200 (\u{b1} 113) ops/sec; 5.000 ms/op;    2.0 (\u{b1} 1.1) MB/sec\n\
         readseq [MEDIAN 3 runs] : 200 ops/sec;    2.0 MB/sec\n"
    );
    assert_eq!(
        interval("readseq", &ops, &[1.0, 2.0, 3.0]),
        "readseq [CI95 3 runs] : (87, 313) ops/sec; (0.9, 3.1) MB/sec\n"
    );
}

#[test]
fn rocks_lines_have_their_fields_where_scripts_look() {
    let outcome = Outcome {
        ops: 1_000_000,
        thread_seconds: 2.0,
        elapsed_seconds: 0.5,
        bytes: 116_000_000,
        read_bytes: 0,
        message: String::new(),
    };
    let line = result(Format::RocksDb, "fillseq", &outcome);
    assert_eq!(
        line,
        "fillseq      :       2.000 micros/op 2000000 ops/sec 0.500 seconds 1000000 operations;  221.3 MB/s"
    );
    let fields: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(
        (fields[2], fields[4], fields[7], fields[10]),
        ("2.000", "2000000", "seconds", "221.3")
    );
    let read = Outcome {
        bytes: 0,
        read_bytes: 58_000_000,
        message: "(5 of 10 found)\n".into(),
        ..outcome
    };
    assert!(
        result(Format::RocksDb, "readrandom", &read)
            .ends_with(" operations;  110.6 MB/s (5 of 10 found)\n")
    );
    let rocks = Plan {
        format: Format::RocksDb,
        ..plan()
    };
    let text = header(&rocks);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..4],
        [
            "Keys:       16 bytes each (+ 0 bytes user-defined timestamp)",
            "Values:     100 bytes each (50 bytes after compression)",
            "Entries:    1000000",
            "Prefix:    0 bytes",
        ]
    );
    assert_eq!(lines[10], "Compression sampling rate: 0");
    assert!(text.ends_with("------------------------------------------------\n"));
}
