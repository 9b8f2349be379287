//! Counters that increase over a list.

use std::collections::BTreeMap;

use crate::workload::definition::Workload;

/// The number of instances of each workload so far and of threads that have run. A skipped row
/// counts as well: the seeds of later rows depend on it.
#[derive(Debug, Default)]
pub(super) struct Ordinals {
    instances: BTreeMap<&'static str, u32>,
    /// Number of threads that have run.
    pub(super) threads: u32,
}

impl Ordinals {
    /// Returns the number of the next instance of a workload.
    pub(super) fn next_instance(&self, workload: &Workload) -> u32 {
        self.instances.get(workload.name).copied().unwrap_or(0) + 1
    }

    /// Counts one more instance of a workload. Returns its number.
    pub(super) fn count_instance(&mut self, workload: &Workload) -> u32 {
        let number = self.next_instance(workload);
        self.instances.insert(workload.name, number);
        number
    }
}
