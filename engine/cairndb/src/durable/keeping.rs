//! What stays of the log for readers of changes, and what is used again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cairndb_base::{FileNumber, Result, SeqNo};
use cairndb_env::LogRegion;
use cairndb_format::manifest::VersionEdit;
use cairndb_format::name;

use crate::durable::disk::Disk;
use crate::log::commit::Commit;
use crate::log::history::{Change, Kept};
use crate::log::payload::Payload;

/// Number of segments that a pass faults in when it retires them: about as many as a writer uses
/// before the next pass.
const SPARES_WARMED: usize = 8;

impl Disk {
    /// Decides what happens to the segments before `floor`, whose contents are in tables, which
    /// hold everything up to `last_seq`.
    pub(crate) fn retire(&self, floor: u64, last_seq: SeqNo) -> Change {
        let live = self.log.segments().live();
        let ends = live.iter().skip(1).map(|next| next.start_seq - 1);
        let leaving = live.iter().zip(ends.chain([last_seq]));
        let leaving = leaving.filter(|(segment, _)| segment.number < floor);
        let leaving = leaving.map(|(segment, last_seq)| Kept {
            record: segment.record(),
            end: segment.written(),
            last_seq,
            first_values: segment.first_values,
            region: Some(Arc::clone(&segment.region)),
        });
        self.log
            .history
            .retire(leaving.collect(), &|first| self.unneeded_values(first))
    }

    /// Returns the bytes of the value files from number `first` on that no table refers to.
    fn unneeded_values(&self, first: u64) -> u64 {
        let version = self.base.versions.version();
        let tables = version.tables();
        let refs = tables.flat_map(|table| table.record.value_refs.iter());
        let needed: BTreeSet<u64> = refs.map(|(file, _)| *file).collect();
        let files = version.values.range(first..);
        let files = files.filter(|(file, _)| !needed.contains(file));
        files
            .map(|(_, handle)| handle.bytes.load(Ordering::Relaxed))
            .sum()
    }

    /// Returns the smallest number of a value file that readers of changes may need.
    pub(super) fn first_read_values(&self) -> Option<u64> {
        let history = &self.log.history;
        if !history.is_wanted() {
            return None;
        }
        history.first_values(&self.log.segments().live())
    }

    /// Frees the segments before `floor` that are not kept, and those that no longer are; the
    /// durable manifest no longer names them.
    pub(crate) fn free_segments(&self, floor: u64, change: Change) {
        drop(self.log.segments().retire_before(floor));
        let freed = self.log.history.carry_out(change);
        // Spares are taken from the end. Faulting in a whole log would delay callers that wait for
        // this pass.
        let cold = freed.len().saturating_sub(SPARES_WARMED);
        for (index, kept) in freed.into_iter().enumerate() {
            if let Some(region) = self.keep_spare(kept.record.file, kept.region)
                && index >= cold
            {
                region.warm();
            }
        }
    }

    /// Keeps a file for a later segment, and returns its region, or else has it removed.
    fn keep_spare(
        &self,
        file: u64,
        region: Option<Arc<dyn LogRegion>>,
    ) -> Option<Arc<dyn LogRegion>> {
        let regular = self.base.settings.budget.segment;
        let generation = self.base.sweeper.followers.generation();
        let region = region.filter(|region| region.size() == regular);
        let kept = region.filter(|region| {
            let spare = Arc::clone(region);
            let segments = self.log.segments();
            segments.add_spare(file, spare, generation).is_none()
        });
        if kept.is_none() {
            let reaper = self.base.sweeper.reaper();
            reaper.add(name::log(FileNumber(file)));
        }
        kept
    }

    /// Makes the leases durable, and frees what no holder needs any longer.
    ///
    /// # Errors
    /// Errors of the manifest.
    pub(crate) fn note_leases(&self) -> Result<()> {
        self.base.check_writable()?;
        let mut commit = self.log.lock();
        self.base.check_writable()?;
        self.log.ensure_manifest(&mut commit)?;
        // Passes of the persister decide in the same turn.
        let _turn = self.log.manifests.take_sync_turn()?;
        let change = self.retire(0, 0);
        let mut edit = VersionEdit::default();
        change.describe(&mut edit);
        self.append_durably(&edit)?;
        drop(commit);
        self.free_segments(0, change);
        Ok(())
    }

    /// Appends an edit to the manifest and syncs it. The caller holds the commit lock and the sync
    /// turn.
    ///
    /// # Errors
    /// Errors of the manifest. After an error nothing has changed, unless the handle is poisoned:
    /// the next edit starts a manifest without this one.
    pub(crate) fn append_durably(&self, edit: &VersionEdit) -> Result<()> {
        let manifests = &self.log.manifests;
        manifests.append(edit)?;
        let poison = |error| self.base.poison(error);
        // Earlier edits become durable with this one, and so must the files that they name.
        self.value_files.values().sync().map_err(poison)?;
        if manifests.take_names() {
            self.base.dir.sync().map_err(poison)?;
        }
        manifests.sync().map_err(poison)
    }

    /// Logs the time before `next`, and begins the interval after which everything logged is synced
    /// and the time is logged again.
    ///
    /// # Errors
    /// Errors of the log.
    pub(crate) fn log_mark(&self, commit: &mut Commit, next: &Payload<'_>) -> Result<()> {
        commit.mark_due = false;
        if !self.log.history.is_wanted() {
            return Ok(());
        }
        if commit.log_mark(self.base.env.wall_ms(), next)? {
            self.log.history.begin_interval(self.base.env.now_ns());
            self.base.versions.notify_work();
        } else {
            commit.ask_for_mark();
        }
        Ok(())
    }

    /// Ends the interval if it is over: syncs what was logged, if it is being read, and lets the
    /// next write log the time. Returns how long the interval lasts otherwise.
    pub(crate) fn tick(&self) -> Option<Duration> {
        let history = &self.log.history;
        let left = history.interval_left(self.base.env.now_ns())?;
        if left > 0 {
            return Some(Duration::from_nanos(left));
        }
        // A failure poisons the handle, which readers of changes report.
        let synced = !history.is_read() || self.sync_written().is_ok();
        if synced {
            self.log.lock().ask_for_mark();
        }
        None
    }

    /// Returns the sequence number up to which everything is durable.
    pub(crate) fn durable_seq(&self, commit: &Commit) -> SeqNo {
        let in_tables = self.base.versions.lock().durable.seq;
        commit.synced.0.max(in_tables)
    }
}
