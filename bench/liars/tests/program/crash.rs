//! A peer that crashes inside a suite loses the row it crashed in.

use std::path::Path;

use crate::common::{Ended, run, word};

/// Two databases; the merges of the first are where the peer crashes.
const SUITE: &str = r#"
num = 2000
rounds = 1
latency = false
[[section]]
name = "mixed"
workloads = ["fillseq", "readrandom", "mergerandom", "readseq", "overwrite"]
[[section]]
name = "read"
over = "mixed"
workloads = ["readrandom", "deleteseq"]
[[section]]
name = "second"
workloads = ["fillrandom", "readreverse"]
"#;

fn suite(home: &Path, engine: &str) -> Ended {
    let file = home.join("own.toml");
    std::fs::write(&file, SUITE).expect("written");
    let suite = format!("--suite={}", file.display());
    run(home, &[&suite, &format!("--engine=cairndb,{engine}")])
}

#[test]
fn a_crash_costs_one_row_and_is_told_with_its_signal() {
    for engine in ["crashes", "crashes_once"] {
        let home = tempfile::tempdir().expect("a directory");
        let ended = suite(home.path(), engine);
        let reason = "the process was ended by signal 6 (SIGABRT)";
        assert_eq!(ended.failed(), [(engine, "mergerandom", reason)]);
        let told = format!("FAILED: {engine} mergerandom of mixed: {reason}\n");
        assert!(ended.stdout().contains(&told), "{}", ended.stdout());
        assert_eq!(ended.output.status.code(), Some(1));
        for name in ["cairndb", engine] {
            let rows: Vec<&str> = ended
                .rows
                .iter()
                .filter(|row| row["engine"] == name && row["verified"] == true)
                .map(|row| word(row, "workload"))
                .collect();
            let mut wanted = vec![
                "fillseq",
                "readrandom",
                "mergerandom",
                "readseq",
                "overwrite",
                "readrandom",
                "deleteseq",
                "fillrandom",
                "readreverse",
            ];
            wanted.retain(|&workload| name == "cairndb" || workload != "mergerandom");
            assert_eq!(rows, wanted, "{name}");
        }
    }
}
