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

use std::sync::Arc;

use cairndb_base::Result;
use cairndb_format::table::Compression;

use crate::engine::core::{Core, State};
use crate::engine::install::MergePlan;
use crate::state::version::{Run, TableHandle};

/// Bytes of tables that may wait for their encoding, however small the database: so many an idle database is
/// merged for as well.
const DEFERRED_BYTES_MAX: u64 = 256 << 20;
/// The same as a share of all tables: as much again as upper runs may be before an idle database is merged.
const DEFERRED_SHARE: u64 = 10;
/// Bytes that are encoded in one job, at least a table.
const STRETCH_BYTES: u64 = 32 << 20;

impl Core {
    /// Whether a flush that begins now may leave values raw that shrink only together.
    pub(crate) fn may_defer(&self, state: &State) -> bool {
        let version = &state.version;
        let bytes_max = DEFERRED_BYTES_MAX.max(version.bytes() / DEFERRED_SHARE);
        self.encodes()
            && (state.is_crowded(&self.settings.budget) || self.flushes_keep_busy(state))
            // After a failure the disk may be full, and half as much may fit.
            && state.retry_ns == 0
            && version.deferred_bytes() < bytes_max
    }

    /// Whether tables are written with values encoded.
    pub(crate) fn encodes(&self) -> bool {
        self.settings.output.compression == Compression::Adaptive
    }

    /// Whether half of the time since the last flush began went by in it.
    fn flushes_keep_busy(&self, state: &State) -> bool {
        let (begun, took) = state.last_flush;
        took > 0 && self.env.now_ns().saturating_sub(begun) <= 2 * took
    }

    /// The next stretch of tables to be encoded, oldest run first, with those between them that are: to copy
    /// these costs less than a job for every few tables, each of which installs a version.
    fn deferred_stretch(&self, state: &State) -> Option<(usize, Vec<Arc<TableHandle>>)> {
        if !self.encodes() || state.merging() || !Core::may_merge(state) {
            return None;
        }
        let damaged = |table: &TableHandle| state.damaged.contains_key(&table.record.file);
        let runs = state.version.runs.iter().enumerate().rev();
        let mut runs = runs.filter(|(_, run)| run.deferred_bytes() > 0);
        runs.find_map(|(at, run)| {
            let waits = |table: &Arc<TableHandle>| table.record.deferred && !damaged(table);
            let tables = &run.tables()[run.tables().iter().position(waits)?..];
            let mut bytes = 0;
            let within = tables.iter().take_while(|table| {
                let room = bytes < STRETCH_BYTES;
                bytes += table.record.bytes;
                room && !damaged(table)
            });
            let count = within.count();
            let last = tables[..count].iter().rposition(waits)?;
            Some((at, tables[..=last].to_vec()))
        })
    }

    /// Whether there is something to encode.
    pub(crate) fn encoding_wanted(&self, state: &State) -> bool {
        self.deferred_stretch(state).is_some()
    }

    /// Encodes one stretch of tables in their place; `false` when none waits.
    ///
    /// # Errors
    /// Of the merge that does it.
    pub(crate) fn encode_deferred(&self) -> Result<bool> {
        let plan = {
            let mut state = self.state.lock();
            let Some((at, stretch)) = self.deferred_stretch(&state) else {
                return Ok(false);
            };
            let run = &state.version.runs[at];
            let plan = MergePlan {
                inputs: vec![Run::new(run.id, stretch, &self.context.order)],
                target: run.id,
                bottom: at + 1 == state.version.runs.len(),
                waited_for: false,
            };
            plan.begun(&mut state)
        };
        self.merge_plan(&plan)?;
        Ok(true)
    }
}
