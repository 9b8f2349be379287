//! A full disk fails only the rows that needed more space; a full output fails the program.
//!
//! If this user may mount a file system in a mount namespace, the tests use one of 2 MB in memory.
//! Otherwise files are limited to 1 MB, which the system refuses with another error at the same
//! points.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::Value;

use bench_core::host::test_text::{ends, has};

use crate::common::{command, stderr, stdout, unable};
use crate::engines::with_library;
use crate::suites::results;

/// 60,000 entries do not fit; a hundredth of them do.
const NUM: &str = "--num=60000";

/// Mounts a file system on `$1` and runs the remaining arguments.
const MOUNT: &str = "mount -t tmpfs -o size=2m tmpfs \"$1\" && shift && exec \"$@\"";
/// Limits files to 2048 blocks of 512 bytes, with an error instead of a signal, and runs all
/// arguments except `$1`.
const LIMIT: &str = "trap '' XFSZ; ulimit -f 2048; shift; exec \"$@\"";
/// Runs the remaining arguments and copies the contents of `$1`, which are visible only in this
/// mount namespace, to `$2`.
const COPY: &str =
    "from=$1; to=$2; shift 2; \"$@\"; status=$?; cp \"$from\"/own.* \"$to\"; exit $status";
const NAME_SPACE: [&str; 3] = ["--user", "--map-root-user", "--mount"];

static MAY_MOUNT: LazyLock<bool> = LazyLock::new(|| {
    let there = tempfile::tempdir().expect("a directory");
    let mut command = Command::new("unshare");
    command.args(NAME_SPACE).args(["sh", "-c", MOUNT, "sh"]);
    let output = command.arg(there.path()).arg("true").output();
    output.is_ok_and(|output| output.status.success())
});

/// Runs the program with these arguments and little space for its database.
fn cramped(home: &Path, words: &[&str]) -> Output {
    let room = home.join("room");
    std::fs::create_dir(&room).expect("created");
    let mut command = if *MAY_MOUNT {
        let mut command = Command::new("unshare");
        command.args(NAME_SPACE).args(["sh", "-c", MOUNT]);
        command
    } else {
        let mut command = Command::new("sh");
        command.args(["-c", LIMIT]);
        command
    };
    command.arg("sh").arg(&room);
    command.arg(env!("CARGO_BIN_EXE_db_bench"));
    let db = format!("--db={}", room.join("db").display());
    command.arg(db).args(words).output().expect("it starts")
}

/// Returns the system's error message for lack of space.
fn refusal() -> &'static str {
    if *MAY_MOUNT {
        "No space left on device"
    } else {
        "File too large"
    }
}

/// Runs a list that fills the disk in its third row, over an engine that may also report it in
/// these words.
fn the_row_alone_is_lost(engine: &str, words: &[&str]) {
    let list =
        "--benchmarks=fillseqsync,readseq,fillrandom,readseq,overwrite,crc32c,fillseqsync,readseq";
    let home = tempfile::tempdir().expect("a directory");
    let output = cramped(home.path(), &[&format!("--engine={engine}"), NUM, list]);
    let text = stdout(&output);
    let rows: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("fillseqsync "))
        .collect();
    assert_eq!(rows.len(), 8, "{engine}: {text}\n{}", stderr(&output));
    let mut said = [&[refusal()], words].concat().into_iter();
    assert!(
        rows[2].starts_with("fillrandom   : failed (") && said.any(|said| rows[2].contains(said)),
        "{engine}: {}",
        rows[2]
    );
    for at in [3, 4] {
        let reported =
            "skipped (the database it needs does not exist: fillrandom before it failed)";
        assert!(rows[at].ends_with(reported), "{engine}: {}", rows[at]);
    }
    for at in [0, 1, 5, 6, 7] {
        assert!(rows[at].contains(" micros/op;"), "{engine}: {}", rows[at]);
    }
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_full_disk_costs_the_row_that_filled_it() {
    the_row_alone_is_lost("cairndb", &[]);
    with_library("leveldb", || {
        the_row_alone_is_lost("leveldb", &[]);
    });
    with_library("rocksdb", || {
        // Debian's build has assertions, and one of them may fail first.
        the_row_alone_is_lost("rocksdb", &["SIGABRT"]);
    });
    with_library("sqlite3", || {
        if *MAY_MOUNT {
            the_row_alone_is_lost("sqlite3", &["database or disk is full"]);
        } else {
            // Under a file size limit, not even a hundredth fits.
            unable("db_bench over sqlite3 on a full disk: no file system can be mounted here");
        }
    });
}

#[test]
fn a_process_that_the_full_disk_kills_is_reported_with_its_signal() {
    with_library("lmdb", || {
        let home = tempfile::tempdir().expect("a directory");
        let list = "--benchmarks=fillseqsync,fillrandom,readseq,fillseqsync,readseq";
        let output = cramped(home.path(), &["--engine=lmdb", NUM, list]);
        assert_eq!(output.status.code(), Some(1));
        if !*MAY_MOUNT {
            // It maps a file of its maximum size, which is refused.
            let reported = format!("open error: {}\n", refusal());
            ends(&stderr(&output), &reported);
            return;
        }
        let text = stdout(&output);
        let rows: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.starts_with("fillseqsync "))
            .collect();
        assert_eq!(rows.len(), 5, "{text}");
        // No page is available for a part of the mapped file.
        assert_eq!(
            rows[1],
            "fillrandom   : failed (the process was killed by signal 7 (SIGBUS))"
        );
        has(rows[2], "skipped (");
        for at in [0, 3, 4] {
            assert!(rows[at].contains(" micros/op;"), "{}", rows[at]);
        }
    });
}

/// Returns a suite with `reads` rows after the one that fills the disk.
fn own(home: &Path, reads: usize) -> PathBuf {
    let file = home.join("own.toml");
    let reads = vec!["\"readseq\""; reads].join(", ");
    let text = format!(
        r#"
num = 60_000
rounds = 1
latency = false
[[section]]
name = "small"
times = 0.01
workloads = ["fillseq", "readseq"]
[[section]]
name = "large"
workloads = ["fillrandom", {reads}]
[[section]]
name = "over large"
over = "large"
split = "reads"
workloads = ["readrandom"]
[[section]]
name = "small again"
times = 0.01
workloads = ["fillrandom", "compact", "readreverse"]
"#
    );
    std::fs::write(&file, text).expect("written");
    file
}

/// Checks the status of each row of the suite, for an engine that fills its disk and reports it,
/// and for one that does not.
fn check(rows: &[Value], engine: &str, reads: usize, said: &str) {
    let of = |engine: &str| -> Vec<[String; 3]> {
        let same = rows.iter().filter(|row| row["engine"] == engine);
        let word = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        same.map(|row| ["section", "workload", "status"].map(|name| word(row, name)))
            .collect()
    };
    let wanted = |failed: &str, skipped: &str| {
        let mut rows = vec![
            ["small", "fillseq", "ok"],
            ["small", "readseq", "ok"],
            ["large", "fillrandom", failed],
        ];
        rows.extend(vec![["large", "readseq", skipped]; reads]);
        rows.extend([
            ["over large", "readrandom", skipped],
            ["small again", "fillrandom", "ok"],
            ["small again", "compact", "ok"],
            ["small again", "readreverse", "ok"],
        ]);
        let rows = rows.into_iter();
        rows.map(|row| row.map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(of(engine), wanted("failed", "skipped"));
    assert_eq!(of("null"), wanted("ok", "ok"));
    for row in rows.iter().filter(|row| row["status"] != "ok") {
        let reason = row["reason"].as_str().unwrap_or_default();
        let about = if row["status"] == "failed" {
            said
        } else {
            "the database it needs does not exist: fillrandom before it failed"
        };
        assert!(reason.contains(about), "{row}");
    }
}

#[test]
fn a_suite_goes_on_after_a_full_disk() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("own.json");
    let words = [
        &format!("--suite={}", own(home.path(), 1).display()),
        &format!("--json={}", json.display()),
        "--engine=cairndb,null",
    ];
    let output = cramped(home.path(), &words);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    check(&results(&json), "cairndb", 1, refusal());
}

/// The first line for which there was no space used to end the whole suite. SQLite fills the last
/// page and keeps its contents after the error.
#[test]
fn results_on_the_disk_that_is_full_are_written_after_the_turn() {
    with_library("sqlite3", || {
        if *MAY_MOUNT {
            results_are_kept();
        } else {
            unable("db_bench's results on a full disk: no file system can be mounted here");
        }
    });
}

fn results_are_kept() {
    // Enough rows that their lines exceed the space left in the current page.
    const READS: usize = 40;
    let home = tempfile::tempdir().expect("a directory");
    let (room, copy) = (home.path().join("room"), home.path().join("copy"));
    std::fs::create_dir(&room).expect("created");
    std::fs::create_dir(&copy).expect("created");
    let mut command = Command::new("unshare");
    command.args(NAME_SPACE).args(["sh", "-c", MOUNT, "sh"]);
    command.arg(&room).args(["sh", "-c", COPY, "sh"]);
    command.arg(&room).arg(&copy);
    command.arg(env!("CARGO_BIN_EXE_db_bench"));
    command.args([
        format!("--suite={}", own(home.path(), READS).display()),
        format!("--db={}", room.join("db").display()),
        format!("--json={}", room.join("own.json").display()),
        format!("--csv={}", room.join("own.csv").display()),
        "--engine=sqlite3,null".to_owned(),
    ]);
    let output = command.output().expect("it starts");
    let reported = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{reported}");
    let refused = "own.json: No space left on device (os error 28); kept for another attempt\n";
    assert_eq!(reported.matches(refused).count(), 1, "{reported}");
    let rows = results(&copy.join("own.json"));
    check(&rows, "sqlite3", READS, "database or disk is full");
    let csv = std::fs::read_to_string(copy.join("own.csv")).expect("written");
    assert_eq!(csv.lines().count(), 1 + rows.len(), "{csv}");
}

#[test]
fn a_full_output_is_a_failure_and_a_closed_one_is_not() {
    let full = || {
        let mut options = std::fs::File::options();
        options.write(true).open("/dev/full").expect("a device")
    };
    let closed = || {
        let (_, writer) = std::io::pipe().expect("a pipe");
        writer
    };
    let home = tempfile::tempdir().expect("a directory");
    let of = |words: &[&str]| command(&home.path().join("db"), words);
    let run = ["--benchmarks=fillseq --num=100 --engine=null"];
    for words in [&run[..], &["--version"], &["--help"], &["--list"]] {
        let ended = of(words).stdout(full()).output().expect("it starts");
        assert_eq!(ended.status.code(), Some(1), "{words:?}: {ended:?}");
        assert!(
            stderr(&ended).contains("results cannot be written"),
            "{ended:?}"
        );
        let ended = of(words).stdout(closed()).output().expect("it starts");
        assert_eq!(ended.status.code(), Some(0), "{words:?}: {ended:?}");
    }
    for words in [&["--no-such-flag"][..], &["--benchmarks=none"]] {
        let heard = of(words).output().expect("it starts").status.code();
        assert_ne!(heard, Some(0));
        let ended = of(words).stderr(full()).output().expect("it starts");
        assert_eq!(ended.status.code(), heard, "{ended:?}");
        let ended = of(words).stderr(closed()).output().expect("it starts");
        assert_eq!(ended.status.code(), heard, "{ended:?}");
    }
    // The header and the hints of a run go to stderr.
    let ended = of(&run).stderr(full()).output().expect("it starts");
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}
