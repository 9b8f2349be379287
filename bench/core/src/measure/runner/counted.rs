//! Counters at one moment; what a row cost is the difference between two.

use std::path::Path;

use crate::engine::Store;
use crate::host::process::Counters;

/// What the system and the engine have counted so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub(super) counters: Counters,
    pub(super) engine_bytes: Option<u64>,
}

impl Counted {
    /// The counters now, with those of the device and of the store where there are any.
    pub(super) fn read<S: Store>(device: Option<&Path>, store: Option<&S>) -> Self {
        Self {
            counters: Counters::read(device),
            engine_bytes: store.and_then(Store::bytes_written),
        }
    }
}
