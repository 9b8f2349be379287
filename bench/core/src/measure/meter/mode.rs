//! How a meter runs.

use std::time::Duration;

use crate::workload::plan::Every;

/// How a meter runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeterMode {
    /// Operations to do.
    pub ops: u64,
    /// When above zero it replaces the count.
    pub duration: Duration,
    /// Time every operation.
    pub histogram: bool,
    /// Print progress.
    pub progress: bool,
    /// When a line of it is due, in RocksDB's form.
    pub every: Option<Every>,
    /// The number of the thread, for those lines.
    pub thread: u32,
}
