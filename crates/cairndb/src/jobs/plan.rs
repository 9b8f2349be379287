//! What a compaction reads and where its tables go.

use std::sync::Arc;

use crate::jobs::relocation::Relocation;
use crate::state::version::Run;

/// Where a merge's tables go.
#[derive(Clone, Debug)]
pub(crate) struct CompactionPlan {
    /// Input tables by run, newest run first.
    pub(crate) inputs: Vec<Run>,
    /// The run that takes the output, at the place of the oldest input run. A new number when
    /// whole runs are merged, the oldest run's own when only part of it is.
    pub(crate) target: u64,
    /// No older run holds any of the inputs' keys.
    pub(crate) bottom: bool,
    /// Somebody waits until it is durable: two threads share it, and the disk begins with each table at once.
    pub(crate) waited_for: bool,
    /// There is nothing else to do: what it makes is checked before it is shown, and mapped, for who reads next.
    pub(crate) when_idle: bool,
    /// Values to be copied elsewhere.
    pub(crate) relocation: Option<Arc<Relocation>>,
    /// Newer runs, newest first: what they hide is dropped, and they stay as they are.
    pub(crate) hiders: Vec<Run>,
}

impl CompactionPlan {
    /// A key with about as much before it as behind: where a table in the middle of the largest run of several
    /// begins. `None` where no run has two tables.
    pub(crate) fn middle(&self) -> Option<Vec<u8>> {
        let several = self.inputs.iter().filter(|run| run.tables().len() > 1);
        let tables = several.max_by_key(|run| run.bytes())?.tables();
        Some(tables[tables.len() / 2].record.smallest.clone())
    }

    /// The runs that it takes tables of.
    pub(crate) fn runs(&self) -> Vec<u64> {
        self.inputs.iter().map(|run| run.id).collect()
    }
}

/// `of * part / all`, and no more than `of`.
pub(crate) fn share(of: u64, part: u64, all: u64) -> u64 {
    let share = u128::from(of) * u128::from(part) / u128::from(all.max(1));
    u64::try_from(share).map_or(of, |share| share.min(of))
}
