//! `Writer`: the write path, from the call to its publication.
//!
//! A put that fits into the memtable and the segment takes one uncontended lock, one copy into
//! the log, one insert and one release store. Everything else is for a put that does not fit.
//!
//! * `large_values`: values that go to a value file
//! * `stall`: the work of a writer that cannot continue
//! * `flush_all`: flushing everything written before a call
//! * `without_waiting`: writes that are refused where others would wait

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::limits::{KEY_BYTES_MAX, LARGE_VALUE_BYTES_MIN, VALUE_BYTES_MAX};
use cairndb_base::{Error, ErrorKind, FileNumber, Kind, Result, SeqNo};
use cairndb_env::sync::MutexGuard;
use cairndb_format::manifest::VersionEdit;
use cairndb_format::{log, name};
use cairndb_mem::ChunkPool;

use crate::compaction::tables::Tables;
use crate::durable::disk::Disk;
use crate::durable::intervals::Intervals;
use crate::log::commit::{Commit, closing};
use crate::log::payload::Payload;
use crate::space::space_maker::SpaceMaker;
use crate::state::batch::WriteBatch;
use crate::state::options::Durability;
use crate::state::sections::StoredKey;
use crate::state::stats::{StallReason, Stats};
use crate::versions::base::Base;
use crate::write::long_batches::{LongBatches, long_batch};
use crate::write::seal::Sealer;

mod flush_all;
mod large_values;
mod stall;
mod without_waiting;

/// Length below which records are stored through the mapping of the log (`engine/env` decides).
const SMALL_RECORD_BYTES: u64 = 512 << 10;

/// A check of a write under the commit lock, right before it is logged and applied. If it fails,
/// nothing is written.
pub(crate) type Precondition<'a> = &'a dyn Fn(&Commit) -> Result<()>;

/// Returns whether a write has to wait, seal, rotate or wake the worker before it is logged.
#[inline]
fn needs_preparation(
    commit: &Commit,
    payload: &Payload<'_>,
    durability: Durability,
    flush_max: usize,
) -> bool {
    let logged = durability != Durability::None;
    commit.closing
        || commit.wakes_worker
        || long_batch(commit, payload, flush_max).is_some()
        || !commit.has_memtables(payload)
        || !commit.memtable_fits(payload, logged)
        || logged && !commit.segment_fits(payload.record_bytes())
}

/// Poisons a handle whose comparator panicked during an insert: the log then holds a complete
/// batch, the memtable holds a part of it, and some sequence numbers have no record.
struct PoisonOnUnwind<'a>(Option<&'a Base>);

impl Drop for PoisonOnUnwind<'_> {
    fn drop(&mut self) {
        // Also reached if the contents of a batch do not match its count, which is impossible for a
        // batch built here.
        if let Some(base) = self.0 {
            let _ = base.poison(Error::invalid(
                "the comparator panicked during a write; reopen the database",
            ));
        }
    }
}

#[cfg(test)]
mod tests;

pub(crate) struct Writer {
    base: Arc<Base>,
    disk: Arc<Disk>,
    tables: Arc<Tables>,
    space: Arc<SpaceMaker>,
    pub(crate) sealer: Sealer,
}

impl Writer {
    pub(crate) fn new(
        base: &Arc<Base>,
        disk: &Arc<Disk>,
        tables: &Arc<Tables>,
        space: &Arc<SpaceMaker>,
        pool: Arc<ChunkPool>,
    ) -> Writer {
        Writer {
            base: Arc::clone(base),
            disk: Arc::clone(disk),
            tables: Arc::clone(tables),
            space: Arc::clone(space),
            sealer: Sealer::new(base, tables, pool),
        }
    }

    /// Writes one entry, if `precondition` holds at that moment.
    #[expect(
        clippy::inline_always,
        reason = "most of it folds away for a constant kind"
    )]
    #[inline(always)]
    pub(crate) fn write_one(
        &self,
        kind: Kind,
        key: StoredKey<'_>,
        value: &[u8],
        durability: Durability,
        precondition: Option<Precondition<'_>>,
    ) -> Result<()> {
        let users = key.users();
        if users.len() > KEY_BYTES_MAX {
            return Err(Error::invalid("the key is longer than 64 MiB").found(users.len()));
        }
        if value.len() > VALUE_BYTES_MAX {
            return Err(Error::invalid("the value is longer than 1 GiB").found(value.len()));
        }
        if kind == Kind::Put && value.len() >= LARGE_VALUE_BYTES_MIN {
            return self.write_large(key, value, durability, precondition);
        }
        self.write_payload(&Payload::One { kind, key, value }, durability, precondition)
    }

    /// Writes a batch atomically, if `precondition` holds at that moment. The batch may be empty
    /// only without a precondition.
    pub(crate) fn write_batch(
        &self,
        batch: &WriteBatch,
        durability: Durability,
        precondition: Option<Precondition<'_>>,
    ) -> Result<()> {
        batch.writer().check()?;
        self.base.check_writable()?;
        if batch.is_empty() {
            assert!(precondition.is_none(), "nothing to write under a condition");
            return self.write_nothing(durability);
        }
        if batch.has_merges() {
            self.base.check_operands(batch)?;
        }
        let keyspaces = batch.keyspaces();
        self.base.check_ours(keyspaces)?;
        if batch.has_ranges() && self.base.check_ranges(batch)? {
            keyspaces.iter().try_for_each(|keyspace| keyspace.check())?;
            return self.write_nothing(durability);
        }
        let exist = |commit: &Commit| {
            keyspaces.iter().try_for_each(|keyspace| keyspace.check())?;
            precondition.map_or(Ok(()), |holds| holds(commit))
        };
        let precondition = if keyspaces.is_empty() {
            precondition
        } else {
            Some(&exist as _)
        };
        if !batch.has_large() {
            return self.write_payload(&Payload::Many(batch.writer()), durability, precondition);
        }
        self.write_batch_with_values(batch, durability, precondition)
    }

    /// Writes a batch without effect. LevelDB users write an empty batch to make earlier writes
    /// durable.
    fn write_nothing(&self, durability: Durability) -> Result<()> {
        match durability {
            Durability::Sync => self.disk.sync_written(),
            _ => Ok(()),
        }
    }

    #[inline]
    fn write_payload(
        &self,
        payload: &Payload<'_>,
        durability: Durability,
        precondition: Option<Precondition<'_>>,
    ) -> Result<()> {
        self.base.check_here()?;
        let commit = self.disk.log.lock();
        self.base.check_writable()?;
        let flush_max = self.base.settings.budget.flush_max;
        if needs_preparation(&commit, payload, durability, flush_max) {
            drop(commit);
            let commit = self.prepare(payload, durability)?;
            return self.write_prepared(commit, payload, durability, precondition);
        }
        self.write_prepared(commit, payload, durability, precondition)
    }

    /// Returns the commit lock once `payload` fits into the memtable and, if it is logged, into the
    /// segment. On a full disk, a put unlinks obsolete files and frees log space that tables can
    /// replace, and retries if that freed anything. A payload of deletions may also use the reserve
    /// and every other way to free space.
    #[cold]
    #[inline(never)]
    pub(crate) fn prepare(
        &self,
        payload: &Payload<'_>,
        durability: Durability,
    ) -> Result<MutexGuard<'_, Commit>> {
        if payload.only_deletes() {
            self.space.keep_disk_space();
            return self
                .space
                .with_disk_space(|| self.seal_or_rotate(payload, durability));
        }
        let unlinked = self.base.sweeper.reaper().unlinked();
        match self.seal_or_rotate(payload, durability) {
            Err(error) if error.kind() == ErrorKind::NoSpace => {
                self.base.sweeper.reap_for_space();
                if self.base.sweeper.reaper().unlinked() == unlinked && !self.space.free_log() {
                    return Err(error);
                }
                self.seal_or_rotate(payload, durability)
            }
            found => found,
        }
    }

    fn seal_or_rotate(
        &self,
        payload: &Payload<'_>,
        durability: Durability,
    ) -> Result<MutexGuard<'_, Commit>> {
        let logged = durability != Durability::None;
        loop {
            let mut commit = self.disk.log.lock();
            self.base.check_writable()?;
            if commit.closing {
                return Err(closing());
            }
            if std::mem::take(&mut commit.wakes_worker) {
                self.base.versions.wake_idle_worker();
            }
            let enough_values = commit.value_bytes() >= self.base.settings.memtable_values_max();
            let full = enough_values || !commit.memtable_fits(payload, logged);
            let rotates = logged && !commit.segment_fits(payload.record_bytes());
            if full || rotates {
                self.space.check_may_grow(payload)?;
            }
            let is_long = |commit: &Commit| {
                let flush_max = self.base.settings.budget.flush_max;
                long_batch(commit, payload, flush_max).is_some()
            };
            if (full || is_long(&commit)) && !commit.awaiting_sync.is_empty() {
                // Only published entries are sealed, so that a flush may drop entries that no
                // current or future snapshot can see. They may be in tables already: the parts of a
                // long batch are before its sync ends.
                let last = commit.last_seq;
                self.disk.wait_published(commit, last)?;
                continue;
            }
            if full && let Some(reason) = self.sealer.seal(&mut commit) {
                drop(commit);
                self.relieve_stall(reason)?;
                continue;
            }
            self.sealer.add_memtables(&mut commit, payload);
            if is_long(&commit) {
                let reserve = &self.disk.reserve;
                reserve.check_disk_space_for_batch(payload, logged)?;
            }
            if rotates {
                if self.log_holds_up(&commit) {
                    if !commit.awaiting_sync.is_empty() {
                        let last = commit.last_seq;
                        self.disk.wait_published(commit, last)?;
                        continue;
                    }
                    let full = self.sealer.seal(&mut commit);
                    drop(commit);
                    self.relieve_stall(full.unwrap_or(StallReason::Log))?;
                    continue;
                }
                self.rotate(&mut commit, payload.record_bytes())?;
            }
            return self.marked(commit, payload, logged);
        }
    }

    /// Logs the time before a payload that is logged, if it is due.
    fn marked<'a>(
        &self,
        mut commit: MutexGuard<'a, Commit>,
        payload: &Payload<'_>,
        logged: bool,
    ) -> Result<MutexGuard<'a, Commit>> {
        if logged && commit.mark_due {
            let disk = &self.disk;
            Intervals { disk }.log_mark(&mut commit, payload)?;
        }
        Ok(commit)
    }

    /// Returns whether another segment would exceed the limit of the log, and flushing the oldest
    /// entries shortens it.
    fn log_holds_up(&self, commit: &Commit) -> bool {
        let (segments, budget) = (self.disk.log.segments(), &self.base.settings.budget);
        segments.limited_bytes(budget.segment) + budget.segment > budget.retained_log
            && segments.live().len() > 1
            && self.disk.log.can_shrink(commit)
    }

    /// Appends `payload`, which fits, to the log and applies it, if `precondition`
    /// holds.
    #[inline]
    pub(crate) fn write_prepared<'a>(
        &'a self,
        mut commit: MutexGuard<'a, Commit>,
        payload: &Payload<'_>,
        durability: Durability,
        precondition: Option<Precondition<'_>>,
    ) -> Result<()> {
        if let Some(holds) = precondition {
            holds(&commit)?;
        }
        let mut appended = None;
        if durability != Durability::None || !commit.skip_log(payload.count()) {
            if durability == Durability::None && !commit.segment_fits(payload.record_bytes()) {
                // So many entries were not logged that a record has to state this, and that record
                // may not fit.
                drop(commit);
                commit = self.prepare(payload, Durability::Os)?;
                if let Some(holds) = precondition {
                    // Others may have written in the meantime.
                    holds(&commit)?;
                }
            }
            let record = commit.log(payload, durability == Durability::Sync)?;
            commit.logged_bytes += record.bytes;
            appended = Some(record);
        }
        let mut unwound = PoisonOnUnwind(Some(&self.base));
        let last = match long_batch(&commit, payload, self.base.settings.budget.flush_max) {
            Some(batch) => {
                let inserter = LongBatches {
                    base: &self.base,
                    flusher: &self.tables.flusher,
                    sealer: &self.sealer,
                };
                inserter.apply(&mut commit, batch, appended)
            }
            None => commit.apply(payload, appended),
        };
        unwound.0 = None;
        if let Payload::Many(_) = payload {
            self.base.note_ranges(commit.take_new_ranges());
        }
        self.acknowledge(commit, last, durability)
    }

    /// Publishes the write that ends at `last`, after its sync if it requested one.
    #[inline]
    fn acknowledge<'a>(
        &'a self,
        mut commit: MutexGuard<'a, Commit>,
        last: SeqNo,
        durability: Durability,
    ) -> Result<()> {
        if durability != Durability::Sync && commit.awaiting_sync.is_empty() {
            self.base.versions.publish(last);
            self.base.sweeper.followers.publish(commit.position);
            return Ok(());
        }
        if durability == Durability::Sync {
            assert!(
                commit
                    .awaiting_sync
                    .back()
                    .is_none_or(|before| *before < last),
                "writes wait for their sync in order"
            );
            commit.awaiting_sync.push_back(last);
        }
        self.disk.wait_published(commit, last)
    }

    /// Starts a new segment, into which a record of `bytes` fits.
    fn rotate(&self, commit: &mut Commit, bytes: u64) -> Result<()> {
        self.base.origin.check()?;
        self.disk.log.ensure_manifest(commit)?;
        self.disk.reserve.ask_for_reserve();
        let regular = self.base.settings.budget.segment;
        let size = if bytes + log::HEADER_BYTES as u64 <= regular {
            regular
        } else {
            (bytes + log::HEADER_BYTES as u64).next_multiple_of(4096)
        };
        let reading = self.base.sweeper.followers.oldest_reading();
        let is_read = |retired| reading.is_some_and(|reading| reading < retired);
        let spare = self.disk.log.segments().take_spare(size, is_read);
        let (file, region) = if let Some(spare) = spare {
            spare
        } else {
            let (FileNumber(file), region) = self.disk.log.create_log(size)?;
            Stats::add(&self.base.stats.prewritten_bytes, size);
            if bytes < SMALL_RECORD_BYTES {
                // One call for all pages is cheaper than a page fault for each.
                region.warm();
            }
            (file, region)
        };
        let salt = self.base.env.random_u64();
        let start_seq = commit.last_seq + 1;
        let next_file = self.base.next_file.load(Ordering::Relaxed);
        let values = self.disk.value_files.values().active().into_iter();
        let first_values = values.chain(commit.first_values()).chain([next_file]).min();
        let first_values = first_values.unwrap_or(next_file);
        let begun = self.disk.log.segments().begin(
            file,
            Arc::clone(&region),
            (salt, start_seq),
            first_values,
        );
        let segment =
            begun.inspect_err(|_| self.base.sweeper.reaper().add(name::log(FileNumber(file))))?;
        let edit = VersionEdit {
            added_segments: vec![segment.record()],
            next_file: Some(self.base.next_file.load(Ordering::Relaxed)),
            ..VersionEdit::default()
        };
        if let Err(error) = self.disk.log.manifests.append_naming(&edit) {
            self.disk.log.segments().abandon(&segment);
            // Reused only once a new manifest no longer names it.
            let generation = self.base.sweeper.followers.generation();
            let segments = self.disk.log.segments();
            if let Some(file) = segments.add_spare(file, region, generation) {
                self.base.sweeper.reaper().add(name::log(FileNumber(file)));
            }
            return Err(error);
        }
        segment.mark_appended();
        commit.enter_segment(segment);
        commit.mark_due |= self.disk.log.history.is_wanted();
        // An idle database keeps one segment, and from here on the memtable may extend over two.
        self.base.versions.wake_idle_worker();
        Ok(())
    }
}
