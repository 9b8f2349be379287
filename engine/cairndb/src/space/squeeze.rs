//! `Squeezer`: rewrites tables in place without the entries that newer runs hide.
//!
//! A compaction of whole runs needs as much space as all live data. A squeeze needs only as much as
//! the tables that are rewritten at a time. The newer runs, the *hiders*, are also read but stay
//! unchanged ([`CompactionPlan::hiders`]). Once every older table that overlaps a table of
//! tombstones was rewritten for it, the tombstones hide nothing and are dropped.
//!
//! Invariants:
//!
//! 1. [`Squeezes`](crate::state::squeezes::Squeezes) names, for each rewritten table, exactly the
//!    newer tables that no longer hide anything in it. They are listed individually rather than up
//!    to a number, because a running flush has already taken its numbers and is in no version yet.
//! 2. Only tables whose entries are visible to all readers hide others: entries that a snapshot
//!    still reads are kept.
//!
//! Locks: the version is examined without the state lock, because tables may have to be opened. The
//! plan is started only if the version is still the newest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use cairndb_base::{Result, SeqNo};

use crate::compaction::compactor::Compactor;
use crate::jobs::plan::{CompactionPlan, share};
use crate::state::sections::Orders;
use crate::state::version::{Run, TableHandle, Version};
use crate::versions::engine_state::EngineState;

/// Fraction of hidden entries at which a table is worth rewriting.
const HIDDEN_SHARE_MIN: u64 = 16;
/// The same fraction as a last resort, at which one hidden entry suffices: tombstones can be
/// dropped only after every older overlapping table was rewritten without the entries that they
/// hide.
const HIDDEN_SHARE_AT_WORST: u64 = u64::MAX;
/// Maximum number of table bytes that are rewritten together.
const REWRITTEN_BYTES_MAX: u64 = 64 << 20;
/// Number of examinations, during each of which the version was replaced, before the attempt is
/// abandoned.
const SURVEYS_MAX: usize = 3;

/// Adjacent tables of one run.
struct Stretch {
    run: usize,
    tables: Vec<Arc<TableHandle>>,
    /// Approximate number of bytes that rewriting them frees.
    gain: u64,
    /// Whether they are tombstones that no longer hide anything.
    idle: bool,
}

/// A version, and the information about its tables.
struct Survey<'a> {
    version: Arc<Version>,
    applied: BTreeMap<u64, Arc<BTreeSet<u64>>>,
    damaged: BTreeSet<u64>,
    /// Sequence number up to which entries are visible to all readers.
    oldest: SeqNo,
    orders: &'a Orders,
}

impl Survey<'_> {
    /// Returns the plan that rewrites `found`.
    fn plan(&self, found: Stretch) -> CompactionPlan {
        let run = &self.version.runs[found.run];
        let inputs = Run::new(run.id, found.tables, self.orders);
        let (first, last) = (inputs.tables().first(), inputs.tables().last());
        let (first, last) = (first.expect("not empty"), last.expect("not empty"));
        let (smallest, largest) = (first.smallest(), last.largest());
        let newer = self.version.runs[..found.run].iter();
        let hiders = newer.filter(|_| !found.idle).map(|run| {
            let mut tables = run.overlapping(self.orders, smallest, largest).to_vec();
            tables.retain(|table| self.may_hide(table));
            Run::new(run.id, tables, self.orders)
        });
        CompactionPlan {
            hiders: hiders.filter(|run| !run.tables().is_empty()).collect(),
            ..CompactionPlan::in_place(
                vec![inputs],
                run.id,
                found.idle || found.run + 1 == self.version.runs.len(),
            )
        }
    }

    /// Returns whether all entries of a table are visible to all readers, and the table can be
    /// read.
    fn may_hide(&self, table: &TableHandle) -> bool {
        table.record.seq_max <= self.oldest && !self.damaged.contains(&table.record.file)
    }

    /// Returns whether `table` was rewritten without the entries that table `hider` hides.
    fn heeds(&self, table: &TableHandle, hider: u64) -> bool {
        let applied = self.applied.get(&table.record.file);
        applied.is_some_and(|applied| applied.contains(&hider))
    }

    /// Finds adjacent tables of tombstones that no longer hide anything, because every older table
    /// between their keys was rewritten for them.
    fn find_idle_tombstones(&self) -> Option<Stretch> {
        let runs = &self.version.runs;
        let is_idle = |at: usize, table: &TableHandle| {
            let record = &table.record;
            let mut below = runs[at + 1..]
                .iter()
                .flat_map(|run| run.overlapping_table(self.orders, table));
            record.deletes == record.entries
                && self.may_hide(table)
                && below.all(|it| self.heeds(it, record.file))
        };
        runs.iter().enumerate().find_map(|(run, found)| {
            let tables = found.tables();
            let first = tables.iter().position(|table| is_idle(run, table))?;
            let idle = tables[first..].iter();
            let idle = idle.take_while(|table| is_idle(run, table));
            let tables: Vec<_> = idle.map(Arc::clone).collect();
            let gain = tables.iter().map(|table| table.record.bytes).sum();
            Some(Stretch {
                run,
                tables,
                gain,
                idle: true,
            })
        })
    }

    /// Finds the tables that free the most space among those that fit into `free` bytes even if
    /// nothing in them is hidden, because the hidden share is an estimate.
    fn find_hidden(&self, free: u64, share_min: u64) -> Option<Stretch> {
        // The rest is for the manifest and for concurrent writes.
        let most = (free - free / 8).min(REWRITTEN_BYTES_MAX);
        let mut best: Option<Stretch> = None;
        for (run, found) in self.version.runs.iter().enumerate().skip(1) {
            let mut stretch: Vec<Arc<TableHandle>> = Vec::new();
            let (mut bytes, mut gain) = (0, 0);
            for table in found.tables().iter().map(Some).chain([None]) {
                let worth = table.and_then(|table| {
                    let record = &table.record;
                    let hidden = self.hidden_in(run, table);
                    let worth = hidden >= record.entries.div_ceil(share_min);
                    let fits = record.bytes <= most;
                    (worth && fits).then_some((table, share(record.bytes, hidden, record.entries)))
                });
                let goes_on = worth.is_some_and(|(it, _)| bytes + it.record.bytes <= most);
                if !goes_on {
                    if gain > best.as_ref().map_or(0, |best| best.gain) {
                        best = Some(Stretch {
                            run,
                            tables: std::mem::take(&mut stretch),
                            gain,
                            idle: false,
                        });
                    }
                    stretch.clear();
                    (bytes, gain) = (0, 0);
                }
                if let Some((table, freed)) = worth {
                    stretch.push(Arc::clone(table));
                    bytes += table.record.bytes;
                    gain += freed.max(1);
                }
            }
        }
        best
    }

    /// Estimates the number of entries of a table of run `at` that are hidden by tables for which
    /// it was not rewritten.
    fn hidden_in(&self, at: usize, table: &TableHandle) -> u64 {
        let record = &table.record;
        if self.damaged.contains(&record.file) {
            return 0;
        }
        let mut hidden: u64 = 0;
        for run in &self.version.runs[..at] {
            for hider in run.overlapping_table(self.orders, table) {
                let over = &hider.record;
                if !self.may_hide(hider) || self.heeds(table, over.file) {
                    continue;
                }
                let (first, last) = (hider.smallest(), hider.largest());
                let inside = self.orders.compare(table.smallest(), first).is_le()
                    && self.orders.compare(last, table.largest()).is_le();
                hidden += if inside {
                    over.entries
                } else {
                    // An overlapping table may hide at least one entry.
                    entries_between(hider, &record.smallest, &record.largest)
                        .unwrap_or(0)
                        .max(1)
                };
            }
        }
        hidden.min(record.entries)
    }
}

/// Estimates the number of entries of a table between two keys.
fn entries_between(table: &TableHandle, from: &[u8], to: &[u8]) -> Result<u64> {
    let opened = table.table()?;
    let bytes = opened
        .approximate_offset(to)?
        .saturating_sub(opened.approximate_offset(from)?);
    Ok(share(table.record.entries, bytes, table.record.bytes))
}

pub(crate) struct Squeezer<'c> {
    compactor: &'c Compactor,
}

impl Squeezer<'_> {
    pub(crate) fn new(compactor: &Compactor) -> Squeezer<'_> {
        Squeezer { compactor }
    }

    /// Rewrites some tables without their hidden entries, or drops tombstones that hide nothing.
    /// Returns whether there were any. Waits for a running compaction.
    ///
    /// # Errors
    /// Errors of the compaction, or of making it durable.
    pub(crate) fn squeeze_tables(&self) -> Result<bool> {
        drop(self.compactor.wait_for_compactions());
        match self.squeeze_once(HIDDEN_SHARE_MIN) {
            Ok(true) => Ok(true),
            _ => self.squeeze_once(HIDDEN_SHARE_AT_WORST),
        }
    }

    /// Like [`Squeezer::squeeze_tables`], but for the worker while the file system is nearly full,
    /// and only if it is worthwhile and no compaction is running: runs may be too large for an idle
    /// compaction.
    ///
    /// # Errors
    /// Same as [`Squeezer::squeeze_tables`].
    pub(crate) fn squeeze_when_nearly_full(&self) -> Result<bool> {
        if !self.compactor.disk.reserve.is_near() {
            return Ok(false);
        }
        let state = self.compactor.base.versions.lock();
        let version = Arc::downgrade(&state.version);
        let exhausted = Weak::ptr_eq(&version, &state.squeezes.exhausted);
        if exhausted || state.is_compacting() {
            return Ok(false);
        }
        drop(state);
        let squeezed = self.squeeze_once(HIDDEN_SHARE_MIN)?;
        if !squeezed {
            self.compactor.base.versions.lock().squeezes.exhausted = version;
        }
        Ok(squeezed)
    }

    pub(super) fn squeeze_once(&self, share_min: u64) -> Result<bool> {
        let Some((plan, applied)) = self.plan_squeeze(share_min) else {
            return Ok(false);
        };
        self.compactor.compact(&plan)?;
        self.note_squeezed(&plan, &applied);
        self.compactor.disk.persist_all()?;
        while self.compactor.tables.dead_files.drop_dead_values()? {}
        self.compactor.disk.log.trim_spares();
        Ok(true)
    }

    /// Starts a rewrite. Returns its plan and the tables that hide nothing in its output.
    fn plan_squeeze(&self, share_min: u64) -> Option<(CompactionPlan, Arc<BTreeSet<u64>>)> {
        for _ in 0..SURVEYS_MAX {
            let survey = self.survey()?;
            let free = self
                .compactor
                .disk
                .reserve
                .space()
                .map_or(u64::MAX, |(space, _)| space.free);
            let found = survey.find_idle_tombstones();
            let found = found.or_else(|| survey.find_hidden(free, share_min))?;
            let plan = survey.plan(found);
            let hiders = plan.hiders.iter().flat_map(Run::tables);
            let applied = hiders.map(|table| table.record.file).collect();
            let mut state = self.compactor.base.versions.lock();
            let newest = Arc::ptr_eq(&survey.version, &state.version);
            if state.is_compacting() || !state.may_compact() {
                return None;
            }
            if newest {
                return Some((state.begin_compaction(plan), Arc::new(applied)));
            }
        }
        None
    }

    fn survey(&self) -> Option<Survey<'_>> {
        let state = self.compactor.base.versions.lock();
        let idle = !state.is_compacting() && state.may_compact();
        idle.then(|| Survey {
            version: Arc::clone(&state.version),
            applied: state.squeezes.applied.clone(),
            damaged: state.compactions.damaged.keys().copied().collect(),
            oldest: self
                .compactor
                .base
                .readable_at()
                .first()
                .copied()
                .unwrap_or(SeqNo::MAX),
            orders: &self.compactor.base.opener.orders,
        })
    }

    /// Records that the tables `applied` hide nothing in the output of `plan`.
    fn note_squeezed(&self, plan: &CompactionPlan, applied: &Arc<BTreeSet<u64>>) {
        let tables = plan.inputs[0].tables();
        let (Some(first), Some(last)) = (tables.first(), tables.last()) else {
            return;
        };
        let mut guard = self.compactor.base.versions.lock();
        let EngineState {
            version, squeezes, ..
        } = &mut *guard;
        let known = &mut squeezes.applied;
        if let Some(run) = version.runs.iter().find(|run| run.id == plan.target) {
            let orders = &self.compactor.base.opener.orders;
            for table in run.overlapping(orders, first.smallest(), last.largest()) {
                known.insert(table.record.file, Arc::clone(applied));
            }
        }
        let there: BTreeSet<u64> = version.tables().map(|it| it.record.file).collect();
        known.retain(|file, _| there.contains(file));
    }
}
