//! Limit on dead space in an idle database, and the check whether it is exceeded.

use std::sync::Arc;

use crate::state::sections::Orders;
use crate::state::version::census::Census;
use crate::state::version::{Run, Version};
use crate::value_gc::collect::ValueGc;
use crate::value_gc::pick::Allowance;
use crate::versions::base::LOG_WHEN_IDLE;
use crate::versions::engine_state::EngineState;

/// Returns an upper bound on the number of bytes of large values that newer tables may hide.
fn may_be_hidden(version: &Version, orders: &Orders) -> u64 {
    let mut hidden: u64 = 0;
    for (at, run) in version.runs.iter().enumerate().skip(1) {
        for table in run.tables() {
            let refs = table.record.value_bytes();
            let overlaps = |newer: &Arc<Run>| !newer.overlapping_table(orders, table).is_empty();
            if refs > 0 && version.runs[..at].iter().any(overlaps) {
                hidden = hidden.saturating_add(refs);
            }
        }
    }
    hidden
}

impl ValueGc<'_> {
    /// Returns the limit on dead bytes in value files while the database is idle.
    pub(crate) fn allowance(&self) -> Allowance {
        let segment = self.compactor.base.settings.budget.segment;
        let earlier = if segment > LOG_WHEN_IDLE {
            0
        } else {
            LOG_WHEN_IDLE
        };
        let beside = segment + earlier + self.compactor.disk.log.manifests.bytes();
        Allowance::new(self.compactor.base.regular_length(), beside)
    }

    /// Returns whether there are enough bytes for too many of them to be dead.
    pub(crate) fn may_hide_much(&self, version: &Version) -> bool {
        let bytes = Census::of(version).bytes() + version.bytes();
        bytes > self.allowance().dead_max(0)
    }

    /// Returns whether an idle database would free space with its current tables: too much of its
    /// value files is dead, or newer runs may hide values of older ones.
    pub(crate) fn space_wanted(&self, state: &EngineState) -> bool {
        let version = &state.version;
        if version.values.is_empty() {
            return false;
        }
        let (allowance, mut census) = (self.allowance(), Census::of(version));
        let unmovable = &state.value_gc.unmovable;
        census.files.retain(|file| !unmovable.contains(&file.file));
        let (dead, bytes) = (census.dead(), census.bytes());
        if allowance.is_much(dead, bytes) {
            return true;
        }
        let hidden = may_be_hidden(version, &self.compactor.base.opener.orders);
        dead + hidden > allowance.dead_max(bytes.saturating_sub(dead + hidden))
            && self
                .compactor
                .tables
                .schedule
                .compaction_wanted(state, true)
                .is_some()
    }
}
