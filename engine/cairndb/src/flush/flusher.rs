//! `Flusher`: writes immutable memtables to tables.
//!
//! The worker and a stalled writer may flush at the same time. Each takes adjacent memtables from
//! the queue, and their runs are installed in queue order. Readers see a run as soon as its files
//! are written; the log keeps the entries until the files are durable.
//!
//! Rejected: one flush at a time, for which the writer waits, because with two cores a sequential
//! load slept a quarter of its time.

use std::sync::Arc;

use cairndb_base::{Order, Result};
use cairndb_files::guarded;
use cairndb_mem::Memtable;

use crate::durable::disk::Disk;
use crate::jobs::inputs::Inputs;
use crate::jobs::job::{Job, Outcome};
use crate::jobs::rules::JobRanges;
use crate::read::source::MergeSource;
use crate::state::ranges::RangeMap;
use crate::state::sections::{Orders, Section, StoredKey};
use crate::state::stats::Stats;
use crate::state::version::{Run, Version};
use crate::versions::base::Base;
use crate::versions::engine_state::{EngineState, Flush, ImmutableMemtable};
use cairndb_format::table::Compression;

/// Memtables of one section whose key ranges overlap, oldest first, and their common range.
struct Span {
    section: Section,
    smallest: Vec<u8>,
    largest: Vec<u8>,
    immutables: Vec<Arc<Memtable>>,
}

/// Groups the memtables of `section` by overlapping ranges and returns the groups in key order.
fn spans(immutables: &[ImmutableMemtable], section: Section, orders: &Orders) -> Vec<Span> {
    let order = &orders[section];
    let mut spans: Vec<Span> = Vec::new();
    for part in immutables
        .iter()
        .filter_map(|immutable| immutable.mem.part(section))
    {
        let (mut first, mut last) = (part.cursor(), part.cursor());
        first.seek_to_first();
        last.seek_to_last();
        if !first.valid() {
            continue;
        }
        let mut span = Span {
            section,
            smallest: first.key().to_vec(),
            largest: last.key().to_vec(),
            immutables: Vec::new(),
        };
        spans.retain_mut(|older| {
            let apart = order.compare(&older.largest, &span.smallest).is_lt()
                || order.compare(&span.largest, &older.smallest).is_lt();
            if !apart {
                span.join(older, order);
            }
            apart
        });
        span.immutables.push(Arc::clone(part));
        spans.push(span);
    }
    spans.sort_by(|a, b| order.compare(&a.smallest, &b.smallest));
    spans
}

impl Span {
    fn inputs(&self, order: &Order) -> Inputs {
        let newest_first = self.immutables.iter().rev();
        let sources = newest_first
            .map(|mem| MergeSource::Mem(mem.cursor()))
            .collect();
        Inputs::new(sources, order.clone())
    }

    /// Returns whether the span is one memtable that no table overlaps.
    fn is_apart(&self, version: &Version, orders: &Orders) -> bool {
        let mut runs = version.runs.iter();
        let stored = |bytes| StoredKey {
            section: self.section,
            bytes,
        };
        let (smallest, largest) = (stored(&self.smallest), stored(&self.largest));
        let overlaps = |run: &Run| !run.overlapping(orders, smallest, largest).is_empty();
        self.immutables.len() == 1 && runs.all(|run| !overlaps(run))
    }

    /// Adds the memtables and the range of `before`, which is older. The order matters only between
    /// memtables that share keys.
    fn join(&mut self, before: &mut Span, order: &Order) {
        self.immutables.append(&mut before.immutables);
        if order.compare(&before.smallest, &self.smallest).is_lt() {
            std::mem::swap(&mut self.smallest, &mut before.smallest);
        }
        if order.compare(&before.largest, &self.largest).is_gt() {
            std::mem::swap(&mut self.largest, &mut before.largest);
        }
    }
}

/// Number of table bytes that may wait for compression, however small the database. It equals the
/// limit for compacting an idle database.
const DEFERRED_BYTES_MAX: u64 = 256 << 20;
/// The same limit, as a fraction of all tables.
const DEFERRED_SHARE: u64 = 10;
/// Memtables that one flush has taken, oldest first.
struct Taken {
    number: u64,
    immutables: Vec<ImmutableMemtable>,
    version: Arc<Version>,
    /// Whether no older entry of any key can exist.
    bottom: bool,
    /// Whether values that compress only together may be stored uncompressed.
    defers: bool,
}

pub(crate) struct Flusher {
    base: Arc<Base>,
    disk: Arc<Disk>,
}

impl Flusher {
    pub(crate) fn new(base: &Arc<Base>, disk: &Arc<Disk>) -> Flusher {
        Flusher {
            base: Arc::clone(base),
            disk: Arc::clone(disk),
        }
    }

    /// Returns whether a flush should start: `due` bytes of memtables wait, or, if there are
    /// readers, two thirds of the number of memtables that stalls writers. Memtables are counted
    /// too, because one whose values are in the log is sealed with few bytes: if only bytes
    /// counted, writers would do all flushes at their limit.
    pub(crate) fn flush_wanted(&self, state: &EngineState, due: usize) -> bool {
        let readers = self.memtables_for_readers();
        state.flush_due(due, &self.base.settings)
            || readers.is_some_and(|max| state.can_flush() && state.waiting() >= max / 3 * 2)
    }

    /// Returns whether more memtables wait than readers should have to search.
    pub(crate) fn memtables_hold_up(&self, state: &EngineState) -> bool {
        let readers = self.memtables_for_readers();
        readers.is_some_and(|max| state.immutables.len() >= max)
    }

    fn memtables_for_readers(&self) -> Option<usize> {
        let views = self.base.versions.views();
        views.filter_map(|view| view.memtables_for_readers()).min()
    }

    /// Flushes all waiting memtables as one run. Returns `false` if there are none or enough
    /// threads are flushing.
    ///
    /// # Errors
    /// Errors of reading or writing, after which the memtables stay queued and can be flushed
    /// again.
    pub(crate) fn flush_once(&self) -> Result<bool> {
        self.flush_up_to(usize::MAX)
    }

    /// Flushes memtables of about `bytes`, at least one. Neither the worker nor a stalled writer
    /// takes all of them: while the writer flushes, no new memtables are added, and the worker
    /// should have work left.
    pub(crate) fn flush_up_to(&self, bytes: usize) -> Result<bool> {
        let Some(mut taken) = self.take_memtables(bytes) else {
            return Ok(false);
        };
        self.disk.reserve.tend_reserve();
        let begun = self.base.env.now_ns();
        let result = self
            .base
            .health
            .check_write()
            .and_then(|()| guarded(|| self.write_memtables(&taken)));
        Stats::add(
            &self.base.stats.flush_nanos,
            self.base.env.now_ns().saturating_sub(begun),
        );

        // Released before the memtables leave the queue: a writer that waits for the queue then
        // reuses their memory instead of allocating more.
        taken.immutables.clear();
        let mut state = self.base.versions.lock();
        state.flushes.last = (begun, self.base.env.now_ns().saturating_sub(begun));
        let result = match result {
            Ok(outcome) => {
                Stats::add(&self.base.stats.flushes, 1);
                let bytes: u64 = outcome.tables.iter().map(|table| table.record.bytes).sum();
                Stats::add(&self.base.stats.flush_bytes, bytes);
                // This calls the comparator.
                let install = || {
                    self.install_in_order(&mut state, taken.number, outcome);
                    Ok(true)
                };
                guarded(install).map_err(|error| self.base.health.poison(error))
            }
            Err(error) => {
                state
                    .flushes
                    .running
                    .retain(|flush| flush.number != taken.number);
                for immutable in &mut state.immutables {
                    if immutable.flush == Some(taken.number) {
                        immutable.flush = None;
                    }
                }
                Err(error)
            }
        };
        self.base.note_background(&mut state, &result);
        drop(state);
        self.base.versions.notify_changed();
        self.base.versions.notify_work();
        result
    }

    /// Extends the tombstone spans over the memtables that were flushed.
    fn extend_spans(&self, taken: &Taken) {
        for view in self.base.versions.views() {
            let (section, order) = (view.context().section, &view.context().order);
            let parts = taken.immutables.iter();
            for part in parts.filter_map(|immutable| immutable.mem.part(section)) {
                view.readers.spans.absorb(part, order);
            }
        }
    }

    /// Takes the oldest waiting memtables that are adjacent.
    fn take_memtables(&self, bytes_max: usize) -> Option<Taken> {
        let mut guard = self.base.versions.lock();
        let state = &mut *guard;
        if !state.can_flush() {
            return None;
        }
        let defers = self.may_defer(state);
        let number = state.flushes.next;
        state.flushes.next += 1;
        let first = state
            .immutables
            .iter()
            .position(|immutable| immutable.flush.is_none())?;
        let mut immutables = Vec::new();
        let (mut bytes, mut logged) = (0, 0);
        for immutable in state.immutables.iter_mut().skip(first) {
            bytes += immutable.mem.allocated_bytes();
            logged += immutable.logged;
            let enough = bytes > bytes_max || logged > self.base.settings.budget.flush_logged;
            if immutable.flush.is_some() || enough && !immutables.is_empty() {
                break;
            }
            immutable.flush = Some(number);
            immutables.push(immutable.clone());
        }
        state.flushes.running.push(Flush {
            number,
            outcome: None,
        });
        Some(Taken {
            number,
            immutables,
            bottom: first == 0 && state.version.runs.is_empty(),
            version: Arc::clone(&state.version),
            defers,
        })
    }

    fn write_memtables(&self, taken: &Taken) -> Result<Outcome> {
        let orders = &self.base.opener.orders;
        let sections = self.base.versions.sections();
        let spans = sections.map(|section| (section, spans(&taken.immutables, section, orders)));
        let spans: Vec<(Section, Vec<Span>)> = spans.collect();
        let mut apart = spans.iter().flat_map(|(_, spans)| spans);
        let defers = taken.defers && apart.all(|span| span.is_apart(&taken.version, orders));
        let mut written: Option<Outcome> = None;
        for (section, spans) in spans {
            if spans.is_empty() && section != Section::Default {
                continue;
            }
            let next = self.write_section(taken, section, &spans, defers);
            written = Some(Outcome::followed_by(written, next, &*self.base.dir)?);
        }
        let mut outcome = written.expect("the default section is always written");
        self.disk.installer.open_for_readers(&mut outcome);
        // Only a hint: if the comparator panics, the flush is complete nevertheless.
        let _ = guarded(|| {
            self.extend_spans(taken);
            Ok(())
        });
        Ok(outcome)
    }

    fn write_section(
        &self,
        taken: &Taken,
        section: Section,
        spans: &[Span],
        defers: bool,
    ) -> Result<Outcome> {
        let values = Arc::clone(&taken.version.values);
        let order = &self.base.opener.orders[section];
        let deleted = taken.immutables.iter().flat_map(|it| &it.ranges);
        let deleted = deleted.filter(|(there, _)| *there == section);
        let last = taken.immutables.iter().map(|it| it.mem.seq_max()).max();
        // Older deletions are of older entries only.
        let map_at = |seq| {
            let mut map = RangeMap::default();
            for (_, range) in deleted.clone().take_while(|(_, range)| range.seq <= seq) {
                map.add(order, range.clone());
            }
            map
        };
        let snapshots = self.base.readable_at();
        let ranges = JobRanges::new(&snapshots, last.unwrap_or(0), map_at);
        let readers = (snapshots, ranges);
        let rules = self
            .base
            .rules(section, taken.bottom, values, None, readers);
        let mut output = self.base.output(section);
        output.table_bytes = self.disk.reserve.table_bytes();
        if defers {
            output.compression = Compression::Deferred;
        }
        // The memtables of a sequential load do not overlap: each is written without a comparison.
        let order = &self.base.opener.orders[section];
        let inputs = spans.iter().map(|span| span.inputs(order)).collect();
        Job::chained(inputs, rules, output).run(&*self.base.dir, &self.base.next_file)
    }

    /// Keeps the outcome of flush `number` until all older memtables are in tables, then installs
    /// it and the outcomes that waited for it: a newer run must never be below an older one.
    fn install_in_order(&self, state: &mut EngineState, number: u64, outcome: Outcome) {
        let done = state
            .flushes
            .running
            .iter_mut()
            .find(|flush| flush.number == number);
        done.expect("a flush stays listed until it is installed")
            .outcome = Some(outcome);
        while let Some(oldest) = state
            .immutables
            .front()
            .and_then(|immutable| immutable.flush)
            && let Some(at) = state
                .flushes
                .running
                .iter()
                .position(|flush| flush.number == oldest && flush.outcome.is_some())
        {
            let immutables = state.immutables.iter();
            let immutables = immutables
                .take_while(|immutable| immutable.flush == Some(oldest))
                .count();
            if let Some(outcome) = state.flushes.running.swap_remove(at).outcome {
                self.disk
                    .installer
                    .install_flush(state, immutables, outcome);
            }
        }
    }

    /// Returns whether a flush that starts now may leave values uncompressed that compress only
    /// together.
    pub(crate) fn may_defer(&self, state: &EngineState) -> bool {
        let version = &state.version;
        let bytes_max = DEFERRED_BYTES_MAX.max(version.bytes() / DEFERRED_SHARE);
        self.base.encodes()
            && (state.is_crowded(&self.base.settings.budget) || self.flushes_keep_busy(state))
            // After a failure the disk may be full, and only half as much may fit.
            && state.background.retry_ns == 0
            && version.deferred_bytes() < bytes_max
    }

    /// Returns whether flushing took half of the time since the start of the last flush.
    fn flushes_keep_busy(&self, state: &EngineState) -> bool {
        let (begun, took) = state.flushes.last;
        took > 0 && self.base.env.now_ns().saturating_sub(begun) <= 2 * took
    }
}
