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

use std::sync::Arc;

use cairndb_base::{ErrorKind, Result};

use crate::engine::core::{Core, State};
use crate::engine::install::MergePlan;
use crate::state::version::{Run, TableHandle, Version};

/// Attempts of one call: each but the last has freed something.
const TRIES_MAX: usize = 64;
/// A table is rewritten where this share of its entries is hidden at least.
const HIDDEN_SHARE_MIN: u64 = 16;
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
        if self.give_up_reserve() || self.reaper.unlinked() > before {
            return true;
        }
        self.squeeze()
    }

    /// Frees what tables, value files and the log hold in vain; whether there was anything.
    pub(crate) fn squeeze(&self) -> bool {
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

    /// Flushes memtables one at a time, each made durable before the next; all of them at once where one alone
    /// finds no room: what was put and deleted since is not written then.
    fn flush_bit_by_bit(&self) -> Result<()> {
        loop {
            let flushed = match self.flush_up_to(1) {
                Err(error) if error.kind() == ErrorKind::NoSpace => self.flush_once(),
                flushed => flushed,
            };
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
        Ok(self.reserve.is_near() && self.squeeze_tables()?)
    }

    /// Rewrites some tables without what is hidden in them; whether there were any.
    ///
    /// # Errors
    /// Of the merge that does it, or of making it durable.
    pub(crate) fn squeeze_tables(&self) -> Result<bool> {
        let free = self.space().map_or(0, |(space, _)| space.free);
        let plan = {
            // At most the end of one merge is waited for.
            let over = |state: &State| state.closing || !state.merging();
            let mut state = self.wait_state(self.state.lock(), over);
            if !Self::may_merge(&state) {
                return Ok(false);
            }
            let Some(found) = self.find_hidden(&state.version, &state, free) else {
                return Ok(false);
            };
            self.squeeze_plan(found, &mut state)
        };
        self.merge_plan(&plan)?;
        self.persist_all()?;
        while self.drop_dead_values()? {}
        self.trim_spares();
        Ok(true)
    }

    fn squeeze_plan(&self, found: Squeezed, state: &mut State) -> MergePlan {
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
        let plan = MergePlan {
            target: run.id,
            bottom: found.run + 1 == version.runs.len(),
            waited_for: false,
            at_rest: false,
            relocation: None,
            hiders: hiders.collect(),
            inputs: vec![inputs],
        };
        plan.begun(state)
    }

    /// The tables that free most for what has to be written, in `free` bytes.
    fn find_hidden(&self, version: &Version, state: &State, free: u64) -> Option<Squeezed> {
        // Some for the manifest, and for who writes meanwhile.
        let free = free - free / 8;
        let mut best: Option<Squeezed> = None;
        for (at, run) in version.runs.iter().enumerate().skip(1) {
            let mut tables = Vec::new();
            let (mut bytes, mut written, mut gain) = (0, 0, 0);
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
                    self.hidden_in(version, at, table)
                } else {
                    0
                };
                let freed = share(record.bytes, hidden, record.entries);
                let left = record.bytes - freed;
                let fits = written + left <= free && bytes + record.bytes <= REWRITTEN_BYTES_MAX;
                let worth = hidden >= record.entries.div_ceil(HIDDEN_SHARE_MIN);
                if !(worth && fits) {
                    consider(&mut tables, &mut gain);
                    (bytes, written) = (0, 0);
                }
                if worth && left <= free {
                    tables.push(Arc::clone(table));
                    bytes += record.bytes;
                    written += left;
                    gain += freed;
                }
            }
            consider(&mut tables, &mut gain);
        }
        best
    }

    /// About how many entries of a table of run `at` newer runs hide, by tables that are newer than it: what
    /// was there when it was written was heeded then.
    fn hidden_in(&self, version: &Version, at: usize, table: &TableHandle) -> u64 {
        let record = &table.record;
        let (smallest, largest) = (&record.smallest, &record.largest);
        let order = &self.context.order;
        let mut hidden: u64 = 0;
        for run in &version.runs[..at] {
            for hider in run.overlapping(order, smallest, largest) {
                let over = &hider.record;
                if over.file < record.file {
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
