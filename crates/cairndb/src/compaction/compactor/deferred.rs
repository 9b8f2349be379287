//! Encoding put off: what a flush writes raw while a writer is ahead of it, and who encodes it then.
//!
//! Values that shrink only together, against a dictionary or in groups, take three times as long to encode as values
//! that shrink alone, and a load in key order then waits for nothing else. So while sealed parts pile up a flush stores
//! such values raw and marks the table ([`TableRecord::deferred`]). A merge that takes the table in for a reason of its
//! own encodes what is left of it; what lies in order is never merged, and is encoded here, in stretches, when the
//! database rests. The debt is bounded: beyond [`DEFERRED_BYTES_MAX`], and a tenth of the database, flushes encode again.
//!
//! Values that shrink alone are encoded by the flush as ever: it takes less time than the kernel takes for the
//! other half of the bytes.
//!
//! [`TableRecord::deferred`]: cairndb_format::manifest::TableRecord::deferred

use cairndb_base::Result;

use crate::compaction::compactor::Compactor;
use crate::jobs::plan::CompactionPlan;
use crate::state::version::Run;

impl Compactor {
    /// Encodes one stretch of tables in their place; `false` when none waits.
    ///
    /// # Errors
    /// Of the merge that does it.
    pub(crate) fn encode_deferred(&self) -> Result<bool> {
        let plan = {
            let mut state = self.versions.lock();
            let Some((at, stretch)) = self.schedule.deferred_stretch(&state) else {
                return Ok(false);
            };
            let run = &state.version.runs[at];
            let plan = CompactionPlan {
                inputs: vec![Run::new(run.id, stretch, &self.shared.context.order)],
                target: run.id,
                bottom: at + 1 == state.version.runs.len(),
                waited_for: false,
                when_idle: true,
                relocation: None,
                hiders: Vec::new(),
            };
            state.begin_compaction(plan)
        };
        self.compact(&plan)?;
        Ok(true)
    }
}
