//! The mode of a meter.

use std::time::Duration;

use crate::workload::plan::Every;

/// The mode of a meter.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeterMode {
    /// Number of operations to do.
    pub ops: u64,
    /// Time limit that replaces the count if above zero.
    pub duration: Duration,
    /// Whether every operation is timed.
    pub histogram: bool,
    /// Operations per second of the row's threads together, in an open loop.
    pub rate: Option<f64>,
    /// The place of the thread among those.
    pub place: u32,
    /// Their number.
    pub places: u32,
    /// Whether progress is printed.
    pub progress: bool,
    /// The interval of progress lines in RocksDB's format.
    pub every: Option<Every>,
    /// The number of the thread, for those lines.
    pub thread: u32,
}
