//! The commit lock, the log segments, and what they need of the manifest.

use std::sync::Arc;

use cairndb_base::{ErrorKind, FileNumber, Result};
use cairndb_env::LogRegion;
use cairndb_env::sync::{Condvar, Mutex, MutexGuard};
use cairndb_format::log::SegmentHeader;
use cairndb_format::name;
use cairndb_format::name::FileKind;

use crate::durable::manifests::Manifests;
use crate::durable::sweeper::Sweeper;
use crate::log::commit::Commit;
use crate::log::segments::Segments;
use crate::recovery::leftovers::Leftovers;
use crate::recovery::report::OpenReport;
use crate::state::new_files::create_unused;
use crate::state::stats::Stats;
use crate::versions::shared::Shared;
use crate::versions::state::Part;
use crate::versions::version_set::VersionSet;

/// The commit lock, the log segments, and what they need of the manifest.
pub(crate) struct Log {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    sweeper: Arc<Sweeper>,
    manifests: Arc<Manifests>,
    commit: Mutex<Commit>,
    committed: Condvar,
    segments: Segments,
    /// Files found at opening that no manifest names; those that are ours go once this handle
    /// writes.
    leftovers: Leftovers,
    /// All but the files that were skipped.
    report: OpenReport,
}

impl Log {
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts it needs, each a type of its own"
    )]
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        sweeper: Arc<Sweeper>,
        manifests: Arc<Manifests>,
        commit: Commit,
        segments: Segments,
        report: OpenReport,
    ) -> Log {
        Log {
            shared,
            versions,
            sweeper,
            manifests,
            commit: Mutex::new(commit),
            committed: Condvar::new(),
            segments,
            leftovers: Leftovers::default(),
            report,
        }
    }

    /// Takes the commit lock.
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, Commit> {
        self.commit.lock()
    }

    /// Waits for the end of a sync pass.
    pub(crate) fn wait(&self, commit: &mut MutexGuard<'_, Commit>) {
        self.committed.wait(commit);
    }

    /// Wakes whoever waits for the end of a sync pass.
    pub(crate) fn notify(&self) {
        self.committed.notify_all();
    }

    pub(crate) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// Files that no manifest names.
    pub(crate) fn leftovers(&self) -> &Leftovers {
        &self.leftovers
    }

    /// What opening found, but for the files that were skipped.
    pub(crate) fn report(&self) -> &OpenReport {
        &self.report
    }

    /// Makes sure that edits can be appended: begins a manifest at this handle's first write, after
    /// a failed append, and when the old one has grown long.
    pub(crate) fn ensure_manifest(&self, commit: &mut Commit) -> Result<()> {
        let first = !self.manifests.is_open();
        if !first && !self.manifests.is_broken() && !self.manifests.is_long() {
            return Ok(());
        }
        // An edit that the syncer has appended and not yet taken into `durable` would stand in the
        // old manifest alone. No new pass can begin: that takes the commit lock.
        drop(
            self.versions
                .wait(self.versions.lock(), |state| !state.persisting),
        );
        self.roll_manifest(commit)?;
        if first {
            self.adopt_leftovers()?;
        }
        Ok(())
    }

    /// Writes the durable state as one edit into a new manifest and points CURRENT to it. The
    /// commit lock is held, so no segment can be named meanwhile.
    fn roll_manifest(&self, _commit: &mut Commit) -> Result<()> {
        let mut edit = self.manifests.durable_edit();
        edit.added_segments = self
            .segments
            .live()
            .iter()
            .map(|segment| segment.record())
            .collect();
        self.manifests.begin_manifest(edit)
    }

    /// A new log file of `bytes`, marked as ours: one that was left without a mark nobody could
    /// remove.
    pub(crate) fn create_log(&self, bytes: u64) -> Result<(FileNumber, Arc<dyn LogRegion>)> {
        let created = create_unused(
            || self.shared.new_file(),
            |number| self.shared.dir.create_log(&name::log(number), bytes),
        );
        let (number, region) = created?;
        let marked = region.write(0, &[&SegmentHeader::UNUSED.encode()], false);
        if let Err(error) = marked {
            self.sweeper.reaper().add(name::log(number));
            return Err(error);
        }
        Ok((number, region))
    }

    /// Takes log files of ours that no manifest names as spares, and removes what else an earlier
    /// handle has left. One that was not closed may have met a failed sync, after which nobody
    /// knows what of a file reaches the disk: none of its logs is used again.
    fn adopt_leftovers(&self) -> Result<()> {
        let regular = self.shared.settings.budget.segment;
        for found in self.leftovers.take_ours(&*self.shared.dir) {
            let mut used = false;
            if let Some(FileKind::Log(FileNumber(file))) = FileKind::parse(found)
                && self.report.clean
                && self.shared.dir.size_of(found)? == Some(regular)
            {
                match self.shared.dir.open_log(found) {
                    Ok(region) => used = self.segments.add_spare(file, region).is_none(),
                    // A cursor of an earlier handle still reads it.
                    Err(error) if error.kind() == ErrorKind::Locked => {}
                    Err(error) => return Err(error),
                }
            }
            if !used {
                self.sweeper.reaper().add(found.clone());
            }
        }
        Ok(())
    }

    /// Gives back what a busy log kept in reserve.
    pub(crate) fn trim_spares(&self) {
        self.sweeper.reap_with(|| {
            let spares = self.segments.trim_spares().into_iter();
            spares.map(|file| name::log(FileNumber(file))).collect()
        });
    }

    /// The first segment still needed by parts that no table holds.
    pub(crate) fn segment_floor<'a>(
        &self,
        commit: &Commit,
        sealed: impl IntoIterator<Item = &'a Part>,
    ) -> u64 {
        let parts = sealed.into_iter().filter_map(|part| part.first_segment);
        let current = commit.segment.as_ref().map(|segment| segment.number);
        parts
            .chain(commit.memtable_segment)
            .chain(current)
            .min()
            .unwrap_or_else(|| self.segments.next_number())
    }

    /// Keeps one segment ready, so that a commit that needs one does not wait for zeros.
    pub(crate) fn prepare_spare(&self) {
        let bytes = self.shared.settings.budget.segment;
        // With a log at its limit it would not be kept.
        let full =
            self.segments.retained_bytes() + bytes > self.shared.settings.budget.retained_log;
        if full || self.segments.has_spare() || self.shared.health.check_write().is_err() {
            return;
        }
        let Ok((number, region)) = self.create_log(bytes) else {
            return;
        };
        Stats::add(&self.shared.stats.prewritten_bytes, bytes);
        // Synced here, so that the first `Sync` write into it finds its metadata durable.
        if let Err(error) = region.sync() {
            let _ = self.versions.poison(error);
            return;
        }
        region.warm();
        if self.segments.add_spare(number.0, region).is_some() {
            self.sweeper.reaper().add(name::log(number));
        }
    }

    /// Whether flushing or syncing anything could free a segment.
    pub(crate) fn can_shrink(&self, commit: &Commit) -> bool {
        let state = self.versions.lock();
        !commit.mutable.is_empty()
            || !state.immutables.is_empty()
            || state.pending.is_some()
            || state.flushing()
            || state.persisting
    }

    /// Removes the spare logs of an earlier handle, and its reserve, where this handle has not
    /// adopted them.
    pub(crate) fn give_up_leftovers(&self) {
        // Held, so that nobody adopts them meanwhile.
        let commit = self.commit.lock();
        if self.report.clean && !self.manifests.is_open() {
            let ours = self.leftovers.take_ours(&*self.shared.dir).iter();
            ours.for_each(|name| self.sweeper.reaper().add(name.clone()));
        }
        drop(commit);
    }

    /// Whether this handle has anything that the manifest does not say.
    pub(crate) fn has_written(&self) -> bool {
        let state = self.versions.lock();
        self.manifests.is_open()
            || !state.mutable.is_empty()
            || !state.immutables.is_empty()
            || state.pending.is_some()
    }

    /// What opening found, skipped files included: those are looked for at the first call.
    pub(crate) fn open_report(&self) -> &OpenReport {
        let dir = (!self.shared.health.is_closed()).then_some(&*self.shared.dir);
        self.leftovers.report(&self.report, dir)
    }
}
