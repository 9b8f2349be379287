//! The result of one run: what the measuring process reports, and what `--json` writes.

use serde::{Deserialize, Serialize};

use crate::plan::Plan;

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    /// It was measured, and no answer was wrong.
    #[default]
    Ok,
    /// The cache is not there.
    Skipped,
    /// It returned a wrong answer, or ended early.
    Failed,
}

/// One cache, one round. What was not measured is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Outcome {
    /// Always `cache`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Name and version of what ran.
    pub(crate) title: String,
    /// How it ended.
    pub(crate) status: Status,
    /// Why it was skipped or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// The plan.
    #[serde(flatten)]
    pub(crate) plan: Option<Plan>,
    /// Whether every value found was compared with its key's.
    pub(crate) verified: bool,
    /// A note for the reader of this run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// Shards the cache really has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shards: Option<u64>,
    /// Entries after the cache was filled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) populated_entries: Option<u64>,
    /// Bytes charged after the cache was filled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) populated_bytes: Option<u64>,
    /// Operations of the pass that is timed as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ops: Option<u64>,
    /// Its time, from the first thread's start to the last one's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wall_ns: Option<u64>,
    /// The times of all its threads together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thread_ns: Option<u64>,
    /// Operations a second, all threads together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ops_per_second: Option<f64>,
    /// Operations a second of one thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thread_ops_per_second: Option<f64>,
    /// Lookups of that pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lookups: Option<u64>,
    /// Lookups that found a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hits: Option<u64>,
    /// Share of lookups that found a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hit_ratio: Option<f64>,
    /// Inserts of that pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) inserts: Option<u64>,
    /// Calls of erase of that pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) erases: Option<u64>,
    /// Lookups that found something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) erased: Option<u64>,
    /// Entries held at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) entries: Option<u64>,
    /// Bytes charged at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage_bytes: Option<u64>,
    /// How much anonymous memory the process had more at its end than before the cache was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_bytes: Option<u64>,
    /// Operations of the latency pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timed_ops: Option<u64>,
    /// Operations a second in the latency pass, the clock included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timed_ops_per_second: Option<f64>,
    /// What two looks at the clock add to each latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clock_ns: Option<u64>,
    /// Latencies that this share of the operations did not exceed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p50_ns: Option<f64>,
    /// See `p50_ns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p75_ns: Option<f64>,
    /// See `p50_ns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p99_ns: Option<f64>,
    /// See `p50_ns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p999_ns: Option<f64>,
    /// See `p50_ns`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) p9999_ns: Option<f64>,
    /// The longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_ns: Option<f64>,
    /// The distribution in RocksDB's form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) histogram: Option<String>,
}

impl Outcome {
    /// The result of a plan of which nothing is known yet.
    pub(crate) fn of(plan: &Plan, title: String) -> Self {
        Self {
            kind: "cache".to_owned(),
            title,
            plan: Some(plan.clone()),
            ..Self::default()
        }
    }

    /// The same with another ending.
    pub(crate) fn ended(mut self, status: Status, reason: impl Into<String>) -> Self {
        self.status = status;
        self.reason = Some(reason.into());
        self
    }
}
