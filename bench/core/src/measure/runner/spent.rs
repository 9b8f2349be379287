//! Counters when a row began.

use crate::host::process::Counters;

/// Read when the clock of a row begins to run; what the row cost is the difference.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    pub(super) counters: Counters,
    pub(super) engine_bytes: Option<u64>,
}
