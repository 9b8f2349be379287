//! The write path: room in the part, room in the segment, log, memtable, publish.
//!
//! On the way of a put that finds room there are one uncontended lock, one copy into the log, one
//! insert and one release store; everything else in this file is for when there is none.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::limits::{KEY_BYTES_MAX, LARGE_VALUE_BYTES_MIN, VALUE_BYTES_MAX};
use cairndb_base::{Error, ErrorKind, FileNumber, Kind, Result, SeqNo};
use cairndb_env::sync::MutexGuard;
use cairndb_format::batch::{BatchWriter, Entry};
use cairndb_format::manifest::VersionEdit;
use cairndb_format::value_file::ValueWriter;
use cairndb_format::{log, name};
use cairndb_mem::Memtable;

use crate::engine::background::UNSYNCED_TABLES_MAX;
use crate::engine::core::{Core, Part};
use crate::state::batch::WriteBatch;
use crate::state::budget::{RETAINED_LOG_BYTES_MAX, SEALED_LOGGED_BYTES_MAX};
use crate::state::options::Durability;
use crate::state::stats::{StallReason, Stats};
use crate::state::version::ValueHandle;
use crate::write::commit::{Commit, Payload};

/// Records below this are stored through the log's mapping (as `crates/env` decides).
const SMALL_RECORD_BYTES: u64 = 512 << 10;

/// The value files a write has appended to, until its pointers are in the memtable or it is given up.
/// Not to be dropped under the commit lock.
struct InFlight<'a> {
    core: &'a Core,
    files: Vec<u64>,
}

impl<'a> InFlight<'a> {
    fn new(core: &'a Core) -> InFlight<'a> {
        let files = Vec::new();
        InFlight { core, files }
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let mut commit = self.core.commit.lock();
        for file in &self.files {
            commit.value_arrives(*file);
        }
    }
}

#[cold]
fn closing() -> Error {
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

    /// Writes a batch: all of it or nothing.
    pub(crate) fn write_batch(&self, batch: &WriteBatch, durability: Durability) -> Result<()> {
        batch.writer().check()?;
        self.check_writable()?;
        if batch.is_empty() {
            return Ok(());
        }
        if batch.has_merges() {
            self.context.check_operands(batch)?;
        }
        if !batch.has_large() {
            return self.write_payload(&Payload::Many(batch.writer()), durability);
        }
        let mut in_flight = InFlight::new(self);
        let mut pointers = BatchWriter::with_capacity(batch.len().saturating_mul(64));
        let mut commit = self.commit.lock();
        for entry in batch.writer() {
            let Entry { kind, key, value } = entry?;
            if kind == Kind::Put && value.len() >= LARGE_VALUE_BYTES_MIN {
                let pointer = self.append_value(&mut commit, &mut in_flight, key, value)?;
                pointers.add(Kind::Pointer, key, &pointer);
            } else {
                pointers.add(kind, key, value);
            }
        }
        drop(commit);
        self.write_payload(&Payload::Many(&pointers), durability)
    }

    /// A large value goes to the value file first, then a pointer is written as any entry.
    fn write_large(&self, key: &[u8], value: &[u8], durability: Durability) -> Result<()> {
        self.check_writable()?;
        let mut in_flight = InFlight::new(self);
        let pointer = {
            let mut commit = self.commit.lock();
            self.append_value(&mut commit, &mut in_flight, key, value)?
        };
        self.write_payload(
            &Payload::One {
                kind: Kind::Pointer,
                key,
                value: &pointer,
            },
            durability,
        )
    }

    fn append_value(
        &self,
        commit: &mut Commit,
        in_flight: &mut InFlight<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<Vec<u8>> {
        self.health.check_write()?;
        if commit.closing {
            return Err(closing());
        }
        if self.values.needs_file() {
            self.begin_value_file(commit)?;
        }
        let (pointer, length) = self.values.append(self.context.order.hash(key), value)?;
        commit.value_sets_out(pointer.file.0);
        in_flight.files.push(pointer.file.0);
        Stats::add(&self.stats.value_bytes, value.len() as u64);
        if let Some(handle) = self.view.load().version.values.get(&pointer.file.0) {
            handle.bytes.store(length, Ordering::Relaxed);
        }
        Ok(pointer.encode().to_vec())
    }

    fn begin_value_file(&self, commit: &mut Commit) -> Result<()> {
        self.ensure_manifest(commit)?;
        let number = self.new_file();
        let writer = ValueWriter::create(&*self.dir, FileNumber(number))?;
        let edit = VersionEdit {
            added_values: vec![number],
            next_file: Some(self.next_file.load(Ordering::Relaxed)),
            ..VersionEdit::default()
        };
        self.names_dirty.store(true, Ordering::Release);
        let appended = self.manifest.append(&edit, &self.stats);
        // Again: a sync pass may have taken the mark before the edit was there.
        self.names_dirty.store(true, Ordering::Release);
        appended?;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let handle = Arc::new(ValueHandle::begun(number, &self.opener));
        // The manifest names the file already, so both versions know it from now on.
        for version in [&mut state.version, &mut state.durable] {
            let mut next = (**version).clone();
            let mut values = (*next.values).clone();
            values.insert(number, Arc::clone(&handle));
            next.values = Arc::new(values);
            *version = Arc::new(next);
        }
        if let Some(pending) = &mut state.pending {
            let mut next = (*pending.version).clone();
            let mut values = (*next.values).clone();
            values.insert(number, Arc::clone(&handle));
            next.values = Arc::new(values);
            pending.version = Arc::new(next);
        }
        self.publish_view(state);
        drop(guard);
        self.values.begin(number, writer);
        Ok(())
    }

    fn write_payload(&self, payload: &Payload<'_>, durability: Durability) -> Result<()> {
        loop {
            let mut commit = self.commit.lock();
            self.check_writable()?;
            if commit.closing {
                return Err(closing());
            }
            if !commit.part_has_room(payload, durability != Durability::None) {
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
            let logged = durability != Durability::None || !commit.skip_log(payload.count());
            if logged && !commit.segment_has_room(payload.record_bytes()) {
                if self.segments.retained_bytes() + self.settings.budget.segment
                    > RETAINED_LOG_BYTES_MAX
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
            let mut appended = None;
            if logged {
                let record = commit.log(payload, durability == Durability::Sync)?;
                commit.logged_bytes += record.bytes;
                appended = Some(record);
            }
            let last = commit.apply(payload, appended)?;
            return self.acknowledge(commit, last, durability);
        }
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
        mut commit: MutexGuard<'a, Commit>,
        last: SeqNo,
    ) -> Result<()> {
        while self.published.load(Ordering::Acquire) < last {
            self.health.check_write()?;
            if commit.syncing {
                self.committed.wait(&mut commit);
                continue;
            }
            commit.syncing = true;
            let target = commit.last_seq;
            drop(commit);
            let result = self.sync_pass();
            commit = self.commit.lock();
            commit.syncing = false;
            let result = result.map_err(|error| self.health.poison(error));
            if result.is_err() {
                self.changed.notify_all();
            }
            if result.is_ok() {
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
            }
            self.committed.notify_all();
            result?;
        }
        Ok(())
    }

    /// Makes everything appended before the call durable: values, names, segments, in this order.
    pub(crate) fn sync_pass(&self) -> Result<()> {
        let plan = {
            let _turn = self.sync_turn.lock();
            // Planned first: a record in the plan has its value in a file synced next. Planned
            // later, one that came in between would be durable without it.
            let plan = self.segments.plan_sync();
            let files = self.values.sync()?;
            Stats::add(&self.stats.file_syncs, files);
            if self.names_dirty.swap(false, Ordering::AcqRel) || plan.name_first {
                self.dir.sync()?;
                self.manifest.sync(&self.stats)?;
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
        self.ensure_manifest(commit)?;
        self.start_threads()?;
        let regular = self.settings.budget.segment;
        let size = if bytes + log::HEADER_BYTES as u64 <= regular {
            regular
        } else {
            (bytes + log::HEADER_BYTES as u64).next_multiple_of(4096)
        };
        let (file, region) = if let Some(spare) = self.segments.take_spare(size) {
            spare
        } else {
            let file = self.new_file();
            let region = self.dir.create_log(&name::log(FileNumber(file)), size)?;
            if bytes < SMALL_RECORD_BYTES {
                // One call for all its pages is cheaper than a fault for each.
                region.warm();
            }
            (file, region)
        };
        let salt = self.env.random_u64();
        let start_seq = commit.last_seq + 1;
        let segment = self
            .segments
            .begin(file, Arc::clone(&region), salt, start_seq)?;
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
        self.work.notify_all();
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
        let waiting = state.sealed_bytes();
        // A queue that keeps too much of the log is as full as one that takes too much memory: flushing
        // the oldest parts is less to wait for than making room in the log.
        if waiting > 0
            && (waiting + commit.mutable.allocated_bytes() > budget.sealed_max()
                || state.sealed_logged() > SEALED_LOGGED_BYTES_MAX)
        {
            return Some(StallReason::Memtable);
        }
        let hint = commit.mutable.next_prefix().to_vec();
        let order = self.context.order.clone();
        let (mutable, writer) = Memtable::pooled(&self.pool, order, hint, budget.part);
        let filled = commit.replace_part(Arc::clone(&mutable), writer);
        state.mutable = mutable;
        state.sealed.push_back(Part::from(filled));
        state.quiet = false;
        self.publish_view(&state);
        if state.flush_due(budget) {
            self.work.notify_all();
        }
        None
    }

    /// Waits, or helps, until the reason a writer could not go on is gone.
    #[cold]
    pub(crate) fn make_room(&self, reason: StallReason) -> Result<()> {
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
