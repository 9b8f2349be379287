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

use cairndb_base::{Error, ErrorKind, Result};
use cairndb_env::Space;
use cairndb_env::sync::MutexGuard;

use crate::engine::core::{Core, State};
use crate::engine::install::MergePlan;
use crate::state::reserve::Plan;
use crate::state::version::Run;
use crate::write::commit::Payload;

/// Upper bound on retries of one call. A retry happens only after space was freed.
const TRIES_MAX: usize = 64;

impl Core {
    /// Does what `call` does, and where it finds no room makes some and tries again.
    ///
    /// # Errors
    /// Those of `call`.
    pub(crate) fn with_room<T>(&self, mut call: impl FnMut() -> Result<T>) -> Result<T> {
        let mut tries = 1;
        loop {
            let unlinked = self.reaper.unlinked();
            match call() {
                Err(error) if error.kind() == ErrorKind::NoSpace && tries < TRIES_MAX => {
                    // Somebody else may have made room meanwhile.
                    if self.reaper.unlinked() == unlinked && !self.make_room_on_disk() {
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
        if payload.only_deletes() || !self.reserve.is_short() || self.retake_reserve() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::NoSpace,
            "the disk is full and the remaining space is reserved for deletions; delete keys, or \
             free space on the file system",
        )
        .path(self.dir.path()))
    }

    /// Leaves deletions room to work in: with less than half of the reserve, or than rewriting the
    /// largest table takes, something is freed first.
    pub(crate) fn keep_room_to_work(&self) {
        let largest = || {
            let view = self.view.load();
            let tables = view.version.tables().map(|table| table.record.bytes);
            tables.max().unwrap_or(0)
        };
        let little = |(space, plan): (Space, Plan)| {
            space.free < (plan.bytes / 2).max(largest() / 2 * 3).min(plan.bytes)
        };
        if self.reserve.is_short() && self.space().is_some_and(little) {
            // If nothing can be freed yet, the deletion itself makes something that can be.
            self.make_room_on_disk();
        }
    }

    /// Frees as much of a nearly full file system as it can, up to two reserves; whether there is
    /// more room than before.
    pub(crate) fn make_room_on_disk(&self) -> bool {
        if self.settings.read_only || self.health.check_write().is_err() || !self.is_nearly_full() {
            // With room there is another reason: a quota, or a fault.
            return false;
        }
        let before = self.reaper.unlinked();
        self.give_up_leftovers();
        self.trim_spares();
        let mut freed = self.reaper.unlinked() > before;
        let given_up = self.give_up_reserve();
        // At once, while there is room to work in: the caller takes some of it.
        let mut plenty = false;
        while !plenty && self.squeeze() {
            freed = true;
            let space = self.space();
            plenty = space.is_none_or(|(space, plan)| space.free >= 2 * plan.bytes);
        }
        // Unless the caller would find no room again.
        let kept = plenty && self.retake_reserve();
        let made = freed || given_up && !kept;
        if made {
            // Background work need not wait for the end of its pause.
            self.state.lock().retry_at_ns = 0;
            self.work.notify_all();
        }
        made
    }

    /// Removes the spare logs of an earlier handle, and its reserve, where this handle has not
    /// adopted them.
    fn give_up_leftovers(&self) {
        // Held, so that nobody adopts them meanwhile.
        let commit = self.commit.lock();
        if self.report.clean && !self.manifest.is_open() {
            let ours = self.leftovers.take_ours(&*self.dir).iter();
            ours.for_each(|name| self.reaper.add(name.clone()));
        }
        drop(commit);
    }

    /// Frees what of the log tables can take over, and spare files of it; whether there was
    /// anything.
    pub(crate) fn free_log(&self) -> bool {
        if !self.is_nearly_full() {
            return false;
        }
        let (log, unlinked) = (self.segments.retained_bytes(), self.reaper.unlinked());
        let _ = self.flush_bit_by_bit();
        self.trim_spares();
        self.segments.retained_bytes() < log || self.reaper.unlinked() > unlinked
    }

    /// Frees what tables, value files and the log hold in vain; whether there was anything.
    fn squeeze(&self) -> bool {
        drop(self.wait_for_merges());
        let (log, unlinked) = (self.segments.retained_bytes(), self.reaper.unlinked());
        // What fails here fails for want of room: the next step may make some.
        let _ = self.flush_bit_by_bit();
        let _ = self.drop_dead_values();
        self.trim_spares();
        if self.segments.retained_bytes() == log && self.reaper.unlinked() == unlinked {
            let _ = self.squeeze_tables();
        }
        self.segments.retained_bytes() < log || self.reaper.unlinked() > unlinked
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
            let mut flushed = self.flush_up_to(self.settings.budget.flush_max);
            if full(&flushed) {
                flushed = self.flush_up_to(1);
            }
            if full(&flushed) {
                flushed = self.flush_once();
            }
            if !flushed? {
                // Another thread's flush frees its log once it is durable.
                drop(self.wait_state(self.state.lock(), |state| !state.flushing()));
                return self.persist_all();
            }
            self.persist_all()?;
            self.trim_spares();
        }
    }

    /// The state, once no merge is under way: a merge that runs out of space holds that space until
    /// it fails and removes its output.
    pub(super) fn wait_for_merges(&self) -> MutexGuard<'_, State> {
        let over = |state: &State| state.closing || !state.merging();
        self.wait_state(self.state.lock(), over)
    }

    /// Rejects a merge whose estimated output, net of tombstones and the entries they hide, exceeds
    /// the free space: it would write until the disk is full, and keep others from the little there
    /// is.
    ///
    /// # Errors
    /// `NoSpace`.
    pub(crate) fn check_room_to_merge(&self, plan: &MergePlan) -> Result<()> {
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
            .path(self.dir.path())),
            _ => Ok(()),
        }
    }
}

/// `of * part / all`, and no more than `of`.
pub(super) fn share(of: u64, part: u64, all: u64) -> u64 {
    let share = u128::from(of) * u128::from(part) / u128::from(all.max(1));
    u64::try_from(share).map_or(of, |share| share.min(of))
}

#[cfg(test)]
mod tests;
