//! The lines of `LevelDB`'s own program, as its users' scripts know them.

use super::*;
use crate::plan::Plan;
use crate::testing;

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
        message: String::new(),
    };
    assert_eq!(
        result("fillseq", &fillseq),
        "fillseq      :       1.765 micros/op;   62.7 MB/s"
    );
    let fillsync = Outcome {
        ops: 1000,
        thread_seconds: 0.268_409,
        elapsed_seconds: 0.268_409,
        bytes: 116_000,
        message: "(1000 ops)".into(),
    };
    assert_eq!(
        result("fillsync", &fillsync),
        "fillsync     :     268.409 micros/op;    0.4 MB/s (1000 ops)"
    );
    let readrandom = Outcome {
        ops: 1_000_000,
        thread_seconds: 16.677,
        elapsed_seconds: 16.677,
        bytes: 0,
        message: "(632461 of 1000000 found)".into(),
    };
    assert_eq!(
        result("readrandom", &readrandom),
        "readrandom   :      16.677 micros/op; (632461 of 1000000 found)"
    );
    let compact = Outcome {
        thread_seconds: 0.792,
        ..Outcome::default()
    };
    assert_eq!(
        result("compact", &compact),
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
    assert_eq!(
        combined("readseq", &ops[..1], &[], false),
        "readseq [AVG 1 runs] : 100 (\u{b1} 0) ops/sec"
    );
    assert_eq!(
        combined("readseq", &ops, &[1.0, 2.0, 3.0], true),
        "readseq [AVG    3 runs] : 200 (\u{b1} 113) ops/sec;    2.0 (\u{b1} 1.1) MB/sec\n\
         readseq [MEDIAN 3 runs] : 200 ops/sec;    2.0 MB/sec"
    );
}
