//! `LongBatches`: inserts batches longer than what a flush takes in parts, and flushes these.
//!
//! One memtable for a batch of a million entries exceeds the memory budget and the processor's
//! caches: the inserts took three times as long, and the next writer waited until it was flushed.
//! Therefore each part fills a memtable, which the worker and the writer flush like any other.
//!
//! A reader must not see a part of a batch, nor may a crash leave one:
//!
//! * The parts begin in an empty memtable that no earlier view has, and views published until all
//!   are inserted are read as of before the batch.
//! * A flush keeps what is visible at the published sequence number, which does not change before
//!   the end of the batch.
//! * The log has the whole batch, as one record, before the first part is inserted. The commit lock
//!   is held until all parts are in tables, so the persister, which takes it, makes all of them
//!   durable or none. If a flush fails, it waits until the flush has been repeated.
//!
//! Rejected: sorting the batch and writing tables without memtables, which would need a second kind
//! of immutable memtable in every read, because older memtables may not be flushed yet.

use cairndb_base::{Result, SeqNo};
use cairndb_format::batch::BatchWriter;

use crate::flush::flusher::Flusher;
use crate::log::commit::{Appended, Commit, Parts};
use crate::log::payload::Payload;
use crate::versions::base::Base;
use crate::versions::engine_state::EngineState;
use crate::write::seal::Sealer;

/// Returns the batch of `payload` if it is to be inserted in parts: it is longer than `flush_max`,
/// which a flush takes, and the mutable memtable is empty. A long batch may also fit next to
/// other entries, because its values stay in the log.
#[inline]
pub(crate) fn long_batch<'b>(
    commit: &Commit,
    payload: &Payload<'b>,
    flush_max: usize,
) -> Option<&'b BatchWriter> {
    match payload {
        Payload::Many(batch) => {
            let long = batch.entries().len() > flush_max && commit.mutable.is_empty();
            long.then_some(*batch)
        }
        Payload::One { .. } => None,
    }
}

/// What inserting a long batch needs of its writer.
pub(crate) struct LongBatches<'w> {
    pub(crate) base: &'w Base,
    pub(crate) flusher: &'w Flusher,
    pub(crate) sealer: &'w Sealer,
}

impl LongBatches<'_> {
    /// Inserts a batch that was logged, and flushes it. Returns its last sequence number. Cannot
    /// fail: if a flush fails, the rest of the batch stays in memory.
    #[cold]
    pub(crate) fn apply(
        &self,
        commit: &mut Commit,
        batch: &BatchWriter,
        appended: Option<Appended>,
    ) -> SeqNo {
        let mut parts = Parts::new(batch, appended);
        self.sealer.begin_parts(commit, batch.count());
        commit.begin_parts(&parts);
        while commit.apply_part(&mut parts) {
            self.base.note_ranges(commit.take_new_ranges());
            if !self.seal_part(commit) {
                commit.apply_rest(&mut parts);
                break;
            }
        }
        self.base.note_ranges(commit.take_new_ranges());
        let last = commit.last_seq;
        if self.seal_part(commit) && self.flush_parts(last).is_ok() {
            let segment = commit.segment.as_ref();
            if segment.is_some_and(|it| it.region.size() > self.base.settings.budget.segment) {
                // It was created for this record, which only the persister still needs.
                commit.leave_segment();
            }
        }
        self.sealer.end_parts();
        last
    }

    /// Queues the mutable memtable for its flush, once the queue takes it. Returns `false` if
    /// nothing can be flushed.
    fn seal_part(&self, commit: &mut Commit) -> bool {
        while !self.sealer.seal_part(commit) {
            if self.help_flush().is_err() {
                return false;
            }
        }
        true
    }

    /// Flushes all parts of the batch that ends at `last`.
    fn flush_parts(&self, last: SeqNo) -> Result<()> {
        let left = |state: &EngineState| {
            let mut memtables = state.immutables.iter();
            memtables.any(|immutable| immutable.mem.seq_min() <= last)
        };
        while left(&self.base.versions.lock()) {
            self.help_flush()?;
        }
        Ok(())
    }

    /// Flushes about as much as the worker does at a time, or waits for the worker. The commit lock
    /// is held, which no flush takes.
    fn help_flush(&self) -> Result<()> {
        if self
            .flusher
            .flush_up_to(self.base.settings.budget.flush_max)?
        {
            return Ok(());
        }
        let state = self.base.versions.lock();
        let before = state.immutables.len();
        drop(self.base.versions.wait(state, |state| {
            !state.flushing() || state.immutables.len() < before
        }));
        self.base.health.check_write()
    }
}
