//! `SpaceMaker`: frees space on a full disk, from inside the database.
//!
//! It frees space in this order, starting with what needs the least space to free:
//!
//! 1. Spare log files, and obsolete files that readers have released.
//! 2. The [reserve](crate::durable::reserve).
//! 3. Memtables: these are flushed a few at a time and made durable at once, so that their log is
//!    freed before the next are flushed.
//! 4. Value files without a live value.
//! 5. Tables whose entries newer runs have deleted or overwritten ([`crate::space::squeeze`]).
//!
//! Deletions, flushes, compactions, closing and the worker do this when they run out of space. Puts
//! do not: they would consume the space reserved for deletions.

use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::Space;

use crate::compaction::compactor::Compactor;
use crate::compaction::tables::Tables;
use crate::durable::disk::Disk;
use crate::log::payload::Payload;
use crate::space::squeeze::Squeezer;
use crate::state::reserve::Plan;
use crate::value_gc::collect::ValueGc;
use crate::versions::base::Base;

/// Maximum number of retries of one call. A retry happens only after space was freed.
const TRIES_MAX: usize = 64;

#[cfg(test)]
mod tests;

pub(crate) struct SpaceMaker {
    base: Arc<Base>,
    disk: Arc<Disk>,
    tables: Arc<Tables>,
    pub(crate) compactor: Compactor,
}

impl SpaceMaker {
    pub(crate) fn new(base: &Arc<Base>, disk: &Arc<Disk>, tables: &Arc<Tables>) -> SpaceMaker {
        SpaceMaker {
            base: Arc::clone(base),
            disk: Arc::clone(disk),
            tables: Arc::clone(tables),
            compactor: Compactor::new(base, disk, tables),
        }
    }

    pub(crate) fn squeezer(&self) -> Squeezer<'_> {
        Squeezer::new(&self.compactor)
    }

    pub(crate) fn value_gc(&self) -> ValueGc<'_> {
        ValueGc::new(&self.compactor)
    }

    /// Calls `call`. If it runs out of space, frees some and calls it again.
    ///
    /// # Errors
    /// Errors of `call`.
    pub(crate) fn with_disk_space<T>(&self, mut call: impl FnMut() -> Result<T>) -> Result<T> {
        let mut tries = 1;
        loop {
            let unlinked = self.base.sweeper.reaper().unlinked();
            match call() {
                Err(error) if error.kind() == ErrorKind::NoSpace && tries < TRIES_MAX => {
                    // Another thread may have freed space in the meantime.
                    if self.base.sweeper.reaper().unlinked() == unlinked && !self.free_disk_space()
                    {
                        return Err(error);
                    }
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    /// Refuses a put that would start a memtable or a segment while the reserve is released.
    ///
    /// # Errors
    /// `NoSpace`, if there is no space for a new reserve.
    pub(crate) fn check_may_grow(&self, payload: &Payload<'_>) -> Result<()> {
        if payload.only_deletes()
            || !self.disk.reserve.is_short()
            || self.disk.reserve.retake_reserve()
        {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::NoSpace,
            "the disk is full and the remaining space is reserved for deletions; delete keys, or \
             free space on the file system",
        )
        .path(self.base.dir.path()))
    }

    /// Keeps space for deletions: frees space if less is left than half of the reserve, or than
    /// rewriting the largest table takes.
    pub(crate) fn keep_disk_space(&self) {
        let largest = || {
            let version = self.base.versions.version();
            let tables = version.tables().map(|table| table.record.bytes);
            tables.max().unwrap_or(0)
        };
        let little = |(space, plan): (Space, Plan)| {
            space.free < (plan.bytes / 2).max(largest() / 2 * 3).min(plan.bytes)
        };
        if self.disk.reserve.is_short() && self.disk.reserve.space().is_some_and(little) {
            // If nothing can be freed yet, the deletion itself hides entries that can be freed
            // later.
            self.free_disk_space();
        }
    }

    /// Frees as much space as possible on a nearly full file system, up to two reserves. Returns
    /// whether there is more space than before.
    pub(crate) fn free_disk_space(&self) -> bool {
        if self.base.settings.read_only
            || self.base.health.check_write().is_err()
            || !self.disk.reserve.is_nearly_full()
        {
            // The file system has space, so there is another reason: a quota, or a fault.
            return false;
        }
        let before = self.base.sweeper.reaper().unlinked();
        self.disk.log.give_up_leftovers();
        self.disk.log.trim_spares();
        let mut freed = self.base.sweeper.reaper().unlinked() > before;
        let given_up = self.disk.reserve.give_up_reserve();
        // Done at once, while there is space to work in: the caller will take some of it.
        let mut plenty = false;
        while !plenty && self.squeeze() {
            freed = true;
            let space = self.disk.reserve.space();
            plenty = space.is_none_or(|(space, plan)| space.free >= 2 * plan.bytes);
        }
        // Not done if the caller would run out of space again.
        let kept = plenty && self.disk.reserve.retake_reserve();
        let made = freed || given_up && !kept;
        if made {
            // Background work need not wait for the end of its pause.
            self.base.versions.lock().background.retry_at_ns = 0;
            self.base.versions.notify_work();
        }
        made
    }

    /// Frees log space that tables can replace, and spare log files. Returns whether there was any.
    pub(crate) fn free_log(&self) -> bool {
        if !self.disk.reserve.is_nearly_full() {
            return false;
        }
        let (log, unlinked) = (
            self.disk.log.segments().retained_bytes(),
            self.base.sweeper.reaper().unlinked(),
        );
        let _ = self.flush_bit_by_bit();
        self.disk.log.trim_spares();
        self.disk.log.segments().retained_bytes() < log
            || self.base.sweeper.reaper().unlinked() > unlinked
    }

    /// Frees space that tables, value files and the log no longer need. Returns whether there was
    /// any.
    fn squeeze(&self) -> bool {
        drop(self.compactor.wait_for_compactions());
        let (log, unlinked) = (
            self.disk.log.segments().retained_bytes(),
            self.base.sweeper.reaper().unlinked(),
        );
        // A step that fails for lack of space is skipped: the next step may free some.
        let _ = self.flush_bit_by_bit();
        let _ = self.tables.dead_files.drop_dead_values();
        self.disk.log.trim_spares();
        if self.disk.log.segments().retained_bytes() == log
            && self.base.sweeper.reaper().unlinked() == unlinked
        {
            let _ = self.squeezer().squeeze_tables();
        }
        self.disk.log.segments().retained_bytes() < log
            || self.base.sweeper.reaper().unlinked() > unlinked
    }

    /// Flushes memtables a few at a time and makes each flush durable before the next. If there is
    /// no space for a few, it flushes one, and if there is no space for one, it flushes all
    /// together: entries that newer memtables overwrite or delete are then never written.
    fn flush_bit_by_bit(&self) -> Result<()> {
        let full = |flushed: &Result<bool>| {
            let error = flushed.as_ref().err();
            error.is_some_and(|error| error.kind() == ErrorKind::NoSpace)
        };
        loop {
            let mut flushed = self
                .tables
                .flusher
                .flush_up_to(self.base.settings.budget.flush_max);
            if full(&flushed) {
                flushed = self.tables.flusher.flush_up_to(1);
            }
            if full(&flushed) {
                flushed = self.tables.flusher.flush_once();
            }
            if !flushed? {
                // Another thread's flush frees its log once it is durable.
                drop(
                    self.base
                        .versions
                        .wait(self.base.versions.lock(), |state| !state.flushing()),
                );
                return self.disk.persist_all();
            }
            // Nothing can be made durable before all parts of a long batch are in tables.
            if !self.base.versions.lock().holds_part() {
                self.disk.persist_all()?;
                self.disk.log.trim_spares();
            }
        }
    }
}
