//! The write path: room in the part, room in the segment, log, memtable, publish.
//!
//! On the way of a put that finds room there are one uncontended lock, one copy into the log, one
//! insert and one release store; everything else in this file is for when there is none.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::limits::{KEY_BYTES_MAX, LARGE_VALUE_BYTES_MIN, VALUE_BYTES_MAX};
use cairndb_base::{Error, ErrorKind, FileNumber, Kind, Result, SeqNo};
use cairndb_env::sync::MutexGuard;
use cairndb_format::manifest::VersionEdit;
use cairndb_format::{log, name};
use cairndb_mem::Memtable;

use crate::engine::background::UNSYNCED_TABLES_MAX;
use crate::engine::core::{Core, Part};
use crate::state::batch::WriteBatch;
use crate::state::options::Durability;
use crate::state::stats::{StallReason, Stats};
use crate::write::commit::{Commit, Payload};

/// Records below this are stored through the log's mapping (as `crates/env` decides).
const SMALL_RECORD_BYTES: u64 = 512 << 10;

/// Ends a handle whose comparator panicked while entries went into the memtable: the log holds all of a
/// batch then, the memtable a part of it, and sequence numbers are used up that no record has.
struct PoisonOnUnwind<'a>(Option<&'a Core>);

impl Drop for PoisonOnUnwind<'_> {
    fn drop(&mut self) {
        // Also where a batch does not hold what it counts, which none that was built here does.
        if let Some(core) = self.0 {
            let _ = core.poison(Error::invalid(
                "the comparator panicked during a write; open the database again",
            ));
        }
    }
}

#[cold]
pub(crate) fn closing() -> Error {
    Error::new(ErrorKind::Closed, "the database handle is being closed")
}

impl Core {
    /// Writes one entry.
    pub(crate) fn write_one(
        &self,
        kind: Kind,
        key: &[u8],
        value: &[u8],
        durability: Durability,
    ) -> Result<()> {
        if key.len() > KEY_BYTES_MAX {
            return Err(Error::invalid("the key is longer than 64 MiB").found(key.len()));
        }
        if value.len() > VALUE_BYTES_MAX {
            return Err(Error::invalid("the value is longer than 1 GiB").found(value.len()));
        }
        if kind == Kind::Put && value.len() >= LARGE_VALUE_BYTES_MIN {
            return self.write_large(key, value, durability);
        }
        self.write_payload(&Payload::One { kind, key, value }, durability)
    }

    /// Writes one operand that the merge operator takes. Apart from [`Core::write_one`], so that a put does not ask
    /// whether it is one.
    pub(crate) fn write_operand(
        &self,
        key: &[u8],
        operand: &[u8],
        durability: Durability,
    ) -> Result<()> {
        self.context.check_operand(operand)?;
        self.write_one(Kind::Merge, key, operand, durability)
    }

    /// Writes a batch: all of it or nothing.
    pub(crate) fn write_batch(&self, batch: &WriteBatch, durability: Durability) -> Result<()> {
        batch.writer().check()?;
        self.check_writable()?;
        if batch.is_empty() {
            // What LevelDB's users write to make earlier writes durable.
            return match durability {
                Durability::Sync => self.sync_written(),
                _ => Ok(()),
            };
        }
        if batch.has_merges() {
            self.context.check_operands(batch)?;
        }
        if !batch.has_large() {
            return self.write_payload(&Payload::Many(batch.writer()), durability);
        }
        self.write_batch_with_values(batch, durability)
    }

    /// Makes every logged write so far durable: what a `Sync` write does for those before it.
    pub(crate) fn sync_written(&self) -> Result<()> {
        self.check_writable()?;
        let commit = self.commit.lock();
        let last = commit.last_seq;
        self.run_passes(commit, |commit| commit.synced_seq >= last)
    }

    #[inline]
    fn write_payload(&self, payload: &Payload<'_>, durability: Durability) -> Result<()> {
        self.check_here()?;
        let commit = self.commit.lock();
        self.check_writable()?;
        let logged = durability != Durability::None;
        if commit.closing
            || commit.wakes_worker
            || !commit.part_has_room(payload, logged)
            || logged && !commit.segment_has_room(payload.record_bytes())
        {
            drop(commit);
            return self.write_in_room(self.room_for(payload, durability)?, payload, durability);
        }
        self.write_in_room(commit, payload, durability)
    }

    /// The commit lock, once part and, for a write that is logged, segment have room for `payload`.
    /// On a full disk what may be unlinked is, as there may be nobody else to do it, and log that
    /// tables can take over; where there was any it is tried once more. What only deletes may use
    /// what is kept for it, and makes room itself.
    #[cold]
    #[inline(never)]
    pub(crate) fn room_for(
        &self,
        payload: &Payload<'_>,
        durability: Durability,
    ) -> Result<MutexGuard<'_, Commit>> {
        if payload.only_deletes() {
            self.keep_room_to_work();
            return self.with_room(|| self.make_room_for(payload, durability));
        }
        let unlinked = self.reaper.unlinked();
        match self.make_room_for(payload, durability) {
            Err(error) if error.kind() == ErrorKind::NoSpace => {
                self.reap();
                if self.reaper.unlinked() == unlinked && !self.free_log() {
                    return Err(error);
                }
                self.make_room_for(payload, durability)
            }
            found => found,
        }
    }

    fn make_room_for(
        &self,
        payload: &Payload<'_>,
        durability: Durability,
    ) -> Result<MutexGuard<'_, Commit>> {
        let logged = durability != Durability::None;
        loop {
            let mut commit = self.commit.lock();
            self.check_writable()?;
            if commit.closing {
                return Err(closing());
            }
            if std::mem::take(&mut commit.wakes_worker) {
                self.wake_idle_worker();
            }
            let enough_values = commit.value_bytes() >= self.settings.part_values_max();
            let full = enough_values || !commit.part_has_room(payload, logged);
            let rotates = logged && !commit.segment_has_room(payload.record_bytes());
            if full || rotates {
                self.check_may_grow(payload)?;
            }
            if full {
                if !commit.awaiting_sync.is_empty() {
                    // Only published entries are sealed: a flush may then drop what no snapshot,
                    // present or future, can see.
                    let last = commit.last_seq;
                    self.wait_published(commit, last)?;
                    continue;
                }
                if let Some(reason) = self.seal(&mut commit) {
                    drop(commit);
                    self.make_room(reason)?;
                    continue;
                }
                self.start_threads()?;
            }
            if rotates {
                if self.segments.retained_bytes() + self.settings.budget.segment
                    > self.settings.budget.retained_log
                    && self.segments.live().len() > 1
                    && self.log_can_shrink(&commit)
                {
                    if !commit.awaiting_sync.is_empty() {
                        let last = commit.last_seq;
                        self.wait_published(commit, last)?;
                        continue;
                    }
                    let full = self.seal(&mut commit);
                    drop(commit);
                    self.make_room(full.unwrap_or(StallReason::Log))?;
                    continue;
                }
                self.rotate(&mut commit, payload.record_bytes())?;
            }
            return Ok(commit);
        }
    }

    /// Logs and applies `payload`, for which there is room.
    #[inline]
    pub(crate) fn write_in_room<'a>(
        &'a self,
        mut commit: MutexGuard<'a, Commit>,
        payload: &Payload<'_>,
        durability: Durability,
    ) -> Result<()> {
        let mut appended = None;
        if durability != Durability::None || !commit.skip_log(payload.count()) {
            if durability == Durability::None && !commit.segment_has_room(payload.record_bytes()) {
                // So much was not logged that a record has to say so; room for one was not made.
                drop(commit);
                commit = self.room_for(payload, Durability::Os)?;
            }
            let record = commit.log(payload, durability == Durability::Sync)?;
            commit.logged_bytes += record.bytes;
            appended = Some(record);
        }
        let mut unwound = PoisonOnUnwind(Some(self));
        let last = commit.apply(payload, appended);
        unwound.0 = None;
        self.acknowledge(commit, last, durability)
    }

    /// Whether flushing or syncing anything could free a segment.
    fn log_can_shrink(&self, commit: &Commit) -> bool {
        let state = self.state.lock();
        !commit.mutable.is_empty()
            || !state.sealed.is_empty()
            || state.pending.is_some()
            || state.flushing()
            || state.persisting
    }

    /// Publishes the write that ends at `last`, after its sync where it wants one.
    #[inline]
    fn acknowledge<'a>(
        &'a self,
        mut commit: MutexGuard<'a, Commit>,
        last: SeqNo,
        durability: Durability,
    ) -> Result<()> {
        if durability != Durability::Sync && commit.awaiting_sync.is_empty() {
            // Release: a reader that sees the number sees the inserts before it.
            self.published.store(last, Ordering::Release);
            return Ok(());
        }
        if durability == Durability::Sync {
            commit.awaiting_sync.push_back(last);
        }
        self.wait_published(commit, last)
    }

    /// Waits for the sync pass that covers `last`, or runs it.
    #[cold]
    pub(crate) fn wait_published<'a>(
        &'a self,
        commit: MutexGuard<'a, Commit>,
        last: SeqNo,
    ) -> Result<()> {
        self.run_passes(commit, |_| self.published.load(Ordering::Acquire) >= last)
    }

    /// Waits for sync passes, or runs them, until `enough`.
    fn run_passes<'a>(
        &'a self,
        mut commit: MutexGuard<'a, Commit>,
        enough: impl Fn(&Commit) -> bool,
    ) -> Result<()> {
        while !enough(&commit) {
            self.health.check_write()?;
            if commit.syncing {
                self.committed.wait(&mut commit);
                continue;
            }
            self.origin.check()?;
            commit.syncing = true;
            let target = commit.last_seq;
            drop(commit);
            let result = self.sync_pass();
            commit = self.commit.lock();
            commit.syncing = false;
            let result = result.map_err(|error| self.poison(error));
            // Poisoned meanwhile by a comparator that panicked, the part may hold half of a batch.
            if result.is_ok() && !self.health.is_poisoned() {
                commit.synced_seq = commit.synced_seq.max(target);
                while commit
                    .awaiting_sync
                    .front()
                    .is_some_and(|seq| *seq <= target)
                {
                    commit.awaiting_sync.pop_front();
                }
                self.published
                    .fetch_max(commit.publishable(), Ordering::AcqRel);
                if std::mem::take(&mut commit.look_again) {
                    self.wake_idle_worker();
                }
            }
            self.committed.notify_all();
            result?;
        }
        Ok(())
    }

    /// Makes everything appended before the call durable: values, names, segments, in this order.
    pub(crate) fn sync_pass(&self) -> Result<()> {
        let plan = {
            let _turn = self.take_sync_turn()?;
            // Planned first: a record in the plan has its value in a file synced next. Planned
            // later, one that came in between would be durable without it.
            let plan = self.segments.plan_sync();
            // Within the turn: what was claimed and is lost nobody else may find clean.
            let poison = |error| self.poison(error);
            let files = self.values.sync().map_err(poison)?;
            Stats::add(&self.stats.file_syncs, files);
            if self.names_dirty.swap(false, Ordering::AcqRel) || plan.name_first {
                self.dir.sync().map_err(poison)?;
                self.manifest.sync(&self.stats).map_err(poison)?;
                plan.mark_named();
            }
            plan
        };
        let segments = plan.sync_segments()?;
        Stats::add(&self.stats.log_syncs, segments);
        Ok(())
    }

    /// Begins a new segment that takes a record of `bytes`.
    fn rotate(&self, commit: &mut Commit, bytes: u64) -> Result<()> {
        self.origin.check()?;
        self.ensure_manifest(commit)?;
        self.start_threads()?;
        self.ask_for_reserve();
        let regular = self.settings.budget.segment;
        let size = if bytes + log::HEADER_BYTES as u64 <= regular {
            regular
        } else {
            (bytes + log::HEADER_BYTES as u64).next_multiple_of(4096)
        };
        let (file, region) = if let Some(spare) = self.segments.take_spare(size) {
            spare
        } else {
            let (FileNumber(file), region) = self.create_log(size)?;
            Stats::add(&self.stats.prewritten_bytes, size);
            if bytes < SMALL_RECORD_BYTES {
                // One call for all its pages is cheaper than a fault for each.
                region.warm();
            }
            (file, region)
        };
        let salt = self.env.random_u64();
        let start_seq = commit.last_seq + 1;
        let begun = self
            .segments
            .begin(file, Arc::clone(&region), salt, start_seq);
        let segment = begun.inspect_err(|_| self.reaper.add(name::log(FileNumber(file))))?;
        let edit = VersionEdit {
            added_segments: vec![segment.record()],
            next_file: Some(self.next_file.load(Ordering::Relaxed)),
            ..VersionEdit::default()
        };
        self.names_dirty.store(true, Ordering::Release);
        let appended = self.manifest.append(&edit, &self.stats);
        self.names_dirty.store(true, Ordering::Release);
        if let Err(error) = appended {
            self.segments.abandon(&segment);
            // Reused only behind a new manifest, which does not name it.
            if let Some(file) = self.segments.add_spare(file, region) {
                self.reaper.add(name::log(FileNumber(file)));
            }
            return Err(error);
        }
        segment.mark_appended();
        commit.enter_segment(segment);
        // An idle database keeps one segment: its memtable may be in two from here on.
        self.wake_idle_worker();
        Ok(())
    }

    /// Queues the mutable part for its flush and begins a new one; the reason when there is no
    /// room for another.
    pub(crate) fn seal(&self, commit: &mut Commit) -> Option<StallReason> {
        let mut state = self.state.lock();
        if commit.mutable.is_empty() {
            return None;
        }
        assert!(
            commit.awaiting_sync.is_empty(),
            "only published entries are sealed"
        );
        // One run more is all that closing adds, and its flush must not fail, or wait, for a merge.
        if !commit.closing && self.runs_hold_up(&state) {
            return Some(StallReason::Runs);
        }
        let unsynced = state.pending.as_ref().map_or(0, |p| p.added.len());
        if unsynced > 2 * UNSYNCED_TABLES_MAX && !state.closing {
            return Some(StallReason::Log);
        }
        let budget = &self.settings.budget;
        let filled_bytes = commit.mutable.allocated_bytes();
        let waiting = state.sealed_bytes();
        // A queue that keeps too much of the log is as full as one that takes too much memory: flushing
        // the oldest parts is less to wait for than making room in the log.
        if waiting > 0
            && (waiting + filled_bytes > budget.sealed_max()
                || state.sealed_logged() > budget.sealed_logged_max
                || self.parts_hold_up(&state))
        {
            return Some(StallReason::Memtable);
        }
        let hint = commit.mutable.next_prefix().to_vec();
        let order = self.context.order.clone();
        let (mutable, writer) = Memtable::pooled(&self.pool, order, hint, budget.part);
        let filled = commit.replace_part(Arc::clone(&mutable), writer);
        state.mutable = mutable;
        state.sealed.push_back(Part::from(filled));
        // One that rests wakes for nothing else: few parts are flushed too, once no write comes.
        let rested = state.rest.disturb();
        self.publish_view(&state);
        if rested || self.flush_wanted(&state, budget.flush) {
            self.work.notify_all();
        }
        None
    }

    /// Waits, or helps, until the reason a writer could not go on is gone.
    #[cold]
    pub(crate) fn make_room(&self, reason: StallReason) -> Result<()> {
        self.origin.check()?;
        let begun = self.env.now_ns();
        let result = match reason {
            StallReason::Memtable => self.help_flush(),
            StallReason::Log => self.help_persist(),
            StallReason::Runs => self.help_merge(),
        };
        self.stats
            .stalled(reason, self.env.now_ns().saturating_sub(begun));
        result
    }

    /// Flushes here unless somebody already does: with two cores the worker may be in the middle
    /// of a merge, and a writer with a full queue has nothing better to do.
    fn help_flush(&self) -> Result<()> {
        if self.flush_up_to(self.settings.budget.help)? {
            return Ok(());
        }
        let state = self.state.lock();
        let before = state.sealed.len();
        drop(self.wait_state(state, |state| {
            !state.flushing() || state.sealed.len() < before
        }));
        self.health.check_write()
    }

    /// Makes log segments free: flush what they hold, make it durable.
    fn help_persist(&self) -> Result<()> {
        while self.flush_once()? {}
        if self.persist()? {
            return Ok(());
        }
        let state = self.state.lock();
        drop(self.wait_state(state, |state| !state.flushing() && !state.persisting));
        self.health.check_write()
    }

    /// Merges the fewest bytes that make room, or waits for a merge under way. Damage met by a merge is no
    /// failure of the write: the next one goes around it.
    fn help_merge(&self) -> Result<()> {
        match self.merge_for_room() {
            Ok(false) => {}
            Ok(true) => return Ok(()),
            Err(error) if self.is_known_damage(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
        let state = self.state.lock();
        let before = state.merges.len();
        drop(self.wait_state(state, |state| {
            state.merges.len() < before.max(1)
                || !self.runs_hold_up(state)
                || self.merge_for_room_wanted(state).is_some()
        }));
        self.health.check_write()
    }
}

#[cfg(test)]
mod tests;
