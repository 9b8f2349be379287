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

use std::collections::BTreeMap;
use std::sync::Arc;

use cairndb_base::{Error, Result};
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

/// The first tables of `run` that wait, with those between them that are encoded while these are no more: to copy
/// them costs less than a job, and a version, for every few tables.
fn stretch(run: &Run, damaged: &BTreeMap<u64, Error>) -> Option<Vec<Arc<TableHandle>>> {
    let whole = |table: &TableHandle| !damaged.contains_key(&table.record.file);
    let waits = |table: &Arc<TableHandle>| table.record.deferred && whole(table);
    let tables = &run.tables()[run.tables().iter().position(waits)?..];
    let (mut raw, mut between, mut count) = (0, 0, 0);
    for (index, table) in tables.iter().enumerate() {
        if !whole(table) || between > raw || raw + between >= STRETCH_BYTES {
            break;
        }
        if table.record.deferred {
            raw += table.record.bytes;
            count = index + 1;
        } else {
            between += table.record.bytes;
        }
    }
    Some(tables[..count].to_vec())
}

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

    /// The next stretch of tables to be encoded, oldest run first.
    fn deferred_stretch(&self, state: &State) -> Option<(usize, Vec<Arc<TableHandle>>)> {
        if !self.encodes() || state.merging() || !Core::may_merge(state) {
            return None;
        }
        let runs = state.version.runs.iter().enumerate().rev();
        let mut runs = runs.filter(|(_, run)| run.deferred_bytes() > 0);
        runs.find_map(|(at, run)| Some((at, stretch(run, &state.damaged)?)))
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
                at_rest: true,
                relocation: None,
                hiders: Vec::new(),
            };
            plan.begun(&mut state)
        };
        self.merge_plan(&plan)?;
        Ok(true)
    }
}
