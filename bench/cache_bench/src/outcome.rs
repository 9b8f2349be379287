//! The result of one run, as reported by the measuring process and written by `--json`.

pub(crate) use bench_core::result::record::Status;
use bench_core::sparse;
use serde::{Deserialize, Serialize};

use crate::plan::Plan;

sparse! {
    /// The result of one cache in one round. Values that were not measured are absent.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(default)]
    pub(crate) struct Outcome {
        /// Always `cache`.
        #[serde(rename = "type")]
        pub(crate) kind: String,
        /// Name and version of the cache.
        pub(crate) title: String,
        /// The status.
        pub(crate) status: Status,
        /// The reason why it was skipped or failed.
        pub(crate) reason: Option<String>,
        /// The plan.
        #[serde(flatten)]
        pub(crate) plan: Option<Plan>,
        /// Whether every value found was compared with the expected one.
        pub(crate) verified: Option<bool>,
        /// Notes for the reader.
        pub(crate) notes: Vec<String>,
        /// Actual number of shards.
        pub(crate) shards: Option<u64>,
        /// Number of entries after the cache was filled.
        pub(crate) populated_entries: Option<u64>,
        /// Bytes charged after the cache was filled.
        pub(crate) populated_bytes: Option<u64>,
        /// Number of operations in the pass that is timed as a whole.
        pub(crate) ops: Option<u64>,
        /// Duration of that pass, from the first thread's start to the last one's end.
        pub(crate) wall_ns: Option<u64>,
        /// Sum of the times of its threads.
        pub(crate) thread_ns: Option<u64>,
        /// Operations per second, all threads together.
        pub(crate) ops_per_second: Option<f64>,
        /// Operations per second per thread.
        pub(crate) thread_ops_per_second: Option<f64>,
        /// Number of lookups in that pass.
        pub(crate) lookups: Option<u64>,
        /// Number of lookups that found a value.
        pub(crate) hits: Option<u64>,
        /// Share of lookups that found a value.
        pub(crate) hit_ratio: Option<f64>,
        /// Number of inserts in that pass.
        pub(crate) inserts: Option<u64>,
        /// Number of erase calls in that pass.
        pub(crate) erases: Option<u64>,
        /// Number of erase calls that found something.
        pub(crate) erased: Option<u64>,
        /// Number of entries at its end.
        pub(crate) entries: Option<u64>,
        /// Bytes charged at its end.
        pub(crate) usage_bytes: Option<u64>,
        /// Growth of the process's anonymous memory from before the cache was created until the
        /// end.
        pub(crate) memory_bytes: Option<u64>,
        /// Number of operations in the latency pass.
        pub(crate) timed_ops: Option<u64>,
        /// Operations per second in the latency pass, including the clock.
        pub(crate) timed_ops_per_second: Option<f64>,
        /// Time that two clock readings add to each latency.
        pub(crate) clock_ns: Option<u64>,
        /// Latency that this share of the operations did not exceed.
        pub(crate) p50_ns: Option<f64>,
        /// See `p50_ns`.
        pub(crate) p75_ns: Option<f64>,
        /// See `p50_ns`.
        pub(crate) p99_ns: Option<f64>,
        /// See `p50_ns`.
        pub(crate) p999_ns: Option<f64>,
        /// See `p50_ns`.
        pub(crate) p9999_ns: Option<f64>,
        /// Maximum latency.
        pub(crate) max_ns: Option<f64>,
        /// The distribution in RocksDB's format.
        pub(crate) histogram: Option<String>,
    }
}

impl Outcome {
    /// Creates an empty result for a plan.
    pub(crate) fn of(plan: &Plan, title: String) -> Self {
        Self {
            kind: "cache".to_owned(),
            title,
            plan: Some(plan.clone()),
            verified: Some(false),
            ..Self::default()
        }
    }

    /// Returns a word and the reason if it was skipped or failed.
    pub(crate) fn lost(&self) -> Option<(&'static str, &str)> {
        let word = match self.status {
            Status::Ok => return None,
            Status::Skipped => "skipped",
            Status::Failed => "FAILED",
        };
        let reason = self.reason.as_deref();
        Some((word, reason.unwrap_or("no reason given")))
    }

    /// Sets the status and the reason.
    pub(crate) fn ended(mut self, status: Status, reason: impl Into<String>) -> Self {
        self.status = status;
        self.reason = Some(reason.into());
        self
    }
}
