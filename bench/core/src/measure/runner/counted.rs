//! Counters at one moment; the cost of a row is the difference between two.

use std::path::Path;

use crate::engine::Store;
use crate::host::process::Counters;

/// The counters of the system and the engine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) counters: Counters,
    pub(super) engine_bytes: Option<u64>,
    pub(super) round_trips: Option<u64>,
    pub(super) passed_entries: Option<u64>,
}

impl Counted {
    /// Reads the current counters, including those of the device and of the store, if any.
    pub(super) fn read<S: Store>(device: Option<&Path>, store: Option<&S>) -> Self {
        Self {
            counters: Counters::read(device),
            engine_bytes: store.and_then(Store::bytes_written),
            round_trips: store.and_then(Store::round_trips),
            passed_entries: store.and_then(Store::passed_entries),
        }
    }
}
