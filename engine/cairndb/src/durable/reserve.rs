//! `DiskReserve`: disk space kept for deletions, flushes and compactions on a nearly full file
//! system.
//!
//! Without a reserve, nothing could be deleted on a full disk: a tombstone has to be logged,
//! flushed and compacted before a byte is freed. Therefore, while a file system is nearly full, the
//! database keeps unused log files, and removes them when it runs out of space
//! ([`crate::space::space_maker`]). When the database is next opened, they are reused or removed
//! like spare logs.
//!
//! There is no reserve on a file system with plenty of free space, because it would be larger than
//! a small idle database. If other programs fill the disk between two checks, the remaining free
//! space has to suffice.
//!
//! Invariant: while the reserve is released (`short`), no put starts a memtable or a segment.
//!
//! Locks: `turn`, held while files are created, so that only one thread does so; `held`, taken
//! inside all other locks, never held across I/O.

use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_env::Space;
use cairndb_env::sync::MutexGuard;
use cairndb_format::name;

use crate::durable::log::Log;
use crate::jobs::plan::{CompactionPlan, share};
use crate::log::payload::Payload;
use crate::state::reserve::{Plan, Reserve};
use crate::state::version::Run;
use crate::versions::base::Base;

pub(crate) struct DiskReserve {
    base: Arc<Base>,
    log: Arc<Log>,
    reserve: Reserve,
}

impl DiskReserve {
    pub(crate) fn new(base: &Arc<Base>, log: &Arc<Log>) -> DiskReserve {
        DiskReserve {
            base: Arc::clone(base),
            log: Arc::clone(log),
            reserve: Reserve::default(),
        }
    }

    /// Returns whether the reserve was released and there is no space for another.
    pub(crate) fn is_short(&self) -> bool {
        self.reserve.is_short()
    }

    /// Returns whether the file system is nearly full, or was at the last check.
    pub(crate) fn is_near(&self) -> bool {
        self.reserve.is_near()
    }

    /// Returns whether the reserve must be taken or released.
    pub(crate) fn is_due(&self) -> bool {
        self.reserve.is_due()
    }

    /// Takes or returns the reserve, as was asked for.
    pub(crate) fn tend_due(&self) {
        self.reserve.take_due();
        self.tend_reserve();
    }

    /// Returns the free space and the plan for it, or `None` if the file system does not report it.
    pub(crate) fn space(&self) -> Option<(Space, Plan)> {
        let space = self.base.dir.space().ok().flatten()?;
        Some((space, Plan::new(&self.base.settings.budget, space.total)))
    }

    /// Returns whether the file system is nearly full.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.space()
            .is_some_and(|(space, plan)| space.free < plan.near)
    }

    /// Checks the free space and takes or returns the reserve, unless it was released. Costs a
    /// system call, or the creation of its files.
    pub(crate) fn tend_reserve(&self) {
        if !self.reserve.is_short() {
            self.tend(self.reserve.turn.try_lock());
        }
    }

    /// Takes a released reserve again if there is space. Returns whether a reserve exists or is not
    /// needed.
    pub(crate) fn retake_reserve(&self) -> bool {
        if self.reserve.is_short() {
            self.tend(self.reserve.turn.try_lock());
        }
        !self.reserve.is_short()
    }

    /// Asks the worker to take or return the reserve, because a writer that did so would delay all
    /// other threads. Does so here if less than half of the space beyond the reserve is left.
    pub(crate) fn ask_for_reserve(&self) {
        let Some((space, plan)) = self.space() else {
            return;
        };
        let mut state = self.reserve.state.lock();
        state.appended = 0;
        let missing = space.free < plan.near && state.files.len() < plan.files;
        let surplus = space.free >= plan.near + plan.bytes && !state.files.is_empty();
        state.look_after = plan.look_after;
        if state.short || !missing && !surplus {
            return;
        }
        // The writer may be faster than the worker.
        let urgent = missing && space.free < plan.bytes + (plan.near - plan.bytes) / 2;
        state.due = !urgent;
        drop(state);
        if urgent {
            // Waits for a worker that is taking it: a writer that continued would fill the disk in
            // the meantime.
            self.tend(Some(self.reserve.turn.lock()));
        } else {
            self.base.versions.notify_work();
        }
    }

    /// Like [`DiskReserve::ask_for_reserve`], but only if enough large values were appended since
    /// the last check.
    pub(crate) fn ask_for_reserve_after(&self, appended: u64) {
        let mut state = self.reserve.state.lock();
        state.appended += appended;
        let due = state.appended >= state.look_after;
        drop(state);
        if due {
            self.ask_for_reserve();
        }
    }

    /// Takes or returns the reserve. Does nothing if another thread has the turn.
    fn tend(&self, turn: Option<MutexGuard<'_, ()>>) {
        let (Some(_turn), Some((space, plan))) = (turn, self.space()) else {
            return;
        };
        let missing = {
            let mut state = self.reserve.state.lock();
            let small = plan.table_bytes < self.base.settings.budget.table;
            state.table_bytes = small.then_some(plan.table_bytes);
            if space.free >= plan.near {
                state.short = false;
                // The threshold is higher than the one for taking the reserve, to avoid alternating
                // between the two.
                if space.free >= plan.near + plan.bytes {
                    for file in state.files.drain(..) {
                        self.base.sweeper.reaper().add(name::log(FileNumber(file)));
                    }
                }
                return;
            }
            let missing = plan.files.saturating_sub(state.files.len());
            // A quarter more, for work that starts before the next check.
            let needed = missing as u64 * self.base.settings.budget.segment / 4 * 5;
            if state.short && space.free < needed {
                return;
            }
            missing
        };
        // Without the lock, because writers check whether there is a reserve.
        let create = |_| self.log.create_log(self.base.settings.budget.segment).ok();
        let made: Vec<u64> = (0..missing).map_while(create).map(|it| it.0.0).collect();
        let mut state = self.reserve.state.lock();
        state.short &= made.len() < missing;
        state.files.extend(made);
    }

    /// Releases the reserve. Returns whether there was any.
    pub(crate) fn give_up_reserve(&self) -> bool {
        let mut state = self.reserve.state.lock();
        state.short = true;
        let files = std::mem::take(&mut state.files);
        drop(state);
        for file in &files {
            self.base.sweeper.reaper().add(name::log(FileNumber(*file)));
        }
        !files.is_empty() && self.base.sweeper.reap()
    }

    /// Returns the length at which tables are cut.
    pub(crate) fn table_bytes(&self) -> u64 {
        let small = self.reserve.table_bytes();
        small.unwrap_or(self.base.settings.budget.table)
    }

    /// Refuses a long batch for which the disk lacks space: it stays in the log until all of it is
    /// in tables. A batch that met the end of the disk could not be flushed, nor could anything
    /// after it, so the space is checked before it is logged. Costs a system call.
    ///
    /// # Errors
    /// `NoSpace`.
    pub(crate) fn check_disk_space_for_batch(
        &self,
        payload: &Payload<'_>,
        logged: bool,
    ) -> Result<()> {
        let Some((space, plan)) = self.space() else {
            return Ok(());
        };
        let has_reserve = !self.reserve.state.lock().files.is_empty();
        let reserve = if has_reserve { 0 } else { plan.bytes };
        let times = if logged { 2 } else { 1 };
        let needed = times * payload.record_bytes() + reserve;
        if space.free >= needed || payload.only_deletes() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::NoSpace,
            "the disk has no space for the log record and the tables of the batch; divide it, \
             delete keys, or free space on the file system",
        )
        .path(self.base.dir.path()))
    }

    /// Refuses a compaction whose estimated output, without tombstones and the entries that they
    /// hide, exceeds the free space. Such a compaction would write until the disk is full and take
    /// the remaining space from other work.
    ///
    /// # Errors
    /// `NoSpace`.
    pub(crate) fn check_disk_space_to_compact(&self, plan: &CompactionPlan) -> Result<()> {
        if !self.reserve.is_near() || !plan.hiders.is_empty() {
            return Ok(());
        }
        let tables = || plan.inputs.iter().flat_map(Run::tables);
        let bytes: u64 = tables().map(|table| table.record.bytes).sum();
        let entries: u64 = tables().map(|table| table.record.entries).sum();
        let deletes: u64 = tables().map(|table| table.record.deletes).sum();
        let gone = if plan.bottom { 2 * deletes } else { deletes };
        let written = bytes - share(bytes, gone.min(entries), entries);
        match self.space() {
            Some((space, _)) if space.free < written => Err(Error::new(
                ErrorKind::NoSpace,
                "the disk has too little space to compact tables",
            )
            .path(self.base.dir.path())),
            _ => Ok(()),
        }
    }
}
