//! A disk that is full costs the rows that needed more of it, and those alone.
//!
//! Where this user may mount a file system in a name space of its own, one of 2 MB in memory; else
//! no file may grow beyond 1 MB, which the system refuses with another word at the same places.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::Value;

use crate::common::{skip, stderr, stdout};
use crate::peers::with_library;
use crate::suites::results;

/// 60,000 entries do not fit; a hundredth of them does.
const NUM: &str = "--num=60000";

/// Mounts on `$1` and runs the rest.
const MOUNT: &str = "mount -t tmpfs -o size=2m tmpfs \"$1\" && shift && exec \"$@\"";
/// Limits files to 2048 blocks of 512 bytes, as an error and not as a signal, and runs all but `$1`.
const LIMIT: &str = "trap '' XFSZ; ulimit -f 2048; shift; exec \"$@\"";
const NAME_SPACE: [&str; 3] = ["--user", "--map-root-user", "--mount"];

static MAY_MOUNT: LazyLock<bool> = LazyLock::new(|| {
    let there = tempfile::tempdir().expect("a directory");
    let mut command = Command::new("unshare");
    command.args(NAME_SPACE).args(["sh", "-c", MOUNT, "sh"]);
    let output = command.arg(there.path()).arg("true").output();
    output.is_ok_and(|output| output.status.success())
});

/// The program with these words and little room for its database.
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

/// What the system says when there is no more room.
fn refusal() -> &'static str {
    if *MAY_MOUNT {
        "No space left on device"
    } else {
        "File too large"
    }
}

/// Runs a list that fills the disk in its third row, over an engine that may say so in these words too.
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
        let told = "skipped (the database it needs is not there: fillrandom before it failed)";
        assert!(rows[at].ends_with(told), "{engine}: {}", rows[at]);
    }
    for at in [0, 1, 5, 6, 7] {
        assert!(rows[at].contains(" micros/op;"), "{engine}: {}", rows[at]);
    }
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_full_disk_costs_the_row_that_filled_it() {
    the_row_alone_is_lost("cairndb", &[]);
    with_library("leveldb", "libleveldb1d", || {
        the_row_alone_is_lost("leveldb", &[]);
    });
    with_library("rocksdb", "librocksdb7.8", || {
        // Debian's build has its assertions, and one of them may be first.
        the_row_alone_is_lost("rocksdb", &["SIGABRT"]);
    });
    with_library("sqlite3", "libsqlite3-0", || {
        if *MAY_MOUNT {
            the_row_alone_is_lost("sqlite3", &["database or disk is full"]);
        } else {
            // Under a limit of its files it has no room for a hundredth either.
            skip("db_bench over sqlite3 on a full disk: no file system can be mounted here");
        }
    });
}

#[test]
fn a_process_that_the_full_disk_kills_is_told_with_its_signal() {
    with_library("lmdb", "liblmdb0", || {
        let home = tempfile::tempdir().expect("a directory");
        let list = "--benchmarks=fillseqsync,fillrandom,readseq,fillseqsync,readseq";
        let output = cramped(home.path(), &["--engine=lmdb", NUM, list]);
        assert_eq!(output.status.code(), Some(1));
        if !*MAY_MOUNT {
            // It maps a file of the size it may grow to, and is refused that.
            let told = format!("open error: {}\n", refusal());
            assert!(stderr(&output).ends_with(&told), "{}", stderr(&output));
            return;
        }
        let text = stdout(&output);
        let rows: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.starts_with("fillseqsync "))
            .collect();
        assert_eq!(rows.len(), 5, "{text}");
        // There is no page for a part of the file that was mapped.
        assert_eq!(
            rows[1],
            "fillrandom   : failed (the process was ended by signal 7 (SIGBUS))"
        );
        assert!(rows[2].contains("skipped ("), "{}", rows[2]);
        for at in [0, 3, 4] {
            assert!(rows[at].contains(" micros/op;"), "{}", rows[at]);
        }
    });
}

const SUITE: &str = r#"
num = 60_000
rounds = 1
latency = false
[[section]]
name = "small"
times = 0.01
workloads = ["fillseq", "readseq"]
[[section]]
name = "large"
workloads = ["fillrandom", "readseq"]
[[section]]
name = "over large"
over = "large"
split = "reads"
workloads = ["readrandom"]
[[section]]
name = "small again"
times = 0.01
workloads = ["fillrandom", "compact", "readreverse"]
"#;

fn own(home: &Path) -> PathBuf {
    let file = home.join("own.toml");
    std::fs::write(&file, SUITE).expect("written");
    file
}

#[test]
fn a_suite_goes_on_behind_a_full_disk() {
    let home = tempfile::tempdir().expect("a directory");
    let json = home.path().join("own.json");
    let words = [
        &format!("--suite={}", own(home.path()).display()),
        &format!("--json={}", json.display()),
        "--engine=cairndb,null",
    ];
    let output = cramped(home.path(), &words);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let rows = results(&json);
    let of = |engine: &str| -> Vec<[String; 3]> {
        let same = rows.iter().filter(|row| row["engine"] == engine);
        let word = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
        same.map(|row| ["section", "workload", "status"].map(|name| word(row, name)))
            .collect()
    };
    let wanted = |failed: &str, skipped: &str| {
        [
            ["small", "fillseq", "ok"],
            ["small", "readseq", "ok"],
            ["large", "fillrandom", failed],
            ["large", "readseq", skipped],
            ["over large", "readrandom", skipped],
            ["small again", "fillrandom", "ok"],
            ["small again", "compact", "ok"],
            ["small again", "readreverse", "ok"],
        ]
        .map(|row| row.map(str::to_owned))
    };
    assert_eq!(of("cairndb"), wanted("failed", "skipped"));
    assert_eq!(of("null"), wanted("ok", "ok"));
    for row in rows.iter().filter(|row| row["status"] != "ok") {
        let reason = row["reason"].as_str().unwrap_or_default();
        let about = if row["status"] == "failed" {
            refusal()
        } else {
            "the database it needs is not there: fillrandom before it failed"
        };
        assert!(reason.contains(about), "{row}");
    }
}
