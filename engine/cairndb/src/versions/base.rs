//! `Base`: what every owner of an open database uses: environment, directory, settings, counters,
//! and the newest version.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::{Error, ErrorKind, Kind, Result, SeqNo, watch};
use cairndb_env::sync::MutexGuard;
use cairndb_env::{Background, Dir, Env, Origin, forked};
use cairndb_files::OutputSettings;
use cairndb_format::manifest::VersionEdit;
use cairndb_format::table::Compression;
use std::fmt;
use std::time::Duration;

use crate::jobs::rules::{JobRanges, Rules};
use crate::read::view::{Readers, View};
use crate::state::batch::WriteBatch;
use crate::state::context::ReadContext;
use crate::state::files::opener::TableOpener;
use crate::state::health::Health;
use crate::state::keyspaces::{KeyspaceState, Keyspaces};
use crate::state::lineage::Stored;
use crate::state::ranges::Deleted;
use crate::state::sections::{Section, Sections, StoredKey};
use crate::state::snapshots::Snapshots;
use crate::state::stats::Stats;
use crate::state::version::{Values, Version};
use crate::versions::edits::edit_of;
use crate::versions::engine_state::EngineState;
use crate::versions::settings::Settings;
use crate::versions::sweeper::Sweeper;
use crate::versions::version_set::{VersionSet, WATCHED_WAIT};

/// What every owner of an open database uses.
pub(crate) struct Base {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) dir: Arc<dyn Dir>,
    /// Process that opened the database.
    pub(crate) origin: Origin,
    pub(crate) settings: Settings,
    /// What reads in the default section need.
    pub(crate) context: Arc<ReadContext>,
    pub(crate) contexts: Sections<Arc<ReadContext>>,
    pub(crate) keyspaces: Arc<Keyspaces>,
    pub(crate) health: Arc<Health>,
    pub(crate) stats: Stats,
    pub(crate) snapshots: Snapshots,
    pub(crate) opener: Arc<TableOpener>,
    /// The last of its incarnations is the present one.
    pub(crate) stored: Stored,
    /// Next file number. A number is never used twice.
    pub(crate) next_file: AtomicU64,
    pub(crate) versions: VersionSet,
    pub(crate) sweeper: Sweeper,
}

impl Base {
    /// Returns the edit that builds `version` from an empty one.
    pub(crate) fn snapshot_edit(&self, version: &Version, last_seq: u64) -> VersionEdit {
        VersionEdit {
            next_file: Some(self.next_file.load(Ordering::Relaxed)),
            last_seq: Some(last_seq),
            ..edit_of(version, &self.context, &self.stored, &self.keyspaces)
        }
    }

    /// Returns whether the moment `end` has passed.
    pub(crate) fn is_over(&self, end: Option<u64>) -> bool {
        end.is_some_and(|end| self.env.now_ns() >= end)
    }

    /// Returns the length of a value file, but at most 256 MiB: the base for fractions of a value
    /// file.
    pub(crate) fn regular_length(&self) -> u64 {
        self.settings.value_file.min(REGULAR_BYTES_MAX)
    }

    /// Returns the number of bytes of dead values that a busy database may have for whatever
    /// reason: the memory budget, but at least 64 MiB, and at most two value files.
    pub(crate) fn value_slack(&self) -> u64 {
        let files = self.regular_length().saturating_mul(2);
        self.settings.waste_unit().min(files)
    }

    pub(crate) fn stepped(&self) -> bool {
        self.env.background() == Background::Stepped
    }

    /// Returns a file number that was never used.
    pub(crate) fn new_file(&self) -> u64 {
        // Relaxed: only uniqueness matters.
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// Refuses a write in a forked child. Checked before taking a lock that a thread of the parent
    /// may have held at the fork, and before storing anything in the log, which both processes map.
    #[inline]
    pub(crate) fn check_here(&self) -> Result<()> {
        if self.origin.is_here() {
            Ok(())
        } else {
            Err(forked())
        }
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_here()?;
        if self.settings.read_only {
            return Err(Error::new(
                ErrorKind::ReadOnly,
                "the database was opened read-only; open it for writing",
            ));
        }
        self.health.check_write()
    }

    /// Returns whether tables store values compressed.
    pub(crate) fn encodes(&self) -> bool {
        self.settings.output.compression == Compression::Adaptive
    }

    /// Checks that the merge operators accept every operand of a batch.
    ///
    /// # Errors
    /// `InvalidArgument` without an operator, otherwise the operator's error.
    pub(crate) fn check_operands(&self, batch: &WriteBatch) -> Result<()> {
        for entry in batch.writer() {
            let entry = entry?;
            if entry.kind != Kind::Merge {
                continue;
            }
            match StoredKey::of_entry(&entry).keyspace() {
                0 => self.context.check_operand(entry.value)?,
                number => match self.keyspaces.get(number) {
                    Some(keyspace) => keyspace.check_operand(entry.value)?,
                    None => return Err(foreign_keyspace()),
                },
            }
        }
        Ok(())
    }

    /// Checks that the orders have the ranges that a batch deletes. Returns whether the batch
    /// writes nothing, because it only deletes a range without keys.
    ///
    /// # Errors
    /// `InvalidArgument` if an order does not have a range.
    pub(crate) fn check_ranges(&self, batch: &WriteBatch) -> Result<bool> {
        let mut nothing = batch.len() == 1;
        for (index, entry) in (0..).zip(batch.writer().own_entries()) {
            if entry.kind != Kind::RangeDelete {
                continue;
            }
            let key = StoredKey::of_entry(&entry);
            let order = match key.keyspace() {
                0 => Some(self.context.order.clone()),
                number => self.keyspaces.get(number).map(|it| it.order.clone()),
            };
            if batch.needs_bytewise(index) && order.is_some_and(|order| !order.is_bytewise()) {
                return Err(Error::invalid(
                    "only bytewise order has this range; delete from a key to before another",
                ));
            }
            let order = &self.opener.orders[key.section];
            let end = entry.value;
            nothing &= !end.is_empty() && order.compare(entry.key, end).is_ge();
        }
        Ok(nothing)
    }

    /// Checks that keyspaces belong to this database.
    ///
    /// # Errors
    /// `InvalidArgument` if one does not.
    pub(crate) fn check_ours(&self, keyspaces: &[Arc<KeyspaceState>]) -> Result<()> {
        keyspaces.iter().try_for_each(|keyspace| {
            let ours = self.keyspaces.get(keyspace.record.number);
            let is_ours = ours.is_some_and(|ours| Arc::ptr_eq(&ours, keyspace));
            if is_ours {
                Ok(())
            } else {
                Err(foreign_keyspace())
            }
        })
    }

    /// Returns the rules of a job over keys of `section` up to `end`, for readers at `snapshots`.
    pub(crate) fn rules(
        &self,
        section: Section,
        bottom: bool,
        values: Arc<Values>,
        end: Option<Vec<u8>>,
        (snapshots, mut ranges): (Vec<SeqNo>, JobRanges),
    ) -> Rules {
        let newest = snapshots.last().copied().unwrap_or(0);
        let live = Arc::clone(&self.versions.lock().ranges[section]);
        if live.newest_seq() > newest {
            ranges.unpublished = live.newest();
        }
        // Before the keyspaces are read: a drop in between is then noticed.
        let drops = self.keyspaces.drops();
        Rules {
            snapshots,
            bottom,
            context: (*self.contexts[section]).clone(),
            values,
            end,
            live: (section != Section::Default).then(|| self.keyspaces.live()),
            drops,
            ranges,
        }
    }

    /// Returns the sequence numbers of readers, and the deleted ranges that a compaction applies.
    pub(crate) fn flushed_ranges(&self, section: Section) -> (Vec<SeqNo>, JobRanges) {
        // Under the lock no deletion is added, so the map of each snapshot is there.
        let state = self.versions.lock();
        let (snapshots, last) = (self.readable_at(), state.flushed_seq);
        let ranges = JobRanges::new(&snapshots, last, |seq| {
            if seq == last {
                return state.version.ranges[section].clone();
            }
            let (map, exact) = state.ranges[section].at(seq);
            assert!(exact, "a snapshot keeps the deleted ranges of its moment");
            map
        });
        drop(state);
        (snapshots, ranges)
    }

    /// Returns how tables of `section` are written.
    pub(crate) fn output(&self, section: Section) -> OutputSettings {
        self.settings
            .output_in(section, &self.opener.orders[section], &self.keyspaces)
    }

    /// Maintains the views of all sections from now on.
    pub(crate) fn begin_keyspaces(&self) {
        let shared = self.versions.view().readers.clone();
        self.versions.begin_keyspaces(|section, number| {
            let context = Arc::clone(&self.contexts[section]);
            Readers::new(context, &shared.health, &shared.compaction_trigger, number)
        });
    }

    /// Informs readers of deleted ranges before they are published.
    #[inline]
    pub(crate) fn note_ranges(&self, new: &[(Section, Deleted)]) {
        if !new.is_empty() {
            self.add_ranges(new);
        }
    }

    #[cold]
    fn add_ranges(&self, new: &[(Section, Deleted)]) {
        let published = self.versions.published.load(Ordering::Acquire);
        let snapshots = self.snapshots.list();
        let needed = |from, until| {
            let at = snapshots.partition_point(|seq| *seq < from);
            snapshots.get(at).is_some_and(|seq| *seq < until)
        };
        let state = self.versions.lock();
        for (section, range) in new {
            let order = &self.contexts[*section].order;
            state.ranges[*section].add(order, range.clone(), published, needed);
        }
    }

    /// Takes a snapshot of everything published.
    pub(crate) fn acquire_snapshot(&self) -> SeqNo {
        self.snapshots.acquire(&self.versions.published)
    }

    /// Takes a snapshot of everything published, and the views that show it, in a follower.
    pub(crate) fn acquire_views(&self) -> (SeqNo, Sections<Arc<View>>) {
        loop {
            let number = self.versions.newest_view();
            let view = |section| Arc::clone(&self.versions.view_of(section));
            let views = Sections::from_fn(view);
            let seq = self.acquire_snapshot();
            // They are of one moment, which none has followed before the number was loaded.
            let newest = views.iter().all(|view| view.number == number);
            if newest && self.versions.newest_view() == number {
                return (seq, views);
            }
            let _ = self.snapshots.release(seq);
        }
    }

    /// Waits for a change of the state, at most until the time `end`.
    ///
    /// # Errors
    /// `Interrupted` if the watcher of this thread stops the call.
    pub(crate) fn wait_changed(
        &self,
        state: &mut MutexGuard<'_, EngineState>,
        end: Option<u64>,
    ) -> Result<()> {
        let left = end.map(|end| {
            let left = end.saturating_sub(self.env.now_ns());
            Duration::from_nanos(left)
        });
        let watched = watch::is_watched().then_some(WATCHED_WAIT);
        match left.into_iter().chain(watched).min() {
            None => self.versions.changed.wait(state),
            Some(limit) => {
                self.versions.changed.wait_for(state, limit);
            }
        }
        if watched.is_some() {
            // A watcher may take long, or use the database.
            MutexGuard::unlocked(state, watch::check)?;
        }
        Ok(())
    }

    /// Records a failure of background work, or its recovery.
    pub(crate) fn note_background<T>(&self, state: &mut EngineState, result: &Result<T>) {
        match result {
            Ok(_) => {
                if self.health.background().is_some() {
                    // While the worker waits for its next attempt, it counts as idle.
                    state.background.idle.disturb();
                }
                self.health.set_background(None);
                state.background.retry_ns = 0;
                state.background.retry_at_ns = 0;
            }
            Err(error) => self.back_off(state, error),
        }
    }

    /// Postpones the next attempt. The pause is one second after the first failure and doubles up
    /// to a minute. A writer that needs the space does not wait for it.
    fn back_off(&self, state: &mut EngineState, error: &Error) {
        const FIRST_NS: u64 = 1_000_000_000;
        const LAST_NS: u64 = 60 * FIRST_NS;
        self.health.set_background(Some(error.clone()));
        state.background.retry_ns = (state.background.retry_ns * 2).clamp(FIRST_NS, LAST_NS);
        state.background.retry_at_ns = self.env.now_ns().saturating_add(state.background.retry_ns);
    }

    /// Returns the sequence numbers that reads may use: those of snapshots and the published one.
    pub(crate) fn readable_at(&self) -> Vec<SeqNo> {
        let mut list = self.snapshots.list();
        let published = self.versions.published.load(Ordering::Acquire);
        if list.last().is_none_or(|last| *last < published) {
            list.push(published);
        }
        list
    }

    /// Like [`VersionSet::wait`], for a call that may be watched.
    ///
    /// # Errors
    /// `Interrupted` if the watcher of this thread stops the call.
    pub(crate) fn wait_watched<'a>(
        &'a self,
        mut state: MutexGuard<'a, EngineState>,
        mut done: impl FnMut(&EngineState) -> bool,
    ) -> Result<MutexGuard<'a, EngineState>> {
        while !done(&state) {
            self.wait_changed(&mut state, None)?;
        }
        Ok(state)
    }

    /// Poisons the handle and wakes callers that would wait forever. Must not be called under the
    /// state lock.
    pub(crate) fn poison(&self, error: Error) -> Error {
        let error = self.health.poison(error);
        // Locked in between, because otherwise a caller that has checked the health and does not
        // wait yet would miss the signal.
        drop(self.versions.lock());
        self.versions.notify_changed();
        self.versions.notify_work();
        error
    }

    /// Returns the number of bytes of large values that the mutable memtable of an idle database
    /// may point to.
    pub(crate) fn values_when_idle_max(&self) -> u64 {
        (self.regular_length() / VALUES_WHEN_IDLE_SHARE).max(1)
    }
}

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Base")
            .field("dir", &self.dir.path())
            .finish_non_exhaustive()
    }
}

#[cold]
fn foreign_keyspace() -> Error {
    Error::invalid("the keyspace belongs to another database")
}

/// Maximum length used as the base for fractions of a value file, which may be longer.
const REGULAR_BYTES_MAX: u64 = 256 << 20;

/// Fraction of a value file at which an idle database flushes the memtable that points to it.
const VALUES_WHEN_IDLE_SHARE: u64 = 16;

/// Number of log bytes, besides the current segment, above which an idle database flushes the
/// memtable that keeps them. With less than 16 MB of memory, segments are shorter than this, and a
/// memtable that extends from one into the next is not worth a table.
pub(crate) const LOG_WHEN_IDLE: u64 = 2 << 20;

/// Converts a duration to the environment's clock.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
