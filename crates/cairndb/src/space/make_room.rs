//! Making room on a full disk, from inside: what can be freed without much room, in this order.
//!
//! 1. Spare log files, and files that readers have let go.
//! 2. The [reserve](crate::engine::reserve).
//! 3. Memtables: flushed a few at a time, and made durable at once, so that their log is free
//!    before the next is flushed.
//! 4. Value files without a live value.
//! 5. Tables whose entries newer runs have deleted or overwritten ([`crate::engine::squeeze`]).
//!
//! Whoever deletes, flushes, compacts or closes does this when it finds no room, and so does the
//! worker. Puts do not: they would consume the space reserved for deletions.

use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::Space;

use crate::compaction::compactor::Compactor;
use crate::durable::log::Log;
use crate::durable::persist::Persister;
use crate::durable::reserve::DiskReserve;
use crate::durable::sweeper::Sweeper;
use crate::flush::flusher::Flusher;
use crate::log::commit::Payload;
use crate::space::squeeze::Squeezer;
use crate::state::reserve::Plan;
use crate::value_gc::dead_files::DeadFiles;
use crate::versions::shared::Shared;
use crate::versions::version_set::VersionSet;

/// Upper bound on retries of one call. A retry happens only after space was freed.
const TRIES_MAX: usize = 64;

#[cfg(test)]
mod tests;

/// Makes room on a full disk.
pub(crate) struct SpaceMaker {
    shared: Arc<Shared>,
    versions: Arc<VersionSet>,
    sweeper: Arc<Sweeper>,
    log: Arc<Log>,
    persister: Arc<Persister>,
    reserve: Arc<DiskReserve>,
    flusher: Arc<Flusher>,
    compactor: Arc<Compactor>,
    dead_files: Arc<DeadFiles>,
    squeezer: Arc<Squeezer>,
}

impl SpaceMaker {
    #[expect(
        clippy::too_many_arguments,
        reason = "the parts it needs, each a type of its own"
    )]
    pub(crate) fn new(
        shared: Arc<Shared>,
        versions: Arc<VersionSet>,
        sweeper: Arc<Sweeper>,
        log: Arc<Log>,
        persister: Arc<Persister>,
        reserve: Arc<DiskReserve>,
        flusher: Arc<Flusher>,
        compactor: Arc<Compactor>,
        dead_files: Arc<DeadFiles>,
        squeezer: Arc<Squeezer>,
    ) -> SpaceMaker {
        SpaceMaker {
            shared,
            versions,
            sweeper,
            log,
            persister,
            reserve,
            flusher,
            compactor,
            dead_files,
            squeezer,
        }
    }

    /// Does what `call` does, and where it finds no room makes some and tries again.
    ///
    /// # Errors
    /// Those of `call`.
    pub(crate) fn with_room<T>(&self, mut call: impl FnMut() -> Result<T>) -> Result<T> {
        let mut tries = 1;
        loop {
            let unlinked = self.sweeper.reaper().unlinked();
            match call() {
                Err(error) if error.kind() == ErrorKind::NoSpace && tries < TRIES_MAX => {
                    // Somebody else may have made room meanwhile.
                    if self.sweeper.reaper().unlinked() == unlinked && !self.make_room_on_disk() {
                        return Err(error);
                    }
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    /// Refuses a put that begins a memtable or a segment while the reserve is given up.
    ///
    /// # Errors
    /// `NoSpace`, where there is no room for a new reserve.
    pub(crate) fn check_may_grow(&self, payload: &Payload<'_>) -> Result<()> {
        if payload.only_deletes() || !self.reserve.is_short() || self.reserve.retake_reserve() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::NoSpace,
            "the disk is full and the remaining space is reserved for deletions; delete keys, or \
             free space on the file system",
        )
        .path(self.shared.dir.path()))
    }

    /// Leaves deletions room to work in: with less than half of the reserve, or than rewriting the
    /// largest table takes, something is freed first.
    pub(crate) fn keep_room_to_work(&self) {
        let largest = || {
            let view = self.versions.view();
            let tables = view.version.tables().map(|table| table.record.bytes);
            tables.max().unwrap_or(0)
        };
        let little = |(space, plan): (Space, Plan)| {
            space.free < (plan.bytes / 2).max(largest() / 2 * 3).min(plan.bytes)
        };
        if self.reserve.is_short() && self.reserve.space().is_some_and(little) {
            // If nothing can be freed yet, the deletion itself makes something that can be.
            self.make_room_on_disk();
        }
    }

    /// Frees as much of a nearly full file system as it can, up to two reserves; whether there is
    /// more room than before.
    pub(crate) fn make_room_on_disk(&self) -> bool {
        if self.shared.settings.read_only
            || self.shared.health.check_write().is_err()
            || !self.reserve.is_nearly_full()
        {
            // With room there is another reason: a quota, or a fault.
            return false;
        }
        let before = self.sweeper.reaper().unlinked();
        self.log.give_up_leftovers();
        self.log.trim_spares();
        let mut freed = self.sweeper.reaper().unlinked() > before;
        let given_up = self.reserve.give_up_reserve();
        // At once, while there is room to work in: the caller takes some of it.
        let mut plenty = false;
        while !plenty && self.squeeze() {
            freed = true;
            let space = self.reserve.space();
            plenty = space.is_none_or(|(space, plan)| space.free >= 2 * plan.bytes);
        }
        // Unless the caller would find no room again.
        let kept = plenty && self.reserve.retake_reserve();
        let made = freed || given_up && !kept;
        if made {
            // Background work need not wait for the end of its pause.
            self.versions.lock().retry_at_ns = 0;
            self.versions.notify_work();
        }
        made
    }

    /// Frees what of the log tables can take over, and spare files of it; whether there was
    /// anything.
    pub(crate) fn free_log(&self) -> bool {
        if !self.reserve.is_nearly_full() {
            return false;
        }
        let (log, unlinked) = (
            self.log.segments().retained_bytes(),
            self.sweeper.reaper().unlinked(),
        );
        let _ = self.flush_bit_by_bit();
        self.log.trim_spares();
        self.log.segments().retained_bytes() < log || self.sweeper.reaper().unlinked() > unlinked
    }

    /// Frees what tables, value files and the log hold in vain; whether there was anything.
    fn squeeze(&self) -> bool {
        drop(self.compactor.wait_for_compactions());
        let (log, unlinked) = (
            self.log.segments().retained_bytes(),
            self.sweeper.reaper().unlinked(),
        );
        // What fails here fails for want of room: the next step may make some.
        let _ = self.flush_bit_by_bit();
        let _ = self.dead_files.drop_dead_values();
        self.log.trim_spares();
        if self.log.segments().retained_bytes() == log
            && self.sweeper.reaper().unlinked() == unlinked
        {
            let _ = self.squeezer.squeeze_tables();
        }
        self.log.segments().retained_bytes() < log || self.sweeper.reaper().unlinked() > unlinked
    }

    /// Flushes memtables a few at a time, each flush made durable before the next. Where a few find
    /// no room it flushes one, and where one finds none all of them together: entries that newer
    /// memtables overwrite or delete cancel out then, and are never written.
    fn flush_bit_by_bit(&self) -> Result<()> {
        let full = |flushed: &Result<bool>| {
            let error = flushed.as_ref().err();
            error.is_some_and(|error| error.kind() == ErrorKind::NoSpace)
        };
        loop {
            let mut flushed = self
                .flusher
                .flush_up_to(self.shared.settings.budget.flush_max);
            if full(&flushed) {
                flushed = self.flusher.flush_up_to(1);
            }
            if full(&flushed) {
                flushed = self.flusher.flush_once();
            }
            if !flushed? {
                // Another thread's flush frees its log once it is durable.
                drop(
                    self.versions
                        .wait(self.versions.lock(), |state| !state.flushing()),
                );
                return self.persister.persist_all();
            }
            self.persister.persist_all()?;
            self.log.trim_spares();
        }
    }
}
