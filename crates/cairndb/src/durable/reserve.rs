//! A reserve of disk space that is kept for making room: deletions, flushes and merges that free
//! more than they take.
//!
//! On a full disk nothing can be deleted without it: a tombstone has to be logged, flushed to a
//! table and merged before one byte is free. So while a file system is nearly full the database
//! keeps files there for nothing, and gives them up when it finds no room
//! ([`crate::engine::full_disk`]). They are log files that are no segment yet, so that an opening
//! uses or removes them as it does with spare ones.
//!
//! Not always: the reserve is larger than all that a small idle database takes. If other programs
//! fill the disk between two checks, there is no reserve and the remaining free space has to
//! suffice.
//!
//! Invariant: while the reserve is given up (`short`) no put begins a memtable or a segment.
//!
//! Locks: `turn`, across the creation of files, so that one thread at a time does it; `held`, inside
//! all others, never across I/O.

use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, FileNumber, Result};
use cairndb_env::Space;
use cairndb_env::sync::MutexGuard;
use cairndb_format::name;

use crate::durable::log::Log;
use crate::durable::sweeper::Sweeper;
use crate::jobs::plan::{CompactionPlan, share};
use crate::state::reserve::{Plan, Reserve};
use crate::state::version::Run;
use crate::versions::shared::Shared;
use crate::versions::version_set::VersionSet;

/// Disk space that is kept for deletions on a nearly full file system.
pub(crate) struct DiskReserve {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    sweeper: Arc<Sweeper>,
    log: Arc<Log>,
    reserve: Reserve,
}

impl DiskReserve {
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        sweeper: Arc<Sweeper>,
        log: Arc<Log>,
    ) -> DiskReserve {
        DiskReserve {
            shared,
            versions,
            sweeper,
            log,
            reserve: Reserve::default(),
        }
    }

    /// It was given up, and there is no room for another.
    pub(crate) fn is_short(&self) -> bool {
        self.reserve.is_short()
    }

    /// The file system is nearly full, or was at the last look.
    pub(crate) fn is_near(&self) -> bool {
        self.reserve.is_near()
    }

    /// Whether it is to be taken or given back, by whoever asks.
    pub(crate) fn take_due(&self) -> bool {
        self.reserve.take_due()
    }

    /// How much room there is, and what is kept of it; `None` where nothing is known.
    pub(crate) fn space(&self) -> Option<(Space, Plan)> {
        let space = self.shared.dir.space().ok().flatten()?;
        Some((space, Plan::new(&self.shared.settings.budget, space.total)))
    }

    /// Whether the file system is nearly full.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.space()
            .is_some_and(|(space, plan)| space.free < plan.near)
    }

    /// Looks at the free space, and takes or gives back the reserve, unless it was given up. About
    /// a microsecond where nothing is to be done; else as long as its files take to be written.
    pub(crate) fn tend_reserve(&self) {
        if !self.reserve.is_short() {
            self.tend(self.reserve.turn.try_lock());
        }
    }

    /// Takes a reserve that was given up again, if there is room; whether there is one now, or no
    /// need.
    pub(crate) fn retake_reserve(&self) -> bool {
        if self.reserve.is_short() {
            self.tend(self.reserve.turn.try_lock());
        }
        !self.reserve.is_short()
    }

    /// Has the worker tend the reserve if there is anything to be done, for a writer holds
    /// everybody up meanwhile; tends it here if half of the room until the disk is full is gone
    /// already.
    pub(crate) fn ask_for_reserve(&self) {
        let Some((space, plan)) = self.space() else {
            return;
        };
        let mut held = self.reserve.held.lock();
        held.appended = 0;
        let missing = space.free < plan.near && held.files.len() < plan.files;
        let surplus = space.free >= plan.near + plan.bytes && !held.files.is_empty();
        held.look_after = plan.look_after;
        if held.short || !missing && !surplus {
            return;
        }
        // Where it cannot wait: the worker is slower than a writer.
        let urgent = missing && space.free < plan.bytes + (plan.near - plan.bytes) / 2;
        held.due = !urgent;
        drop(held);
        if urgent {
            // Waits for a worker that is at it: a writer that went on filled the disk meanwhile.
            self.tend(Some(self.reserve.turn.lock()));
        } else {
            self.versions.notify_work();
        }
    }

    /// The same, once enough large values were appended since.
    pub(crate) fn ask_for_reserve_after(&self, appended: u64) {
        let mut held = self.reserve.held.lock();
        held.appended += appended;
        let due = held.appended >= held.look_after;
        drop(held);
        if due {
            self.ask_for_reserve();
        }
    }

    /// With the turn to create files; nothing where another thread has it.
    fn tend(&self, turn: Option<MutexGuard<'_, ()>>) {
        let (Some(_turn), Some((space, plan))) = (turn, self.space()) else {
            return;
        };
        let missing = {
            let mut held = self.reserve.held.lock();
            let small = plan.table_bytes < self.shared.settings.budget.table;
            held.table_bytes = small.then_some(plan.table_bytes);
            if space.free >= plan.near {
                held.short = false;
                // Some way above, so that it is not taken and given back in turns.
                if space.free >= plan.near + plan.bytes {
                    for file in held.files.drain(..) {
                        self.sweeper.reaper().add(name::log(FileNumber(file)));
                    }
                }
                return;
            }
            let missing = plan.files.saturating_sub(held.files.len());
            // A quarter more, for what is begun before the next look.
            let room = missing as u64 * self.shared.settings.budget.segment / 4 * 5;
            if held.short && space.free < room {
                return;
            }
            missing
        };
        // Without the lock: writers ask whether there is a reserve.
        let create = |_| {
            self.log
                .create_log(self.shared.settings.budget.segment)
                .ok()
        };
        let made: Vec<u64> = (0..missing).map_while(create).map(|it| it.0.0).collect();
        let mut held = self.reserve.held.lock();
        held.short &= made.len() < missing;
        held.files.extend(made);
    }

    /// Gives the reserve up; whether there was any.
    pub(crate) fn give_up_reserve(&self) -> bool {
        let mut held = self.reserve.held.lock();
        held.short = true;
        let files = std::mem::take(&mut held.files);
        drop(held);
        for file in &files {
            self.sweeper.reaper().add(name::log(FileNumber(*file)));
        }
        !files.is_empty() && self.sweeper.reap()
    }

    /// Where tables are to be cut.
    pub(crate) fn table_bytes(&self) -> u64 {
        let small = self.reserve.table_bytes();
        small.unwrap_or(self.shared.settings.budget.table)
    }

    /// Rejects a merge whose estimated output, net of tombstones and the entries they hide, exceeds
    /// the free space: it would write until the disk is full, and keep others from the little there
    /// is.
    ///
    /// # Errors
    /// `NoSpace`.
    pub(crate) fn check_room_to_compact(&self, plan: &CompactionPlan) -> Result<()> {
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
                "too little room on the disk to merge tables",
            )
            .path(self.shared.dir.path())),
            _ => Ok(()),
        }
    }
}
