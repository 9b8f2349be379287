//! Helpers to run the program and read its results.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) output: Output,
    /// The objects of its JSON file that are results.
    pub(crate) rows: Vec<Value>,
}

/// Runs the program to completion with these arguments, in `home`.
pub(crate) fn run(home: &Path, words: &[&str]) -> Ended {
    let json = home.join("results.json");
    let output = Command::new(env!("CARGO_BIN_EXE_db_bench_faulty"))
        .arg(format!("--db={}", home.join("db").display()))
        .arg(format!("--json={}", json.display()))
        .args(words)
        .output()
        .expect("the program starts");
    let text = std::fs::read_to_string(json).expect("written");
    let objects = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("one object per line"));
    let rows = objects
        .filter(|object| object.get("type").is_none())
        .collect();
    Ended { output, rows }
}

impl Ended {
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// Returns the engine, workload and reason of every row that failed.
    pub(crate) fn failed(&self) -> Vec<(&str, &str, &str)> {
        let failed = self.rows.iter().filter(|row| row["status"] == "failed");
        failed
            .map(|row| {
                (
                    word(row, "engine"),
                    word(row, "workload"),
                    word(row, "reason"),
                )
            })
            .collect()
    }
}

/// Returns a string field of a row.
pub(crate) fn word<'r>(row: &'r Value, name: &str) -> &'r str {
    row[name].as_str().unwrap_or_default()
}
