//! Facts about the machine, for the first line of `--json`.

use bench_core::host::facts::{cpu, cpus, kernel};
use serde::Serialize;

/// The first object of `--json`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    #[serde(rename = "type")]
    kind: &'static str,
    cache_bench: &'static str,
    command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    cpus: usize,
    kernel: String,
    assertions: bool,
}

impl Machine {
    /// Returns the facts about this machine.
    pub(crate) fn here() -> Self {
        Self {
            kind: "machine",
            cache_bench: env!("CARGO_PKG_VERSION"),
            command: std::env::args().collect(),
            cpu: cpu(),
            cpus: cpus(),
            kernel: kernel(),
            assertions: cfg!(debug_assertions),
        }
    }
}
