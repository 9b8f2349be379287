//! One line of `--json`: the measured values of a row.
//!
//! Sizes are in bytes and times in nanoseconds. A field that is `None` is omitted from the line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The status of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Measured, and every answer that could be checked was correct.
    #[default]
    Ok,
    /// Not run; the reason is given.
    Skipped,
    /// Returned wrong answers, or ended by an error, a signal or its time limit.
    Failed,
}

/// The result of one engine, workload and round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Engine.
    pub engine: String,
    /// The version that the library reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<String>,
    /// Suite the row belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// Section of the suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Workload.
    pub workload: String,
    /// Occurrence of this workload in the run, from 1.
    pub instance: u32,
    /// Round, from 1.
    pub round: u32,
    /// Variant of the engine's settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// `as left` or `compacted`: the state of the store that a row of a suite reads. Reports show
    /// the first as "as loaded".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// `latency` for rows that time each operation. They have percentiles and no `wall_ns`, because
    /// reading the clock costs time. Rows without this field have rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<String>,
    /// The status.
    pub status: Status,
    /// The reason, if the status is not ok.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `none`, `os`, `sync` or `below_os`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<String>,
    /// Whether the row takes part in a ranking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranked: Option<bool>,
    /// Whether every answer was compared with what was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// `networked`, or `networked, replicated`, if the store runs outside the process. Such rows
    /// are never ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// Round trips to the servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<u64>,
    /// Data set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Whether the engine may compress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compression: Option<bool>,
    /// The engine's memory setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Key size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_bytes: Option<u64>,
    /// Value size in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_bytes: Option<u64>,
    /// Number of measured threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Number of operations of all measured threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
    /// Bytes counted in the MB/s of the result line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Raw key and value bytes that the row wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_bytes: Option<u64>,
    /// Number of keys found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<u64>,
    /// Time from the first thread's start to the last one's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ns: Option<u64>,
    /// CPU time of the process in user mode, including background work until idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_user_ns: Option<u64>,
    /// CPU time of the process in the kernel, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_sys_ns: Option<u64>,
    /// Time from the end of the row until background work had ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settle_ns: Option<u64>,
    /// Bytes allocated in the directory when idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// Raw bytes of the keys and values that are live when idle, according to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_bytes: Option<u64>,
    /// Bytes that the kernel counts as written by the process until idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_write_bytes: Option<u64>,
    /// Bytes that the engine counts as written until idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine_write_bytes: Option<u64>,
    /// Cache flushes that reached the device during the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fsyncs: Option<u64>,
    /// Peak anonymous resident memory, including the harness's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anon_rss_peak: Option<u64>,
    /// The part of `anon_rss_peak` that the harness used before the store was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anon_rss_base: Option<u64>,
    /// Peak file-backed resident memory: tables, a log, a whole database, and the program itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapped_rss_peak: Option<u64>,
    /// Bytes of the directory's files in the page cache at the end of the row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_cache_bytes: Option<u64>,
    /// The median latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// The 90th percentile of latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    /// The 99th percentile of latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile of latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<u64>,
    /// The 99.99th percentile of latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p9999_ns: Option<u64>,
    /// The maximum latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// Operations in each second of the row; the last second is incomplete.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<u64>,
    /// Operations of the concurrent writer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer_ops: Option<u64>,
    /// Time of an operation in the last tenth of a row of turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_ns: Option<u64>,
    /// Dead entries that the cursors of a row of turns stepped over, if the engine counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed_entries: Option<u64>,
    /// Whether each merge of the row was a read and a put because the engine has no merge. That is
    /// more work than for an engine that writes the operand and leaves the rest to reads and
    /// compactions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// Base of the random seeds: a thread's seed is this plus its number in the run, from 1 on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// The engine's settings in effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<(String, String)>,
    /// File system of the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// Start time of the row in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
}

impl Record {
    /// Every field, in the order of the columns of `--csv`.
    pub const FIELDS: &[&str] = &[
        "engine",
        "engine_version",
        "suite",
        "section",
        "workload",
        "instance",
        "round",
        "variant",
        "state",
        "pass",
        "status",
        "reason",
        "durability",
        "ranked",
        "verified",
        "placement",
        "round_trips",
        "data",
        "compression",
        "memory_bytes",
        "key_bytes",
        "value_bytes",
        "threads",
        "ops",
        "bytes",
        "user_bytes",
        "found",
        "wall_ns",
        "cpu_user_ns",
        "cpu_sys_ns",
        "settle_ns",
        "disk_bytes",
        "live_bytes",
        "io_write_bytes",
        "engine_write_bytes",
        "fsyncs",
        "anon_rss_peak",
        "anon_rss_base",
        "mapped_rss_peak",
        "page_cache_bytes",
        "p50_ns",
        "p90_ns",
        "p99_ns",
        "p999_ns",
        "p9999_ns",
        "max_ns",
        "intervals",
        "writer_ops",
        "late_ns",
        "passed_entries",
        "by_hand",
        "seed",
        "options",
        "file_system",
        "started_at",
    ];

    /// Returns one line of `--csv` without its line ending. Strings are quoted where necessary,
    /// options are written as `name=value`, intervals are separated by spaces, and values that were
    /// not measured are empty.
    pub fn to_csv(&self) -> String {
        let object = serde_json::to_value(self).unwrap_or_default();
        let cells = Self::FIELDS.iter().map(|name| csv_cell(&object[name]));
        cells.collect::<Vec<_>>().join(",")
    }

    /// Returns the operations per second, if measured.
    pub fn rate(&self) -> Option<f64> {
        self.a_second(self.ops?)
    }

    /// Returns the operations per second of the writer that runs as long as the measured readers.
    pub fn writer_rate(&self) -> Option<f64> {
        self.a_second(self.writer_ops?)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a rate is shown with a few digits"
    )]
    fn a_second(&self, ops: u64) -> Option<f64> {
        let wall_ns = self.wall_ns.filter(|&time| time > 0)?;
        Some(ops as f64 * 1e9 / wall_ns as f64)
    }
}

/// Returns a value as a CSV cell.
fn csv_cell(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let part = |part: &Value| match part {
                Value::Array(pair) => pair
                    .iter()
                    .map(|word| word.as_str().unwrap_or_default())
                    .collect::<Vec<_>>()
                    .join("="),
                other => other.to_string(),
            };
            parts.iter().map(part).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests;
