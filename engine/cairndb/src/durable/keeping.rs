//! What stays of the log for readers of changes, and what is used again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cairndb_base::{FileNumber, Result, SeqNo};
use cairndb_env::WritableFile;
use cairndb_env::sync::MutexGuard;
use cairndb_format::log::HEADER_BYTES;
use cairndb_format::manifest::{SegmentRecord, VersionEdit};
use cairndb_format::name;

use crate::durable::disk::Disk;
use crate::log::commit::Commit;
use crate::log::history::{Change, Holder, Kept, fell_off};
use crate::log::segment_file::copy_segment;
use crate::log::segments::Segment;

/// Number of segments that a pass faults in when it retires them: about as many as a writer uses
/// before the next pass.
const SPARES_WARMED: usize = 8;

impl Disk {
    /// Returns the segments before `floor`, whose contents are in tables, which hold everything up
    /// to `last_seq`.
    fn leaving(&self, floor: u64, last_seq: SeqNo) -> Vec<Kept> {
        let live = self.log.segments().live();
        let ends = live.iter().skip(1).map(|next| next.start_seq - 1);
        let leaving = live.iter().zip(ends.chain([last_seq]));
        let leaving = leaving.filter(|(segment, _)| segment.number < floor);
        let leaving = leaving.map(|(segment, last_seq)| Kept {
            record: segment.record(),
            end: segment.written(),
            last_seq,
            first_values: segment.first_values,
        });
        leaving.collect()
    }

    /// Copies what readers of changes need of the segments before `floor`, durably, so that the
    /// writer goes on in their files: it would take it longer to fill new ones. A segment that
    /// cannot be copied, on a full disk for example, is later kept in its own file.
    ///
    /// The log is synced first. Otherwise tables might outlive records that are not durable, and a
    /// reader would take them for writes that were not logged.
    ///
    /// # Errors
    /// Those of a sync of the log or the directory, which poison the handle.
    pub(crate) fn copy_leaving(&self, floor: u64, last_seq: SeqNo) -> Result<Vec<SegmentRecord>> {
        let poison = |error| self.base.poison(error);
        self.log.history.look_outside(&self.base.sweeper.followers);
        if self.log.history.is_wanted() {
            self.sync_pass().map_err(poison)?;
        }
        let Some(needed) = self.log.history.needed() else {
            return Ok(Vec::new());
        };
        let dir = &*self.base.dir;
        let before = self.log.history.copies();
        let made = |kept: &Kept| {
            let mut before = before.iter();
            let same = |copy: &&SegmentRecord| {
                (copy.segment, copy.bytes) == (kept.record.segment, kept.end)
            };
            before.find(same).copied()
        };
        let leaving = self.leaving(floor, last_seq).into_iter();
        let leaving = leaving.filter(|it| it.last_seq > needed && it.end > HEADER_BYTES as u64);
        let (reused, leaving): (Vec<_>, Vec<_>) = leaving.partition(|kept| made(kept).is_some());
        let copy = |kept: &Kept| copy_segment(dir, &kept.record, kept.end, || self.base.new_file());
        let mut copies: Vec<_> = leaving.iter().map_while(|kept| copy(kept).ok()).collect();
        for (_, file) in &copies {
            file.syncer().begin();
        }
        let unsynced =
            |(_, file): &mut (SegmentRecord, Box<dyn WritableFile>)| file.sync().is_err();
        for (copy, _) in copies.extract_if(.., unsynced) {
            let name = name::log(FileNumber(copy.file));
            self.base.sweeper.reaper().add(name);
        }
        let new = copies.into_iter().map(|(copy, _)| copy);
        let copies: Vec<_> = reused.iter().filter_map(made).chain(new).collect();
        // Those that are no longer needed stay listed until no manifest can name them.
        let others = before.iter().filter(|copy| !copies.contains(copy));
        let all: Vec<_> = others.chain(&copies).copied().collect();
        self.log.history.note_copies(&all);
        if !copies.is_empty() {
            self.base.dir.sync().map_err(poison)?;
        }
        Ok(copies)
    }

    /// Decides what happens to the segments before `floor`, whose contents are in tables, which
    /// hold everything up to `last_seq`. `copies` are those of [`Disk::copy_leaving`].
    pub(crate) fn retire(&self, floor: u64, last_seq: SeqNo, copies: &[SegmentRecord]) -> Change {
        let leaving = self.leaving(floor, last_seq);
        let values = |first| self.unneeded_values(first);
        let followers = &self.base.sweeper.followers;
        self.log.history.retire(leaving, copies, followers, &values)
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

    /// Frees the segments before `floor`, and the kept ones that nobody needs; the durable manifest
    /// no longer names them.
    pub(crate) fn free_segments(&self, floor: u64, change: Change) {
        // Before they are no longer live, so that readers of changes find each segment.
        let freed = self.log.history.carry_out(change);
        let retired = self.log.segments().retire_before(floor);
        // Spares are taken from the end. Faulting in a whole log would delay callers that wait for
        // this pass.
        let cold = retired.len().saturating_sub(SPARES_WARMED);
        let mut obsolete: BTreeSet<u64> = freed.iter().map(|kept| kept.record.file).collect();
        let copies = self.log.history.copies().into_iter().map(|copy| copy.file);
        obsolete.extend(copies.filter(|file| !self.log.history.keeps(*file)));
        self.log.history.note_copies(&[]);
        for (index, segment) in retired.into_iter().enumerate() {
            if self.log.history.keeps(segment.file) {
                continue;
            }
            obsolete.remove(&segment.file);
            if !self.keep_spare(&segment) {
                obsolete.insert(segment.file);
            } else if index >= cold {
                segment.region.warm();
            }
        }
        let names = obsolete.into_iter().map(|file| name::log(FileNumber(file)));
        names.for_each(|name| self.base.sweeper.reaper().add(name));
    }

    /// Keeps the file of a segment for a later one. Returns whether it is wanted.
    fn keep_spare(&self, segment: &Segment) -> bool {
        let generation = self.base.sweeper.followers.generation();
        let region = Arc::clone(&segment.region);
        segment.region.size() == self.base.settings.budget.segment
            && self
                .log
                .segments()
                .add_spare(segment.file, region, generation)
                .is_none()
    }

    /// Makes the leases durable, and frees what no holder needs any longer.
    ///
    /// # Errors
    /// Errors of the manifest.
    pub(crate) fn note_leases(&self) -> Result<()> {
        let commit = self.lock_for_leases()?;
        // A pass has decided what is kept, and records the leases as they were then. None begins
        // while the commit lock is held.
        let state = self.base.versions.lock();
        drop(
            self.base
                .versions
                .wait(state, |state| !state.durable.persisting),
        );
        self.note_leases_locked(commit)
    }

    /// Like [`Disk::note_leases`], but leaves it to a pass of the persister that is in progress, or
    /// to the next one: nobody waits for it.
    ///
    /// # Errors
    /// Same as [`Disk::note_leases`].
    pub(crate) fn free_acknowledged(&self) -> Result<()> {
        if !self.log.history.frees() {
            return Ok(());
        }
        let commit = self.lock_for_leases()?;
        if self.base.versions.lock().durable.persisting {
            return Ok(());
        }
        self.note_leases_locked(commit)
    }

    fn lock_for_leases(&self) -> Result<MutexGuard<'_, Commit>> {
        self.base.check_writable()?;
        let commit = self.log.lock();
        self.base.check_writable()?;
        Ok(commit)
    }

    fn note_leases_locked(&self, mut commit: MutexGuard<'_, Commit>) -> Result<()> {
        self.log.ensure_manifest(&mut commit)?;
        let _turn = self.log.manifests.take_sync_turn()?;
        let change = self.retire(0, 0, &[]);
        let mut edit = VersionEdit::default();
        change.describe(&mut edit);
        self.append_durably(&edit)?;
        // Before another pass decides.
        self.free_segments(0, change);
        drop(commit);
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

    /// Holds the log after `after` or, without it, after what is `last`, unless the lease `name`
    /// does so already. The caller holds the commit lock, and makes a lease durable.
    ///
    /// # Errors
    /// `Revoked` if part of that is gone.
    pub(crate) fn hold(
        &self,
        commit: &mut Commit,
        name: Option<&str>,
        (after, last): (Option<SeqNo>, SeqNo),
        bytes_max: u64,
    ) -> Result<Arc<Holder>> {
        commit.ask_for_mark();
        let history = &self.log.history;
        match name.and_then(|name| history.lease(name)) {
            Some(lease) if lease.has_fallen() => Err(fell_off()),
            Some(lease) if after.is_none_or(|after| after >= lease.seq()) => Ok(lease),
            Some(_) => Err(fell_off()),
            None => {
                let holder = Holder::new(name.map(str::to_owned), after.unwrap_or(last), bytes_max);
                history.hold(holder).ok_or_else(fell_off)
            }
        }
    }

    /// Drops a lease. Returns whether there was one.
    ///
    /// # Errors
    /// Errors of the manifest.
    pub(crate) fn drop_lease(&self, name: &str) -> Result<bool> {
        self.base.check_writable()?;
        let Some(lease) = self.log.history.lease(name) else {
            return Ok(false);
        };
        self.log.history.let_go(&lease);
        self.note_leases().map(|()| true)
    }

    /// Returns the sequence number up to which everything is durable.
    pub(crate) fn durable_seq(&self, commit: &Commit) -> SeqNo {
        let in_tables = self.base.versions.lock().durable.seq;
        commit.synced.0.max(in_tables)
    }
}
