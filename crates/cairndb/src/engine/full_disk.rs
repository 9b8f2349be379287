//! Making room on a full disk, from inside: what can be freed without much room, in this order.
//!
//! 1. Spare log files, and files that readers have let go.
//! 2. The [reserve](crate::engine::reserve).
//! 3. Memtables: flushed one at a time, and made durable at once, so that their log is free before the
//!    next is flushed.
//! 4. Value files without a live value.
//! 5. Tables whose entries newer runs have deleted or overwritten: they are rewritten in their places, a
//!    few at a time, without the entries that are hidden ([`MergePlan::hiders`]). A merge of whole runs
//!    needs as much room as all that is alive; this needs as much as one table.
//!
//! Whoever deletes, flushes, compacts or closes does this when it finds no room, and so does the worker.
//! A put does not: what is kept for deleting would be filled with more data.

use std::collections::BTreeSet;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Result, SeqNo};
use cairndb_env::Space;
use cairndb_env::sync::MutexGuard;

use crate::engine::core::{Core, State};
use crate::engine::install::MergePlan;
use crate::state::reserve::Plan;
use crate::state::version::{Run, TableHandle};

/// Attempts of one call: each but the last has freed something.
const TRIES_MAX: usize = 64;
/// A table is rewritten where this share of its entries is hidden at least.
const HIDDEN_SHARE_MIN: u64 = 16;
/// And where there is nothing better, where any is: tombstones go once all tables were rewritten for them.
const HIDDEN_SHARE_AT_WORST: u64 = u64::MAX;
/// Bytes of tables that are rewritten together at most.
const REWRITTEN_BYTES_MAX: u64 = 64 << 20;

/// Tables of one run, side by side, to be rewritten without what is hidden in them.
struct Squeezed {
    run: usize,
    tables: Vec<Arc<TableHandle>>,
    /// Bytes that this frees, about.
    gain: u64,
}

impl Core {
    /// Does what `call` does, and where it finds no room makes some and tries again.
    ///
    /// # Errors
    /// Those of `call`.
    pub(crate) fn with_room<T>(&self, mut call: impl FnMut() -> Result<T>) -> Result<T> {
        let mut tries = 1;
        loop {
            match call() {
                Err(error)
                    if error.kind() == ErrorKind::NoSpace
                        && tries < TRIES_MAX
                        && self.make_room_on_disk() =>
                {
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    /// Sees that deleting leaves room to work in: with less than half of the reserve, or than the largest table
    /// takes when it is rewritten, something is freed first.
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
            // Where there was nothing, what is about to be deleted makes something.
            self.make_room_on_disk();
        }
    }

    /// Frees some space of a nearly full file system; whether it did.
    pub(crate) fn make_room_on_disk(&self) -> bool {
        if self.settings.read_only || self.health.check_write().is_err() || !self.is_nearly_full() {
            // With room there is another reason: a quota, or a fault.
            return false;
        }
        let before = self.reaper.unlinked();
        if self.report.clean && !self.manifest.is_open() {
            // Spare logs of an earlier handle, and its reserve: this one has not come to them.
            let ours = self.leftovers.sorted(&*self.dir).ours.iter();
            ours.for_each(|name| self.reaper.add(name.clone()));
        }
        self.trim_spares();
        let lent = self.give_up_reserve();
        // At once, while there is room to work in: what the caller does takes some of it.
        let mut squeezed = false;
        while self.squeeze() {
            squeezed = true;
            if self
                .space()
                .is_none_or(|(space, plan)| space.free >= 2 * plan.bytes)
            {
                break;
            }
        }
        // Unless the caller would find no room again.
        let plenty = self.space();
        let plenty = plenty.is_some_and(|(space, plan)| space.free >= 2 * plan.bytes);
        let _ = plenty && self.retake_reserve();
        lent || squeezed || self.reaper.unlinked() > before
    }

    /// Frees what of the log tables can take over, and spare files of it; whether there was anything.
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
            let _ = self
                .squeeze_tables(HIDDEN_SHARE_MIN)
                .and_then(|some| Ok(some || self.squeeze_tables(HIDDEN_SHARE_AT_WORST)?));
        }
        self.segments.retained_bytes() < log || self.reaper.unlinked() > unlinked
    }

    /// Flushes memtables a few at a time, each made durable before the next; one at a time where a few find
    /// no room, and all of them at once where one alone does not: what was put and deleted since is not written
    /// then.
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
                return self.persist_all();
            }
            self.persist_all()?;
            self.trim_spares();
        }
    }

    /// The same where an idle database is on a nearly full disk, whose runs may be too large to be merged.
    ///
    /// # Errors
    /// As [`Core::squeeze_tables`].
    pub(crate) fn squeeze_when_nearly_full(&self) -> Result<bool> {
        Ok(self.reserve.is_near() && self.squeeze_tables(HIDDEN_SHARE_MIN)?)
    }

    /// Rewrites some tables without what is hidden in them, the `share_min`th part of their entries at least, or
    /// drops tombstones that have nothing left to hide; whether there were any.
    ///
    /// # Errors
    /// Of the merge that does it, or of making it durable.
    pub(crate) fn squeeze_tables(&self, share_min: u64) -> Result<bool> {
        let (plan, heeded) = {
            let mut state = self.wait_for_merges();
            if state.merging() || !Self::may_merge(&state) {
                return Ok(false);
            }
            let free = self.space().map_or(u64::MAX, |(space, _)| space.free);
            let oldest = self.readable_at().first().copied().unwrap_or(SeqNo::MAX);
            let plan = if let Some(idle) = self.find_idle_tombstones(&state, oldest) {
                MergePlan {
                    bottom: true,
                    hiders: Vec::new(),
                    ..self.squeeze_plan(idle, &state)
                }
            } else if let Some(found) = self.find_hidden(&state, free, share_min) {
                self.squeeze_plan(found, &state)
            } else {
                return Ok(false);
            };
            // By name: a flush under way has taken its numbers and is in no version yet.
            let mut heeded = BTreeSet::new();
            let hiders = || plan.hiders.iter().flat_map(Run::tables);
            if hiders().all(|table| table.record.seq_max <= oldest) {
                heeded.extend(hiders().map(|table| table.record.file));
            }
            (plan.begun(&mut state), Arc::new(heeded))
        };
        self.merge_plan(&plan)?;
        self.note_squeezed(&plan, &heeded);
        self.persist_all()?;
        while self.drop_dead_values()? {}
        self.trim_spares();
        Ok(true)
    }

    /// The state, once no merge is under way: one that finds no room has all there is until it gives up.
    fn wait_for_merges(&self) -> MutexGuard<'_, State> {
        let over = |state: &State| state.closing || !state.merging();
        self.wait_state(self.state.lock(), over)
    }

    /// Refuses a merge for which there is not room enough, tombstones and what they hide apart: it would write
    /// until the disk is full, and keep others from the little there is.
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

    /// Notes that what `plan` has made holds nothing that the tables `heeded` hide.
    fn note_squeezed(&self, plan: &MergePlan, heeded: &Arc<BTreeSet<u64>>) {
        let tables = plan.inputs[0].tables();
        let (Some(first), Some(last)) = (tables.first(), tables.last()) else {
            return;
        };
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let mut runs = state.version.runs.iter();
        if let Some(run) = runs.find(|run| run.id == plan.target) {
            let (smallest, largest) = (&first.record.smallest, &last.record.largest);
            for table in run.overlapping(&self.context.order, smallest, largest) {
                state.squeezed.insert(table.record.file, Arc::clone(heeded));
            }
        }
        let there: BTreeSet<u64> = state.version.tables().map(|it| it.record.file).collect();
        state.squeezed.retain(|file, _| there.contains(file));
    }

    /// Tables of tombstones, side by side in one run, that hide nothing any more: all that older runs have between
    /// their keys was rewritten without what they hide.
    fn find_idle_tombstones(&self, state: &State, oldest: SeqNo) -> Option<Squeezed> {
        let version = &*state.version;
        let order = &self.context.order;
        let idle = |at: usize, table: &TableHandle| {
            let record = &table.record;
            let below = version.runs[at + 1..].iter();
            let mut below =
                below.flat_map(|run| run.overlapping(order, &record.smallest, &record.largest));
            record.deletes == record.entries
                && record.seq_max <= oldest
                && !state.damaged.contains_key(&record.file)
                && below.all(|it| heeds(state, it, record.file))
        };
        let runs = version.runs.iter().enumerate();
        runs.take(version.runs.len().saturating_sub(1))
            .find_map(|(at, run)| {
                let tables = run.tables();
                let first = tables.iter().position(|table| idle(at, table))?;
                let idle = tables[first..].iter().take_while(|table| idle(at, table));
                let tables: Vec<_> = idle.map(Arc::clone).collect();
                let gain = tables.iter().map(|table| table.record.bytes).sum();
                Some(Squeezed {
                    run: at,
                    tables,
                    gain,
                })
            })
    }

    fn squeeze_plan(&self, found: Squeezed, state: &State) -> MergePlan {
        let (order, version) = (&self.context.order, &state.version);
        let run = &version.runs[found.run];
        let inputs = Run::new(run.id, found.tables, order);
        let (first, last) = (inputs.tables().first(), inputs.tables().last());
        let (first, last) = (first.expect("of some"), last.expect("of some"));
        let (smallest, largest) = (&first.record.smallest, &last.record.largest);
        let newer = version.runs[..found.run].iter();
        let hiders = newer
            .map(|run| {
                let tables = run.overlapping(order, smallest, largest).to_vec();
                Run::new(run.id, tables, order)
            })
            .filter(|run| !run.tables().is_empty());
        MergePlan {
            target: run.id,
            bottom: found.run + 1 == version.runs.len(),
            waited_for: false,
            at_rest: false,
            relocation: None,
            hiders: hiders.collect(),
            inputs: vec![inputs],
        }
    }

    /// The tables that free most for what has to be written, in `free` bytes.
    fn find_hidden(&self, state: &State, free: u64, share_min: u64) -> Option<Squeezed> {
        let version = &*state.version;
        // Some for the manifest, and for who writes meanwhile.
        let free = free - free / 8;
        let mut best: Option<Squeezed> = None;
        for (at, run) in version.runs.iter().enumerate().skip(1) {
            let mut tables = Vec::new();
            let (mut bytes, mut gain) = (0, 0);
            let mut consider = |tables: &mut Vec<_>, gain: &mut u64| {
                let tables = std::mem::take(tables);
                let gain = std::mem::take(gain);
                if gain > best.as_ref().map_or(0, |best| best.gain) {
                    best = Some(Squeezed {
                        run: at,
                        tables,
                        gain,
                    });
                }
            };
            for table in run.tables() {
                let record = &table.record;
                let known = !state.damaged.contains_key(&record.file);
                let hidden = if known {
                    self.hidden_in(state, at, table)
                } else {
                    0
                };
                let freed = share(record.bytes, hidden, record.entries);
                // As if nothing were hidden: how much is hidden is a guess.
                let fits = bytes + record.bytes <= free.min(REWRITTEN_BYTES_MAX);
                let worth = hidden >= record.entries.div_ceil(share_min);
                if !(worth && fits) {
                    consider(&mut tables, &mut gain);
                    bytes = 0;
                }
                let most = record.bytes.min(REWRITTEN_BYTES_MAX);
                if worth && most <= free {
                    tables.push(Arc::clone(table));
                    bytes += record.bytes;
                    gain += freed;
                }
            }
            consider(&mut tables, &mut gain);
        }
        best
    }

    /// About how many entries of a table of run `at` newer runs hide, by tables that it was not yet rewritten
    /// for.
    fn hidden_in(&self, state: &State, at: usize, table: &TableHandle) -> u64 {
        let (version, record) = (&*state.version, &table.record);
        let (smallest, largest) = (&record.smallest, &record.largest);
        let order = &self.context.order;
        let mut hidden: u64 = 0;
        for run in &version.runs[..at] {
            for hider in run.overlapping(order, smallest, largest) {
                let over = &hider.record;
                if heeds(state, table, over.file) {
                    continue;
                }
                let inside = order.compare(smallest, &over.smallest).is_le()
                    && order.compare(&over.largest, largest).is_le();
                hidden += if inside {
                    over.entries
                } else {
                    let part = entries_between(hider, smallest, largest);
                    part.unwrap_or(0)
                };
            }
        }
        hidden.min(record.entries)
    }
}

/// Whether `table` was rewritten without what the table `hider` hides.
fn heeds(state: &State, table: &TableHandle, hider: u64) -> bool {
    let heeded = state.squeezed.get(&table.record.file);
    heeded.is_some_and(|heeded| heeded.contains(&hider))
}

/// `of * part / all`, with no more than `of`.
fn share(of: u64, part: u64, all: u64) -> u64 {
    let share = u128::from(of) * u128::from(part) / u128::from(all.max(1));
    u64::try_from(share).map_or(of, |share| share.min(of))
}

/// About how many entries of a table lie between two keys.
fn entries_between(table: &TableHandle, from: &[u8], to: &[u8]) -> Result<u64> {
    let opened = table.table()?;
    let bytes = opened
        .approximate_offset(to)?
        .saturating_sub(opened.approximate_offset(from)?);
    Ok(share(table.record.entries, bytes, table.record.bytes))
}

#[cfg(test)]
mod tests;
