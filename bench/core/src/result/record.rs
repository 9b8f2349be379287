//! One line of `--json`: the measured values of a row.
//!
//! Sizes are in bytes and times in nanoseconds. A field that is `None` is omitted from the line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::sparse::{Fields as _, Sparse};
use crate::sparse;

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

impl Sparse for Status {}

sparse! {
    /// The result of one engine, workload and round.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct Record {
        /// Engine.
        pub engine: String,
        /// The version that the library reports.
        pub engine_version: Option<String>,
        /// Suite the row belongs to.
        pub suite: Option<String>,
        /// Section of the suite.
        pub section: Option<String>,
        /// Workload.
        pub workload: String,
        /// Occurrence of this workload in the run, from 1.
        pub instance: u32,
        /// Round, from 1.
        pub round: u32,
        /// Variant of the engine's settings.
        pub variant: Option<String>,
        /// `as left` or `compacted`: the state of the store that a row of a suite reads. Reports
        /// show the first as "as loaded".
        pub state: Option<String>,
        /// `latency` for rows that time each operation. They have percentiles and no `wall_ns`,
        /// because reading the clock costs time. Rows without this field have rates.
        pub pass: Option<String>,
        /// The status.
        pub status: Status,
        /// The reason, if the status is not ok.
        pub reason: Option<String>,
        /// `none`, `os`, `sync` or `below_os`.
        pub durability: Option<String>,
        /// Whether the row takes part in a ranking.
        pub ranked: Option<bool>,
        /// Whether every answer was compared with what was written.
        pub verified: Option<bool>,
        /// `networked`, or `networked, replicated`, if the store runs outside the process. Such
        /// rows are never ranked.
        pub placement: Option<String>,
        /// Round trips to the servers.
        pub round_trips: Option<u64>,
        /// Data set.
        pub data: Option<String>,
        /// Whether the engine may compress.
        pub compression: Option<bool>,
        /// The engine's memory setting.
        pub memory_bytes: Option<u64>,
        /// Key size in bytes.
        pub key_bytes: Option<u64>,
        /// Value size in bytes.
        pub value_bytes: Option<u64>,
        /// Number of measured threads.
        pub threads: Option<u32>,
        /// Number of operations of all measured threads.
        pub ops: Option<u64>,
        /// Bytes counted in the MB/s of the result line.
        pub bytes: Option<u64>,
        /// Raw key and value bytes that the row wrote.
        pub user_bytes: Option<u64>,
        /// Number of keys found.
        pub found: Option<u64>,
        /// Time from the first thread's start to the last one's end.
        pub wall_ns: Option<u64>,
        /// CPU time of the process in user mode, including background work until idle.
        pub cpu_user_ns: Option<u64>,
        /// CPU time of the process in the kernel, likewise.
        pub cpu_sys_ns: Option<u64>,
        /// Time from the end of the row until background work had ended.
        pub settle_ns: Option<u64>,
        /// Bytes allocated in the directory when idle.
        pub disk_bytes: Option<u64>,
        /// Bytes of that in files named `*.log`, in rows over keyspaces.
        pub log_bytes: Option<u64>,
        /// Raw bytes of the keys and values that are live when idle, according to the model.
        pub live_bytes: Option<u64>,
        /// Bytes that the kernel counts as written by the process until idle.
        pub io_write_bytes: Option<u64>,
        /// Bytes that the kernel counts as read from the device by the process until idle.
        pub io_read_bytes: Option<u64>,
        /// Bytes that the engine counts as written until idle.
        pub engine_write_bytes: Option<u64>,
        /// Cache flushes that reached the device during the row.
        pub fsyncs: Option<u64>,
        /// Peak anonymous resident memory, including the harness's own.
        pub anon_rss_peak: Option<u64>,
        /// The part of `anon_rss_peak` that the harness used before the store was opened.
        pub anon_rss_base: Option<u64>,
        /// Peak file-backed resident memory: tables, a log, a whole database, and the program
        /// itself.
        pub mapped_rss_peak: Option<u64>,
        /// Bytes of the directory's files in the page cache at the end of the row.
        pub page_cache_bytes: Option<u64>,
        /// The memory that the process may use with its page cache, if it is limited.
        pub memory_limit: Option<u64>,
        /// Bytes of the directory's files in the page cache before a row that should begin without
        /// any.
        pub cached_before: Option<u64>,
        /// Operations per second that were to begin, in an open loop: latencies count from then.
        pub offered_per_sec: Option<f64>,
        /// The median latency.
        pub p50_ns: Option<u64>,
        /// The 90th percentile of latency.
        pub p90_ns: Option<u64>,
        /// The 99th percentile of latency.
        pub p99_ns: Option<u64>,
        /// The 99.9th percentile of latency.
        pub p999_ns: Option<u64>,
        /// The 99.99th percentile of latency.
        pub p9999_ns: Option<u64>,
        /// The maximum latency.
        pub max_ns: Option<u64>,
        /// Operations in each second of the row; the last second is incomplete.
        pub intervals: Vec<u64>,
        /// Operations of the concurrent writer.
        pub writer_ops: Option<u64>,
        /// Reads by another process that did not see an acknowledged write.
        pub stale_reads: Option<u64>,
        /// Time of an operation in the last tenth of a row of turns.
        pub late_ns: Option<u64>,
        /// Dead entries that the cursors of a row of turns stepped over, if the engine counts them.
        pub passed_entries: Option<u64>,
        /// Whether each merge of the row was a read and a put because the engine has no merge. That
        /// is more work than for an engine that writes the operand and leaves the rest to reads and
        /// compactions.
        pub by_hand: bool,
        /// Base of the random seeds: a thread's seed is this plus its number in the run, from 1 on.
        pub seed: Option<u32>,
        /// The engine's settings in effect.
        pub options: Vec<(String, String)>,
        /// File system of the database.
        pub file_system: Option<String>,
        /// Start time of the row in seconds since 1970.
        pub started_at: Option<u64>,
    }
}

impl Record {
    /// Returns one line of `--csv`, a cell for each field, without its line ending. Strings are
    /// quoted where necessary, options are written as `name=value`, intervals are separated by
    /// spaces, and values that were not measured are empty.
    pub fn to_csv(&self) -> String {
        let object = serde_json::to_value(self).unwrap_or_default();
        let cells = Self::FIELDS.iter().map(|name| csv_cell(&object[name]));
        cells.collect::<Vec<_>>().join(",")
    }

    /// Returns whether the row ended with an error. A row with only wrong answers has figures.
    pub fn is_error(&self) -> bool {
        self.status == Status::Failed && self.ops.is_none()
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
