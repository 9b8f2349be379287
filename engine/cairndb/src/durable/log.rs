//! `Log`: the commit lock, the log segments, and the parts of the manifest that both need.

use std::sync::Arc;
use std::time::Duration;

use cairndb_base::{ErrorKind, FileNumber, Result};
use cairndb_env::LogRegion;
use cairndb_env::sync::{Condvar, Mutex, MutexGuard};
use cairndb_files::create_unused;
use cairndb_format::log::SegmentHeader;
use cairndb_format::name;
use cairndb_format::name::FileKind;

use crate::durable::manifests::Manifests;
use crate::log::commit::Commit;
use crate::log::history::History;
use crate::log::segments::Segments;
use crate::recovery::leftovers::Leftovers;
use crate::recovery::report::OpenReport;
use crate::state::stats::Stats;
use crate::versions::base::Base;
use crate::versions::engine_state::ImmutableMemtable;

pub(crate) struct Log {
    base: Arc<Base>,
    pub(crate) manifests: Manifests,
    commit: Mutex<Commit>,
    committed: Condvar,
    segments: Segments,
    pub(crate) history: History,
    /// Files found at open that no manifest names. Those of this format are reused or removed by
    /// the first write.
    leftovers: Leftovers,
    /// Report of the open, without the skipped files.
    report: OpenReport,
}

impl Log {
    pub(crate) fn new(
        base: &Arc<Base>,
        commit: Commit,
        (segments, history): (Segments, History),
        report: OpenReport,
    ) -> Log {
        Log {
            base: Arc::clone(base),
            manifests: Manifests::new(base),
            commit: Mutex::new(commit),
            committed: Condvar::new(),
            segments,
            history,
            leftovers: Leftovers::default(),
            report,
        }
    }

    /// Takes the commit lock.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, Commit> {
        self.commit.lock()
    }

    /// Takes the commit lock if no thread holds it.
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Commit>> {
        self.commit.try_lock()
    }

    /// Waits for the end of a sync pass.
    pub(crate) fn wait(&self, commit: &mut MutexGuard<'_, Commit>) {
        self.committed.wait(commit);
    }

    /// Like [`Log::wait`], at most for `limit`.
    pub(crate) fn wait_for(&self, commit: &mut MutexGuard<'_, Commit>, limit: Duration) {
        self.committed.wait_for(commit, limit);
    }

    /// Wakes the writers waiting for a sync pass to end.
    pub(crate) fn notify(&self) {
        self.committed.notify_all();
    }

    /// Wakes readers of changes: more is durable in tables.
    pub(crate) fn notify_readers(&self) {
        if self.history.is_wanted() {
            // A reader that has looked waits before the lock is free.
            drop(self.lock());
            self.notify();
        }
    }

    pub(crate) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Files that no manifest names.
    pub(crate) fn leftovers(&self) -> &Leftovers {
        &self.leftovers
    }

    /// Returns the report of the open, without the skipped files.
    pub(crate) fn report(&self) -> &OpenReport {
        &self.report
    }

    /// Ensures that edits can be appended: starts a new manifest with the first write of this
    /// handle, after a failed append, and when the open manifest has grown long.
    pub(crate) fn ensure_manifest(&self, commit: &mut Commit) -> Result<()> {
        let first = !self.manifests.is_open();
        if !first && !self.manifests.is_broken() && !self.manifests.is_long() {
            return Ok(());
        }
        // The syncer may have appended an edit that is not in `durable` yet and that a manifest
        // started now would lack. No new pass can start, because that takes the commit lock.
        drop(
            self.base
                .versions
                .wait(self.base.versions.lock(), |state| !state.durable.persisting),
        );
        if first {
            self.base.sweeper.followers.begin()?;
        }
        self.roll_manifest(commit)?;
        if first {
            self.adopt_leftovers()?;
        }
        Ok(())
    }

    /// Writes the durable state as one edit into a new manifest and points CURRENT to it. The
    /// caller holds the commit lock, so no segment can be added in the meantime.
    fn roll_manifest(&self, _commit: &mut Commit) -> Result<()> {
        let mut edit = self.manifests.durable_edit();
        edit.added_segments = self
            .segments
            .live()
            .iter()
            .map(|segment| segment.record())
            .collect();
        self.history.describe(&mut edit);
        self.manifests.begin_manifest(edit)
    }

    /// Creates a log file of `bytes` and marks it: a file that a crash left without a mark could
    /// never be removed.
    pub(crate) fn create_log(&self, bytes: u64) -> Result<(FileNumber, Arc<dyn LogRegion>)> {
        let created = create_unused(
            || self.base.new_file(),
            |number| self.base.dir.create_log(&name::log(number), bytes),
        );
        let (number, region) = created?;
        let marked = region.write(0, &[&SegmentHeader::UNUSED.encode()], false);
        if let Err(error) = marked {
            self.base.sweeper.reaper().add(name::log(number));
            return Err(error);
        }
        Ok((number, region))
    }

    /// Takes leftover log files of this format as spares and removes all other leftovers. After an
    /// unclean close no log is reused: an earlier sync may have failed, so it is unknown which
    /// bytes of a log reach the disk.
    fn adopt_leftovers(&self) -> Result<()> {
        let regular = self.base.settings.budget.segment;
        for found in self.leftovers.take_ours(&*self.base.dir) {
            let mut used = false;
            if let Some(FileKind::Log(FileNumber(file))) = FileKind::parse(found)
                && self.report.clean
                && self.base.dir.size_of(found)? == Some(regular)
            {
                match self.base.dir.open_log(found) {
                    Ok(region) => used = self.add_found_spare(file, region),
                    // A cursor of an earlier handle still reads it.
                    Err(error) if error.kind() == ErrorKind::Locked => {}
                    Err(error) => return Err(error),
                }
            }
            if !used {
                self.base.sweeper.reaper().add(found.clone());
            }
        }
        Ok(())
    }

    /// Keeps a spare of an earlier handle, which a follower may be reading. Returns whether it is
    /// wanted.
    fn add_found_spare(&self, file: u64, region: Arc<dyn LogRegion>) -> bool {
        let generation = self.base.sweeper.followers.generation();
        let spare = self.segments.add_spare(file, region, generation);
        spare.is_none()
    }

    /// Unlinks spare log files that are needed only by a busy log.
    pub(crate) fn trim_spares(&self) {
        self.trim_to(usize::MAX);
    }

    /// Unlinks spare log files at the close of the handle. What has logged less than a segment
    /// does without a spare the next time, too: of a thousand small databases, the spares would
    /// take most of the space.
    pub(crate) fn trim_at_close(&self) {
        let keeps = self.lock().logged_bytes >= self.base.settings.budget.segment;
        self.trim_to(usize::from(keeps));
    }

    fn trim_to(&self, keep_max: usize) {
        self.base.sweeper.reap_with(|| {
            let spares = self.segments.trim_spares(keep_max).into_iter();
            spares.map(|file| name::log(FileNumber(file))).collect()
        });
    }

    /// Returns the first segment that an unflushed memtable still needs.
    pub(crate) fn segment_floor<'a>(
        &self,
        commit: &Commit,
        sealed: impl IntoIterator<Item = &'a ImmutableMemtable>,
    ) -> u64 {
        let immutables = sealed
            .into_iter()
            .filter_map(|immutable| immutable.first_segment);
        let current = commit.segment.as_ref().map(|segment| segment.number);
        immutables
            .chain(commit.memtable_segment)
            .chain(current)
            .min()
            .unwrap_or_else(|| self.segments.next_number())
    }

    /// Keeps one spare segment ready, so that no commit waits for zeros to be written.
    pub(crate) fn prepare_spare(&self) {
        let bytes = self.base.settings.budget.segment;
        // A log at its limit would not keep a spare.
        let full = self.segments.retained_bytes() + bytes > self.base.settings.budget.retained_log;
        if full || self.segments.has_spare() || self.base.health.check_write().is_err() {
            return;
        }
        let Ok((number, region)) = self.create_log(bytes) else {
            return;
        };
        Stats::add(&self.base.stats.prewritten_bytes, bytes);
        // Synced here, so that its metadata is durable before the first `Sync` write into it.
        if let Err(error) = region.sync() {
            let _ = self.base.poison(error);
            return;
        }
        region.warm();
        if self.segments.add_spare(number.0, region, 0).is_some() {
            self.base.sweeper.reaper().add(name::log(number));
        }
    }

    /// Returns whether a flush or a sync could free a segment.
    pub(crate) fn can_shrink(&self, commit: &Commit) -> bool {
        let state = self.base.versions.lock();
        !commit.mutable.is_empty()
            || !state.immutables.is_empty()
            || state.durable.pending.is_some()
            || state.flushing()
            || state.durable.persisting
    }

    /// Removes the spare logs and the reserve of an earlier handle, unless this handle has adopted
    /// them.
    pub(crate) fn give_up_leftovers(&self) {
        // Held so that no other thread adopts them in the meantime.
        let commit = self.commit.lock();
        if self.report.clean && !self.manifests.is_open() {
            let ours = self.leftovers.take_ours(&*self.base.dir).iter();
            ours.for_each(|name| self.base.sweeper.reaper().add(name.clone()));
        }
        drop(commit);
    }

    /// Returns whether this handle holds data that the manifest does not describe.
    pub(crate) fn has_written(&self) -> bool {
        let state = self.base.versions.lock();
        self.manifests.is_open()
            || !state.mutable.is_empty()
            || !state.immutables.is_empty()
            || state.durable.pending.is_some()
    }

    /// Returns the report of the open. The first call looks for skipped files.
    pub(crate) fn open_report(&self) -> &OpenReport {
        let dir = (!self.base.health.is_closed()).then_some(&*self.base.dir);
        self.leftovers.report(&self.report, dir)
    }
}
