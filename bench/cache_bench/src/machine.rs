//! Facts about the machine, for the first line of `--json`.

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
        let kernel = rustix::system::uname();
        Self {
            kind: "machine",
            cache_bench: env!("CARGO_PKG_VERSION"),
            command: std::env::args().collect(),
            cpu: cpu(),
            cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            kernel: format!(
                "{} {}",
                kernel.sysname().to_string_lossy(),
                kernel.release().to_string_lossy()
            ),
            assertions: cfg!(debug_assertions),
        }
    }
}

/// Returns the CPU's name.
fn cpu() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
