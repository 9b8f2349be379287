//! Deferred compression: an idle database compresses values that flushes left uncompressed.
//!
//! Some values compress only together, against a dictionary or in groups. That takes three times as
//! long as compressing values alone, and would be the only bottleneck of a sequential load.
//! Therefore, while immutable memtables pile up, a flush stores such values uncompressed and marks
//! the table ([`TableRecord::deferred`]). A compaction that takes the table for another reason
//! compresses it. Tables of a sequential load are never compacted: they are compressed here, a few
//! at a time. The debt is bounded: above 256 MiB and a tenth of the database, flushes compress
//! again.
//!
//! Values that compress alone are always compressed by the flush: that takes less time than the
//! kernel would take to write the saved bytes.
//!
//! [`TableRecord::deferred`]: cairndb_format::manifest::TableRecord::deferred

use cairndb_base::Result;

use crate::compaction::compactor::Compactor;
use crate::jobs::plan::CompactionPlan;
use crate::state::version::Run;

impl Compactor {
    /// Compresses some tables in place. Returns `false` if none is waiting.
    ///
    /// # Errors
    /// Errors of the compaction that does so.
    pub(crate) fn encode_deferred(&self) -> Result<bool> {
        let plan = {
            let mut state = self.base.versions.lock();
            let Some((at, stretch)) = self.tables.schedule.deferred_stretch(&state) else {
                return Ok(false);
            };
            let run = &state.version.runs[at];
            let plan = CompactionPlan {
                when_idle: true,
                ..CompactionPlan::in_place(
                    vec![Run::new(run.id, stretch, &self.base.opener.orders)],
                    run.id,
                    at + 1 == state.version.runs.len(),
                )
            };
            state.begin_compaction(plan)
        };
        self.compact(&plan)?;
        Ok(true)
    }
}
